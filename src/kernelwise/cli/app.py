"""The commands, and the one place where what a user did wrong becomes a sentence and an exit status.

Commands load what they need when they run: ``--help`` and mistakes in the command line are answered at once.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from .. import __version__
from ..files.errors import explain
from . import completion, data, experiments, labels, pairs

__all__ = ["app", "run"]

#: Errors that say what the user can do; all others are mistakes of ours and keep their traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)

#: The exit status after Ctrl-C, as shells have it.
STOPPED = 130

app = typer.Typer(
    name="kernelwise",
    help="Learning from labels, links and pairs that are partly wrong. Every command has --help with an example.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
audit = typer.Typer(help="Which labels, or which pairs, are probably wrong.", no_args_is_help=True)
app.add_typer(audit, name="audit")

labels.register(app, audit)
pairs.register(app, audit)
completion.register(app)
data.register(app)
experiments.register(app)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"kernelwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in (UserWarning, RuntimeWarning):
                warnings.simplefilter("default", kind)
            warnings.showwarning = _show_warning
            status = typer.main.get_command(app).main(list(arguments), prog_name="kernelwise", standalone_mode=False)
        sys.stdout.flush()
        return _stopped() if status == STOPPED else int(status or 0)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain once more when it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except USER_ERRORS as error:
        print(f"kernelwise: {_sentence(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        # The exceptions of the parser: a missing argument, an unknown option. Their class has moved between versions.
        if not hasattr(error, "exit_code") or not hasattr(error, "format_message"):
            raise
        print(f"kernelwise: {error.format_message()}{_help_hint(error)}", file=sys.stderr)
        return 2


def _stopped() -> int:
    print("kernelwise: stopped", file=sys.stderr)
    return STOPPED


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; take a sample of the data, or close other programs"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return explain(error)


def _help_hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f" (see: {context.command_path} --help)" if context is not None else ""


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {explain(message) if isinstance(message, Warning) else message}", file=sys.stderr)
