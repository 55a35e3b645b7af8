"""``python -m kernelwise.papers``: list and run the experiments."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import Experiment, Record, RecordError, catalogue
from .runner import chosen, reproduce


def main(arguments: Sequence[str] | None = None, experiments: Mapping[str, Experiment] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 1 if a cell failed, 2 for bad use, 130 after Ctrl-C."""
    known = catalogue() if experiments is None else experiments
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print(*known.values(), sep="\n")
        return 0
    try:
        experiment = chosen(known, options.name, n_jobs=options.jobs, cluster=options.cluster)
    except ValueError as error:
        parser.error(str(error))
    try:
        records, paths = reproduce(
            experiment,
            output=options.output,
            cluster=options.cluster,
            quick=options.quick,
            resume=options.resume,
            n_jobs=options.jobs,
            progress=_show,
        )
    except KeyboardInterrupt:
        print("stopped; finished cells are kept, run again to continue", file=sys.stderr)
        return 130
    except (ImportError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        unusable = isinstance(error, RecordError | OSError) and not isinstance(error, ChildProcessError)
        return 2 if unusable else 1
    print(*paths, sep="\n")
    return 0 if all(record.ok for record in records) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernelwise.papers",
        description="Run a published experiment again. A run that was stopped continues where it was.",
    )
    parser.add_argument("name", nargs="?", help="the experiment to run")
    parser.add_argument("--list", action="store_true", help="show the experiments and exit")
    parser.add_argument("--quick", action="store_true", help="a version that takes seconds")
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="continue an earlier run; --no-resume starts afresh and renames the earlier records",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes to use")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="run on a Dask cluster: tcp://host:8786, or its scheduler file"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="DIR", help="results go to DIR/NAME (default: results)"
    )
    return parser


def _show(record: Record, done: int, total: int) -> None:
    outcome = f"{record.seconds:.1f} s" if record.ok else f"FAILED {record.message}"
    print(f"[{done}/{total}] {record.cell}: {outcome}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
