"""The command line: parse, call, print. ``kernelwise --help`` shows the commands."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: done; 2: the command or a file cannot be used, one sentence says why, and nothing was written; 1: an experiment
    failed in part; 130: stopped by Ctrl-C.

    Examples
    --------
    >>> from kernelwise.cli import main
    >>> main(["reproduce", "--list"])
    stpmkl-figure1-accuracy ...
    0
    """
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich", "click"}:
            raise
        print(f"kernelwise: the command line needs {error.name}: pip install kernelwise[cli]", file=sys.stderr)
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
