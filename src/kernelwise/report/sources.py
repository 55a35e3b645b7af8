"""Who said what, and how good every source is: the data of a review page of several answers per row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noise.sources import Statements, agreement
from ..review import PairAudit
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


def sources_of_pairs(audit: PairAudit) -> list[dict[str, Any]]:
    """The sources of pairs, those with few answers last, and the least accurate first; empty if there are none."""
    if audit.sources is None:
        return []
    order = np.lexsort((audit.sources["accuracy"], audit.sources["n_answers"] < ENOUGH))
    return [
        {
            "source": str(one["source"]),
            "answers": int(one["n_answers"]),
            "accuracy": float(one["accuracy"]),
            "interval": [float(one["low"]), float(one["high"])],
            "errs": [],
        }
        for one in audit.sources[order]
    ]


def agreement_of_pairs(audit: PairAudit) -> tuple[float, float]:
    """How often two answers to the same pair agree, and Krippendorff's alpha; NaN if no pair has two answers."""
    pairs = audit.pairs
    low, high = np.minimum(pairs.rows, pairs.cols), np.maximum(pairs.rows, pairs.cols)
    _, row = np.unique(low * pairs.n_samples + high, return_inverse=True)
    names, source = np.unique(np.asarray(pairs.sources), return_inverse=True)
    said = np.stack([row, source, pairs.labels > 0])
    row, source, label = np.unique(said, axis=1)  # said twice by one source, it counts once
    return agreement(Statements(row, source, label, int(row.max()) + 1, len(names), 2, np.ones(len(names))))


def pair_source_data(audit: PairAudit, listed: NDArray[np.intp], given: NDArray[np.intp]) -> dict[str, Any]:
    """What :func:`source_data` holds, of pairs that were given one by one; ``given`` is the code of each answer."""
    table = sources_of_pairs(audit)
    place = {one["source"]: at for at, one in enumerate(table)}
    raw, alpha = agreement_of_pairs(audit)
    sources = np.asarray(audit.pairs.sources).astype(str)
    return {
        "consensus": False,
        "names": [one["source"] for one in table],
        "table": [
            {"n": one["answers"], "kind": "", "errs": [], "accuracy": one["accuracy"], "interval": one["interval"]}
            for one in table[:MAX_SOURCES]
        ],
        "n_answers": len(audit.pairs),
        "agreement": number(raw),
        "alpha": number(alpha),
        "copies": [],
        "said": [[place[str(sources[at])], int(given[at])] for at in listed.tolist()],
    }
