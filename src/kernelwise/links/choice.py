r"""Do the links help? A choice among candidates, made without labels, by what was left out.

Clusters are good if the parts of the data that were not used to find them still tell of them. A round divides the
columns of the features into two halves and leaves out a fifth of the links. A candidate finds clusters c from the first
half and the kept links. Two figures score the clusters, both in bits and both at most the entropy of c:

- **bits of features**, the mean of :math:`\log_2 p(c_i \mid x_i) - \log_2 p(c_i)`: what the second half of the
  features of a sample tells of its cluster. Here p is a ridge regression on the clusters, with the sample itself left
  out in closed form, and a softmax of its scores.
- **bits of links**, the mean of :math:`\log_2 \big(W_{c_i c_j} / (w_{c_i} w_{c_j})\big)` over the links (i, j) that
  were left out: what the cluster of one end tells of the cluster of the other, given the degrees. Here W is the share
  of kept links between two clusters, with row sums w: the degree-corrected block model.

The sum over all rounds decides whether links are used: only if the best candidate with links tells more than the best
one without by two standard errors of the difference. A candidate with links counts only if links that were left out
tell of its clusters: otherwise it only averages over other samples, and the links have nothing to do with it.

Half of the columns cannot decide small differences between candidates of the same kind. So those with at least nine
tenths of the most bits are finalists, each finds clusters from all data, and all columns and links judge them:
finalists have seen the same data, so none of them has an advantage. The clusters with the most bits are returned.

Without leaving out, the two kinds could not be compared: k-means on columns of noise would tell many bits of its own
clusters, and a smoothing over random links would make linked documents alike and tell many bits of the same links.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from ..checks import Array, Index, Mask
from ..progress import Tell
from ..samples import dense
from ..scoring.kernel_scores import RidgeSystem
from ..ties import NEARLY, first_best
from .candidates import CANDIDATES, DEEPEST, Candidate, Embedding, two_stage_k_means
from .smoothing import LinkSmoother, normalised_adjacency
from .walks import walk_factors

Labels = Index

#: The halves of the columns change places from round to round, so the number is even.
N_ROUNDS = 4
#: Larger data get two rounds; directions, k-means and bits of features come from a sample of this many rows.
MANY_ROWS, FEWEST_ROUNDS = 20_000, 2
#: The share of links that a round leaves out, and the largest number.
LEFT_OUT, MOST_LEFT_OUT = 0.2, 100_000
#: The shares of links between clusters are counted on at most this many links.
MOST_COUNTED = 1_000_000
#: With fewer columns, the columns are not divided, unless there are too few samples to judge by the columns seen.
FEWEST_COLUMNS, FEWEST_SAMPLES = 4, 20
#: k-means may end in a poor local optimum: finalists run it this often, and the clusters with the most bits count.
N_TRIES = 3
#: Finalists have at least this share of the bits of the best candidate of their kind.
FINALISTS = 0.9
#: Ridge penalties, relative to the variance of a row, and slopes of the softmax, that are tried.
RIDGE_PENALTIES = 10.0 ** np.arange(-2, 3)
SLOPES = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Evidence:
    """The bits of one candidate: of every sample's features, mean over rounds, and of every link that was left out."""

    of_samples: Array
    of_links: Array

    @property
    def features(self) -> float:
        """Bits per sample."""
        return float(self.of_samples.mean())

    @property
    def links(self) -> float:
        """Bits per link; 0 if there are no links."""
        return float(self.of_links.mean()) if len(self.of_links) else 0.0

    @property
    def links_tell(self) -> bool:
        """Whether links that were left out tell of the clusters."""
        return self.links > NEARLY

    @property
    def total(self) -> float:
        """The figure that chooses."""
        return self.features + self.links

    def standard_error(self, other: "Evidence | None" = None) -> float:
        """Standard error of the total, or of the difference of two totals."""
        figures = [self.of_samples, self.of_links]
        if other is not None:
            figures = [self.of_samples - other.of_samples, self.of_links - other.of_links]
        return float(np.sqrt(sum(values.var() / len(values) for values in figures if len(values))))


@dataclass(frozen=True)
class Clusters:
    """Clusters by a candidate: its embedding, the centres there, and the cluster of every document."""

    candidate: Candidate
    embedding: Embedding
    centres: Array
    labels: Labels


class Clustering(NamedTuple):
    """How many clusters are looked for, and how."""

    n_clusters: int
    embedding_dim: int
    n_init: int
    rng: np.random.RandomState


class Links(NamedTuple):
    """Links, each once: both ends and the weights."""

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    weights: Array

    def take(self, chosen: Mask) -> "Links":
        """The chosen links."""
        return Links(self.rows[chosen], self.cols[chosen], self.weights[chosen])

    def at_most(self, count: int, rng: Any) -> "Links":
        """About this many of the links, drawn at random; all of them if they are not more."""
        n_links = len(self.rows)
        return self if n_links <= count else self.take(rng.random_sample(n_links) < count / n_links)

    def symmetric(self, like: Any) -> Any:
        """The symmetric matrix of the weights, with the shape of another matrix."""
        one_way = sp.coo_array((self.weights, (self.rows, self.cols)), shape=like.shape).tocsr()
        return one_way + one_way.T


@dataclass(frozen=True)
class Round:
    """One half of the columns of all samples, the other half of some samples, and links that are kept and left out."""

    seen: Array
    unseen: Array
    kept: Any
    counted: Links
    left_out: Links


def gather_evidence(smoother: LinkSmoother, X: Any, links: Any, how: Clustering, tell: Tell) -> dict[str, Evidence]:
    """Score all candidates, or only those without links if there are no links; ``links`` are symmetric weights."""
    n_clusters, rng, n_samples = how.n_clusters, how.rng, X.shape[0]
    offered = [candidate for candidate in CANDIDATES if links.nnz or not candidate.uses_links]
    sample = sampled(n_samples, n_clusters, rng)
    of_samples: dict[str, list[Array]] = {candidate.name: [] for candidate in offered}
    of_links: dict[str, list[Array]] = {candidate.name: [] for candidate in offered}
    n_rounds = FEWEST_ROUNDS if len(sample) < n_samples else N_ROUNDS
    for index, one in enumerate(_rounds(smoother, X, links, sample, how.embedding_dim, rng)):
        feature_bits = FeatureBits(one.unseen)
        steps = take_steps(one.seen, one.kept)
        walks = walk_factors(one.kept, rng) if links.nnz else None
        for place, candidate in enumerate(offered, start=1):
            labels = _find_clusters(candidate, steps, walks, sample, how).labels
            of_samples[candidate.name].append(feature_bits(labels[sample]))
            of_links[candidate.name].append(bits_of_links(labels, n_clusters, one.counted, one.left_out))
            tell(index * len(offered) + place, n_rounds * len(offered))
    return {name: Evidence(np.mean(of_samples[name], axis=0), np.concatenate(of_links[name])) for name in of_samples}


def best_clusters(
    finalists: Sequence[Candidate], steps: Sequence[Array], walks: Array | None, links: Any, how: Clustering, tell: Tell
) -> tuple[Clusters, dict[str, float]]:
    """The clusters with the most bits of features and links, where all data find and judge, and all bits."""
    n_clusters, rng = how.n_clusters, how.rng
    sample = sampled(len(steps[0]), n_clusters, rng)
    feature_bits = FeatureBits(steps[0][sample])
    counted = upper_links(links).at_most(MOST_COUNTED, rng)
    judged = counted.at_most(MOST_LEFT_OUT, rng)
    best: Any = None
    totals = dict.fromkeys((candidate.name for candidate in finalists), -np.inf)
    tries = [one for one in finalists for _ in range(N_TRIES)]
    for done, candidate in enumerate(tries, start=1):
        found = _find_clusters(candidate, steps, walks, sample, how)
        linked = bits_of_links(found.labels, n_clusters, counted, judged)
        bits = float(feature_bits(found.labels[sample]).mean() + (linked.mean() if len(linked) else 0.0))
        best = found if best is None or bits > max(totals.values()) else best
        totals[candidate.name] = max(totals[candidate.name], bits)
        tell(done, len(tries))
    return best, totals


def finalists_like(name: str, evidence: dict[str, Evidence]) -> list[Candidate]:
    """The candidates that use links as this one does and have nearly as many bits, which may be only this one."""
    kind = next(one.uses_links for one in CANDIDATES if one.name == name)
    least = FINALISTS * evidence[name].total
    same = [one for one in CANDIDATES if one.name in evidence and one.uses_links == kind]
    same = [one for one in same if evidence[one.name].links_tell or not kind]
    return [one for one in same if one.name == name or evidence[one.name].total >= max(least, 0.0)]


def sampled(n_samples: int, n_clusters: int, rng: Any) -> Index:
    """The rows that k-means and the bits of features see."""
    if n_samples <= max(MANY_ROWS, n_clusters):
        return np.arange(n_samples)
    return np.sort(rng.permutation(n_samples)[: max(MANY_ROWS, n_clusters)])


def take_steps(rows: Array, links: Any) -> list[Array]:
    """Z_0, Z_1, ... up to the deepest candidate."""
    adjacency, _ = normalised_adjacency(links, "mean")
    steps = [rows]
    for _ in range(DEEPEST):
        steps.append(adjacency @ steps[-1])
    return steps


def upper_links(links: Any) -> Links:
    """The links of a symmetric matrix of weights, each once."""
    upper = sp.triu(links, 1, format="coo")
    return Links(upper.row, upper.col, upper.data)


def _rounds(smoother: LinkSmoother, X: Any, links: Any, sample: Index, embedding_dim: int, rng: Any) -> Iterator[Round]:
    """Halves of the columns, seen and unseen by turns, with other links left out; few columns are not divided."""
    weighted = smoother._weighted(X).astype(links.dtype, copy=False)
    weighted = weighted.tocsc() if sp.issparse(weighted) else weighted
    given = upper_links(links)
    many = len(sample) < X.shape[0]
    n_columns = weighted.shape[1]
    for index in range(FEWEST_ROUNDS if many else N_ROUNDS):
        if index % 2 == 0:
            order = rng.permutation(n_columns)
            undivided = n_columns < FEWEST_COLUMNS and X.shape[0] >= FEWEST_SAMPLES
            middle = 0 if undivided else n_columns // 2
            columns = np.sort(order[:middle]), np.sort(order[middle:])
            halves = [Half.of(smoother, weighted[:, half], rng) for half in columns if len(half)]
        seen, unseen = halves[index % 2 % len(halves)], halves[(index + 1) % 2 % len(halves)]
        out = rng.random_sample(len(given.rows)) < min(LEFT_OUT, MOST_LEFT_OUT / max(len(given.rows), 1))
        left_out, kept = given.take(out), given.take(~out)
        yield Round(
            seen.project(count=embedding_dim if many else None),
            unseen.project(sample),
            kept.symmetric(links),
            kept.at_most(MOST_COUNTED, rng),
            left_out,
        )


class Half(NamedTuple):
    """Half of the columns and their leading directions, as the smoother finds them for all columns."""

    columns: Any
    directions: Array | None

    @classmethod
    def of(cls, smoother: LinkSmoother, columns: Any, rng: Any) -> "Half":
        columns = columns.tocsr() if sp.issparse(columns) else columns
        return cls(columns, smoother._leading_directions(columns, rng))

    def project(self, rows: Index | slice = slice(None), count: int | None = None) -> Array:
        """Some rows on some of the directions, or all of them."""
        columns = self.columns[rows]
        return dense(columns if self.directions is None else columns @ self.directions[:, :count])


def _find_clusters(
    candidate: Candidate, steps: Sequence[Array], walks: Array | None, sample: Index, how: Clustering
) -> Clusters:
    """Clusters of all documents by a candidate: k-means on the sample, and the nearest centre for the others."""
    few_steps, few_walks = [rows[sample] for rows in steps], None if walks is None else walks[sample]
    embedding = Embedding.fit(candidate, few_steps, few_walks, how.embedding_dim)
    rows = embedding.place(few_steps, few_walks)
    with warnings.catch_warnings():
        # A candidate may make many documents equal; then it has fewer clusters, and its bits say so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = two_stage_k_means(rows, how.n_clusters, n_leading=how.n_clusters + 1, n_init=how.n_init, rng=how.rng)
    labels = found.labels_
    if len(sample) < len(steps[0]):
        labels = pairwise_distances_argmin(embedding.place(steps, walks), found.cluster_centers_)
    return Clusters(candidate, embedding, found.cluster_centers_, labels.astype(np.intp))


class FeatureBits:
    """What features tell of clusters, each sample left out."""

    def __init__(self, rows: Array) -> None:
        self.ridge = RidgeSystem.decompose(rows, np.zeros(len(rows)))

    def __call__(self, labels: Labels) -> Array:
        """For every sample the bits that its features tell of its cluster, for the best penalty and slope."""
        _, codes = np.unique(labels, return_inverse=True)
        members = np.eye(codes.max() + 1)[codes]
        shares, own = members.mean(axis=0), (np.arange(len(codes)), codes)
        ridge = replace(self.ridge, targets=members)
        told = [np.zeros(len(codes))]  # telling nothing is always possible
        for penalty in RIDGE_PENALTIES * np.sum(ridge.singular**2) / len(codes):
            scores = ridge.leave_one_out(penalty)
            for slope in SLOPES:
                logits = slope * (scores - scores.max(axis=1, keepdims=True)) + 0.5 * np.log(shares)
                log_chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
                told.append((log_chances[own] - np.log(shares[codes])) / np.log(2.0))
        return told[first_best([bits.mean() for bits in told])]


def bits_of_links(labels: Labels, n_clusters: int, kept: Links, left_out: Links) -> Array:
    """Bits of each link that was left out, times its weight relative to the mean weight.

    The shares of kept links have a prior worth one link per pair of clusters, spread as chance would. A cluster without
    any kept link tells nothing.
    """
    rows, cols, weights = left_out
    between = np.bincount(labels[kept.rows] * n_clusters + labels[kept.cols], kept.weights, n_clusters**2)
    between = between.reshape(n_clusters, n_clusters)
    typical = kept.weights.mean() if len(kept.weights) else 1.0
    between = (between + between.T) / typical  # in links of a typical weight, each counted from both ends
    total = max(between.sum(), 1.0)
    margins = between.sum(axis=1) / total
    by_chance = np.outer(margins, margins)
    prior = 2.0 * n_clusters**2
    shares = (between + prior * by_chance) / (total + prior)
    ratio = np.divide(shares, by_chance, out=np.ones_like(shares), where=by_chance > 0)
    bits = np.log2(ratio)[labels[rows], labels[cols]]
    return bits * weights / weights.mean() if len(weights) else bits


def best_of(evidence: dict[str, Evidence], names: Sequence[str]) -> str:
    """The name with the most bits; the first one of equals."""
    return names[first_best([evidence[name].total for name in names])]


def diagnose(evidence: dict[str, Evidence], candidates: Sequence[Candidate] = CANDIDATES) -> tuple[str, dict[str, Any]]:
    """Return the name of the chosen candidate and the diagnostic: is the choice clear, and why it was made."""
    uses_links = {one.name: one.uses_links for one in candidates}
    alone = best_of(evidence, [name for name in evidence if not uses_links[name]])
    linked_names = [name for name in evidence if uses_links[name]]
    if not linked_names:
        return alone, {"reliable": False, "reason": "There are no links, so the clusters come from the features alone."}
    supported = [name for name in linked_names if evidence[name].links_tell]
    linked = best_of(evidence, supported or linked_names)
    margin = evidence[linked].total - evidence[alone].total
    error = evidence[linked].standard_error(evidence[alone])
    least = 2.0 * error + NEARLY
    unclear = bool(supported) and abs(margin) <= least
    chosen = linked if supported and margin > least else alone
    nothing = evidence[chosen].total <= 2.0 * evidence[chosen].standard_error() + NEARLY
    measured = (
        f'Clusters with links ("{linked}") predict held-out data with {evidence[linked].total:.2f} bits, and clusters '
        f'of the features alone ("{alone}") with {evidence[alone].total:.2f} bits'
    )
    if not supported:
        measured = f"Clusters do not predict held-out links. {measured}"
    return chosen, {
        "reliable": not (unclear or nothing),
        "reason": _reason(measured, nothing=nothing, unclear=unclear, helps=chosen == linked),
        "margin_bits": float(margin),
        "margin_standard_error": error,
    }


def _reason(measured: str, *, nothing: bool, unclear: bool, helps: bool) -> str:
    """Why links are used or not, in words."""
    if nothing:
        return f"Neither features nor links show clusters. {measured}, which is no more than chance."
    if unclear:
        return f"The links make no clear difference, so they are not used. {measured}; the difference may be chance."
    return f"The links help. {measured}." if helps else f"The links do not help, so they are not used. {measured}."
