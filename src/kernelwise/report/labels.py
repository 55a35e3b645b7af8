"""The data of the review page of labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import is_missing
from ..supervision import CheckPlan, LabelAudit
from .neighbours import trusted_neighbours
from .plain_data import ShownRows, cells, fingerprint, number, numbers, read_ids, shown_rows, texts
from .review import MAX_WORDS, detailed, placed, review
from .settings import PageSettings

MAX_CHANCES = 5


def label_report(
    audit: LabelAudit,
    *,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    kernel_weights: Mapping[str, float] | ArrayLike | None = None,
    history: Iterable[Sequence[float]] | None = None,
    neighbours: int | ArrayLike = 3,
    plan: CheckPlan | None = None,
    settings: PageSettings | None = None,
) -> dict[str, Any]:
    """The data of the review page of an audit, as a plain dictionary that JSON can hold.

    Parameters
    ----------
    audit : LabelAudit
    X : DataFrame, array or sparse matrix of shape (n_samples, n_features), default=None
        The rows as the reader should see them; of a sparse matrix the non-zero entries are shown.
    feature_names : sequence of str, default=None
        The names of the features; by default the columns of the frame, or x0, x1, ...
    ids : array-like of shape (n_samples,), default=None
        The names of the rows; their numbers by default.
    kernel_weights : dict of str to float, or array, default=None
        The page draws the weights as bars.
    history : sequence of HistoryRow, default=None
        The bounds by iteration; the page draws the gap between them.
    neighbours : int or array of shape (n_samples, k), default=3
        How many trusted rows to show beside each of the most suspect rows, near in the numeric columns of ``X``; or the
        positions of these rows (-1 for none), for instance from :func:`trusted_neighbours` on encoded data.
    plan : CheckPlan, default=None
        From :func:`plan_checks`: the page leads through these rows first, and shows the guaranteed share of wrong
        labels as verdicts come in.
    settings : PageSettings, default=None

    Returns
    -------
    dict
        The report that :func:`render` and :func:`write_report` take.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import LabelAudit
    >>> from kernelwise.report import label_report
    >>> audit = LabelAudit(
    ...     labels=np.array(["ham", "spam", "ham"]), quality=np.array([0.9, 0.8, 0.1]),
    ...     suggested=np.array(["ham", "spam", "spam"]), probabilities=np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]]),
    ...     classes=np.array(["ham", "spam"]), noise_rate=0.4, noise_interval=(0.1, 0.7),
    ...     transition=np.array([[0.9, 0.1], [0.5, 0.5]]),
    ... )
    >>> report = label_report(audit, ids=["a.txt", "b.txt", "c.txt"])
    >>> report["summary"]["to_check"], report["suspects"]["id"]
    (1, ['c.txt', 'b.txt', 'a.txt'])
    """
    settings = settings or PageSettings()
    n_rows = len(audit.labels)
    if not n_rows:
        raise ValueError("the audit holds no labels, so there is nothing to review")
    names, table = read_ids(ids, n_rows), shown_rows(X, feature_names, n_rows)
    classes = audit.classes.tolist()
    given, suggested = (_codes(labels, classes) for labels in (audit.labels, audit.alternative))
    values = texts(classes)
    rates = [
        {
            "name": "labels",
            "n": int((given >= 0).sum()),
            "rate": number(audit.noise_rate),
            "interval": numbers(audit.noise_interval),
        }
    ]
    page = review(
        "labels",
        audit,
        settings,
        given=given,
        suggested=suggested,
        rates=rates,
        kernel_weights=kernel_weights,
        history=history,
        verdict=audit.diagnostic,
        plan=plan,
    )
    listed = np.array(page["suspects"]["row"], dtype=np.intp)
    shown = detailed(listed, plan, settings)
    top = listed[shown]
    page["suspects"] |= {
        "id": [names[row] for row in listed],
        "features": [cells(column[listed]) for column in table.columns[: settings.max_columns]],
    }
    return page | {
        "key": fingerprint(["labels"], names, [values[code] if code >= 0 else "" for code in given]),
        "values": values,
        "names": values,
        "columns": _describe_columns(table, given, audit.quality, len(classes), settings.max_columns),
        "n_columns": len(table.names),
        "details": placed(
            shown,
            [
                {"chances": _chances(audit.probabilities[row])}
                | _compare(table, row, [at for at in others if at >= 0], names, audit.quality, settings.max_columns)
                for row, others in zip(top, _near(audit, table, top, neighbours), strict=True)
            ],
        ),
    }


def _codes(labels: NDArray[Any], classes: list[Any]) -> NDArray[np.intp]:
    """The positions of labels among the classes; -1 for a row without a label."""
    places = {value: code for code, value in enumerate(classes)}
    try:
        return np.array([-1 if is_missing(value) else places[value] for value in labels.tolist()], dtype=np.intp)
    except KeyError as missing:
        raise ValueError(f"the audit holds the label {missing.args[0]!r}, which is not one of its classes") from None


def _chances(probabilities: NDArray[np.float64]) -> list[list[float | None]]:
    likely = np.argsort(-probabilities, kind="stable")[:MAX_CHANCES]
    return [[int(code), number(probabilities[code])] for code in likely]


def _near(audit: LabelAudit, table: ShownRows, rows: NDArray[np.intp], wanted: int | ArrayLike) -> NDArray[np.intp]:
    """The positions of the neighbours of some rows: those that the user gives, or the nearest trusted rows."""
    if not isinstance(wanted, int):
        positions = np.asarray(wanted, dtype=np.intp)
        if positions.ndim != 2 or len(positions) != len(audit.labels):
            raise ValueError(
                f"neighbours must be a number or an array of shape ({len(audit.labels)}, k), got {positions.shape}"
            )
        if positions.size and (positions.min() < -1 or positions.max() >= len(audit.labels)):
            raise ValueError(f"neighbours must hold positions of rows below {len(audit.labels)}, or -1 for none")
        return positions[rows]
    matrix = table.matrix()
    if matrix is None or wanted == 0 or not len(rows):
        return np.empty((len(rows), 0), dtype=np.intp)
    return trusted_neighbours(audit, matrix, rows, n_neighbors=wanted)


def _describe_columns(
    table: ShownRows, given: NDArray[np.intp], quality: NDArray[np.float64], n_classes: int, max_columns: int
) -> list[dict[str, Any]]:
    """The name of each column; for numbers also the range of most values, and the median of each class.

    The medians are those of the more trusted half of each class.
    """
    members = [np.flatnonzero(given == code) for code in range(n_classes)]
    trusted = [rows[quality[rows] >= np.median(quality[rows])] if len(rows) else rows for rows in members]
    described: list[dict[str, Any]] = []
    for name, column in zip(table.names, table.columns[:max_columns], strict=False):
        known = column[np.isfinite(column)] if column.dtype.kind in "iuf" else None
        if known is None or not len(known):
            described.append({"name": name})
            continue
        medians = [column[rows][np.isfinite(column[rows])] for rows in trusted]
        described.append(
            {
                "name": name,
                "range": numbers(np.quantile(known, [0.01, 0.99])),
                "medians": [number(np.median(part)) if len(part) else None for part in medians],
            }
        )
    return described


def _compare(
    table: ShownRows, row: int, others: list[int], names: list[str], quality: NDArray[np.float64], max_columns: int
) -> dict[str, Any]:
    """The neighbours of a suspect with their values; for sparse rows the largest words, and the words they share."""
    near: list[dict[str, Any]] = [{"row": int(at), "id": names[at], "quality": number(quality[at])} for at in others]
    if table.sparse is None:
        if table.columns:
            for neighbour, at in zip(near, others, strict=True):
                neighbour["values"] = table.values(at, max_columns)
        return {"near": near}
    own = table.words(row)
    for neighbour, at in zip(near, others, strict=True):
        theirs = table.words(at)
        neighbour["shared"] = [word for word in own if word in theirs][:MAX_WORDS]
    return {"near": near, "words": [[word, own[word]] for word in list(own)[:MAX_WORDS]], "n_words": len(own)}
