"""The options, the progress display and the output that all commands share."""

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
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .. import files
from ..json_values import plain
from ..progress import News, Tell, silent

__all__ = ["Session", "command"]

#: Where there is no terminal to draw on, a step that takes longer gets a line.
SLOW_SECONDS = 1.0


@dataclass(frozen=True)
class Session:
    """The shared options of one run of a command."""

    seed: int = 0
    json: bool = False
    quiet: bool = False
    force: bool = False

    @contextmanager
    def step(self, what: str) -> Iterator[Tell]:
        """Show on the standard error that a step is running, how much of it is done, and the time that is left.

        The function that the context gives takes the number of parts that are done, and the number of all parts. A step
        that takes seconds need not call it.
        """
        console = Console(stderr=True)
        started = time.perf_counter()
        if console.is_terminal and not self.quiet:
            name = TextColumn("{task.description}", markup=False)
            bar = BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
            with Progress(SpinnerColumn(), name, *bar, TimeElapsedColumn(), console=console, transient=True) as shown:
                task = shown.add_task(what, total=None)
                yield lambda done, total: shown.update(task, completed=done, total=total)
        else:
            yield silent if self.quiet else News(what)
            seconds = time.perf_counter() - started
            if seconds > SLOW_SECONDS and not self.quiet:
                print(f"{what}: {seconds:.1f} s", file=sys.stderr)

    def write(self, wanted: Mapping[Path | None, Callable[[], str]]) -> list[str]:
        """Make and write the files whose path is not None, all of them or none, and return their names."""
        contents = {path: make() for path, make in wanted.items() if path is not None}
        return [str(path) for path in files.write_files(contents, force=self.force)]

    def show(self, result: dict[str, Any], text: Callable[[Console], None]) -> None:
        """Print the result: as JSON for a machine, or by ``text`` for a person."""
        if not self.json:
            # The standard output may have been replaced since the start; soft_wrap: no word is cut without a terminal.
            text(Console(file=sys.stdout, highlight=False, soft_wrap=True))
            return
        value = plain(result, finite=False)
        said = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        try:
            said.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except UnicodeEncodeError:  # the name of a file is not made of characters: write it in ASCII
            said = json.dumps(value, indent=2, allow_nan=False)
        print(said)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command; its first parameter, a Session, is made of them."""
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
