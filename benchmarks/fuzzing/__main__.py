"""Try to break the readers and the commands.

python -m benchmarks.fuzzing readers --seconds 300
python -m benchmarks.fuzzing readers --targets npz model --seconds 60
python -m benchmarks.fuzzing commands --count 10000
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from .targets import TARGETS


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "reader":
        from .readers import fuzz_here

        fuzz_here(options.target, options.seconds, options.folder)
        return 0
    if options.command == "readers":
        from .readers import fuzz_all

        return 1 if fuzz_all(options.targets, options.seconds, options.folder) else 0
    from .commands import run_cases

    return 1 if run_cases(options.count, options.seed, options.processes, options.folder) else 0


def parser() -> argparse.ArgumentParser:
    outer = argparse.ArgumentParser(prog="python -m benchmarks.fuzzing", description="Hostile files, bad commands.")
    commands = outer.add_subparsers(dest="command", required=True)
    readers = commands.add_parser("readers", help="fuzz readers one after the other (needs atheris)")
    readers.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="TARGET")
    one = commands.add_parser("reader", help="fuzz one reader in this process")
    one.add_argument("target", choices=TARGETS)
    for command in (readers, one):
        command.add_argument("--seconds", type=float, default=300.0, help="of processor time for each target")
    lines = commands.add_parser("commands", help="run bad command lines")
    lines.add_argument("--count", type=int, default=10_000)
    lines.add_argument("--seed", type=int, default=0)
    lines.add_argument("--processes", type=int, default=50, help="how many of them also run in a process of their own")
    for command in (readers, one, lines):
        command.add_argument(
            "--folder", type=Path, default=Path("benchmarks/results/fuzzing"), help="where findings are written"
        )
    return outer


if __name__ == "__main__":
    raise SystemExit(main())
