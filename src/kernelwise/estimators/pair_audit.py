"""Which pairs are wrong, and how many of them, with nothing checked."""

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, pairwise_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_random_state

from ..spectral import spectral_basis
from ..supervision import PairAudit, PairNoise, Pairs
from ..supervision.graph import key_pairs, pair_keys, sorted_distinct, unlinked_keys
from ..supervision.resolve import resolve_pairs
from ._pair_truth import NoiseModel, add_context, fit_noise_model, soft_logistic
from ._pair_views import ClassView, activity, class_view, core_view, factor_view, graph_view
from .link_smoothing import LinkSmoother
from .linked_clustering import leading_directions

__all__ = ["audit_pairs"]

Array = NDArray[np.float64]

#: Columns of features of which pairs are judged.
ROWS_DIM = 200
#: Sparse data, or with at most this fraction of non-zero entries, is used as it is or as words.
DENSEST_WORDS = 0.2
#: Dense features become those of a Gaussian kernel of median width on this many landmarks.
N_LANDMARKS = 300
#: Standardised features are cut at this many standard deviations.
LARGEST_DEVIATION = 4.0
#: Rates of the curve below this are none.
LEAST_RATE = 0.03
#: Clusters suffice if they tell this fraction of what the other scores tell of the given labels.
SUFFICIENT = 0.85
#: Pairs needed to learn from.
LEAST_PAIRS = 10


def audit_pairs(
    X: Any,
    pairs: Pairs,
    *,
    metric: Literal["features", "precomputed"] = "features",
    n_folds: int = 10,
    random_state: Any = None,
) -> PairAudit:
    r"""Find the wrong ones among given pairs, and estimate how many are wrong, without any checked pair.

    Every pair is scored with its own fold of pairs left out, so that it never vouches for itself; a pair that is given
    several times is always in one fold. The scores come from

    - clusters of the features smoothed over the positive pairs,
    - a bilinear form :math:`z_i^\top M z_j` of the features fitted to the labels, and factors near it,
    - the eigenvectors of the signed matrix of pairs.

    The latter two, stacked by logistic regression, are used unless the clusters alone tell the given labels clearly
    better. The noise is then read off a noisy logistic curve,

    .. math:: \Pr(\hat Y = + \mid l) = e_- + (1 - e_+ - e_-)\, \sigma(a (l - c)),

    which rises from :math:`e_-` to :math:`1 - e_+`. Links of real graphs follow more than classes: hardly any has a low
    score, and the curve starts at zero, though it does not end at one, because some non-links share a class. If
    clusters tell the labels nearly as well as the other scores, the fraction of wrong links is then taken to be that
    of links between clusters, averaged over numbers of clusters, and links look worse where the other links of their
    ends do.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features), or None
        Features; words may be sparse counts. None: the pairs are judged by each other alone, which takes many pairs
        per sample.
    pairs : Pairs
        Links with non-links drawn at random (:meth:`Pairs.from_graph`), links alone, must-link and cannot-link pairs,
        or known pairs of a completion.
    metric : {"features", "precomputed"}, default="features"
        "precomputed": X is a symmetric similarity of shape (n_samples, n_samples).
    n_folds : int, default=10
    random_state : int, RandomState or None, default=None

    Returns
    -------
    PairAudit
        ``quality`` per pair, ``order``, ``suggested`` labels, ``noise`` (a :class:`PairNoise`), its ``intervals``.
        The prior is that of the given pairs, :math:`p_+ = d_+ \Pr(\hat Y = +) + (1 - d_-) \Pr(\hat Y = -)`.

    Notes
    -----
    The intervals hold under the model. Where clusters are counted they span the numbers of clusters from 4 to 12.
    Time and memory grow linearly with samples and pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs, audit_pairs
    >>> y = np.repeat([0, 1, 2], 50)
    >>> X = np.eye(3)[y] + 0.3 * np.random.RandomState(0).randn(150, 3)
    >>> pairs = Pairs.from_labels(y, n_pairs=1000, random_state=0).flip(0.1, random_state=0)
    >>> audit = audit_pairs(X, pairs, random_state=0)
    >>> wrong = pairs.labels != pairs.true_labels(y)
    >>> bool(wrong[audit.order[:50]].mean() > 0.9)
    True
    """
    n_samples = pairs.n_samples if X is None and isinstance(pairs, Pairs) else _n_samples(X)
    _check_options(metric, n_folds)
    given = resolve_pairs(pairs, None, n_samples, random_state=None, both_kinds=False)
    assert given is not None
    rng = check_random_state(random_state)
    learned = _with_non_links(given, rng)
    if len(learned) < LEAST_PAIRS:
        raise ValueError(f"{len(given)} pairs are too few to judge each other; give at least {LEAST_PAIRS}")
    rows = None if X is None else _rows(X, metric, rng)
    fold_of = _folds(learned, n_folds, rng)
    return _summary(_judge(rows, learned, fold_of, rng), given, learned)


class Evidence(NamedTuple):
    """One score per pair, higher for the same class, and the log-loss of the given labels by it."""

    score: Array
    loss: float


class Judgement(NamedTuple):
    """The chance that each pair truly shares a class, and intervals of (d_+, d_-)."""

    same: Array
    low: tuple[float, float]
    high: tuple[float, float]


def _judge(rows: Array | None, pairs: Pairs, fold_of: NDArray[np.intp], rng: np.random.RandomState) -> Judgement:
    """By the pair scores, unless clusters tell the given labels clearly better, or as well and links follow more."""
    views = [graph_view(pairs, fold_of, rng)]
    hubs = activity(pairs, fold_of)[:, None]
    if rows is None:
        by_pairs = _stack(views[0], hubs, pairs)
        return _judge_by_curve(by_pairs.score, fit_noise_model(by_pairs.score, pairs.labels, pairs.weights, rng), pairs)
    core, embeddings = core_view(rows, pairs, fold_of)
    views += [core[:, None], factor_view(embeddings, pairs, fold_of)[:, None]]
    by_pairs = _stack(np.hstack(views), hubs, pairs)
    classes = class_view(rows, pairs, fold_of, rng)
    by_classes = _stack(classes.score[:, None], hubs, pairs)
    loss_by_chance = _stack(hubs[:, :0], hubs, pairs).loss
    told_by_pairs, told_by_classes = loss_by_chance - by_pairs.loss, loss_by_chance - by_classes.loss
    curves = [fit_noise_model(evidence.score, pairs.labels, pairs.weights, rng) for evidence in (by_pairs, by_classes)]
    no_noise = max(curve.rates[0] for curve in curves) < LEAST_RATE <= curves[1].rates[1]
    if no_noise and told_by_classes > SUFFICIENT * told_by_pairs:
        return _judge_by_clusters(by_classes.score, classes, pairs)
    if SUFFICIENT * told_by_classes > told_by_pairs:
        return _judge_by_curve(by_classes.score, curves[1], pairs)
    return _judge_by_curve(by_pairs.score, curves[0], pairs)


def _stack(views: Array, hubs: Array, pairs: Pairs) -> Evidence:
    """Standardised linear score of the views, and the log-loss with what is known of the ends beside them."""
    columns = np.hstack([views, hubs])
    columns = (columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), 1e-12)
    model = LogisticRegression().fit(columns, pairs.labels, sample_weight=pairs.weights)
    loss = log_loss(pairs.labels, model.predict_proba(columns), sample_weight=pairs.weights)
    score = columns[:, :-1] @ model.coef_[0, :-1]
    return Evidence((score - score.mean()) / max(float(score.std()), 1e-12), float(loss))


def _judge_by_curve(score: Array, model: NoiseModel, pairs: Pairs) -> Judgement:
    n_positive, n_negative = _counts(pairs)
    same = model.truth(score, n_positive, n_negative)
    likely = (model.truth(score, n_positive, n_negative, other) for other in model.others)
    precisions = np.array([_precisions(other, pairs) for other in likely])
    return Judgement(same, tuple(precisions.min(axis=0)), tuple(precisions.max(axis=0)))


def _judge_by_clusters(score: Array, classes: ClassView, pairs: Pairs) -> Judgement:
    joined, same = classes.joined.mean(axis=0), np.zeros(len(pairs))
    positive = pairs.labels > 0
    for kind in (positive, ~positive):
        own = add_context(score[kind], pairs[kind]) if kind is positive else score[kind]
        same[kind] = soft_logistic(own, joined[kind], pairs.weights[kind])
    precisions = np.array([_precisions(row, pairs) for row in classes.joined])
    return Judgement(same, tuple(precisions.min(axis=0)), tuple(precisions.max(axis=0)))


def _precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])


def _counts(pairs: Pairs) -> tuple[Array, Array]:
    """How often the ends of each pair are given as + and as -, in either order."""
    _, inverse = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    positive = np.bincount(inverse, weights=(pairs.labels > 0).astype(np.float64)).astype(np.float64)
    negative = np.bincount(inverse).astype(np.float64) - positive
    return positive[inverse], negative[inverse]


def _summary(judged: Judgement, pairs: Pairs, learned: Pairs) -> PairAudit:
    """The audit of the given pairs; non-links that were drawn come last and are left out."""
    d_pos, d_neg = _precisions(judged.same, learned)
    same = judged.same[: len(pairs)]
    share = float(np.average(pairs.labels > 0, weights=pairs.weights))
    quality = np.where(pairs.labels > 0, same, 1.0 - same)
    # The point belongs to its interval, also where that spans numbers of clusters.
    low = np.clip(np.minimum(judged.low, (d_pos, d_neg)), 0.0, 1.0)
    high = np.clip(np.maximum(judged.high, (d_pos, d_neg)), 0.0, 1.0)
    priors = [share * d[0] + (1.0 - share) * (1.0 - d[1]) for d in ((low[0], high[1]), (high[0], low[1]))]
    prior = share * d_pos + (1.0 - share) * (1.0 - d_neg)
    intervals = {
        "prior": (float(priors[0]), float(priors[1])),
        "precision_positive": (float(low[0]), float(high[0])),
        "precision_negative": (float(low[1]), float(high[1])),
    }
    suggested = np.where(same >= 0.5, 1, -1)
    return PairAudit(pairs, np.clip(quality, 0.0, 1.0), suggested, PairNoise(prior, d_pos, d_neg), intervals)


def _with_non_links(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """The pairs, and where all are positive as many drawn among the others, without which there is no contrast."""
    if (pairs.labels < 0).all():
        raise ValueError("all pairs are negative (-1), so nothing tells what pairs of one class look like; add some")
    if (pairs.labels < 0).any():
        return pairs
    links = sorted_distinct(pair_keys(pairs.rows, pairs.cols))
    rows, cols = key_pairs(unlinked_keys(links, pairs.n_samples, len(links), rng))
    return pairs + Pairs(rows, cols, np.full(len(rows), -1), n_samples=pairs.n_samples)


def _folds(pairs: Pairs, n_folds: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Random folds of about equal size; repetitions of a pair are in the same one."""
    distinct, inverse = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    return (rng.permutation(len(distinct)) % min(n_folds, len(distinct)))[inverse]


def _rows(X: Any, metric: str, rng: np.random.RandomState) -> Array:
    """At most 200 columns for every sample, whose inner products tell how alike samples are."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    if metric == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(f'with metric="precomputed" X must be square, got shape {X.shape}')
        basis = spectral_basis(X, min(ROWS_DIM // 4, X.shape[0]), normalize="none", random_state=rng)
        return basis.vectors * np.sqrt(np.maximum(basis.values, 0.0))
    if sp.issparse(X) or np.count_nonzero(X) <= DENSEST_WORDS * X.size:
        return LinkSmoother(depth=0, n_components=ROWS_DIM, random_state=rng).fit_transform(X)
    scaled = np.clip(StandardScaler().fit_transform(X), -LARGEST_DEVIATION, LARGEST_DEVIATION)
    sample = scaled[rng.permutation(len(scaled))[:N_LANDMARKS]]
    width = float(np.median(pairwise_distances(sample, metric="sqeuclidean")))
    kernel = Nystroem(gamma=1.0 / max(width, 1e-12), n_components=min(N_LANDMARKS, len(scaled)), random_state=rng)
    features = kernel.fit_transform(scaled)
    return features @ leading_directions(features, ROWS_DIM)[1]


def _n_samples(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _check_options(metric: str, n_folds: int) -> None:
    if metric not in ("features", "precomputed"):
        raise ValueError(f'metric must be "features" or "precomputed", got {metric!r}')
    if not isinstance(n_folds, Integral) or isinstance(n_folds, bool) or n_folds < 2:
        raise ValueError(f"n_folds must be an integer of at least 2, got {n_folds!r}")
