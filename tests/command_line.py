"""Running commands in tests, in this process and as a user does, and what a refusal looks like."""

import subprocess
import sys

from kernelwise.cli import main


def run_here(capsys, *arguments):
    """Run a command in this process; return its exit status, its output and its complaints."""
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def spawn(*arguments):
    """Run a command as a user does."""
    command = [sys.executable, "-m", "kernelwise", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def refused(result, message):
    """Exit status 2, one sentence on the standard error, nothing on the standard output."""
    status, out, err = result
    assert (status, out) == (2, ""), err
    assert err.startswith("kernelwise: ")
    assert err.count("\n") == 1, err
    assert message in err


def names(folder):
    """The names of the files in a folder."""
    return sorted(entry.name for entry in folder.iterdir())
