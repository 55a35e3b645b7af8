"""Give messy files and their clean twins to the command line, and compare the first suspects."""

import contextlib
import csv
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwise.cli import main
from kernelwise.files import delimited

from ..measure import record
from .cases import CASES, Case, text
from .tables import LABEL, TABLES, Cells

TITLE = "Messy files: how many of the first 50 suspects are those of the clean twin, or a refusal in one sentence"

#: So many of the first suspects are compared, and so many of them must be the same.
FIRST, SAME = 50, 48


@dataclass(frozen=True)
class Outcome:
    """What the command line made of a messy file: the suspects in order, or the sentence with which it refused."""

    status: int
    suspects: list[int]
    said: str

    def compared(self, twin: "Outcome", left_out: Sequence[int]) -> tuple[int, int]:
        """How many of the first suspects both name, and how many of them stand in the same place.

        ``left_out`` are the rows that the twin does not have.
        """
        counted = [row for row in range(len(twin.suspects) + len(left_out)) if row not in left_out]
        own = [row for row in self.suspects if row not in left_out][:FIRST]
        other = [counted[row] for row in twin.suspects[:FIRST]]
        return len({*own} & {*other}), sum(one == two for one, two in zip(own, other, strict=True))


def audited(path: Path, options: Sequence[str] = ()) -> Outcome:
    """Run ``kernelwise audit labels`` on a file."""
    out, err = io.StringIO(), io.StringIO()
    review = path.parent / "review.csv"
    data = str(path)
    if "-" in options:
        data, options = "-", [option for option in options if option != "-"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _input(path):
        status = main(
            ["audit", "labels", data, "--label", LABEL, "-o", str(review), "--json", "--force", "-q", *options]
        )
    if status:
        return Outcome(status, [], err.getvalue().replace(f"{path.parent}/", "").strip())
    with review.open(newline="", encoding="utf-8") as stream:
        suspects = [int(row["row"]) for row in csv.DictReader(stream)]
    return Outcome(status, suspects, _told(json.loads(out.getvalue()), err.getvalue()))


@contextlib.contextmanager
def _input(path: Path) -> Any:
    """The file as the standard input."""
    before = sys.stdin
    delimited._standard_input.cache_clear()
    with path.open("rb") as stream:
        sys.stdin = io.TextIOWrapper(stream)
        try:
            yield
        finally:
            sys.stdin.detach()
            sys.stdin = before


def _told(result: dict[str, Any], warned: str) -> str:
    """What was said about the file that is not said about a clean one."""
    usual = ("as it is", "indicators of", "dates as time passed", "not used: it is the same", "tf-idf")
    columns = [
        f"{row['column']}: {row['becomes']}"
        for row in result["data"]["columns"]
        if not row["becomes"].startswith(usual) or "joined" in row["becomes"] or "missing" in row["becomes"]
    ]
    return "; ".join([warned.strip(), *result["notes"], *columns[:2]]).strip("; ")


def twin_of(case: Case, folder: Path, known: dict[Any, Outcome]) -> Outcome:
    """The outcome of the clean twin; twins that several files share are audited once."""
    cells: Cells = case.twin(TABLES[case.table]())
    cells = Cells(cells.names, tuple(row for k, row in enumerate(cells.rows) if k not in case.left_out))
    if cells not in known:
        known[cells] = audited(text(folder, cells, name="twin.csv"))
    return known[cells]


#: A case, what happened, and how many of the first suspects are those of its twin: at all, and in the same place.
Found = tuple[Case, Outcome, tuple[int, int]]


def outcomes(cases: Sequence[Case] = CASES) -> list[Found]:
    """Every case with what happened."""
    found, known = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in cases:
            path = case.write(folder, case.change(TABLES[case.table]()))
            got = audited(path, case.options)
            same = (0, 0) if got.status else got.compared(twin_of(case, folder, known), case.left_out)
            found.append((case, got, same))
    return found


def run() -> list[dict[str, Any]]:
    """Measure every case: understood files agree with their twins, the others are refused with one sentence."""
    rows = []
    for case, got, (same, _) in outcomes():
        if case.refused:
            refused = got.status == 2 and "\n" not in got.said
            rows.append(record(f"{case.name}: refused with a sentence", float(refused), "", at_least=1))
        else:
            rows.append(record(f"{case.name}: same suspects", float(same), f"of {FIRST}", at_least=SAME))
    return rows


def markdown(found: Sequence[Found]) -> str:
    """The table of the documentation."""
    lines = ["| file | what happens | same suspects | in the same place | what is said |", "|---|---|---|---|---|"]
    for case, got, (same, places) in found:
        said = got.said.replace("|", "\\|")
        result = "refused | |" if got.status else f"understood | {same} of {FIRST} | {places} of {FIRST}"
        lines.append(f"| {case.name} | {result} | {said} |")
    return "\n".join(lines) + "\n"
