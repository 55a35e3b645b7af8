"""The data of the review pages of pairs, and of answers to "are these two records the same?"."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ..review import CheckPlan, LabelAudit, PairAudit, guaranteed_share
from ..review.audit import Interval
from ..statements import Pairs
from ..statements.verdicts import strata_of
from .labels import label_report, pair_source_data
from .page_data import MAX_WORDS, PageSettings, ShownRows, WrongShare, fingerprint, placed, read_ids, review, shown_rows

#: The drawing of a link has room for so many neighbours that both ends share, and that one end has alone.
MAX_COMMON, MAX_OWN = 8, 7


def pair_report(
    audit: PairAudit,
    *,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    kernel_weights: Mapping[str, float] | ArrayLike | None = None,
    history: Iterable[Sequence[float]] | None = None,
    plan: CheckPlan | None = None,
    settings: PageSettings | None = None,
) -> dict[str, Any]:
    """The data of the review page of audited pairs, as a plain dictionary that JSON can hold.

    Parameters
    ----------
    audit : PairAudit
    X : DataFrame, array or sparse matrix of shape (n_samples, n_features), default=None
        The samples that the pairs join, as the reader should see them; of a sparse matrix the non-zero entries are
        shown.
    ids : array-like of shape (n_samples,), default=None
        The names of the samples; their numbers by default.
    feature_names, kernel_weights, history, plan
        As in :func:`label_report`.
    settings : PageSettings, default=None

    Returns
    -------
    dict
        The report that :func:`render` and :func:`write_report` take.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import PairAudit, PairNoise, Pairs
    >>> from kernelwise.report import pair_report
    >>> pairs = Pairs([0, 0, 1], [1, 2, 2], [1, 1, -1], n_samples=3)
    >>> audit = PairAudit(
    ...     pairs, quality=np.array([0.9, 0.2, 0.8]), suggested=np.array([1, -1, -1]),
    ...     noise=PairNoise(0.4, 0.55, 0.8), intervals={"precision_positive": (0.3, 0.7)},
    ... )
    >>> report = pair_report(audit, ids=["ann", "bob", "cem"])
    >>> report["suspects"]["id"][0], report["suspects"]["other"][0]
    ('ann', 'cem')
    """
    settings = settings or PageSettings(title="Pair review")
    pairs = audit.pairs
    if not len(pairs):
        raise ValueError("the audit holds no pairs, so there is nothing to review")
    names, table = read_ids(ids, pairs.n_samples), shown_rows(X, feature_names, pairs.n_samples)
    given = (pairs.labels > 0).astype(np.intp)
    left, right = ([names[row] for row in rows] for rows in (pairs.rows, pairs.cols))
    page, listed, shown = review(
        "pairs",
        audit,
        settings,
        given=given,
        suggested=1 - given,  # what the label should be if it is wrong
        rates=wrong_shares(audit),
        wrong_range=wrong_range(audit),
        kernel_weights=kernel_weights,
        history=history,
        plan=plan,
    )
    ends = {"id": [left[at] for at in listed], "other": [right[at] for at in listed]}
    page["suspects"] |= ends | {"features": []}
    if pairs.sources is not None:
        page["sources"] = pair_source_data(audit, listed, given)
    links = pairs.positive.to_sparse()
    return page | {
        "key": fingerprint(["pairs"], left, right, pairs.labels.astype(str).tolist()),
        "values": ["-1", "1"],
        "names": ["different", "same"],
        "columns": [{"name": name} for name in table.names[: min(len(table.columns), settings.max_columns)]],
        "n_columns": len(table.names),
        "details": placed(
            shown,
            [
                {"graph": _surroundings(links, int(pairs.rows[at]), int(pairs.cols[at]), names)}
                | _compare_ends(table, int(pairs.rows[at]), int(pairs.cols[at]), settings.max_columns)
                for at in listed[shown]
            ],
        ),
    }


def wrong_shares(audit: PairAudit) -> dict[str, WrongShare]:
    """The shares of wrong pairs among those given as same and as different; a kind that was not given is left out."""
    shares = {}
    for sign, name, field in ((1, "same", "precision_positive"), (-1, "different", "precision_negative")):
        if count := int(np.count_nonzero(audit.pairs.labels == sign)):
            right = audit.intervals.get(field)
            interval = None if right is None else (1.0 - right[1], 1.0 - right[0])
            shares[name] = WrongShare(count, 1.0 - getattr(audit.noise, field), interval)
    return shares


def wrong_range(audit: PairAudit) -> Interval | None:
    """The range of the share of wrong pairs: guaranteed by checks, or else over pairs of both kinds; None if unknown.

    Where the audit has a range of its own, it is narrower than that of the two kinds: both ends of the latter assume
    that the errors of both kinds are as many, or as few, as they can be at once.
    """
    if audit.checked is not None and strata_of(audit.checked):
        guarantee = guaranteed_share(audit, audit.checked)
        return guarantee.low, guarantee.high
    if "wrong_interval" in audit.diagnostic:
        low, high = audit.diagnostic["wrong_interval"]
        return float(low), float(high)
    counts, _, intervals = zip(*wrong_shares(audit).values(), strict=True)
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return None
    low, high = np.average(known, axis=0, weights=counts)
    return float(low), float(high)


def _neighbours(links: csr_array, node: int) -> NDArray[Any]:
    return links.indices[links.indptr[node] : links.indptr[node + 1]]


def _surroundings(links: csr_array, left: int, right: int, names: list[str]) -> dict[str, Any]:
    """The neighbours of both ends of a pair, and the links among the neighbours; nodes 0 and 1 are the ends."""
    ends = [left, right]
    around_left, around_right = (np.setdiff1d(_neighbours(links, end), ends) for end in ends)
    common = np.intersect1d(around_left, around_right)
    own = [np.setdiff1d(around, common) for around in (around_left, around_right)]
    shown = [common[:MAX_COMMON], own[0][:MAX_OWN], own[1][:MAX_OWN]]
    nodes = [*ends, *np.concatenate(shown).tolist()]
    place = {node: k for k, node in enumerate(nodes)}
    edges = [
        [place[node], place[other]]
        for node in nodes[2:]
        for other in _neighbours(links, node).tolist()
        if place.get(other, -1) > place[node]
    ]
    return {
        "ids": [names[node] for node in nodes],
        "shown": [len(part) for part in shown],
        "total": [len(common), len(own[0]), len(own[1])],
        "edges": edges,
    }


def _compare_ends(table: ShownRows, left: int, right: int, max_columns: int) -> dict[str, Any]:
    """The values of both ends; for sparse rows the words that both ends have, and the words of one end only."""
    if table.sparse is None:
        return {"ends": [table.values(at, max_columns) for at in (left, right)]} if table.columns else {}
    first, second = table.words(left), table.words(right)
    both = [word for word in first if word in second]
    parts = both, [word for word in first if word not in both], [word for word in second if word not in both]
    return {"words": [part[:MAX_WORDS] for part in parts], "n_words": [len(part) for part in parts]}


def record_report(
    audit: LabelAudit,
    records: Any,
    pairs: Pairs,
    *,
    ids: ArrayLike | None = None,
    plan: CheckPlan | None = None,
    answers: PairAudit | None = None,
    settings: PageSettings | None = None,
) -> dict[str, Any]:
    """The data of the review page of answers, with the two records of each answer side by side.

    Parameters
    ----------
    audit : LabelAudit
        Of the answers, in words.
    records : DataFrame or table of n_samples records
    pairs : Pairs
        The two records of each answer, as positions in ``records``.
    ids, plan, settings
        As in :func:`label_report`: names of the answers, such as the lines of a file.
    answers : PairAudit, default=None
        The audit of the pairs. If they have sources, the page says who gave each answer, and how good every source is.

    Returns
    -------
    dict
        The report that :func:`render` and :func:`write_report` take.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kernelwise import LabelAudit, Pairs
    >>> from kernelwise.report import record_report
    >>> audit = LabelAudit(
    ...     labels=np.array(["same", "other"]), quality=np.array([0.2, 0.9]), suggested=np.array(["other", "other"]),
    ...     probabilities=np.array([[0.8, 0.2], [0.9, 0.1]]), classes=np.array(["other", "same"]), noise_rate=0.45,
    ...     noise_interval=(0.1, 0.7), transition=np.eye(2),
    ... )
    >>> records = pd.DataFrame({"name": ["Anna", "Otto", "Ann"]})
    >>> report = record_report(audit, records, Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    >>> report["details"][0]["ends"]
    [['Anna'], ['Otto']]
    """
    settings = settings or PageSettings()
    page = label_report(audit, ids=ids, plan=plan, settings=settings)
    table = shown_rows(records, None, pairs.n_samples)
    for row, detail in zip(page["suspects"]["row"], page["details"], strict=False):
        if detail is not None:
            ends = (int(end[row]) for end in (pairs.rows, pairs.cols))
            detail["ends"] = [table.values(end, settings.max_columns) for end in ends]
    if answers is not None and answers.pairs.sources is not None:
        listed, given = np.array(page["suspects"]["row"], dtype=np.intp), np.searchsorted(audit.classes, audit.labels)
        page["sources"] = pair_source_data(answers, listed, given)
    columns = [{"name": name} for name in table.names[: settings.max_columns]]
    return page | {"columns": columns, "n_columns": len(table.names)}
