"""What an audit of pairs finds: of pairs that speak of classes, and of the links of a graph.

Links are judged by clusters of features smoothed over the links and by a model of classes.

Links differ from pairs that were drawn to ask for classes: some samples have many links, and similar samples are linked
within a class and across classes. Where the features do not tell the communities that the links form, the communities
may be something else than classes, and nothing is known of the share of wrong links.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, pairwise_distances
from sklearn.preprocessing import StandardScaler, normalize

from ...checks import Array, Index, IntArray
from ...links.candidates import leading_directions
from ...links.smoothing import LinkSmoother
from ...progress import Tell, part
from ...spectral import spectral_basis
from ...statements import Pairs
from ...statements.graph import pair_keys
from ...ties import first_best, most_probable
from ..classes.evidence import PairEvidence
from ..classes.features import (
    ClassFeatures,
    NoFeatures,
    StandardColumns,
    fit_columns,
    k_means,
    mostly_zero,
    starting_clusters,
)
from ..classes.results import (
    ENOUGH,
    WIDE_INTERVAL,
    fits_by_count,
    likely_fits,
    noise_intervals,
    noise_of,
    quality_of,
    words_about,
)
from ..classes.search import N_LONG, ClassSearch
from .hidden_classes import ClassFit, PairGraph, fit_classes
from .views import ClassView, class_view, smoothed_embedding

#: What a person can do about a wide range.
REMEDY = "Checking a few dozen pairs, drawn at random, would settle it."


class Judgement(NamedTuple):
    """Chances that pairs share a class (``apart``: without their own labels), intervals of (d_+, d_-), and words."""

    same: Array
    apart: Array
    low: tuple[float, float]
    high: tuple[float, float]
    diagnostic: Mapping[str, Any]


def precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])


#: A number of classes counts in the average if it tells the labels as well as the best up to this many standard errors.
MARGIN = 1.5
#: For the progress: the shares of the time after which the number of classes, and the best classes, are found.
COUNTED, FOUND = 0.5, 0.8


def judge_by_classes(
    X: Any,
    metric: str,
    pairs: Pairs,
    rng: np.random.RandomState,
    truth: IntArray,
    tell: Tell,
    weighed: Pairs | None = None,
) -> Judgement:
    """The chance that each pair shares a class, an average over fits; the intervals are those of the best number.

    One fit is more certain of single pairs than it should be: which of several numbers of classes is right, and where
    two classes meet, differs from fit to fit. ``truth`` is that of :class:`CheckedPairs`. ``weighed`` are
    the same pairs with weights by their sources, from which is learned.
    """
    features: ClassFeatures | NoFeatures = NoFeatures()
    columns = None
    if X is not None:
        columns = fit_columns(X, metric, rng)(X)
        features = ClassFeatures.of_kernels(columns, None, rng)
    labels, index = PairEvidence.of_pairs(pairs if weighed is None else weighed)
    evidence = labels.checked(truth)
    seed = int(rng.randint(2**31))
    likely = likely_fits(fits_by_count(columns, features, evidence, seed, part(tell, 0.0, COUNTED)), MARGIN)
    found = ClassSearch(columns, features, evidence, likely[0].n_used, seed).find(part(tell, COUNTED, FOUND))
    others = []
    for fit in likely:
        others.append(ClassSearch(columns, features, evidence, fit.belief.shape[1], seed).refine(fit, N_LONG))
        part(tell, FOUND, 1.0)(len(others), len(likely))
    every = [found.fit, *others]
    apart = np.mean([fit.apart for fit in every], axis=0)[index]
    # Verdicts are calibrated on afterwards, so what a checked pair is compared with must not know its own verdict.
    same = np.mean([labels.same(fit.apart, fit.rates) for fit in every], axis=0)[index]
    noise = noise_of(quality_of(same, pairs), pairs)
    intervals = noise_intervals(found, noise, float(np.average(pairs.labels > 0, weights=pairs.weights)))
    words = words_about(found, intervals)
    diagnostic = {
        "kind": "classes",
        "reliable": words["reliable"],
        "reason": f"The pairs speak of about {found.fit.n_used} classes. {words['pairs']} {words['features']}"
        + ("" if words["reliable"] else f" {REMEDY}"),
        "n_classes": sorted({fit.n_used for fit in [found.fit, *likely]}),
    }
    ends = np.array([intervals[name] for name in ("precision_positive", "precision_negative")]).T
    each = [noise_of(quality_of(fit.same[index], pairs), pairs) for fit in others]
    precisions = np.array([[one.precision_positive, one.precision_negative] for one in each])
    counts = np.array([(pairs.labels > 0).sum(), (pairs.labels < 0).sum()])
    margins = 2.0 * np.sqrt(precisions * (1.0 - precisions) / counts)
    low = np.minimum(ends[0], (precisions - margins).min(axis=0))
    high = np.maximum(ends[1], (precisions + margins).max(axis=0))
    return Judgement(same, apart, (float(low[0]), float(low[1])), (float(high[0]), float(high[1])), diagnostic)


#: Features are reduced to this many columns.
ROWS_DIM = 200
#: Other features become features of a Gaussian kernel of median width on this many landmarks.
N_LANDMARKS = 300
#: Standardised features are cut at this many standard deviations.
LARGEST_DEVIATION = 4.0
#: Numbers of classes that are tried.
CLASS_COUNTS = (2, 3, 4, 5, 6, 8, 10, 14)
#: Why little is known of links, in the words that users read.
OTHER_REASONS = "The pairs are links, and links are also made for other reasons than a common class."
#: For the progress: the share of the time of fitting before the first model of classes, and the share of the time after
#: the fits in which clusters are found for every fold.
EMBEDDED, VIEWED = 0.05, 0.6
#: Links follow more than classes if similarity improves the prediction of the labels by at least this fraction of the
#: improvement by classes, and the log-likelihood by at least this much, which is beyond chance.
FOLLOWS_MORE, BEYOND_CHANCE = 0.05, 5.0
#: Where links follow more than classes: the weight of the model of classes beside the clusters, and the limit of its
#: log-odds. Without the model of classes, the AUC of wrong links falls by .009 in the mean (13 sets of
#: ``benchmarks/pair_audit.py``).
CLASSES_WEIGHT, LARGEST_ODDS = 0.1, 6.0
#: Communities of links are taken for classes if the features tell at least this share of the communities, and at most
#: this share of the links crosses communities.
LEAST_TOLD, MOST_WRONG = 0.5, 0.4
#: Pairs are links if the number of positive pairs per sample varies this much more than by chance, and pairs drawn at
#: random if it varies less, but at least this much.
LINKED, DRAWN = 1.5, 0.5


def judge_links(
    rows: Array,
    features: ClassFeatures,
    pairs: Pairs,
    fold_of: Index,
    fits: list[ClassFit],
    rng: np.random.RandomState,
    tell: Tell,
) -> Judgement:
    """Judge links by clusters of smoothed features; the model of classes says how many links are wrong."""
    likely = likely_models(fits)
    by_classes = _judge_by_hidden_classes(likely, pairs)
    # If the largest number of classes that was tried is likely, larger numbers might be likely too.
    found = likely[-1].n_classes < fits[-1].n_classes
    classes = class_view(rows, pairs, fold_of, rng, part(tell, 0.0, VIEWED))
    by_clusters = _judge_by_clusters(classes, pairs, likely[0], found)
    by_fewer = _judge_by_hidden_classes([fit for fit in fits if fit.n_classes <= likely[0].n_classes], pairs)
    judged = by_clusters, by_classes, by_fewer
    low, high = np.min([each.low for each in judged], axis=0), np.max([each.high for each in judged], axis=0)
    told = _told_by_features(features, likely[0].classes)
    tell(1, 1)
    wrong = 1.0 - precisions(by_clusters.same, pairs)[0]
    if told >= LEAST_TOLD and wrong <= MOST_WRONG:
        reason = (
            f"{OTHER_REASONS} The links form groups, and the features tell {told:.0%} of what distinguishes these "
            "groups: so the groups are taken for classes."
        )
    else:
        low = np.array([0.0, low[1]])
        reason = (
            f"{OTHER_REASONS} The links form groups, but the features tell {told:.0%} of what distinguishes these "
            f"groups, and {wrong:.0%} of the links join two different groups: so the groups may be something else than "
            "classes."
        )
    width = max(float(top - bottom) for bottom, top in zip(low, high, strict=True))
    reliable = bool(width <= WIDE_INTERVAL)
    if not reliable:
        reason += f" The exact share of wrong links cannot be known from the links alone. {REMEDY}"
    diagnostic = {"kind": "links", "reliable": reliable, "reason": reason}
    return by_clusters._replace(low=tuple(low), high=tuple(high), diagnostic=diagnostic | {"told_by_features": told})


def _told_by_features(features: ClassFeatures, classes: Array) -> float:
    """The share of the information in classes that features tell, each sample left out."""
    shares = classes.mean(axis=0)
    entropy = -float(shares @ np.log(np.maximum(shares, 1e-12)))
    told = features.tell(classes).prior - np.log(np.maximum(shares, 1e-12))
    return float(np.mean((classes * told).sum(axis=1)) / max(entropy, 1e-12))


def link_fits(
    rows: Array, features: ClassFeatures, pairs: Pairs, rng: np.random.RandomState, tell: Tell
) -> list[ClassFit]:
    """The best model of every number of classes, from clusters of smoothed features and of features and pairs."""
    graph, smoothed, seed = PairGraph(pairs), smoothed_embedding(rows, pairs), int(rng.randint(2**31))
    fits: list[ClassFit] = []
    part(tell, 0.0, EMBEDDED)(1, 1)
    fitting = part(tell, EMBEDDED, 1.0)
    for count in CLASS_COUNTS:
        starts = (
            k_means(smoothed[:, : 2 * count], count, 1, rng),
            starting_clusters("features and pairs", rows, features.principal, graph.distinct, count, seed),
        )
        ends = (np.arange(3) / 2 + len(fits)) / len(CLASS_COUNTS)
        both = [
            fit_classes(graph, pairs.labels, clusters, features, part(fitting, *ends[k : k + 2].tolist()))
            for k, clusters in enumerate(starts)
        ]
        fits.append(both[first_best([fit.log_chance.mean() for fit in both])])
        best = first_best([fit.log_chance.mean() for fit in fits])
        if 6 * count > pairs.n_samples or len(fits) - 1 - best >= ENOUGH:
            break
    return fits


def likely_models(fits: list[ClassFit]) -> list[ClassFit]:
    """The models that predict the labels as well as the best one; each is the better one of two starts only."""
    return likely_fits(fits, MARGIN, chance=0.0)


def are_links(fit: ClassFit, rows: Array, hubs: Array, pairs: Pairs) -> bool:
    """Whether pairs follow more than classes, as links do: counts vary beyond chance, or similarity adds to classes."""
    dispersion = _dispersion(most_probable(fit.classes), pairs)
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


def _dispersion(clusters: Index, pairs: Pairs) -> float:
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
    means = np.array([precisions(fit.same, pairs) for fit in likely])
    n_kinds = np.array([(pairs.labels > 0).sum(), (pairs.labels < 0).sum()])
    # As if there were one more right and one more wrong pair of each kind, so that no error is zero.
    margins = 2.0 * np.sqrt((means * (1.0 - means) + 1.0 / n_kinds) / n_kinds)
    low, high = (means - margins).min(axis=0), (means + margins).max(axis=0)
    return Judgement(likely[0].same, likely[0].same, tuple(low), tuple(high), {})


def _judge_by_clusters(classes: ClassView, pairs: Pairs, fit: ClassFit, found: bool) -> Judgement:
    """Rank pairs by clusters; take rates from the model of classes if ``found``, otherwise from clusters."""
    told, same = fit.same if found else classes.joined.mean(axis=0), np.zeros(len(pairs))
    positive = pairs.labels > 0
    odds = np.clip(fit.score, -LARGEST_ODDS, LARGEST_ODDS)
    score = standardised(classes.score) + CLASSES_WEIGHT * standardised(odds)
    for kind in (positive, ~positive):
        own = add_context(score[kind], pairs[kind]) if kind is positive else score[kind]
        same[kind] = soft_logistic(own, told[kind], pairs.weights[kind])
    means = np.array([precisions(row, pairs) for row in classes.joined])
    return Judgement(same, same, tuple(means.min(axis=0)), tuple(means.max(axis=0)), {})


def link_folds(pairs: Pairs, n_folds: int, rng: np.random.RandomState) -> Index:
    """Random folds of about equal size; repetitions of a pair are in the same fold."""
    distinct, inverse = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    return (rng.permutation(len(distinct)) % min(n_folds, len(distinct)))[inverse]


def link_rows(X: Any, metric: str, rng: np.random.RandomState) -> Array:
    """At most 200 columns for every sample; inner products of rows are similarities of samples."""
    if metric == "precomputed":
        basis = spectral_basis(X, min(ROWS_DIM // 4, X.shape[0]), normalize="none", random_state=rng)
        return basis.vectors * np.sqrt(np.maximum(basis.values, 0.0))
    if mostly_zero(X):
        return LinkSmoother(depth=0, n_components=ROWS_DIM, random_state=rng).fit_transform(X)
    scaled = np.clip(StandardColumns.fit(X)(X), -LARGEST_DEVIATION, LARGEST_DEVIATION)
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
