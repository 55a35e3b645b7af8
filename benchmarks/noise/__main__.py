"""Build the sets, run the methods, print the tables.

python -m benchmarks.noise build
python -m benchmarks.noise run --half development --methods logistic kernelwise --noises sym30 class --seeds 3
python -m benchmarks.noise table --half development
python -m benchmarks.noise demands --half development
python -m benchmarks.noise figures
python -m benchmarks.noise truth
python -m benchmarks.noise told --half development
python -m benchmarks.noise real --data FOLDER --methods logistic kernelwise
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from . import datasets, real
from .competitors import GRIDS, METHODS
from .demands import demands
from .noise import NOISES, STRANGE_NOISES
from .run import FOLDER, run
from .tables import table


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "build":
        print(datasets.build())
        return 0
    if options.command == "methods":
        print("\n".join(f"{method}: {grid}" for method, grid in GRIDS.items()))
        return 0
    if options.command == "figures":
        from .figures import draw_all

        print("\n".join(str(path) for path in draw_all()))
        return 0
    if options.command == "told":
        from .told import told

        print(told(options.half, range(options.seeds)))
        return 0
    if options.command == "truth":
        from .truth import truth

        print(truth(datasets.HALVES[:4], range(options.seeds)))
        return 0
    if options.command == "real":
        return run_real(options)
    if options.command == "table":
        print(table(options.half, options.methods, options.records, options.ours))
        return 0
    if options.command == "demands":
        print(demands(options.half, options.records, options.ours))
        return 0
    wrong = sorted(set(options.sets) - set(datasets.names_of(options.half)))
    if wrong:
        raise SystemExit(f"{wrong[0]!r} is not one of the {options.half} sets")
    seeds = range(options.first_seed, options.seeds)
    failed = run(options.half, options.methods, options.noises, seeds, options.sets, options.records)
    print(f"{failed} answers failed" if failed else "complete")
    return 1 if failed else 0


def run_real(options: argparse.Namespace) -> int:
    """Run the methods on real labels and print the tables."""
    text, failed = real.real(options.data, options.sets, options.methods, options.rows, options.seed, options.records)
    print(text)
    if failed:
        print(f"\n{failed} answers failed")
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    outer = argparse.ArgumentParser(prog="python -m benchmarks.noise", description="Learning under label noise.")
    commands = outer.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="download and write the data sets")
    commands.add_parser("methods", help="print the methods and their grids")
    commands.add_parser("figures", help="draw the figures of the page on noise, from the records of the spare sets")
    priors = commands.add_parser("truth", help="print what true labels say of the priors; 69 sets, half an hour")
    oracle = commands.add_parser("told", help="print what could be reached if the true noise rates were told")
    oracle.add_argument("--half", choices=datasets.HALVES, required=True)
    for command in (priors, oracle):
        command.add_argument("--seeds", type=int, default=2, help="splits per set")
    running = commands.add_parser("run", help="fill the records; cells that are there are not run again")
    tabling = commands.add_parser("table", help="print the tables of the records in Markdown")
    demanding = commands.add_parser("demands", help="print what was demanded and what the records show, in Markdown")
    for command in (running, tabling, demanding):
        command.add_argument("--half", choices=datasets.HALVES, required=True)
        command.add_argument("--records", type=Path, default=FOLDER, help="folder of the records")
    for command in (running, tabling):
        command.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    running.add_argument(
        "--noises", nargs="+", choices=(*NOISES, *STRANGE_NOISES), default=list(NOISES), metavar="NOISE"
    )
    running.add_argument("--sets", nargs="+", default=[], metavar="SET", help="only these of the sets")
    running.add_argument("--seeds", type=int, default=3, help="run the seeds below this number")
    running.add_argument("--first-seed", type=int, default=0, help="and from this one on")
    for command in (tabling, demanding):
        command.add_argument("--ours", type=Path, default=None, help="another folder for the records of kernelwise")
    add_real(commands.add_parser("real", help="run the methods on labels that people or rules gave; print the tables"))
    return outer


def add_real(command: argparse.ArgumentParser) -> None:
    """The options of the command on real labels."""
    command.add_argument("--data", type=Path, required=True, help="folder of the .npz files")
    command.add_argument("--sets", nargs="+", choices=real.SETS, default=list(real.SETS), metavar="SET")
    command.add_argument("--methods", nargs="+", choices=real.METHODS, default=list(real.METHODS), metavar="METHOD")
    command.add_argument(
        "--rows", type=int, default=real.MAX_ROWS, help="at most so many training rows of cifar10n_10k"
    )
    command.add_argument("--seed", type=int, default=0, help="of splits, folds and methods")
    command.add_argument("--records", type=Path, default=real.RECORDS, help="folder of the records")


if __name__ == "__main__":
    raise SystemExit(main())
