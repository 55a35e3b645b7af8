"""Labels in files that are larger than memory: audit them in chunks on this machine, or on a cluster."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..files.chunks import CHUNK_ROWS, ChunkFeatures, FilePart, parts_of, read_chunks
from ..files.errors import FileError, reading_a_table
from ..labels.describe import figures_of
from ..labels.given import find_leaks
from ..labels.large import Fitted, Scored, fit_in_blocks, score_rows
from ..labels.leaks import find_annotator_columns, said_of_annotators
from ..labels.sample import Chunks, LabelCounts, drop_missing_words, join_counted
from ..labels.spellings import label_notes
from ..review.audit import suggested_classes
from ..tables.columns import Column
from .labels import LabelOptions, label_model, print_label_audit, what_matters
from .session import LEFT_OUT, Session, check_classes
from .show import REVIEW_COLUMNS, SHOWN, review_csv

#: So many of the most suspect rows of all are listed in one file.
MOST = 1000
#: The file with these rows, beside the files of all suspects of each part.
MOST_SUSPECT = "most-suspect.csv"
#: So many suspects are on the page, and so many rows of the sample whose labels are trusted are compared with them.
PAGE_ROWS, N_TRUSTED = 200, 1000
#: The least quality of a label that is trusted.
TRUSTED = 0.9
HEADER = ["row", "id", "column", *REVIEW_COLUMNS]


@dataclass(frozen=True)
class LargeAudit:
    """What is asked for, the files, and the columns that are read as they are written: the label and the id."""

    options: LabelOptions
    paths: list[Path]
    label: str
    row_id: str | None
    named: list[str]

    @property
    def source(self) -> str:
        """The files in words."""
        return str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files in {self.paths[0].parent}"

    @property
    def left_out(self) -> list[str]:
        """The columns that are no features."""
        return [*self.named, *self.options.reading.ignore]


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

    @staticmethod
    def first(parts: "Sequence[Sequence[Suspect]]") -> "list[Suspect]":
        """The most suspect rows of several parts."""
        return sorted((one for part in parts for one in part), key=lambda one: (one.quality, one.row))[:MOST]


@dataclass(frozen=True)
class ScoredChunk(Scored):
    """What is found of a chunk, with its most suspect rows."""

    suspects: tuple[Suspect, ...] = ()


def audit_large(session: Session, options: LabelOptions, paths: list[Path]) -> None:
    """Audit the labels of files in chunks, write the suspects of each chunk, and show the first."""
    reading, report, label = options.reading, options.reviewing.report, options.label[0]
    asked = LargeAudit(options, paths, label, reading.row_id, [label, *filter(None, [reading.row_id])])
    if report is not None:
        files.check_output(report, force=session.force)
    folder = _folder(session, asked.options.reviewing.output)
    features = _WatchedFeatures(asked.left_out, reading.kinds, label=asked.label)
    model = label_model(session, asked.options.sample)
    with _blocks(asked, features) as blocks:
        with session.step(f"counting the labels in {asked.source}"):
            unlabelled = drop_missing_words(blocks)
            counts = LabelCounts.total(blocks.count())
            replaced = join_counted(blocks)
            words = {str(name): count for name, count in counts.classes.items()}
            known = Counter({word: count for word, count in words.items() if word not in replaced})
            check_classes(f"{asked.source}, column {label!r}", known, len(words))
        with session.step(f"learning from a sample, judging {counts.n_rows} rows") as progress:
            with warnings.catch_warnings(), reading_a_table(f"{asked.source}, column {label!r}: ", ValueError):
                warnings.filterwarnings("ignore", "column 'x[0-9]+' gives the label away")
                scoring = partial(score_and_write, asked=asked, folder=folder)
                fitted = fit_in_blocks(model, blocks, progress=progress, scoring=scoring)
            suspects: list[Suspect] = blocks.total(attrgetter("suspects"), Suspect.first, fitted.results)
    written = []
    if folder is not None:
        listed = review_csv([HEADER, *(one.line(asked.label) for one in suspects)])
        written = [str(files.write_file(folder / MOST_SUSPECT, listed, force=session.force)), str(folder)]
    prepared: Any = features.features
    described = [*prepared.describe(), *({"column": name, "becomes": LEFT_OUT} for name in reading.ignore)]
    described += [{"column": name, "becomes": "not used: it says who gave the label"} for name in features.annotators]
    result: dict[str, Any] = {
        "data": {
            "file": asked.source,
            "rows": fitted.summary.n_labelled,
            "id": asked.row_id or "row",
            "columns": described,
        },
        "label": asked.label,
        "unlabelled": unlabelled,
        "notes": label_notes(known, replaced, words),
        "giveaways": [{"column": one.column, "how": one.how} for one in features.found],
        "classes": model.classes_,
        "noise_rate": model.noise_rate_,
        "noise_interval": model.noise_interval_,
        "worth_checking": fitted.summary.n_doubtful,
        "expected_wrong": fitted.summary.n_wrong,
        "suspects": [
            {"row": one.row, "id": one.name, "given": one.given, "suggested": one.other}
            | {"quality": round(one.quality, 4)}
            for one in suspects
        ],
        "diagnostic": model.diagnostic_,
        **what_matters(session, model, prepared.feature_columns),
        "written": written,
    }
    if report is not None:
        with session.step("making the review page"):
            page = _page(asked, model, features.sample, fitted, suspects, result["columns"])
        written.append(str(files.write_file(report, page.encode(), force=session.force)))
    session.show(result, partial(print_label_audit, result=result))


@contextmanager
def _blocks(asked: LargeAudit, features: ChunkFeatures) -> Iterator[Any]:
    if asked.options.cluster is None:
        yield Chunks(partial(_one_after_the_other, asked), features)
        return
    from ..dask_rows.engine import ClusterEngine
    from ..labels.on_dask import Partitions
    from ..papers.on_dask import connected

    with connected(asked.options.cluster) as client:
        import dask

        read, labels = dask.delayed(_whole_part, pure=False), dask.delayed(_labels, pure=False)
        parts = parts_of([path.resolve() for path in asked.paths])
        X = [read(part, asked.named, None) for part in parts]
        y = [labels(read(part, asked.named, asked.label), asked.label) for part in parts]
        yield Partitions(ClusterEngine(client), X, y, [None] * len(parts), features)


def _one_after_the_other(asked: LargeAudit, labels_only: bool) -> Iterator[tuple[Any, Any, Any]]:
    for path in asked.paths:
        only = asked.label if labels_only else None
        for chunk in read_chunks(
            FilePart(path), asked.options.chunk_rows or CHUNK_ROWS, columns=asked.named, only=only
        ):
            yield None if labels_only else chunk, _labels(chunk, asked.label), None


def _labels(chunk: Any, label: str) -> NDArray[Any]:
    return np.asarray(chunk[label].values)


def _whole_part(part: FilePart, columns: Sequence[str], only: str | None) -> Any:
    if not part.path.exists():
        raise FileError(f"there is no file {part.path} on a worker; put the files where all workers find them")
    return files.Table.stacked(list(read_chunks(part, columns=columns, only=only)))


@dataclass
class _WatchedFeatures(ChunkFeatures):
    """Features of chunks, with a warning of columns that give the label away, or say who gave it."""

    label: str = ""
    annotators: tuple[str, ...] = ()

    def learn(self, rows: Any) -> Any:
        others = rows.without([*self.leave_out, *self.kinds])
        if found := find_annotator_columns(others, rows[self.label].values):
            warnings.warn(said_of_annotators(found), stacklevel=2)
            self.annotators, self.leave_out = tuple(found), [*self.leave_out, *found]
        matrix = super().learn(rows)
        assert self.sample is not None
        self.found = find_leaks(self.sample.without(self.leave_out), self.sample[self.label].values)
        for one in self.found:
            warnings.warn(f"{one}: --ignore {one.column!r}", stacklevel=2)
        return matrix


def score_and_write(
    X: Any, y: Any, weight: Any, start: int, known: Any, *, scorer: Any, asked: LargeAudit, folder: Path | None
) -> ScoredChunk:
    """Score the rows of a chunk, and write those that are more likely wrong than right to a file of their own."""
    scored = score_rows(X, y, weight, start, known, scorer=scorer, wide=True)
    assert scored.probabilities is not None
    classes, quality = scorer.model.classes_, scored.quality
    ranked = np.argsort(quality, kind="stable")[: np.count_nonzero(~np.isnan(quality))]  # without a label: last
    rows = ranked[: max(np.count_nonzero(quality < 0.5), SHOWN)]
    chances, own_class = scored.probabilities[rows], classes == np.asarray(y)[rows][:, None]
    others = classes[np.where(own_class, -1.0, chances).argmax(axis=1)]
    written = X[asked.label].labels()
    names = _names(X, rows, start, asked)
    listed = [
        Suspect(float(quality[row]), start + int(row), name, str(written[row]), str(other))
        for row, name, other in zip(rows, names, others, strict=True)
    ]
    if folder is not None:
        doubtful = [one.line(asked.label) for one in listed if one.quality < 0.5]
        files.write_file(folder / f"part-{start:012d}.csv", review_csv([HEADER, *doubtful]), force=True)
    listed = listed[:MOST]
    if asked.options.reviewing.report is not None:  # the first ones have what a page shows of them
        shown = X.take(rows[:PAGE_ROWS]).without(asked.left_out)
        cells = zip(*(shown[name].labels() for name in shown.names), strict=True)
        parts = zip(listed, own_class.argmax(axis=1).tolist(), chances.tolist(), cells, strict=False)
        first = [replace(one, column=code, chances=tuple(likely), cells=own) for one, code, likely, own in parts]
        listed = [*first, *listed[len(first) :]]
    return ScoredChunk(quality, scored.suggested, scored.summary, suspects=tuple(listed))


def _names(chunk: Any, rows: NDArray[np.intp], start: int, asked: LargeAudit) -> list[str]:
    """The names of some rows: their ids, or where they are in their file."""
    if asked.row_id is not None:
        cells = chunk[asked.row_id].labels()
        return [cells[row] for row in rows]
    numbers = [start + int(row) + 1 if chunk.lines is None else int(chunk.lines[row]) for row in rows]
    several = len(asked.paths) > 1
    return [f"{Path(chunk.source).name}:{number}" if several else str(number) for number in numbers]


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


def _page(
    asked: LargeAudit, model: Any, sample: Any, fitted: Fitted, suspects: list[Suspect], weights: dict[str, float]
) -> str:
    """The page of the first suspects of all, beside trusted rows; sums over all blocks say what it says of all rows."""
    from .. import LabelAudit
    from ..report import PageSettings, label_report, render
    from ..review.audit import whole_numbers

    shown = [one for one in suspects if one.cells][:PAGE_ROWS]
    rows = np.flatnonzero(model.label_quality_ > max(TRUSTED, *(one.quality for one in shown)))[:N_TRUSTED]
    trusted = sample.take(rows)
    beside = trusted.without(asked.left_out)
    columns = [
        Column.of(name, [*(one.cells[at] for one in shown), *beside[name].labels()], sample.habits)
        for at, name in enumerate(beside.names)
    ]
    found = np.vstack([[one.chances for one in shown], model.label_probabilities_[rows]])
    likely = model.label_probabilities_[rows].argmax(axis=1)  # the label itself, since it is trusted
    given = np.concatenate([[one.column for one in shown], likely]).astype(np.intp)
    quality, classes = found[np.arange(len(given)), given], np.asarray(model.classes_)
    suggested = classes[suggested_classes(found, given, quality)]
    audit = LabelAudit(classes[given], quality, suggested, found, **figures_of(model))
    names = trusted[asked.row_id].labels() if asked.row_id else ["of the sample"] * len(rows)
    page = label_report(
        audit,
        X=files.Table.of(asked.source, columns),
        ids=[*(one.name for one in shown), *names],
        column_weights=weights or None,
        settings=PageSettings(
            title=asked.source, id_name=asked.row_id or "row", label_name=asked.label, max_rows=len(shown)
        ),
    )
    summary = fitted.summary
    page["suspects"]["row"] = [shown[at].row for at in page["suspects"]["row"]]
    page["summary"]["rates"][0]["n"] = summary.n_labelled
    page["summary"] |= {
        "n": summary.n_labelled,
        "to_check": summary.n_doubtful,
        "expected_wrong": summary.n_wrong,
        "between": list(whole_numbers(model.noise_interval_, summary.n_labelled)),
    }
    page["figures"] |= {"chances": None, "confusions": []}  # the page knows a few rows only
    return render(page)
