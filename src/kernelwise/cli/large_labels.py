"""Labels in files that are larger than memory: audit them in chunks on this machine, or on a cluster."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from .. import files
from ..files.chunks import CHUNK_ROWS, ChunkFeatures, FilePart, parts_of, read_chunks
from ..files.delimited import csv_line
from ..files.errors import FileError
from ..labels.amounts import codes_missing_label
from ..labels.blocks import Chunks, Judged, judge_rows
from ..labels.given import kept_words, look_alikes, said_unlabelled
from ..labels.large import drop_missing_words, fit_in_blocks, join_counted
from ..labels.sample import LabelCounts
from .inputs import LEFT_OUT, parse_kinds
from .large_page import PAGE_ROWS, large_page
from .session import Session
from .show import CHANCE, SHOWN, print_columns, print_written, table, wrong_chance

__all__ = ["LargeAudit", "audit_large"]

#: So many of the most suspect rows of all are listed in one file.
MOST = 1000
#: The file with these rows, beside the files of all suspects of each part.
MOST_SUSPECT = "most-suspect.csv"
HEADER = ["row", "id", "column", "given", "corrected", "decision", "quality"]


@dataclass(frozen=True)
class LargeAudit:
    """What is asked for: the files, the columns, and how to read them."""

    paths: list[Path]
    label: str
    row_id: str | None = None
    output: Path | None = None
    kinds: Sequence[str] = ()
    ignore: Sequence[str] = ()
    chunk_rows: int | None = None
    cluster: str | None = None
    sample_size: int | None = None
    report: Path | None = None

    @property
    def named(self) -> list[str]:
        """The columns that are read as they are written."""
        return [self.label, *([self.row_id] if self.row_id else [])]

    @property
    def source(self) -> str:
        """The files in words."""
        return str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files in {self.paths[0].parent}"


@dataclass(frozen=True)
class Suspect:
    """A row whose label is more likely wrong than right, or one of the first of its block.

    For a page, the first of each block have the position of their class, their chances, and their cells.
    """

    quality: float
    row: int
    name: str
    given: str
    other: str
    column: int = -1
    chances: tuple[float, ...] = ()
    cells: tuple[str, ...] = ()

    def line(self, label: str) -> list[str]:
        """The line of a file of suspects, as the review and kernelwise apply know it."""
        return [str(self.row), self.name, label, self.given, self.other, "skip", f"{self.quality:.4f}"]


@dataclass(frozen=True)
class JudgedRows(Judged):
    """What is found of a block, with its most suspect rows."""

    suspects: tuple[Suspect, ...] = ()


def audit_large(session: Session, asked: LargeAudit) -> None:
    """Audit the labels of files in chunks, write the suspects of each chunk, and show the first."""
    from .. import NoisyLabelClassifier

    if asked.report is not None:
        files.check_output(asked.report, force=session.force)
    folder = _folder(session, asked.output)
    kinds: Any = parse_kinds(asked.kinds)
    features = _WatchedFeatures([*asked.named, *asked.ignore], kinds, label=asked.label)
    options = {} if asked.sample_size is None else {"sample_size": asked.sample_size}
    model = NoisyLabelClassifier(random_state=session.seed, **options)
    hidden = None if asked.report is None else [*asked.named, *asked.ignore]
    writing = Writing(folder, asked.label, asked.row_id, len(asked.paths) > 1, hidden)
    with _blocks(asked, features) as blocks:
        with session.step(f"counting the labels in {asked.source}"):
            unlabelled = drop_missing_words(blocks)
            counts = LabelCounts.total(blocks.count())
            notes = _notes(asked, counts, join_counted(blocks))
        with session.step(f"learning from a sample, judging {counts.n_rows} rows") as tell:
            with warnings.catch_warnings(), _plain_errors(asked):
                warnings.filterwarnings("ignore", "column 'x[0-9]+' gives the label away")
                fitted = fit_in_blocks(
                    model,
                    blocks,
                    progress=tell,
                    judging=judge_and_write,
                    writing=writing,
                )
            suspects: list[Suspect] = blocks.total(_suspects, _most_suspect, fitted.handles)
    written = []
    if folder is not None:
        lines = [HEADER, *(one.line(asked.label) for one in suspects)]
        written = [str(files.write_file(folder / MOST_SUSPECT, _csv(lines), force=session.force)), str(folder)]
    result = _result(session, asked, model, features, fitted.summary, suspects)
    result |= {"unlabelled": unlabelled, "notes": notes, "written": written}
    if asked.report is not None:
        with session.step("making the review page"):
            page = large_page(asked, model, features, fitted.summary, suspects, result["columns"])
        written.append(str(files.write_file(asked.report, page.encode(), force=session.force)))
    session.show(result, partial(_print, result, asked))


@contextmanager
def _blocks(asked: LargeAudit, features: ChunkFeatures) -> Iterator[Any]:
    if asked.cluster is None:
        yield Chunks(partial(_one_after_the_other, asked), features)
        return
    from ..cluster.engine import ClusterEngine
    from ..labels.on_cluster import Partitions
    from ..reproduction.cluster import connected

    with connected(asked.cluster) as client:
        import dask

        read, labels = dask.delayed(_whole_part, pure=False), dask.delayed(_labels, pure=False)
        parts = parts_of([path.resolve() for path in asked.paths])
        X = [read(part, asked.named, None) for part in parts]
        y = [labels(read(part, asked.named, asked.label), asked.label) for part in parts]
        yield Partitions(ClusterEngine(client), X, y, [None] * len(parts), features)


def _one_after_the_other(asked: LargeAudit, labels_only: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Read the chunks of all files."""
    for path in asked.paths:
        only = asked.label if labels_only else None
        for chunk in read_chunks(FilePart(path), asked.chunk_rows or CHUNK_ROWS, columns=asked.named, only=only):
            yield None if labels_only else chunk, _labels(chunk, asked.label), None


def _labels(chunk: Any, label: str) -> NDArray[Any]:
    return np.asarray(chunk[label].values)


def _whole_part(part: FilePart, columns: Sequence[str], only: str | None) -> Any:
    """A part of the files, read by a worker."""
    if not part.path.exists():
        raise FileError(f"there is no file {part.path} on a worker; put the files where all workers find them")
    return files.Table.stacked(list(read_chunks(part, columns=columns, only=only)))


@dataclass
class _WatchedFeatures(ChunkFeatures):
    """Features of chunks, with a warning of columns that give the label away."""

    label: str = ""

    def learn(self, rows: Any) -> Any:
        from ..labels.giveaways import giveaways

        matrix = super().learn(rows)
        assert self.sample is not None
        self.found = giveaways(self.sample.without(self.leave_out), self.sample[self.label].values)
        for one in self.found:
            warnings.warn(f"{one}: --ignore {one.column!r}", stacklevel=2)
        return matrix


@dataclass(frozen=True)
class Writing:
    """Where and how the suspects of a block are written."""

    folder: Path | None
    label: str
    row_id: str | None
    several: bool
    #: Columns that are not on the page; None without a page.
    hidden: Sequence[str] | None = None

    def with_cells(
        self, chunk: Any, rows: NDArray[np.intp], suspects: list[Suspect], given: NDArray[np.intp], chances: Any
    ) -> list[Suspect]:
        """The suspects, of which the first have what a page shows of them."""
        if self.hidden is None:
            return suspects
        shown = chunk.take(rows[:PAGE_ROWS]).without(self.hidden)
        cells = zip(*(shown[name].labels() for name in shown.names), strict=True)
        parts = zip(suspects, given.tolist(), chances.tolist(), cells, strict=False)
        told = [replace(one, column=code, chances=tuple(likely), cells=own) for one, code, likely, own in parts]
        return [*told, *suspects[len(told) :]]

    def names(self, chunk: Any, rows: NDArray[np.intp], start: int) -> list[str]:
        """The names of some rows: their ids, or where they are in their file."""
        if self.row_id is not None:
            cells = chunk[self.row_id].labels()
            return [cells[row] for row in rows]
        numbers = [start + int(row) + 1 if chunk.lines is None else int(chunk.lines[row]) for row in rows]
        return [f"{Path(chunk.source).name}:{number}" if self.several else str(number) for number in numbers]


def judge_and_write(X: Any, y: Any, weight: Any, start: int, known: Any, *, judge: Any, writing: Writing) -> JudgedRows:
    """Judge the rows of a chunk, and write those that are more likely wrong than right to a file of their own."""
    judged = judge_rows(X, y, weight, start, known, judge=judge, wide=True)
    assert judged.probabilities is not None
    classes, quality = judge.model.classes_, judged.quality
    ranked = np.argsort(quality, kind="stable")  # rows without a label are last
    ranked = ranked[: np.count_nonzero(~np.isnan(quality))]
    rows = ranked[: max(np.count_nonzero(quality < 0.5), SHOWN)]
    chances, own_class = judged.probabilities[rows], classes == np.asarray(y)[rows][:, None]
    others = np.where(own_class, -1.0, chances)
    written = X[writing.label].labels()
    given = [written[row] for row in rows]
    listed = [
        Suspect(float(quality[row]), start + int(row), name, str(own), str(other))
        for row, name, own, other in zip(
            rows, writing.names(X, rows, start), given, classes[others.argmax(axis=1)], strict=True
        )
    ]
    if writing.folder is not None:
        doubtful = [one.line(writing.label) for one in listed if one.quality < 0.5]
        files.write_file(writing.folder / f"part-{start:012d}.csv", _csv([HEADER, *doubtful]), force=True)
    listed = writing.with_cells(X, rows, listed[:MOST], own_class.argmax(axis=1), chances)
    return JudgedRows(quality, judged.suggested, judged.summary, suspects=tuple(listed))


def _suspects(judged: JudgedRows) -> list[Suspect]:
    return list(judged.suspects)


def _most_suspect(parts: Sequence[list[Suspect]]) -> list[Suspect]:
    return sorted((one for part in parts for one in part), key=lambda one: (one.quality, one.row))[:MOST]


def _csv(rows: Sequence[Sequence[str]]) -> str:
    from ..report.corrections import neutralise

    return "".join(f"{csv_line([neutralise(cell) for cell in row])}\n" for row in rows)


def _folder(session: Session, output: Path | None) -> Path | None:
    """The folder to write to, which is empty, or may be written over."""
    if output is None:
        return None
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not session.force)):
        raise FileError(
            f"--output {output} must be a new or an empty folder, because every part of the data gets a file of"
            " suspects; name another one, or use --force"
        )
    output.mkdir(parents=True, exist_ok=True)
    for old in [*output.glob("part-*.csv"), *output.glob(MOST_SUSPECT)]:
        old.unlink()
    return output.resolve()


def _notes(asked: LargeAudit, counts: LabelCounts, replaced: dict[str, str]) -> list[str]:
    """Refuse labels that cannot be audited, and say which labels look alike."""
    if len(counts.classes) < 2:
        said = f"has one label only, {next(iter(counts.classes))!r}" if counts.classes else "is empty"
        raise FileError(f"{asked.source}, column {asked.label!r} {said}; two labels are needed")
    words = {str(label): count for label, count in counts.classes.items() if label not in replaced}
    joined = [
        f"Label {other!r} ({counts.classes[other]} rows) is taken as {usual!r}: they differ in capitals or blanks "
        "alone."
        for other, usual in replaced.items()
    ]
    coded = ["The label -1 is taken for a class; where it says that there is no label, leave it out."]
    return [
        *kept_words(words),
        *(coded if codes_missing_label(words) else []),
        *joined,
    ] + [
        f"Label {rare!r} ({words[rare]} rows) looks like {usual!r} ({words[usual]} rows); it is a class of its own "
        "until it is corrected."
        for rare, usual in look_alikes(words)
    ]


@contextmanager
def _plain_errors(asked: LargeAudit) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{asked.source}, column {asked.label!r}: {error}") from error


def _result(
    session: Session, asked: LargeAudit, model: Any, features: Any, summary: Any, suspects: Sequence[Suspect]
) -> dict[str, Any]:
    from ..labels.importances import column_importances

    with session.step("finding the columns that matter"):
        weights = column_importances(model, features.features.feature_columns)
    kernels = sorted(zip(model.kernel_names_, model.kernel_weights_.tolist(), strict=True), key=lambda item: -item[1])
    described = [*features.features.describe(), *({"column": name, "becomes": LEFT_OUT} for name in asked.ignore)]
    return {
        "data": {"file": asked.source, "rows": summary.n_labelled, "columns": described},
        "label": asked.label,
        "giveaways": [{"column": one.column, "how": one.how} for one in features.found],
        "classes": model.classes_,
        "noise_rate": model.noise_rate_,
        "noise_interval": model.noise_interval_,
        "worth_checking": summary.n_doubtful,
        "expected_wrong": summary.n_wrong,
        "suspects": [
            {
                "row": one.row,
                "id": one.name,
                "given": one.given,
                "suggested": one.other,
                "quality": round(one.quality, 4),
            }
            for one in suspects
        ],
        "diagnostic": model.diagnostic_,
        "kernels": {name: weight for name, weight in kernels if weight > 0},
        "columns": weights,
    }


def _print(result: dict[str, Any], asked: LargeAudit, console: Console) -> None:
    from .labels import headline, print_what_tells

    rows, diagnostic = result["data"]["rows"], result["diagnostic"]
    missing = said_unlabelled(result["unlabelled"])
    console.print(f"{asked.source}: {rows} rows with a label, {len(result['classes'])} classes{missing}", markup=False)
    for note in result["notes"]:
        console.print(note, markup=False)
    console.print(headline(rows, result["noise_rate"], result["noise_interval"], diagnostic))
    if "learned_from" in diagnostic:
        console.print(
            f"Learned from a sample of {diagnostic['learned_from']} rows; the standard error of the share from so many "
            f"rows is {diagnostic['sampling_error']:.2%}."
        )
    console.print(diagnostic["claim"])
    if not diagnostic["reliable"]:
        console.print(diagnostic["reason"])
    likely = f"; about {round(result['expected_wrong'])} of these should be wrong" if diagnostic["reliable"] else ""
    console.print(
        f"Worth checking: {result['worth_checking']} rows whose label is more likely wrong than right{likely}.\n"
    )
    name = asked.row_id or "row"
    first = result["suspects"][:SHOWN]
    lines = [[one["id"], one["given"], one["suggested"], wrong_chance(one["quality"])] for one in first]
    console.print(table("Most suspect", [name, "given", "if wrong", CHANCE], lines))
    print_columns(console, result["data"]["columns"])
    print_what_tells(console, result)
    print_written(console, result["written"])
