"""What the review pages of labels and of pairs have in common, as data."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..supervision import LabelAudit, PairAudit
from ._figures import chance_histogram, confusions, gap_curve, weight_bars
from ._plain import ShownRows, number, numbers, text
from .settings import PageSettings

#: Numbers say how the page reads the data; a page never meets data of another number.
SCHEMA = 1
MAX_WORDS = 30

Index = NDArray[np.intp]


def review(
    kind: str,
    audit: LabelAudit | PairAudit,
    settings: PageSettings,
    *,
    given: Index,
    suggested: Index,
    rates: list[dict[str, Any]],
    kernel_weights: Mapping[str, float] | ArrayLike | None,
    history: Iterable[Sequence[float]] | None,
) -> dict[str, Any]:
    """The head, the headline, the figures and the list of suspects; labels are positions among the values."""
    listed = audit.order[: settings.max_rows]
    to_check = audit.worth_checking(settings.precision)
    return {
        "schema": SCHEMA,
        "kind": kind,
        "title": settings.title,
        "id_name": settings.id_name,
        "label_name": settings.label_name,
        "summary": {
            "n": len(audit.quality),
            "n_listed": len(listed),
            "rates": rates,
            "to_check": to_check,
            "expected_wrong": number((1 - np.sort(audit.quality)[:to_check]).sum()),
        },
        "suspects": {
            "row": listed.tolist(),
            "quality": numbers(audit.quality[listed]),
            "given": given[listed].tolist(),
            "suggested": suggested[listed].tolist(),
        },
        "figures": {
            "chances": chance_histogram(audit.quality, to_check),
            "confusions": confusions(given, suggested),
            "weights": weight_bars(kernel_weights),
            "gap": gap_curve(history),
        },
    }


def words(table: ShownRows, row: int) -> dict[str, float | None]:
    """The non-zero entries of a sparse row by name, the largest first."""
    assert table.sparse is not None
    entries = table.sparse[[row], :].tocoo()
    order = np.argsort(-np.abs(entries.data), kind="stable")
    return {text(table.names[entries.col[k]]): number(entries.data[k]) for k in order}
