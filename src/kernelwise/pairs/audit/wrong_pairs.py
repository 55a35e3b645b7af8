"""Find wrong pairs and estimate how many pairs are wrong, with checked pairs or without."""

from typing import Any, Literal

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
from ...supervision.graph import pair_keys
from ...supervision.resolve import resolve_pairs
from ...supervision.verdicts import Verdicts
from ..checks import CheckedPairs
from ..classes.features import ClassFeatures
from ..classes.summary import WIDE_INTERVAL
from ..one_kind import with_both_kinds
from ..records.audit import audit_record_pairs
from ..records.recognition import looks_like_records
from .by_classes import judge_by_classes
from .hidden_classes import ClassFit, PairGraph, best_count, fit_classes, fits_of_fewer, likely_fits, scaled_features
from .judgement import Judgement
from .views import (
    CORE_DIM,
    activity,
    class_view,
    core_embedding,
    nearest_clusters,
    pair_factors,
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
#: Communities of links are taken for classes if the features tell at least this share of the communities, and at most
#: this share of the links crosses communities.
LEAST_TOLD, MOST_WRONG = 0.5, 0.4
#: Pairs are links if the number of positive pairs per sample varies this much more than by chance, and pairs drawn at
#: random if it varies less, but at least this much.
LINKED, DRAWN = 1.5, 0.5
#: The least number of pairs.
LEAST_PAIRS = 10
KINDS = ("auto", "classes", "links", "records")


def audit_pairs(
    X: Any,
    pairs: Pairs,
    *,
    metric: Literal["features", "precomputed"] = "features",
    kind: Literal["auto", "classes", "links", "records"] = "auto",
    n_folds: int = 10,
    checked: Verdicts | None = None,
    random_state: Any = None,
) -> PairAudit:
    r"""Find wrong pairs among given pairs, and estimate how many pairs are wrong; no checked pair is needed.

    There are three kinds of pairs, and each kind needs another way.

    - **Classes**: must-link and cannot-link pairs speak of a few classes of samples. Classes, rates of error and a
      classifier of the features are learned together, as in :class:`NoisyPairClustering`. True labels are transitive,
      so that contradictions between pairs show how many pairs are wrong. The chance of a pair is an average over the
      numbers of classes that tell the labels, each label left out, as well as the best number.
    - **Links** of graphs follow more than classes: some samples have many links, and similar samples are linked within
      a class and across classes. Links are ranked by clusters of the features smoothed over the links, where the fold
      of the link itself is left out. If the features tell less than half of the communities that the links form, or
      if many links cross them, the communities may be something else than classes. Then nothing is known of the
      share of wrong links, and the interval and the diagnostic say so.
    - **Records**: the question is whether two records describe the same thing. :func:`audit_record_pairs` judges such
      pairs by how alike the two records are.

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
    kind : {"auto", "classes", "links", "records"}, default="auto"
        What the pairs speak of. "auto" finds out without any label: records if pairs that are given as different were
        chosen because they look alike; links if the number of positive pairs per sample varies more than by chance.
    n_folds : int, default=10
        Folds of links that are left out in turn.
    checked : Verdicts, optional
        What people found who checked some pairs: positions in the list of pairs, with 1 or -1. See :func:`plan_checks`.
        Checked pairs are certain, and they calibrate the qualities of all other pairs. If they were drawn by a plan,
        the intervals are those of :meth:`PairNoise.guaranteed`.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    PairAudit
        ``quality`` of every pair, ``order``, ``suggested`` labels, ``noise`` (a :class:`PairNoise`), ``intervals``, and
        ``diagnostic``: ``kind``, ``reliable`` and ``reason``, which says in words what the audit rests on.
        The prior is that of the given pairs, :math:`p_+ = d_+ \Pr(\hat Y = +) + (1 - d_-) \Pr(\hat Y = -)`.

    Notes
    -----
    Classes that are partly wrong make the rates of error too large and never too small. So the intervals reach further
    down than up, the further the more the answers change if a quarter of the pairs is left out.

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
    check_choice("kind", kind, KINDS)
    check_choice("metric", metric, ("features", "precomputed"))
    check_count("n_folds", n_folds, least=2)
    n_samples = pairs.n_samples if X is None and isinstance(pairs, Pairs) else n_rows(X)
    given = resolve_pairs(pairs, None, n_samples, random_state=None, both_kinds=False)
    assert given is not None
    rng = check_random_state(random_state)
    recognised = kind == "auto" and metric == "features" and looks_like_records(given, X)[0]
    if kind == "records" or recognised:
        return audit_record_pairs(X, given, checked=checked, random_state=rng)
    if (given.labels < 0).all():
        raise ValueError("all pairs are negative (-1), so nothing tells what pairs of one class look like; add some")
    learned = with_both_kinds(given, rng)
    if len(learned) < LEAST_PAIRS:
        raise ValueError(f"{len(given)} pairs are too few to judge each other; give at least {LEAST_PAIRS}")
    keys, index = np.unique(pair_keys(learned.rows, learned.cols), return_inverse=True)
    found = CheckedPairs.of(checked, given, index[: len(given)], len(keys))
    samples = None if X is None else _read(X, metric)

    if kind == "classes" or samples is None:
        return _summary(judge_by_classes(samples, metric, learned, rng, found.truth), given, learned, index, found)
    rows, fold_of = _rows(samples, metric, rng), _folds(learned, n_folds, rng)
    fits = _fits(rows, learned, fold_of, rng)
    if kind == "auto" and not _are_links(likely_fits(fits)[0], rows, activity(learned, fold_of), learned):
        return _summary(judge_by_classes(samples, metric, learned, rng, found.truth), given, learned, index, found)
    return _summary(_judge_links(rows, learned, fold_of, fits, rng), given, learned, index, found)


def _judge_links(
    rows: Array, pairs: Pairs, fold_of: NDArray[np.intp], fits: list[ClassFit], rng: np.random.RandomState
) -> Judgement:
    """Judge links by clusters of smoothed features; the model of classes says how many links are wrong."""
    likely = likely_fits(fits)
    by_classes = _judge_by_hidden_classes(likely, pairs)
    # If the largest number of classes that was tried is likely, larger numbers might be likely too.
    found = max(fit.n_classes for fit in likely) < max(fit.n_classes for fit in fits)
    by_clusters = _judge_by_clusters(rows, pairs, fold_of, likely[0], found, rng)
    by_fewer = _judge_by_hidden_classes(fits_of_fewer(fits, likely[0].n_classes), pairs)
    judged = by_clusters, by_classes, by_fewer
    low, high = np.min([each.low for each in judged], axis=0), np.max([each.high for each in judged], axis=0)
    told = _told_by_features(rows, likely[0].classes, rng)
    wrong = 1.0 - _precisions(by_clusters.same, pairs)[0]
    if told >= LEAST_TOLD and wrong <= MOST_WRONG:
        reason = (
            "The pairs are links, which follow more than classes. The features tell "
            f"{told:.0%} of the communities that the links form, so that communities are taken for classes."
        )
    else:
        low = np.array([0.0, low[1]])
        reason = (
            f"The links form communities of which the features tell {told:.0%}, and {wrong:.0%} of the links cross the "
            "communities. These communities may be something else than classes, so that nothing is known of the share "
            "of wrong links. Checking a few dozen links, drawn at random, would settle it."
        )
    width = max(float(top - bottom) for bottom, top in zip(low, high, strict=True))
    diagnostic = {"kind": "links", "reliable": bool(width <= WIDE_INTERVAL), "reason": reason}
    return by_clusters._replace(low=tuple(low), high=tuple(high), diagnostic=diagnostic | {"told_by_features": told})


def _told_by_features(rows: Array, classes: Array, rng: np.random.RandomState) -> float:
    """The share of the information in classes that features tell, each sample left out."""
    shares = classes.mean(axis=0)
    entropy = -float(shares @ np.log(np.maximum(shares, 1e-12)))
    told = ClassFeatures.of_kernels(rows, None, rng).tell(classes).prior - np.log(np.maximum(shares, 1e-12))
    return float(np.mean((classes * told).sum(axis=1)) / max(entropy, 1e-12))


def _fits(rows: Array, pairs: Pairs, fold_of: NDArray[np.intp], rng: np.random.RandomState) -> list[ClassFit]:
    """Models with several numbers of classes, each from several clusterings."""
    graph = PairGraph(pairs)
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


def _are_links(fit: ClassFit, rows: Array, hubs: Array, pairs: Pairs) -> bool:
    """Whether pairs follow more than classes, as links do.

    Some samples have more links than others of their class beyond chance. Where the number of positive pairs varies by
    chance alone, the pairs were drawn at random and speak of classes. In between, similarity decides: whether it
    improves the prediction of the labels by classes and by the activity of both samples.
    """
    dispersion = _dispersion(fit.classes.argmax(axis=1), pairs)
    if dispersion > DRAWN:
        return dispersion > LINKED
    unit = normalize(rows)
    similarity = np.einsum("td,td->t", unit[pairs.rows], unit[pairs.cols])
    chance = np.clip(np.exp(fit.log_chance), 1e-6, 1.0 - 1e-6)
    told = np.where(pairs.labels > 0, 1.0, -1.0) * logit(chance)
    columns: list[Array] = [hubs, told, similarity]
    losses = [_loss(columns[:count], pairs) for count in (1, 2, 3)]
    gain = losses[1] - losses[2]
    return gain > FOLLOWS_MORE * (losses[0] - losses[1]) and gain * len(pairs) > BEYOND_CHANCE


def _dispersion(clusters: NDArray[np.intp], pairs: Pairs) -> float:
    """The variance of the number of positive pairs per sample of one class, relative to that of random pairs."""
    ends = np.concatenate([pairs.rows, pairs.cols])
    used = np.bincount(ends, minlength=pairs.n_samples) > 0
    counts = np.bincount(ends[np.tile(pairs.labels > 0, 2)], minlength=pairs.n_samples)[used]
    sums, members = np.bincount(clusters[used], weights=counts), np.bincount(clusters[used])
    mean = np.maximum(sums / np.maximum(members, 1), 1e-9)[clusters[used]]
    return float(np.mean((counts - mean) ** 2 / mean))


def _loss(columns: list[Array], pairs: Pairs) -> float:
    """Log-loss of the given labels by logistic regression on standardised columns."""
    table = StandardScaler().fit_transform(np.column_stack(columns))
    model = LogisticRegression().fit(table, pairs.labels, sample_weight=pairs.weights)
    return float(log_loss(pairs.labels, model.predict_proba(table), sample_weight=pairs.weights))


def _judge_by_hidden_classes(likely: list[ClassFit], pairs: Pairs) -> Judgement:
    precisions = np.array([_precisions(fit.same, pairs) for fit in likely])
    n_kinds = np.array([(pairs.labels > 0).sum(), (pairs.labels < 0).sum()])
    # As if there were one more right and one more wrong pair of each kind, so that no error is zero.
    margins = 2.0 * np.sqrt((precisions * (1.0 - precisions) + 1.0 / n_kinds) / n_kinds)
    low, high = (precisions - margins).min(axis=0), (precisions + margins).max(axis=0)
    return Judgement(likely[0].same, likely[0].same, tuple(low), tuple(high), {})


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
    return Judgement(same, same, tuple(precisions.min(axis=0)), tuple(precisions.max(axis=0)), {})


def _precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])


def _summary(
    judged: Judgement, pairs: Pairs, learned: Pairs, index: NDArray[np.intp], found: CheckedPairs
) -> PairAudit:
    """The audit of the given pairs; drawn non-links are the last of the learned pairs and are left out.

    ``index`` is the position of each learned pair among the distinct pairs, of which ``found`` speaks.
    """
    n_given, entry = len(pairs), index[: len(pairs)]
    entries = found._replace(truth=found.truth[entry], weight=found.weight[entry])
    same = entries.calibrated(judged.apart[:n_given], judged.same[:n_given], pairs.labels > 0)
    d_pos, d_neg = _precisions(np.concatenate([same, judged.same[n_given:]]), learned)
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
    noise = PairNoise(prior, d_pos, d_neg)
    diagnostic = {**judged.diagnostic, **found.words(WIDE_INTERVAL)}
    intervals = found.guaranteed(noise, intervals)
    return PairAudit(pairs, np.clip(quality, 0.0, 1.0), suggested, noise, intervals, diagnostic, found.checked)


def _folds(pairs: Pairs, n_folds: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Random folds of about equal size; repetitions of a pair are in the same fold."""
    distinct, inverse = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    return (rng.permutation(len(distinct)) % min(n_folds, len(distinct)))[inverse]


def _read(X: Any, metric: str) -> Any:
    X = tidy(check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2))
    if metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f'with metric="precomputed" X must be square, got shape {X.shape}')
    return X


def _rows(X: Any, metric: str, rng: np.random.RandomState) -> Array:
    """At most 200 columns for every sample; inner products of rows are similarities of samples."""
    if metric == "precomputed":
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
