"""The options of an audit of labels: files, plans, and who gave the labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..files.errors import FileError
from ..tables.errors import choices

ImageOption = Annotated[
    str | None, typer.Option("--image", metavar="COLUMN", help="The column with the paths of pictures, for --report.")
]
EmbedOption = Annotated[
    bool, typer.Option("--embed", help="Put the pictures into the page, instead of links to their files.")
]
ChunkOption = Annotated[
    int | None,
    typer.Option(
        "--chunk-rows", metavar="N", min=1000, help="Read the table in chunks of N rows, even if it fits into memory."
    ),
]
SampleOption = Annotated[
    int | None,
    typer.Option("--sample", metavar="N", help="Learn from N rows, if there are more; all rows are judged."),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster read the files: tcp://host:8786, or a scheduler file.",
    ),
]
LabelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="COLUMN", help="The column of labels; given again, a column for each of several sources."
    ),
]
#: The name of the consensus in the column "column" of a review, and in the export.
CONSENSUS = "consensus"
AnnotatorOption = Annotated[
    str | None, typer.Option("--annotator", metavar="COLUMN", help="The column that says who gave each label.")
]
AnswersOption = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="A table of answers: the id of the row, the source, the label."),
]
GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="COLUMN", help="Rows of one group share their errors, such as copies.")
]
SourceKindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source-kind",
        metavar="NAME=KIND",
        help="What a source is: person, program, or language model. Again for each.",
    ),
]
CostOption = Annotated[
    list[str] | None,
    typer.Option("--cost", metavar="NAME=COST", help="What an answer of a source costs, for --ask; 1 by default."),
]
ConsensusOption = Annotated[
    Path | None,
    typer.Option("--consensus", metavar="CSV", help="Write the consensus of several answers, with its chances."),
]
AskOption = Annotated[Path | None, typer.Option("--ask", metavar="CSV", help="Write whom to ask about which row next.")]
QuestionsOption = Annotated[
    int | None, typer.Option("--questions", metavar="N", min=1, help="How many answers --ask plans; 100 by default.")
]


@dataclass(frozen=True)
class AskedAnswers:
    """The options that say where answers stand.

    ``labels`` are columns of labels, one for each source; ``annotator`` is a column that says who gave the only one,
    perhaps ``found`` by its name, and ``table`` a file of ids, sources and labels. ``kinds`` and ``costs`` are options
    such as ``gpt=person``.
    """

    labels: Sequence[str]
    annotator: str | None = None
    table: Path | None = None
    group: str | None = None
    kinds: Sequence[str] = ()
    costs: Sequence[str] = ()
    found: bool = False

    @property
    def several(self) -> bool:
        """Whether labels of several sources are asked for."""
        return len(self.labels) > 1 or self.annotator is not None or self.table is not None

    def check(self, of_answers: Mapping[str, Any]) -> None:
        """Refuse options that do not go together, before anything is read; some are ``of_answers`` only."""
        if not self.labels and self.table is None:
            raise FileError("--label is missing: name the column of labels, or a table of answers by --answers FILE")
        if not self.several and (given := [name for name, value in of_answers.items() if value is not None]):
            raise FileError(
                f"{given[0]} is for labels of several sources; name each column of labels by --label, or who gave the "
                "labels by --annotator, or a table of answers by --answers"
            )
        if of_answers["--questions"] is not None and of_answers["--ask"] is None:
            raise FileError("--questions says how many answers --ask plans; add --ask FILE")
        if twice := [name for name, count in Counter(self.labels).items() if count > 1]:
            raise FileError(f"--label {twice[0]} is given twice; name each column of labels once")
        if self.annotator is not None:
            if self.annotator in self.labels:
                raise FileError(
                    f"--annotator {self.annotator} is also the column of labels; name the column of those who gave them"
                )
            if len(self.labels) != 1 or self.table is not None:
                other = "--answers" if self.table is not None else f"{len(self.labels)} columns of labels"
                raise FileError(
                    f"--annotator {self.annotator} says who gave one column of labels, and there are {other}; leave "
                    "--annotator out, or name one --label"
                )
        if self.group is not None and self.group in (*self.labels, self.annotator):
            what = "a column of labels" if self.group in self.labels else "the column of those who gave them"
            raise FileError(f"--group {self.group} is also {what}; leave it out, or name another column")
        for name in self.costs:
            _pair("--cost", name, "Ann=2.5")
        for name in self.kinds:
            _pair("--source-kind", name, "gpt=language model")


@dataclass(frozen=True)
class AuditFiles:
    """What an audit of labels reads and writes, and how columns are taken."""

    data: Path
    asked: AskedAnswers
    row_id: str | None
    kinds: Sequence[str]
    ignore: Sequence[str]
    checked: Path | None
    output: Path | None
    report: Path | None
    consensus: Path | None
    ask: Path | None


@dataclass(frozen=True)
class AuditPlans:
    """How many rows to check and answers to ask for are planned, and from how many rows is learned."""

    checks: int | None
    suspects: float | None
    questions: int | None
    sample_size: int | None


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name or not value:
        raise FileError(
            f"{option} {text!r} must be SOURCE={option.rpartition('-')[2].upper()}, for example {example!r}"
        )
    return name, value


def costs_of(asked: AskedAnswers, sources: Sequence[str]) -> dict[str, float]:
    """What an answer of each source costs, from options such as ``Ann=2.5``."""
    costs: dict[str, float] = {}
    for text in asked.costs:
        name, value = _pair("--cost", text, "Ann=2.5")
        _check_source("--cost", name, sources)
        try:
            costs[name] = float(value)
        except ValueError:
            costs[name] = np.nan
        if not 0 < costs[name] < np.inf:
            raise FileError(f"--cost {text!r}: {value!r} must be a number above zero, for example {name}=2.5")
    return costs


def kinds_of(asked: AskedAnswers, sources: Sequence[str]) -> dict[str, str]:
    """What every source is, from options such as ``gpt=language model``."""
    from ..statements.answers import KINDS

    kinds = dict(_pair("--source-kind", text, "gpt=language model") for text in asked.kinds)
    for name, kind in kinds.items():
        _check_source("--source-kind", name, sources)
        if kind not in KINDS:
            raise FileError(f"--source-kind {f'{name}={kind}'!r}: {kind!r} must be one of {', '.join(KINDS)}")
    return kinds


def _check_source(option: str, name: str, sources: Sequence[str]) -> None:
    if name not in sources:
        raise FileError(f"{option}: there is no source {name!r}; {choices(name, sources)}")
