"""The data of the review page of labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import is_missing
from ..noise.sources import Statements, agreement
from ..review import AnswerAudit, CheckPlan, LabelAudit, PairAudit
from . import page_data as plain
from .evidence import (
    Trusted,
    ValueEvidence,
    WordEvidence,
    evidence_of,
    mattering_columns,
    trusted_neighbours,
    trusted_rows,
)
from .page_data import PageSettings, ShownRows, number, numbers, texts

MAX_CHANCES = 5
#: Texts of so many characters on average get the width of the page; shorter ones stand in the table.
LONG_TEXT = 60
#: Of so many sources the page shows the figures.
MAX_SOURCES = 300
#: Sources with fewer answers come last: little is known of them.
ENOUGH = 10
#: A neighbour shows the beginning of its text, so that the file stays small.
MAX_NEAR_TEXT = 800

Evidence = list[ValueEvidence | WordEvidence]


def label_report(
    audit: LabelAudit,
    *,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    kernel_weights: Mapping[str, float] | ArrayLike | None = None,
    column_weights: Mapping[str, float] | None = None,
    history: Iterable[Sequence[float]] | None = None,
    encoded: Any = None,
    images: Sequence[str | None] | None = None,
    neighbours: int | ArrayLike = 3,
    plan: CheckPlan | None = None,
    answers: AnswerAudit | None = None,
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
        The page draws the weights as bars, one click away.
    column_weights : dict of str to float, default=None
        How much each column matters to the model, as shares. By default the page says how much each column tells of the
        labels of trusted rows on its own.
    history : sequence of HistoryRow, default=None
        The bounds by iteration; the page draws the gap between them.
    encoded : array or sparse matrix of shape (n_samples, m), default=None
        The rows as the model saw them: neighbours are near in these numbers. By default in the columns of ``X``, with
        categories and words encoded.
    images : sequence of str, default=None
        The picture of each row, as a link that a browser opens from the page, or None; see :func:`image_links`.
    neighbours : int or array of shape (n_samples, k), default=3
        How many trusted rows of the suggested label to show beside each of the most suspect rows; beside a planned row
        stand half as many, rounded up, of each of the two labels. Or the positions of these rows (-1 for none), for
        instance from :func:`trusted_neighbours`.
    plan : CheckPlan, default=None
        From :func:`plan_checks`: the page leads through these rows first, and shows the guaranteed share of wrong
        labels as verdicts come in.
    answers : AnswerAudit, default=None
        Who said what, and how good every source is; by default ``audit`` itself, if it is of several answers per row.
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
    names, every_column = plain.read_ids(ids, n_rows), plain.shown_rows(X, feature_names, n_rows)
    classes = audit.classes.tolist()
    given, suggested = (_codes(labels, classes) for labels in (audit.labels, audit.alternative))
    values = texts(classes)
    page, listed, shown = plain.review(
        "labels",
        audit,
        settings,
        given=given,
        suggested=suggested,
        rates={"labels": plain.WrongShare(int((given >= 0).sum()), audit.noise_rate, audit.noise_interval)},
        wrong_range=audit.noise_interval,
        kernel_weights=kernel_weights,
        history=history,
        plan=plan,
    )
    trusted = _trusted(audit)
    table = mattering_columns(every_column, trusted, column_weights, settings.max_columns)
    evidence = evidence_of(table, trusted)
    columns = _describe_columns(table, trusted, evidence)
    page["figures"]["columns"] = _mattering(columns, evidence, column_weights)
    pictures = [None] * n_rows if images is None else list(images)
    if len(pictures) != n_rows:
        raise ValueError(f"images has {len(pictures)} links for {n_rows} rows; give one link, or None, for every row")
    top = listed[shown]
    if answers is None and isinstance(audit, AnswerAudit):
        answers = audit
    if answers is not None:
        page["sources"] = source_data(answers, listed, consensus=answers is audit)
    page["suspects"] |= {
        "id": [names[row] for row in listed],
        "features": [plain.cells(column[listed]) for column in table.columns],
        "image": [pictures[row] for row in listed] if any(pictures) else [],
    }
    details = []
    for row, others in zip(top, _near(audit, every_column, encoded, top, neighbours, plan), strict=True):
        near = [
            {"row": int(at), "id": names[at], "label": int(given[at]), "quality": number(audit.quality[at])}
            | ({} if pictures[at] is None else {"image": pictures[at]})
            for at in others[others >= 0]
        ]
        chances = audit.probabilities[row]
        likely = np.argsort(-chances, kind="stable")[:MAX_CHANCES]
        said = {"chances": [[int(code), number(chances[code])] for code in likely]}
        said |= _said(evidence, row, given[row], suggested[row])
        details.append(said | _compare(table, row, near, columns))
    return page | {
        "key": plain.fingerprint(["labels"], names, [values[code] if code >= 0 else "" for code in given]),
        "values": values,
        "names": values,
        "columns": columns,
        "n_columns": len(every_column.names),
        "details": plain.placed(shown, details),
    }


def _codes(labels: NDArray[Any], classes: list[Any]) -> NDArray[np.intp]:
    """The positions of labels among the classes; -1 for a row without a label."""
    places = {value: code for code, value in enumerate(classes)}
    try:
        return np.array([-1 if is_missing(value) else places[value] for value in labels.tolist()], dtype=np.intp)
    except KeyError as missing:
        raise ValueError(f"the audit holds the label {missing.args[0]!r}, which is not one of its classes") from None


def _near(
    audit: LabelAudit,
    table: ShownRows,
    encoded: Any,
    rows: NDArray[np.intp],
    wanted: int | ArrayLike,
    plan: CheckPlan | None,
) -> NDArray[np.intp]:
    """The positions of the neighbours of some rows: those that the user gives, or the nearest trusted rows.

    A suspect is compared with rows of the suggested label. A planned row may be any row, and its verdict must not be
    biased: it is compared with rows of both labels.
    """
    if not isinstance(wanted, int):
        positions = np.asarray(wanted, dtype=np.intp)
        if positions.ndim != 2 or len(positions) != len(audit.labels):
            raise ValueError(
                f"neighbours must be a number or an array of shape ({len(audit.labels)}, k), got {positions.shape}"
            )
        if positions.size and (positions.min() < -1 or positions.max() >= len(audit.labels)):
            raise ValueError(f"neighbours must hold positions of rows below {len(audit.labels)}, or -1 for none")
        return positions[rows]
    matrix = None if wanted == 0 or not len(rows) else table.matrix() if encoded is None else encoded
    if matrix is None:
        return np.empty((len(rows), 0), dtype=np.intp)
    found = trusted_neighbours(audit, matrix, rows, n_neighbors=wanted)
    planned = np.flatnonzero(np.isin(rows, [] if plan is None else plan.rows))
    if not len(planned):
        return found
    each = (wanted + 1) // 2
    of_given = trusted_neighbours(audit, matrix, rows[planned], n_neighbors=each, labels=audit.labels[rows[planned]])
    near = np.full((len(rows), max(wanted, 2 * each)), -1, dtype=np.intp)
    near[:, :wanted] = found
    near[planned] = -1
    near[planned, :each], near[planned, each : 2 * each] = of_given, found[planned, :each]
    return near


def _trusted(audit: LabelAudit) -> Trusted:
    """The rows from which the page learns what is typical of a class: all rows whose label is probably right.

    The best half of a class would not do. The least effect of a column on the qualities, even by chance, decides which
    rows these are, and then the column seems to tell the classes apart.
    """
    codes = np.full(len(audit.labels), -1, dtype=np.intp)
    for code, label in enumerate(audit.classes):
        likely = np.flatnonzero((audit.labels == label) & (audit.quality > 0.5))
        codes[likely if len(likely) else trusted_rows(audit, label)] = code
    return Trusted(codes, len(audit.classes))


def _describe_columns(table: ShownRows, trusted: Trusted, evidence: Evidence) -> list[dict[str, Any]]:
    """The name of each column, and what is typical of the trusted rows of each class.

    For numbers these are the range of most values and the median of each class; for categories the value whose share
    differs most between the classes; for texts the words that speak for each class.
    """
    members = [np.flatnonzero(trusted.codes == code) for code in range(trusted.n_classes)]
    described: list[dict[str, Any]] = []
    for name, column, said in zip(table.names, table.columns, evidence, strict=False):
        if isinstance(said, WordEvidence):
            long = np.mean([len(cell) for cell in texts(column.tolist())]) >= LONG_TEXT
            described.append({"name": name, "kind": "text" if long else "words", "words": said.typical()})
            continue
        if column.dtype.kind in "iuf" and np.isfinite(column).any():
            ends = np.nanquantile(np.where(np.isfinite(column), column, np.nan), [0.01, 0.99])
            parts = [column[rows][np.isfinite(column[rows])] for rows in members]
            medians = [number(np.median(part)) if len(part) else None for part in parts]
            described.append({"name": name, "kind": "number", "range": numbers(ends), "medians": medians})
        else:
            described.append({"name": name, "kind": "value", "typical": said.typical()})
    return described


def _mattering(
    columns: list[dict[str, Any]], evidence: Evidence, weights: Mapping[str, float] | None
) -> dict[str, Any] | None:
    """The share of each column: what the model says, or else what each column tells of trusted labels on its own."""
    if weights is None:
        told = [one.information() for one in evidence[: len(columns)]]
        shares = {at: share / sum(told) for at, share in enumerate(told) if share > 0}
    else:
        shares = {at: float(weights.get(column["name"], 0.0)) for at, column in enumerate(columns)}
        if not all(np.isfinite(share) and share >= 0 for share in shares.values()):
            raise ValueError(f"column_weights must be finite numbers of at least zero, got {weights!r}")
    largest = sorted((at for at in shares if shares[at] > 0), key=lambda at: -shares[at])[: plain.MAX_BARS]
    if not largest:
        return None
    return {"by": "values" if weights is None else "model", "bars": [[at, number(shares[at])] for at in largest]}


def _said(evidence: Evidence, row: int, given: int, suggested: int) -> dict[str, Any]:
    """What each column says for the suggested label against the given one, and the words of texts that say so."""
    if given < 0:
        return {}
    weights: list[float | None] = []
    marks: dict[str, list[list[Any]]] = {}
    for at, one in enumerate(evidence):
        if isinstance(one, WordEvidence):
            marks[str(at)] = one.marked(row, given, suggested)
            weights.append(None)
        else:
            weights.append(round(one.weight(row, given, suggested), 3))
    return {"telling": weights, "marks": marks}


def _compare(table: ShownRows, row: int, near: list[dict[str, Any]], columns: list[dict[str, Any]]) -> dict[str, Any]:
    """The neighbours of a suspect with their values; for sparse rows the largest words, and the words they share."""
    if table.sparse is None:
        if table.columns:
            for neighbour in near:
                values = table.values(neighbour["row"], len(columns))
                neighbour["values"] = [
                    shorten(value) if column["kind"] == "text" else value
                    for value, column in zip(values, columns, strict=True)
                ]
        return {"near": near}
    own = table.words(row)
    for neighbour in near:
        theirs = table.words(neighbour["row"])
        neighbour["shared"] = [word for word in own if word in theirs][: plain.MAX_WORDS]
    return {"near": near, "words": [[word, own[word]] for word in list(own)[: plain.MAX_WORDS]], "n_words": len(own)}


def shorten(value: Any) -> Any:
    """The beginning of a long text.

    >>> shorten("short"), len(shorten("long " * 500))
    ('short', 801)
    """
    return value[:MAX_NEAR_TEXT] + "…" if isinstance(value, str) and len(value) > MAX_NEAR_TEXT else value


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
