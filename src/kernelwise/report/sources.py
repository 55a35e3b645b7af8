"""Who said what, and how good every source is: the data of a review page of several answers per row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..review.answers import AnswerAudit
from .plain_data import number, numbers, texts

#: Of so many sources the page shows the figures.
MAX_SOURCES = 300
#: Sources with fewer answers come last: little is known of them.
ENOUGH = 10


def source_data(audit: AnswerAudit, listed: NDArray[np.intp], *, consensus: bool) -> dict[str, Any]:
    """The sources, the least accurate first, how often they agree, and the answers to the listed rows.

    ``said`` has a list for each listed row: source, class, source, class and so on, as positions among ``names`` and
    among the classes. ``consensus`` says whether the labels under review are the consensus of the answers.
    """
    answers = audit.answers
    table = audit.sources[np.lexsort((audit.sources["accuracy"], audit.sources["n_answers"] < ENOUGH))]
    position = {name: at for at, name in enumerate(table["source"].tolist())}
    place = np.array([position[name] for name in answers.source_names.tolist()])[answers.source_index]
    classes = {value: code for code, value in enumerate(audit.classes.tolist())}
    said: list[list[int]] = [[] for _ in range(answers.n_rows)]
    for row, source, label in zip(answers.rows.tolist(), place.tolist(), answers.labels.tolist(), strict=True):
        said[row] += [source, classes[label]]
    return {
        "consensus": consensus,
        "names": texts(table["source"].tolist()),
        "table": [
            {
                "n": int(one["n_answers"]),
                "kind": str(one["kind"]),
                "accuracy": number(one["accuracy"]),
                "interval": numbers([one["low"], one["high"]]),
                "errs": audit.errors_of(one["source"])[:2] if one["n_answers"] >= ENOUGH else [],
            }
            for one in table[:MAX_SOURCES]
        ],
        "n_answers": len(answers),
        "agreement": number(audit.agreement),
        "alpha": number(audit.alpha),
        "copies": [[str(one), str(other), number(share)] for one, other, share in audit.copies],
        "said": [said[row] for row in listed.tolist()],
    }
