"""Find wrong pairs and estimate how many pairs are wrong, without any checked pair."""

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, pairwise_distances
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import check_array, check_random_state

from ...checks import check_choice, check_count
from ...links.clustering import leading_directions
from ...links.smoothing import LinkSmoother
from ...samples import n_rows, power_of_two, tidy
from ...spectral import spectral_basis
from ...supervision import PairAudit, PairNoise, Pairs
from ...supervision.graph import key_pairs, pair_keys, sorted_distinct, unlinked_keys
from ...supervision.resolve import resolve_pairs
from .hidden_classes import ClassFit, PairGraph, best_count, fit_classes, fits_of_fewer, likely_fits, scaled_features
from .views import (
    CORE_DIM,
    activity,
    class_view,
    core_embedding,
    nearest_clusters,
    pair_factors,
    signed_embedding,
    smoothed_embedding,
)

__all__ = ["audit_pairs"]

Array = NDArray[np.float64]

#: Features are reduced to this many columns.
ROWS_DIM = 200
#: Sparse data, and dense data with at most this fraction of non-zero entries, is treated as words.
DENSEST_WORDS = 0.2
#: Other features become features of a Gaussian kernel of median width on this many landmarks.
N_LANDMARKS = 300
#: Standardised features are cut at this many standard deviations.
LARGEST_DEVIATION = 4.0
#: Numbers of classes that are tried.
CLASS_COUNTS = (2, 3, 4, 5, 6, 8, 10, 14)
#: Links follow more than classes if similarity improves the prediction of the labels by at least this fraction of the
#: improvement by classes, and the log-likelihood by at least this much, which is beyond chance.
FOLLOWS_MORE, BEYOND_CHANCE = 0.05, 5.0
#: Where links follow more than classes: the weight of the model of classes beside the clusters, and the limit of its
#: log-odds.
CLASSES_WEIGHT, LARGEST_ODDS = 0.1, 6.0
#: The least number of pairs.
LEAST_PAIRS = 10


def audit_pairs(
    X: Any,
    pairs: Pairs,
    *,
    metric: Literal["features", "precomputed"] = "features",
    n_folds: int = 10,
    random_state: Any = None,
) -> PairAudit:
    r"""Find wrong pairs among given pairs, and estimate how many pairs are wrong, without any checked pair.

    Every sample has an unknown class. Pairs given as + or - occur within and between classes at four unknown rates, and
    features carry information about the classes. Classes and rates are learned together, by belief propagation: true
    labels are transitive, so that contradictions between pairs show how many pairs are wrong. The number of classes is
    the smallest number that predicts the given labels, each label left out, as well as the best number up to 1.5
    standard errors.

    Links of real graphs do not follow classes alone: samples with similar features are linked within a class and across
    classes. Then similarity predicts the labels better than classes do. In this case links are ranked by clusters of
    the features smoothed over the links, where the fold of the link itself is left out. A link also looks worse if the
    other links of its two samples look bad. The model of classes still gives the number of wrong links if it finds the
    number of classes, that is, if the largest number that was tried is not among the likely ones. Otherwise the
    fraction of wrong links is the fraction of links between clusters, averaged over numbers of clusters.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features), or None
        Features; words may be sparse counts. None: pairs are compared with each other only, which needs many pairs per
        sample.
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
        ``quality`` of every pair, ``order``, ``suggested`` labels, ``noise`` (a :class:`PairNoise`) and ``intervals``.
        The prior is that of the given pairs, :math:`p_+ = d_+ \Pr(\hat Y = +) + (1 - d_-) \Pr(\hat Y = -)`.

    Notes
    -----
    The intervals include twice the standard error around the estimates of all likely numbers of classes. Where links
    follow more than classes, groups within a class can look like classes, so the intervals also include the estimates
    of all smaller numbers of classes, and of 4 to 12 clusters.

    If neither features nor links separate two classes, only checked pairs can find wrong links between these classes:
    among the citations of Citeseer 26 % are wrong, and 20 % are found to be wrong. If some of the pairs of such a graph
    are flipped in addition, its clusters blur, and too many links look wrong, by up to a tenth of all links. The same
    happens to the model of classes where features are weak and links are few.

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
    n_samples = pairs.n_samples if X is None and isinstance(pairs, Pairs) else n_rows(X)
    check_choice("metric", metric, ("features", "precomputed"))
    check_count("n_folds", n_folds, least=2)
    given = resolve_pairs(pairs, None, n_samples, random_state=None, both_kinds=False)
    assert given is not None
    rng = check_random_state(random_state)
    learned = _with_non_links(given, rng)
    if len(learned) < LEAST_PAIRS:
        raise ValueError(f"{len(given)} pairs are too few to judge each other; give at least {LEAST_PAIRS}")
    rows = None if X is None else _rows(X, metric, rng)
    fold_of = _folds(learned, n_folds, rng)
    return _summary(_judge(rows, learned, fold_of, rng), given, learned)


class Judgement(NamedTuple):
    """The chance that each pair truly shares a class, and intervals of (d_+, d_-)."""

    same: Array
    low: tuple[float, float]
    high: tuple[float, float]


def _judge(rows: Array | None, pairs: Pairs, fold_of: NDArray[np.intp], rng: np.random.RandomState) -> Judgement:
    """Judge pairs by the model of classes, or by clusters if links follow more than classes."""
    fits = _fits(rows, pairs, fold_of, rng)
    likely = likely_fits(fits)
    by_classes = _judge_by_classes(likely, pairs)
    if rows is None or not _follows_more(likely[0], rows, activity(pairs, fold_of), pairs):
        return by_classes
    # If the largest number of classes that was tried is likely, larger numbers might be likely too.
    found = max(fit.n_classes for fit in likely) < max(fit.n_classes for fit in fits)
    by_clusters = _judge_by_clusters(rows, pairs, fold_of, likely[0], found, rng)
    by_fewer = _judge_by_classes(fits_of_fewer(fits, likely[0].n_classes), pairs)
    judged = by_clusters, by_classes, by_fewer
    low, high = np.min([each.low for each in judged], axis=0), np.max([each.high for each in judged], axis=0)
    return Judgement(by_clusters.same, tuple(low), tuple(high))


def _fits(rows: Array | None, pairs: Pairs, fold_of: NDArray[np.intp], rng: np.random.RandomState) -> list[ClassFit]:
    """Models with several numbers of classes, each from several clusterings."""
    graph, features = PairGraph(pairs), None
    if rows is None:
        starts = [signed_embedding(pairs, rng)]
    else:
        features = scaled_features(rows @ leading_directions(rows, CORE_DIM)[1])
        factors = pair_factors(core_embedding(rows, pairs, fold_of), pairs)
        starts = [factors, smoothed_embedding(rows, pairs)]
    fits: list[ClassFit] = []
    for count in CLASS_COUNTS:
        clusters = [nearest_clusters(start[:, : 2 * count], count, rng) for start in starts]
        fits += [fit_classes(graph, pairs.labels, start, features, rng) for start in clusters]
        # Stop when three numbers of classes above the best number predict the labels worse.
        if 6 * count > pairs.n_samples or len({fit.n_classes for fit in fits if fit.n_classes > best_count(fits)}) > 2:
            break
    return fits


def _follows_more(fit: ClassFit, rows: Array, hubs: Array, pairs: Pairs) -> bool:
    """Whether similarity improves the prediction of the labels by classes and by the activity of both samples."""
    unit = normalize(rows)
    similarity = np.einsum("td,td->t", unit[pairs.rows], unit[pairs.cols])
    chance = np.clip(np.exp(fit.log_chance), 1e-6, 1.0 - 1e-6)
    told = np.where(pairs.labels > 0, 1.0, -1.0) * logit(chance)
    columns: list[Array] = [hubs, told, similarity]
    losses = [_loss(columns[:count], pairs) for count in (1, 2, 3)]
    gain = losses[1] - losses[2]
    return gain > FOLLOWS_MORE * (losses[0] - losses[1]) and gain * len(pairs) > BEYOND_CHANCE


def _loss(columns: list[Array], pairs: Pairs) -> float:
    """Log-loss of the given labels by logistic regression on standardised columns."""
    table = StandardScaler().fit_transform(np.column_stack(columns))
    model = LogisticRegression().fit(table, pairs.labels, sample_weight=pairs.weights)
    return float(log_loss(pairs.labels, model.predict_proba(table), sample_weight=pairs.weights))


def _judge_by_classes(likely: list[ClassFit], pairs: Pairs) -> Judgement:
    precisions = np.array([_precisions(fit.same, pairs) for fit in likely])
    n_kinds = np.array([(pairs.labels > 0).sum(), (pairs.labels < 0).sum()])
    # As if there were one more right and one more wrong pair of each kind, so that no error is zero.
    margins = 2.0 * np.sqrt((precisions * (1.0 - precisions) + 1.0 / n_kinds) / n_kinds)
    low, high = (precisions - margins).min(axis=0), (precisions + margins).max(axis=0)
    return Judgement(likely[0].same, tuple(low), tuple(high))


def _judge_by_clusters(
    rows: Array, pairs: Pairs, fold_of: NDArray[np.intp], fit: ClassFit, found: bool, rng: np.random.RandomState
) -> Judgement:
    """Rank pairs by clusters; take rates from the model of classes if ``found``, otherwise from clusters."""
    classes = class_view(rows, pairs, fold_of, rng)
    told, same = fit.same if found else classes.joined.mean(axis=0), np.zeros(len(pairs))
    positive = pairs.labels > 0
    odds = np.clip(fit.score, -LARGEST_ODDS, LARGEST_ODDS)
    score = standardised(classes.score) + CLASSES_WEIGHT * standardised(odds)
    for kind in (positive, ~positive):
        own = add_context(score[kind], pairs[kind]) if kind is positive else score[kind]
        same[kind] = soft_logistic(own, told[kind], pairs.weights[kind])
    precisions = np.array([_precisions(row, pairs) for row in classes.joined])
    return Judgement(same, tuple(precisions.min(axis=0)), tuple(precisions.max(axis=0)))


def _precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])


def _summary(judged: Judgement, pairs: Pairs, learned: Pairs) -> PairAudit:
    """The audit of the given pairs; drawn non-links are the last of the learned pairs and are left out."""
    d_pos, d_neg = _precisions(judged.same, learned)
    same = judged.same[: len(pairs)]
    share = float(np.average(pairs.labels > 0, weights=pairs.weights))
    quality = np.where(pairs.labels > 0, same, 1.0 - same)
    # The estimate must lie in its interval, also if the interval comes from numbers of clusters.
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
    """The pairs; if all pairs are positive, with as many negative pairs drawn among pairs without a link."""
    if (pairs.labels < 0).all():
        raise ValueError("all pairs are negative (-1), so nothing tells what pairs of one class look like; add some")
    if (pairs.labels < 0).any():
        return pairs
    links = sorted_distinct(pair_keys(pairs.rows, pairs.cols))
    rows, cols = key_pairs(unlinked_keys(links, pairs.n_samples, len(links), rng))
    return pairs + Pairs(rows, cols, np.full(len(rows), -1), n_samples=pairs.n_samples)


def _folds(pairs: Pairs, n_folds: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Random folds of about equal size; repetitions of a pair are in the same fold."""
    distinct, inverse = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    return (rng.permutation(len(distinct)) % min(n_folds, len(distinct)))[inverse]


def _rows(X: Any, metric: str, rng: np.random.RandomState) -> Array:
    """At most 200 columns for every sample; inner products of rows are similarities of samples."""
    X = tidy(check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2))
    if metric == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(f'with metric="precomputed" X must be square, got shape {X.shape}')
        basis = spectral_basis(X, min(ROWS_DIM // 4, X.shape[0]), normalize="none", random_state=rng)
        return basis.vectors * np.sqrt(np.maximum(basis.values, 0.0))
    if sp.issparse(X) or np.count_nonzero(X) <= DENSEST_WORDS * X.size:
        return LinkSmoother(depth=0, n_components=ROWS_DIM, random_state=rng).fit_transform(X)
    near_one = X / power_of_two(np.abs(X).max(axis=0))  # so that variances neither overflow nor vanish
    scaled = np.clip(StandardScaler().fit_transform(near_one), -LARGEST_DEVIATION, LARGEST_DEVIATION)
    sample = scaled[rng.permutation(len(scaled))[:N_LANDMARKS]]
    width = float(np.median(pairwise_distances(sample, metric="sqeuclidean")))
    kernel = Nystroem(gamma=1.0 / max(width, 1e-12), n_components=min(N_LANDMARKS, len(scaled)), random_state=rng)
    features = kernel.fit_transform(scaled)
    return features @ leading_directions(features, ROWS_DIM)[1]


def soft_logistic(score: Array, target: Array, weights: Array) -> Array:
    r"""Probabilities :math:`\sigma(a l + b)`, a >= 0, with the least cross-entropy to soft targets; the means agree."""

    def objective(parameters: Array) -> tuple[float, Array]:
        slope, shift = parameters
        fitted = slope * score + shift
        loss = -weights @ (target * log_expit(fitted) + (1.0 - target) * log_expit(-fitted))
        error = weights * (expit(fitted) - target)
        return float(loss), np.array([error @ score, error.sum()])

    fit = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0.0, 20.0), (-20.0, 20.0)])
    return expit(fit.x[0] * score + fit.x[1])


def standardised(score: Array) -> Array:
    """Scores with mean zero and unit variance; equal scores become zeros."""
    return (score - score.mean()) / max(float(score.std()), 1e-12)


def add_context(score: Array, links: Pairs) -> Array:
    r"""Standardised scores of links plus a score that the other links of both samples predict.

    A sample between classes has many wrong links. Let c be the mean over both samples of the (shrunken) mean score of
    their other links. The score that c predicts by linear regression is added, unless the slope is negative.
    """
    deviation = standardised(score)
    ends = np.concatenate([links.rows, links.cols])
    totals = np.bincount(ends, weights=np.tile(deviation, 2), minlength=links.n_samples)
    counts = np.bincount(ends, minlength=links.n_samples)
    others = [(totals[end] - deviation) / counts[end] for end in (links.rows, links.cols)]
    context = (others[0] + others[1]) / 2.0
    if context.std() < 1e-12:
        return deviation
    slope = float(np.mean((context - context.mean()) * deviation) / context.var())
    return deviation + max(slope, 0.0) * context
