"""Several answers per row, as they stand in files: columns of labels, a column of who gave them, a table of answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..files.errors import FileError
from ..files.links import NOBODY
from ..tables.errors import choices
from .labels import LabelOptions
from .session import Data, Reading, Session, check_classes, features_of, named_rows, read

if TYPE_CHECKING:
    from .. import Answers
    from ..files import Table

#: What the three columns of a table of answers are called, without capitals and signs; the first word that fits counts.
ROLES = {
    "id": "id row line item itemid rowid task taskid text textid document unit docid example exampleid question "
    "questionid image file key",
    "source": "source annotator annotatorid worker workerid rater coder labeler labeller model user userid person "
    "judge who by name rule",
    "label": "label answer class annotation response category vote judgement judgment rating value prediction",
}
#: A column names what was labelled if it has more different values than the first number, and fewer than this share of
#: the rows.
FEW_VALUES, REPEATED = 10, 0.8
#: With fewer answers, a source may have met rare classes alone.
ENOUGH_TO_JUDGE = 10


@dataclass(frozen=True)
class GivenAnswers:
    """Answers and the table that they speak of.

    ``several`` says whether a row may have more than one answer; ``written`` holds the labels of a single column as
    they stand in the file; ``groups`` the group of each row, if rows share their errors.
    """

    answers: "Answers"
    loaded: Data
    several: bool
    written: list[str]
    notes: list[str] = field(default_factory=list)
    groups: list[str] | None = None


class _Said(NamedTuple):
    """Answers as they are written: the row, the source and the label of each."""

    rows: NDArray[np.intp]
    sources: NDArray[Any]
    labels: list[str]


def read_answers(session: Session, asked: LabelOptions, *, found: bool = False) -> GivenAnswers:
    """Read a table and the answers to its rows; the columns of labels and of sources are no features.

    ``found`` says that the column of annotators was found by its name.
    """
    from ..labels.leaks import find_annotator_columns

    reading = asked.reading
    row_id, ignore = reading.row_id, reading.ignore
    listed = None if asked.answers is None else _answer_table(session, asked.answers)
    named = [name for name in (*asked.label, asked.annotator, asked.group) if name is not None]
    if row_id is not None and row_id in named:
        raise FileError(f"--id {row_id} is also named as a column of labels or sources; name the column of ids")
    for name in ignore:
        if name in (*named, row_id):
            raise FileError(f"--ignore {name} is also named by another option; name it once")
    as_written = [name for name in (asked.annotator, row_id, asked.group) if name is not None]
    table = read(session, asked.data, as_written, reading, asked.label)
    if listed is not None and row_id is None and listed.names[0] in table.columns:
        row_id = listed.names[0]
        table = read(session, asked.data, [*as_written, row_id], reading, asked.label)
    for name in ignore:
        table[name]  # a column that is not there is found before anything else is done
    hints: list[str] = []
    if row_id is None and (repeated := _repeated_ids(table, asked, named)) is not None:
        once = f"The column {repeated!r} has the same value in several rows, once for each source"
        if _key(repeated) in ROLES["id"].split() and repeated not in (*ignore, *reading.kinds):
            row_id = repeated
            hints.append(f"{once}: so a row of the file is an answer. If not: --kind {repeated!r}=categorical.")
        else:
            hints.append(
                f"{once}. If it names what was labelled, so that a row of the file is an answer, add --id {repeated!r}."
            )
    long = _one_row_per_answer(table, asked, row_id)
    if found:
        hints.append(
            f"By its name, the column {asked.annotator!r} says who gave each label, so it is the source and not "
            f"learned from. If it is a feature: --kind {asked.annotator!r}=categorical."
        )
    rows = table if long is None else table.take(long[0])
    if long is not None and (varying := _varying(table, *long, [*named, *ignore])):
        hints.append(
            f"The first line of every row counts for the columns that differ between its lines: {', '.join(varying)}."
        )
    id_name, ids = named_rows(rows, row_id)
    positions = np.arange(table.n_rows) if long is None else long[1]
    cells = [label for name in asked.label for label in table[name].labels()]
    sources = [name for name in asked.label for _ in range(table.n_rows)]
    if asked.annotator is not None:
        sources = [cell or NOBODY for cell in table[asked.annotator].labels()]
    said = [_Said(np.tile(positions, len(asked.label)), np.array(sources, dtype=object), cells)]
    if listed is not None:
        said.append(_said_in_table(listed, rows, id_name, ids))
    answers, notes, empty = _answers_of(said, asked, rows.n_rows, str(asked.answers or asked.data), found=found)
    left_out = [*named, *([row_id] if row_id else []), *ignore]
    others = find_annotator_columns(rows.without([*left_out, *reading.kinds]), answers.labels)
    hints += [
        f"By its name, the column {name!r} says who gave labels too, so it is not learned from. If it is a feature: "
        f"--kind {name!r}=categorical."
        for name in others
    ]
    left_out += others
    single = len(asked.label) == 1 and long is None and listed is None
    wanted = files.TableFeatures(leave_out=left_out, scaled=False)
    n_sources = len(answers.source_names)
    classes_of_sources = {*zip(answers.sources.tolist(), answers.labels.tolist(), strict=True)}
    if single and len(classes_of_sources) == n_sources <= len(answers) / 2:
        raise FileError(
            f"{asked.data}: every source in column {asked.annotator!r} gives one label only, and every row has one "
            "answer, so that nothing tells how good the sources are; audit the labels without them: --ignore "
            f"{asked.annotator!r}{'' if found else ' in place of --annotator'}"
        )
    features, matrix = features_of(session, rows, wanted, needed=single)
    if asked.group is not None and matrix is None:
        raise FileError(f"--group {asked.group} is for the models of features, and no feature is left; leave it out")
    loaded = Data(rows, features, matrix, ids, id_name, ignore, unlabelled=empty)
    return GivenAnswers(
        answers,
        loaded,
        several=not single,
        written=rows[asked.label[0]].labels() if single else [],
        notes=[*notes, *hints, *_like_answers(loaded, answers)],
        groups=None if asked.group is None else rows.required(asked.group),
    )


def _one_row_per_answer(
    table: "Table", asked: LabelOptions, row_id: str | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The first line of every row, and the row of every line, if the ids say that lines are answers; None if not."""
    if asked.annotator is None or row_id is None:
        return None
    rows: dict[str, int] = {}
    row = [rows.setdefault(one, len(rows)) for one in table.required(row_id)]
    return None if len(rows) == len(row) else (np.unique(row, return_index=True)[1], np.array(row))


def _repeated_ids(table: "Table", asked: LabelOptions, named: Sequence[str]) -> str | None:
    """A column that seems to name what was labelled: it has a value once for each of several sources."""
    if asked.annotator is None:
        return None
    sources = table[asked.annotator].labels()
    for name, column in table.columns.items():
        cells = column.labels()
        pairs, distinct = set(zip(cells, sources, strict=True)), set(cells)
        if name not in named and len(pairs) == len(cells) and FEW_VALUES < len(distinct) < REPEATED * len(cells):
            return name
    return None


def _varying(table: "Table", first: NDArray[np.intp], place: NDArray[np.intp], named: Sequence[str]) -> list[str]:
    """The columns whose cells differ between the lines of one row."""
    cells = {name: np.array(one.labels(), dtype=object) for name, one in table.columns.items() if name not in named}
    return [name for name, values in cells.items() if (values != values[first][place]).any()]


def _key(name: str) -> str:
    """The name of a column without capitals and signs."""
    return "".join(filter(str.isalnum, name.casefold()))


def _answer_table(session: Session, path: Path) -> "Table":
    """A table of answers whose columns are the id of the row, the source and the label, in this order."""
    names = files.read_table(path).names
    keys = {name: _key(name) for name in names}
    roles = {
        role: next((name for word in words.split() for name in names if keys[name] == word), None)
        for role, words in ROLES.items()
    }
    rest = [name for name in names if name not in roles.values()]
    if len(names) == len(ROLES):  # then the order says what the names do not
        roles = {role: name if name is not None else rest.pop(0) for role, name in roles.items()}
    if lacking := [role for role, name in roles.items() if name is None]:
        raise FileError(
            f"{path} has no column for the {lacking[0]} of every answer; call its columns id, source and label, or "
            f"give these three alone, in this order ({choices('', names)})"
        )
    row, source, label = (str(roles[role]) for role in ROLES)
    table = read(session, path, [row, source], Reading(), label)
    if not table.n_rows:
        raise FileError(f"{path} holds no answer; give a row for every answer")
    return replace(table, columns={name: table.columns[name] for name in (row, source, label)})


def _said_in_table(listed: "Table", rows: "Table", id_name: str, ids: Sequence[str]) -> _Said:
    """The answers of a table of answers, whose ids are those of the rows, or the numbers of rows."""
    name, source, label = listed.names
    cells = listed.required(name)
    if id_name not in rows.columns:
        if name == "row":  # as in a file of corrections: from zero
            ids = [str(row) for row in range(rows.n_rows)]
        elif name != id_name:
            raise FileError(
                f"{listed.source}: the column {name!r} names rows, and no column of {rows.source} does; name that "
                "column by --id, or count the rows in a column 'row' (from 0) or 'line' (as a spreadsheet does)"
            )
    place = {one: row for row, one in enumerate(ids)}
    for at, cell in enumerate(cells):
        if cell not in place:
            known = f"the column {id_name!r} of {rows.source}" if id_name in rows.columns else str(rows.source)
            raise FileError(f"{listed.where(at, name)}: {cell!r} is no row of {known}; {choices(cell, ids)}")
    sources = np.array([cell or NOBODY for cell in listed[source].labels()], dtype=object)
    return _Said(np.array([place[cell] for cell in cells], dtype=np.intp), sources, listed[label].labels())


def _answers_of(
    said: Sequence[_Said], asked: LabelOptions, n_rows: int, where: str, *, found: bool
) -> tuple["Answers", list[str], dict[str, int]]:
    """The answers, sentences about them, and the cells that stand for a missing answer."""
    from .. import Answers

    cells = [label for one in said for label in one.labels]
    sources = np.concatenate([one.sources for one in said])
    labels, notes, empty = _classes_in(cells, where, asked.label)
    answered = labels != None  # noqa: E711  # the comparison is made for every label
    for name in asked.label if asked.annotator is None else ():
        if name not in sources[answered]:
            raise FileError(f"{where}, column {name!r} holds no answer; leave --label {name} out")
    if nameless := int(np.count_nonzero(answered & (sources == NOBODY))):
        notes.append(f"{nameless} answers name no source; they count as those of one source called {NOBODY!r}.")
    known = sorted(set(sources[answered].tolist()))
    if len(known) == 1:
        alone = (
            f"leave --annotator {asked.annotator} out"
            if asked.annotator is not None
            else "audit a table with its labels in a column, named by --label"
        )
        raise FileError(f"{where}: all answers are of one source, {known[0]!r}; {alone}")
    remedy = f"leave the column of sources out: --ignore {asked.annotator!r}" if found else "name other columns"
    _check_same_question(sources[answered], labels[answered], where, remedy)
    rows = np.concatenate([one.rows for one in said])
    notes += _of_numbers(rows[answered], sources[answered], labels[answered], asked.annotator)
    return Answers(rows, sources, labels, n_rows=n_rows, kinds=asked.kinds(known)), notes, empty


def _of_numbers(
    rows: NDArray[np.intp], sources: NDArray[Any], labels: NDArray[Any], annotator: str | None
) -> list[str]:
    """Sentences about answers that are given twice, and about sources with hardly an answer each."""
    given = Counter(zip(rows.tolist(), sources.tolist(), labels.tolist(), strict=True))
    asked = Counter((row, source) for row, source, _ in given)
    notes = []
    if again := given.total() - len(given):
        count = "1 answer is" if again == 1 else f"{again} answers are"
        notes.append(f"{count} given more than once, by the same source to the same row; each counts once.")
    if both := [(row, source) for (row, source), count in asked.items() if count > 1]:
        often = "Once" if len(both) == 1 else f"{len(both)} times"
        notes.append(
            f"{often} a source gives one row different labels ({both[0][1]!r} does); all of them count, although "
            "one at most is right."
        )
    n_sources = len(set(sources.tolist()))
    if len(given) < 2 * n_sources:
        column = (
            ""
            if annotator is None
            else f" If the column {annotator!r} does not say who gave the labels, name the one that does."
        )
        notes.append(
            f"{n_sources} sources gave {len(given)} answers: too few from each to tell how good any of them is.{column}"
        )
    return notes


def _classes_in(
    cells: Sequence[str], where: str, columns: Sequence[str]
) -> tuple[NDArray[Any], list[str], dict[str, int]]:
    """The classes in the cells of all sources, None where there is none; sentences about them; and the empty cells."""
    from ..labels.given import codes_missing_label, group_numbers
    from ..labels.spellings import join_spellings, label_notes, typing_errors, without_missing_words

    labels, empty = without_missing_words(cells)
    before = Counter(label for label in labels.tolist() if label is not None)
    if codes_missing_label(before):
        empty["-1"] = before.pop("-1", 0)
        labels[labels == "-1"] = None
    if not before:
        raise FileError(f"{where} holds no answer: all cells of labels are empty; fill them in, or name other columns")
    if group_numbers(labels.tolist()) is not None:
        raise FileError(
            f"{where}: the answers are {len(before)} different numbers, which look like amounts; several answers per "
            "row must be classes, so put the numbers into a few groups first"
        )
    labels, joined = join_spellings(labels)
    counts = Counter(label for label in labels.tolist() if label is not None)
    part = len(labels) // max(len(columns), 1)
    most = max((len({*cells[k * part : (k + 1) * part]}), name) for k, name in enumerate(columns or [where]))
    which = f"column {most[1]!r} alone holds {most[0]}; " if len(columns) > 1 else ""
    check_classes(f"{where}: what all sources say", counts, len(before), "answers", which)
    errors = typing_errors(labels)
    notes = [
        note.replace(" row)", " answer)").replace(" rows)", " answers)")
        for note in label_notes(counts, joined, before, errors)
    ]
    noted = " ".join(notes)
    notes += [
        f"The label {label!r} stands in one answer of {counts.total()}, and is a class of its own; if it is a mistake, "
        "correct it or leave the cell empty."
        for label, count in counts.items()
        if count == 1 and repr(label) not in noted
    ]
    if empty.get("-1"):
        notes.append(
            f"-1 ({empty['-1']} cells) beside the classes 0, 1, ... is taken for no answer. If it is a class, write it "
            "as a word."
        )
    notes += [
        f"{word!r} ({count} cells) is taken for no answer." for word, count in empty.items() if word not in ("", "-1")
    ]
    return np.array([errors.get(label, label) for label in labels.tolist()] + [None], dtype=object)[:-1], notes, empty


def _check_same_question(sources: NDArray[Any], labels: NDArray[Any], where: str, remedy: str) -> None:
    """Refuse a source whose classes nobody else knows: its column answers another question."""
    classes = {name: set(labels[sources == name].tolist()) for name in sorted(set(sources.tolist()))}
    for name, own in sorted(classes.items(), key=lambda item: -len(item[1])):
        others = set().union(*(some for other, some in classes.items() if other != name))
        if len(own) > 1 and not own & others and np.count_nonzero(sources == name) >= ENOUGH_TO_JUDGE:
            said = ", ".join(repr(label[:30]) for label in sorted(own)[:3])
            raise FileError(
                f"{where}: {name!r} says {said}, and no other source does: the sources must answer the same question "
                f"in the same words; {remedy}"
            )


def _like_answers(loaded: Data, answers: "Answers") -> list[str]:
    """Warnings of columns of features that hold the words of the answers: another source, or made from answers."""
    from ..tables.notation import find_truth

    classes = [str(name) for name in answers.classes.tolist()]
    if not all(any(map(str.isalpha, name)) for name in classes) or find_truth(classes):
        return []
    used = {name for name, *_ in loaded.features.steps_}
    return [
        f"The column {name!r} holds the same words as the answers, and is learned from. If it is another source, add "
        f"--label {name!r}; if it was made from answers, or is the truth, add --ignore {name!r}."
        for name, column in loaded.table.columns.items()
        if name in used and len(words := {*column.labels()} - {""}) > 1 and words <= {*classes}
    ]
