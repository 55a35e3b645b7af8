"""The table of commands, and the one place that turns an error into a sentence and an exit status.

Each command imports its estimators when it runs, so that ``--help`` and mistakes in the command line are answered at
once.
"""

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from .. import __version__
from ..files.errors import explain
from . import classifier, completion, data, experiments, labels, pairs
from .session import command

#: The messages of these errors say what the user can do. Any other error is our mistake and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)

#: The exit status after Ctrl-C, as in shells.
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

for group, function, example in (
    (audit, labels.audit_labels, "audit labels people.csv --label approved --report review.html"),
    (app, classifier.classify, "classify people.csv --label approved --model people.skops"),
    (app, classifier.predict, "predict people.skops new-people.csv -o predictions.csv"),
    (audit, pairs.audit_pairs, "audit pairs papers.csv citations.csv --report review.html"),
    (app, pairs.cluster, "cluster papers.csv --links citations.csv -k 7 -o topics.csv"),
    (app, completion.complete, "complete S.npy known.csv --query asked.csv -o answers.csv"),
    (app, completion.plan, "plan S.npy -k 4 --accuracy 0.9"),
    (app, data.apply, "apply people.csv corrections.csv -o people-corrected.csv"),
    (app, data.merge, "merge corrections-ann.csv corrections-bob.csv -o corrections.csv"),
    (app, experiments.demo, "demo"),
    (app, experiments.reproduce, "reproduce lkcnpc-table2 --quick"),
):
    name = function.__name__.removeprefix("audit_")
    group.command(name, epilog=f"Example: kernelwise {example}")(command(function))


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
    _prepare_streams()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = _show_warning
            status = typer.main.get_command(app).main(list(arguments), prog_name="kernelwise", standalone_mode=False)
        sys.stdout.flush()
        return _stopped() if status == STOPPED else int(status or 0)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except BrokenPipeError:
        _drop_output()  # the program that read our output has seen enough
        return 0
    except USER_ERRORS as error:
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return _refuse(_sentence(error))
    except Exception as error:
        # The exceptions of the parser: a missing argument, an unknown option. Their class has moved between versions.
        if not hasattr(error, "format_message"):
            raise
        if not (message := error.format_message()):  # no arguments at all: the help was shown
            return 0
        context = getattr(error, "ctx", None)
        hint = "" if context is None else f" (see: {context.command_path} --help)"
        return _refuse(f"{explain(ValueError(message))}{hint}")


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the program that called us has closed the stream
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file may hold bytes that are no characters; the name is shown all the same.
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Drop the output that could not be written: Python would complain again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(sentence: str) -> int:
    with contextlib.suppress(OSError):  # where the sentence cannot be printed, the status remains
        print(f"kernelwise: {sentence}", file=sys.stderr)
    return 2


def _stopped() -> int:
    print("kernelwise: stopped", file=sys.stderr)
    return STOPPED


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError) and (type(error) is not MemoryError or not error.args):
        return "there is not enough memory for this; take a sample of the data, or close other programs"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # files have names
        return f"the output could not be written ({error.strerror}); make room for it"
    return explain(error)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {explain(message) if isinstance(message, Warning) else message}", file=sys.stderr)
