"""What all commands share: options for machines and for the impatient, progress, and how results are shown."""

import functools
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .. import files
from ..json_values import plain

__all__ = ["Session", "command"]

#: A step that takes longer is worth a line where there is no terminal to draw on.
SLOW_SECONDS = 1.0


@dataclass(frozen=True)
class Session:
    """One run of a command: how it was asked to behave.

    Parameters
    ----------
    seed : int
    json : bool
        Results as JSON on the standard output, and nothing else there.
    quiet : bool
        No progress.
    force : bool
        Overwrite files that exist.
    """

    seed: int = 0
    json: bool = False
    quiet: bool = False
    force: bool = False

    @contextmanager
    def step(self, what: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show on the standard error that something is going on, with a bar where ``total`` is known.

        Gives a function that is told how much is done.
        """
        console = Console(stderr=True)
        started = time.perf_counter()
        if self.quiet:
            yield _ignore
        elif console.is_terminal:
            with Progress(*_columns(total), console=console, transient=True) as progress:
                task = progress.add_task(what, total=total)
                yield lambda done: progress.update(task, completed=done)
        else:
            yield _ignore
            seconds = time.perf_counter() - started
            if seconds > SLOW_SECONDS:
                print(f"{what}: {seconds:.1f} s", file=sys.stderr)

    def write(self, wanted: Mapping[Path | None, Callable[[], str]]) -> list[str]:
        """Make and write the files that were asked for (None: not), all or none of them, and name them."""
        contents = {path: make() for path, make in wanted.items() if path is not None}
        return [str(path) for path in files.write_files(contents, force=self.force)]

    def show(self, result: dict[str, Any], text: Callable[[Console], None]) -> None:
        """Print the result, for a machine or, by ``text``, for a person."""
        if self.json:
            print(_json_text(plain(result, finite=False)))
        else:
            # Written to whatever the standard output is now; words are not cut where there is no terminal.
            console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
            text(console)


def _json_text(value: Any) -> str:
    """JSON that people can read, unless a name of a file in it is not made of characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, allow_nan=False)
    return text


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all have: its first parameter, a Session, is made of them."""
    options = {
        "seed": (int, typer.Option(help="Seed of everything random.", min=0), 0),
        "json": (bool, typer.Option("--json", help="Print the result as JSON."), False),
        "quiet": (bool, typer.Option("--quiet", "-q", help="Show no progress."), False),
        "force": (bool, typer.Option("--force", help="Overwrite files that exist."), False),
    }
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    @functools.wraps(function)
    def with_session(**values: Any) -> None:
        session = Session(**{name: values.pop(name) for name in options})
        function(session, **values)

    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        for name, (kind, option, default) in options.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    signature = inspect.Signature([*keyword_only, *shared])
    with_session.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect.signature, and so by typer
    with_session.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    del with_session.__wrapped__
    return with_session


def _columns(total: int | None) -> list[Any]:
    bar = [] if total is None else [BarColumn(), MofNCompleteColumn()]
    return [SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar, TimeElapsedColumn()]


def _ignore(done: int) -> None:
    pass
