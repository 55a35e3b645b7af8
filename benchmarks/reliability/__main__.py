"""Run the measurements of reliability.

python -m benchmarks.reliability kills             kill writers and experiments at random moments
python -m benchmarks.reliability disk              full and read-only disks, for every command that writes
python -m benchmarks.reliability company           several writers at once
python -m benchmarks.reliability soak --minutes 60
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of them, print what was found, and return 0 if all is as it should be."""
    options = parser().parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.command == "soak":
        from .soak import soak

        found = soak(options.minutes, options.output)
    elif options.command == "disk":
        from .disk import measure as measure_disks

        found = measure_disks(options.output, options.only)
    elif options.command == "company":
        from .company import measure as measure_company

        found = measure_company(options.output, rounds=options.rounds)
    else:
        from .kills import measure as measure_kills

        found = measure_kills(options.kills, options.seed, options.output, tuple(options.only))
    print(json.dumps(found, indent=1))
    return 0 if found["met"] else 1


def parser() -> argparse.ArgumentParser:
    outer = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability", description="Kills, full disks, long runs."
    )
    commands = outer.add_subparsers(dest="command", required=True)
    soaking = commands.add_parser("soak", help="mixed work in one process, and what it leaves behind")
    soaking.add_argument("--minutes", type=float, default=60.0)
    killing = commands.add_parser("kills", help="kill writers and experiments at random moments")
    killing.add_argument("--kills", type=int, default=300, help="about how many")
    killing.add_argument("--seed", type=int, default=0)
    killing.add_argument("--only", nargs="*", default=(), metavar="NAME", help="only these victims")
    filling = commands.add_parser("disk", help="full and read-only disks, for every command that writes")
    filling.add_argument("--only", nargs="*", default=(), metavar="COMMAND", help="only these commands")
    meeting = commands.add_parser("company", help="several processes at one file, folder or cache")
    meeting.add_argument("--rounds", type=int, default=20)
    for command in (soaking, killing, filling, meeting):
        command.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    return outer


if __name__ == "__main__":
    raise SystemExit(main())
