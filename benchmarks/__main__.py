"""Run the benchmarks: ``python -m benchmarks [NAME ...] [--list] [--output FOLDER] [--data FOLDER]``.

Every benchmark module has a ``TITLE`` and a function ``run() -> list[dict]`` of measurements, as ``measure.record``
makes them. A benchmark that reads data sets which are not bundled takes their folder, ``run(data)``; the benchmarks in
``ON_DATA`` cannot run without the folder. Each measurement is printed as a row and appended as a line of JSON to
``FOLDER/NAME.jsonl``. The exit code is 1 if a measurement misses what is required of it.
"""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from .measure import environment

BENCHMARKS = (
    "bank",
    "mkl_speed",
    "mkl_tolerance",
    "mkl_scale",
    "mkl_peers",
    "cluster",
    "cluster_memory",
    "cluster_cost",
    "plain_dask",
    "cluster_completion",
    "pairs_peers",
    "linked_documents",
    "links_scale",
    "cluster_links",
    "cluster_noisy_pairs",
    "completion",
    "pair_completion",
    "wrong_known_pairs",
    "noisy_known_pairs",
    "pair_audit",
    "noisy_pairs_clusters",
    "noisy_pairs_scale",
    "parts_pairs",
    "pairs_real",
    "rare_classes",
    "label_speed",
    "label_scale",
    "parts_labels",
    "run_times",
    "record_pairs",
    "checks",
    "messy_files",
    "answers",
)
ON_DATA = ("record_pairs", "answers")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the documentation claims.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all if none is given"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="folder for JSON lines")
    parser.add_argument("--data", type=Path, help="folder with data sets that are not bundled")
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data {options.data} is not a folder")
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}")
    if options.data is None and not options.list and (asked := [name for name in options.names if name in ON_DATA]):
        parser.error(f"{asked[0]} reads sets that are not bundled; name their folder with --data FOLDER")
    modules = {name: import_module(f".{name}", __package__) for name in options.names or BENCHMARKS}
    if options.list:
        print("\n".join(f"{name}: {module.TITLE}" for name, module in modules.items()))
        return 0
    all_met = True
    for name, module in modules.items():
        if name in ON_DATA and options.data is None:
            print(f"\n{module.TITLE}\n\nleft out: no --data FOLDER")
            continue
        takes_data = "data" in signature(module.run).parameters
        rows = module.run(data=options.data) if takes_data else module.run()
        print(f"\n{module.TITLE}\n\n{table(rows)}")
        append(options.output / f"{name}.jsonl", name, rows)
        all_met = all_met and all(row["met"] for row in rows)
    return 0 if all_met else 1


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the measurements in columns of equal width."""
    head = ["measurement", "value", "unit", "required", "met", "threads"]
    cells = [head] + [_cells(**row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def _cells(measurement: str, value: float, unit: str, required: str, met: bool, threads: int) -> list[str]:
    figure = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    verdict = "" if not required else "yes" if met else "NO"
    return [measurement, figure, unit, required, verdict, str(threads)]


def append(path: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Append the measurements to a file of JSON lines, with the time and the versions they belong to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    context = {"benchmark": name, "time": datetime.now(UTC).isoformat(timespec="seconds"), **environment()}
    with path.open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(context | row) + "\n" for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
