"""Run the methods, print the tables, compare with what is demanded.

python -m benchmarks.noisy_pairs_clusters run --output FOLDER --methods kmeans noisy_pairs --cells n:0.2 10n
python -m benchmarks.noisy_pairs_clusters table --output FOLDER
python -m benchmarks.noisy_pairs_clusters check --output FOLDER
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..__main__ import table as measurements
from .demands import demands
from .draws import FLIPS, SEEDS, SIZES
from .methods import METHODS
from .records import Place, run
from .sets import SETS
from .tables import table

RESULTS = Path(__file__).parents[1] / "results" / "noisy_pairs_clusters"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "run":
        cells = [cell for words in options.cells for cell in words]
        failed = run(options.output, options.methods, places(options.sets, cells, options.seeds))
        print(f"{failed} answers failed" if failed else "complete")
        return 1 if failed else 0
    if options.command == "table":
        print(table(options.output, options.methods, options.sets))
        return 0
    rows = demands(options.output, tuple(METHODS))
    print(measurements(rows) if rows else f"{options.output} has no records of NoisyPairClustering")
    return 0 if rows and all(row["met"] for row in rows) else 1


def places(sets: Sequence[str], cells: Sequence[tuple[str, float]], seeds: Sequence[int]) -> list[Place]:
    """Seeds outermost, so that a run that is stopped has whole grids of the first seeds."""
    return [(name, size, flips, seed) for seed in seeds for size, flips in cells for name in sets]


def read_cells(words: str) -> list[tuple[str, float]]:
    """``3n:0.2`` is one cell, ``3n`` are all rates of flips at 3n pairs."""
    size, _, rate = words.partition(":")
    if size not in SIZES or (rate and float(rate) not in FLIPS):
        raise argparse.ArgumentTypeError(
            f"{words!r} is not one of {', '.join(SIZES)}, with one of {FLIPS} after a colon"
        )
    return [(size, flips) for flips in ([float(rate)] if rate else FLIPS)]


def parser() -> argparse.ArgumentParser:
    outer = argparse.ArgumentParser(
        prog="python -m benchmarks.noisy_pairs_clusters", description="Clusters from features and pairs, some wrong."
    )
    commands = outer.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="fill the records; what is there is not run again")
    tabling = commands.add_parser("table", help="print means over the sets, in Markdown")
    checking = commands.add_parser("check", help="print what is demanded and what the records show")
    for command in (running, tabling, checking):
        command.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the records")
    for command in (running, tabling):
        command.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
        command.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    running.add_argument(
        "--cells",
        nargs="+",
        type=read_cells,
        default=[read_cells(size) for size in SIZES],
        metavar="PAIRS[:FLIPS]",
        help="such as 3n:0.2, or 3n for all rates of flips",
    )
    running.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")
    return outer


if __name__ == "__main__":
    raise SystemExit(main())
