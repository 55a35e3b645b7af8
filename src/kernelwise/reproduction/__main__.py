"""``python -m kernelwise.reproduction``: list and run the experiments."""

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from . import Experiment, Record, RecordError, catalogue, cluster_executor, publish, run


def main(arguments: Sequence[str] | None = None, experiments: Mapping[str, Experiment] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 1 if a cell failed, 2 for bad use, 130 after Ctrl-C.

    Examples
    --------
    >>> from kernelwise.reproduction.__main__ import main
    >>> main(["--list"])
    stpmkl-figure1-accuracy ...
    0
    """
    known = catalogue() if experiments is None else experiments
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        for experiment in known.values():
            print(f"{experiment.name:30}{experiment.citation}: {experiment.title}")
        return 0
    if options.name is None:
        parser.error("name an experiment, or use --list to see them")
    if options.name not in known:
        near = difflib.get_close_matches(options.name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; use --list to see them"
        parser.error(f"there is no experiment {options.name}{hint}")
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    if options.cluster is not None and options.jobs > 1:
        parser.error("--jobs is for this machine; leave it out where --cluster says where to run")
    return _run_and_publish(known[options.name], options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernelwise.reproduction",
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


def _run_and_publish(experiment: Experiment, options: argparse.Namespace) -> int:
    folder = options.output / experiment.name
    place = nullcontext() if options.cluster is None else cluster_executor(options.cluster, experiment=experiment)
    try:
        with place as executor:
            records = run(
                experiment,
                output=options.output,
                quick=options.quick,
                resume=options.resume,
                n_jobs=options.jobs,
                executor=executor,
                progress=_show,
            )
        for path in publish(experiment, records, folder):
            print(path)
    except KeyboardInterrupt:
        print("stopped; finished cells are kept, run again to continue", file=sys.stderr)
        return 130
    except (ImportError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        unusable = isinstance(error, RecordError | OSError) and not isinstance(error, ChildProcessError)
        return 2 if unusable else 1
    return 0 if all(record.ok for record in records) else 1


def _show(record: Record, done: int, total: int) -> None:
    outcome = f"{record.seconds:.1f} s" if record.ok else f"FAILED {record.message}"
    print(f"[{done}/{total}] {record.cell}: {outcome}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
