"""Columns that say who gave the label.

Such a column is no feature. A model that has it learns which labels each annotator gives, errors included, and then
finds nothing wrong with them. A column is taken for one if a word of its name says so, and if its values behave like
people who label: they are few, and most of them are in several rows.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.columns import Column, Table

#: Words for those who label, in several languages, and for what they have done.
WHO = re.compile(
    "(annotat(e|o)r|label{1,2}er|rater|coder|grader|scorer|assessor|judge|reviewer|(crowd)?worker|turker|tagger|curator|"
    "user|source|annotat(eur|rice|ore)|codeur|[eé]valuateur|annotierer|bewerter(in)?|kodierer(in)?|gutachter(in)?|"
    "pr(ü|ue)fer(in)?|(anotador|etiquetador|codificador|avaliador|evaluador|rotulador)(es)?|valutatore|codificatore|"
    "beoordelaar|codeerder)s?"
)
DONE = re.compile("(annotat|label{1,2}|rat|cod|grad|scor|assess|judg|review|tagg)ed|annot[eé]|annotiert|bewertet")
BY = ("by", "par", "von", "por", "da", "door")
#: What may stand beside a word for those who label: another word makes it the name of something else.
BESIDE = ("id", "ids", "name", "nr", "no", "number", "code", "key", "index", "the", "of", "label", "labels")
#: There are at least this many rows for each value on average.
ROWS_PER_VALUE = 4


def find_annotator_columns(table: Table, labels: NDArray[Any]) -> list[str]:
    """Return the columns of a table that say who gave each label.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.annotators import find_annotator_columns
    >>> from kernelwise.tables.columns import Column, Table
    >>> who = Column("worker_id", "categorical", np.array(["Ann", "Bob"] * 10, dtype=object))
    >>> size = Column("size", "numeric", np.arange(20.0))
    >>> find_annotator_columns(Table.of("table.csv", [who, size]), np.array(["cat", "dog", "dog", "cat"] * 5))
    ['worker_id']
    """
    classes = {str(label) for label in np.asarray(labels).tolist()}
    return [one.name for one in table.columns.values() if names_annotators(one.name) and _behaves(one, classes)]


def names_annotators(name: str) -> bool:
    """Whether the name of a column says that it holds who gave the label.

    >>> [names_annotators(name) for name in ("AnnotatorID", "labelled_by", "worker", "coworkers", "user_age")]
    [True, True, True, False, False]
    """
    words = [word.casefold() for word in re.findall(r"[A-ZÀ-Þ]+(?![a-zà-ÿ])|[A-ZÀ-Þ]?[a-zà-ÿ]+", name)]
    if any(DONE.fullmatch(done) and by in BY for done, by in pairwise(words)):
        return True
    who = [word for word in words if WHO.fullmatch(word)]
    return bool(who) and all(word in BESIDE or word in who for word in words)


def _behaves(column: Column, classes: set[str]) -> bool:
    """Whether the values of a column are few, in several rows each, and no labels themselves."""
    cells = [cell for cell in column.labels() if cell]
    values, counts = np.unique(np.array(cells, dtype=str), return_counts=True)
    if len(values) < 2 or len(cells) < ROWS_PER_VALUE * len(values) or set(values.tolist()) <= classes | {"0", "1"}:
        return False
    numbers = column.values.dtype.kind == "f" and not all(float(cell).is_integer() for cell in values.tolist())
    return not numbers and int(counts[counts > 1].sum()) * 2 > len(cells)


def said_of_annotators(names: list[str]) -> str:
    """What is said of columns that are left out of the features."""
    shown = " and ".join(repr(name) for name in names)
    by_name, says = ("By its name,", "says") if len(names) == 1 else ("By their names,", "say")
    return (
        f"{by_name} {shown} {says} who gave the label, so no feature is made of it: it would "
        "hide who labels badly. To learn how good everybody is, give Answers.from_column(labels, who), or on the "
        "command line kernelwise audit labels --annotator; if it is a feature, give it another name"
    )
