"""Pairs of samples that are given as sharing a class (+1) or not (-1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..checks import IntArray, check_count, check_ends, freeze, missing_labels
from . import graph
from .graph import MAX_SAMPLES, RandomState, Rate

FIELDS = ("rows", "cols", "labels", "weights", "n_samples", "sources")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pairs:
    r"""Labelled pairs of samples, validated once and then immutable.

    Pair number t has the weight :math:`w_t` and the label :math:`y_t = +1` if samples ``rows[t]`` and ``cols[t]`` are
    given as samples of the same class, :math:`y_t = -1` otherwise. The order of the two samples has no meaning. A pair
    may be given several times, even with both labels; :meth:`merged` adds up the weights.

    Parameters
    ----------
    rows, cols : array-like of int
        Indices of the two samples of every pair, between 0 and ``n_samples - 1``, never equal.
    labels : array-like of +1 and -1
        +1 same class, -1 different classes.
    n_samples : int
        Number of samples that the indices refer to.
    weights : array-like of float, default=None
        Positive weights of the pairs; all weights are one by default.
    sources : array-like, default=None
        Who gave the label of each pair: names or numbers. With them, every source counts as far as it is right.

    Attributes
    ----------
    rows, cols, labels : read-only ndarray of int64
    weights : read-only ndarray of float64
    n_samples : int
    sources : read-only ndarray, or None

    Examples
    --------
    >>> pairs = Pairs([0, 1, 1], [1, 0, 2], [1, -1, -1], n_samples=4)
    >>> pairs
    Pairs(n_samples=4, n_pairs=3, positive=1, negative=2, contradictions=1)
    >>> len(pairs), pairs[pairs.labels < 0].rows
    (3, array([1, 1]))
    """

    rows: IntArray
    cols: IntArray
    labels: IntArray
    weights: NDArray[np.float64]
    n_samples: int
    sources: NDArray[Any] | None = None

    def __init__(
        self,
        rows: ArrayLike,
        cols: ArrayLike,
        labels: ArrayLike,
        *,
        n_samples: int,
        weights: ArrayLike | None = None,
        sources: ArrayLike | None = None,
    ) -> None:
        n_samples = check_count("n_samples", n_samples, most=MAX_SAMPLES)
        rows, cols = check_ends(rows, cols, n_samples)
        labels = graph.check_pair_labels("labels", labels)
        weights = np.ones(len(rows)) if weights is None else graph.check_weights(weights)
        if not len(rows) == len(labels) == len(weights):
            raise ValueError(
                f"labels and weights must have one value per pair, got {len(rows)} pairs, {len(labels)} labels and"
                f" {len(weights)} weights"
            )
        same = rows == cols
        if same.any():
            first = int(same.argmax())
            raise ValueError(f"pair {first} joins sample {rows[first]} to itself; leave such pairs out")
        if sources is not None:
            named = np.array(sources)
            if named.shape != (len(rows),):
                raise ValueError(f"sources must have one value per pair, got shape {named.shape} for {len(rows)} pairs")
            if (missing := missing_labels(named)).any():
                raise ValueError(f"sources lacks the name of who gave pair {int(missing.argmax())}")
            sources = np.array(list(map(str, named.tolist()))) if named.dtype == object else named
        freeze(self, zip(FIELDS, (rows, cols, labels, weights, n_samples, sources), strict=True))

    @classmethod
    def _valid(cls, *values: Any) -> Self:
        """Pairs from the values of all fields, which are known to be valid and which nobody else will change."""
        pairs = cls.__new__(cls)
        freeze(pairs, zip(FIELDS, values, strict=True))
        return pairs

    def _with(self, **changed: Any) -> Self:
        return self._valid(*(changed.get(name, getattr(self, name)) for name in FIELDS))

    @classmethod
    def from_graph(
        cls,
        edges_or_adjacency: Any,
        *,
        n_samples: int | None = None,
        negatives: str | float | None = "equal",
        random_state: RandomState = None,
    ) -> Self:
        """Links as positive pairs, and pairs drawn uniformly among unlinked pairs as negative pairs.

        Both directions of a link and its repetitions are one pair of weight one; self-links are dropped. Links come
        before drawn pairs. Both parts are sorted by ``cols``, then ``rows``, with ``rows < cols``.

        Parameters
        ----------
        edges_or_adjacency : array-like of shape (n_edges, 2), sparse matrix or array, or graph
            Indices of linked samples; or an adjacency matrix, whose non-zero entries are links whatever their value;
            or an object with ``edges`` and ``nodes`` (or ``number_of_nodes()``), such as a networkx graph, whose
            sample i is the i-th of its nodes.
        n_samples : int, default=None
            The default is the number of nodes of the graph, and for an edge array the largest index plus one. So
            ``n_samples`` is needed for an edge array if the last samples may have no links.
        negatives : "equal", int, float or None, default="equal"
            How many negative pairs to draw: as many as links, a number (int), a number per link (float), or none.
        random_state : int, RandomState or None

        Examples
        --------
        >>> Pairs.from_graph([(0, 1), (1, 0), (1, 2)], n_samples=5, negatives=3, random_state=0)
        Pairs(n_samples=5, n_pairs=5, positive=2, negative=3)
        """
        links, n_samples = graph.read_links(edges_or_adjacency, n_samples)
        n_links, n_negatives = len(links), graph.count_negatives(negatives, len(links))
        unlinked = graph.unlinked_keys(links, n_samples, n_negatives, check_random_state(random_state))
        keys = np.concatenate([links, unlinked])
        del links, unlinked
        rows, cols = graph.key_pairs(keys)
        labels = np.ones(len(keys), dtype=np.int64)
        labels[n_links:] = -1
        return cls._valid(rows, cols, labels, np.ones(len(keys)), n_samples, None)

    @classmethod
    def from_labels(cls, y: ArrayLike, *, n_pairs: int | None = None, random_state: RandomState = None) -> Self:
        """Pairs labelled by whether the classes of their ends agree.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes, of any type. The number -1 means unknown, as in :mod:`sklearn.semi_supervised`; samples of unknown
            class occur in no pair.
        n_pairs : int, default=None
            Number of distinct pairs, drawn uniformly; all pairs of known samples by default.
        random_state : int, RandomState or None

        Examples
        --------
        >>> Pairs.from_labels(["a", "b", "a"])
        Pairs(n_samples=3, n_pairs=3, positive=1, negative=2)
        >>> Pairs.from_labels([0, -1, 1, 0, 1], n_pairs=4, random_state=0)
        Pairs(n_samples=5, n_pairs=4, positive=1, negative=3)
        """
        codes = graph.known_codes(y)
        known = np.flatnonzero(codes >= 0)
        low, high = graph.key_pairs(graph.keys_of_labelled(len(known), n_pairs, random_state))
        rows, cols = known[low], known[high]
        labels = np.where(codes[rows] == codes[cols], 1, -1)
        return cls._valid(rows, cols, labels, np.ones(len(rows)), len(codes), None)

    @classmethod
    def concatenate(cls, parts: Sequence["Pairs"]) -> Self:
        """All pairs of ``parts``, in order; all parts must have the same ``n_samples``. ``a + b`` joins two parts.

        >>> Pairs.concatenate([Pairs([0], [1], [1], n_samples=3), Pairs([0], [2], [-1], n_samples=3)])
        Pairs(n_samples=3, n_pairs=2, positive=1, negative=1)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts is empty: there is nothing to concatenate")
        for part in parts:
            if not isinstance(part, Pairs):
                raise TypeError(f"parts must hold Pairs, got {type(part).__name__}")
        sizes = sorted({part.n_samples for part in parts})
        if len(sizes) > 1:
            raise ValueError(f"parts are over different numbers of samples, n_samples={sizes}; restrict them first")
        rows, cols, labels, weights = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "cols", "labels", "weights")
        )
        named = [part.sources for part in parts if part.sources is not None]
        sources = np.concatenate(named) if len(named) == len(parts) else None
        return cls._valid(rows, cols, labels, weights, sizes[0], sources)

    def flip(self, rate: Rate, *, random_state: RandomState = None) -> Self:
        """A noisy copy: every label changes its sign with a given probability.

        Parameters
        ----------
        rate : float, dict, array of shape (n_pairs,) or array of shape (2, 2)
            One probability for all pairs; a dict ``{+1: r, -1: s}`` of probabilities per true label, zero for a label
            that is missing; one probability per pair; or the transition matrix, rows for true and columns for noisy
            labels, in the order -1, +1.
        random_state : int, RandomState or None

        See Also
        --------
        flip_labels : the same for class labels.

        Examples
        --------
        >>> pairs = Pairs([0, 0, 1], [1, 2, 2], [1, -1, -1], n_samples=3)
        >>> pairs.flip({-1: 1.0}).labels
        array([1, 1, 1])
        """
        codes = graph.flip_codes((self.labels > 0).astype(np.int64), np.array([-1, 1]), rate, random_state)
        return self._with(labels=2 * codes - 1)

    def balanced(self) -> Self:
        """The same pairs with other weights: equal total weights of positive and negative pairs, and the same sum.

        If all pairs have the same label, nothing changes.

        >>> Pairs([0, 0, 1], [1, 2, 2], [1, -1, -1], n_samples=3).balanced().weights
        array([1.5 , 0.75, 0.75])
        """
        positive = self.labels > 0
        if positive.all() or not positive.any():
            return self
        masses = float(self.weights[positive].sum()), float(self.weights[~positive].sum())
        weights = self.weights / np.where(positive, *masses) * (0.5 * sum(masses))
        return self._with(weights=weights)

    def merged(self) -> Self:
        """Every unordered pair at most once per label, with the sum of its weights; sorted, with ``rows < cols``.

        >>> pairs = Pairs([0, 1, 0], [1, 0, 1], [1, 1, -1], n_samples=2).merged()
        >>> pairs.labels, pairs.weights
        (array([-1,  1]), array([1., 2.]))
        """
        keys, weights = graph.sum_by_key(self._evidence_keys(), self.weights)
        rows, cols = graph.key_pairs(keys >> 1)
        return self._valid(rows, cols, 2 * (keys & 1) - 1, weights, self.n_samples, None)

    def restrict(self, index: ArrayLike) -> Self:
        """The pairs with both samples in a subset; the samples are numbered as in ``X[index]``.

        Parameters
        ----------
        index : array-like of int or bool
            Distinct indices of samples, or a mask over the samples.

        Examples
        --------
        >>> pairs = Pairs([0, 1, 2], [3, 2, 3], [1, -1, 1], n_samples=4).restrict([3, 2, 0])
        >>> pairs.rows, pairs.cols
        (array([2, 1]), array([0, 0]))
        """
        index = graph.check_subset(index, self.n_samples)
        position = np.full(self.n_samples, -1, dtype=np.int64)
        position[index] = np.arange(len(index))
        rows, cols = position[self.rows], position[self.cols]
        return self._with(rows=rows, cols=cols, n_samples=len(index))[(rows >= 0) & (cols >= 0)]

    def true_labels(self, y: ArrayLike) -> IntArray:
        """The true labels by the classes ``y``: +1 or -1, and 0 where the class of a sample is unknown (-1).

        >>> Pairs([0, 0, 1], [1, 2, 3], [1, 1, 1], n_samples=4).true_labels([5, 5, 7, -1])
        array([ 1, -1,  0])
        """
        codes = graph.known_codes(y)
        if len(codes) != self.n_samples:
            raise ValueError(f"y has {len(codes)} labels but the pairs are over n_samples={self.n_samples} samples")
        row_codes, col_codes = codes[self.rows], codes[self.cols]
        return np.where(np.minimum(row_codes, col_codes) < 0, 0, np.where(row_codes == col_codes, 1, -1))

    def agreement(self, y: ArrayLike) -> float:
        """Weighted fraction of the pairs whose label is right by the classes ``y``.

        Pairs with a sample of unknown class (-1) are left out.

        >>> pairs = Pairs([0, 0, 1, 1], [1, 2, 2, 3], [1, -1, -1, -1], n_samples=4)
        >>> pairs.agreement(["a", "a", "b", "a"])
        0.75
        """
        truth = self.true_labels(y)
        if not truth.any():
            raise ValueError("y tells the truth of no pair: the pairs are empty, or an end of each is unknown (-1)")
        return float(np.average(self.labels == truth, weights=np.where(truth != 0, self.weights, 0.0)))

    def to_sparse(self) -> sp.csr_array:
        r"""The symmetric n x n matrix of :math:`\sum_t w_t y_t` per pair.

        The matrix has an entry for every given pair: where +1 and -1 cancel, a zero is stored.

        >>> Pairs([0, 1, 1], [1, 0, 2], [1, 1, -1], n_samples=3).to_sparse().toarray()
        array([[ 0.,  2.,  0.],
               [ 2.,  0., -1.],
               [ 0., -1.,  0.]])
        """
        keys, sums = graph.sum_by_key(graph.pair_keys(self.rows, self.cols), self.labels * self.weights)
        rows, cols = graph.key_pairs(keys)
        # The sums are mirrored, not summed twice, so that the two halves are equal to the last bit.
        ends = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        return sp.csr_array((np.concatenate([sums, sums]), ends), shape=(self.n_samples, self.n_samples))

    @property
    def positive(self) -> Self:
        """The pairs labelled +1.

        >>> Pairs([0, 1], [1, 2], [1, -1], n_samples=3).positive
        Pairs(n_samples=3, n_pairs=1, positive=1, negative=0)
        """
        return self[self.labels > 0]

    @property
    def negative(self) -> Self:
        """The pairs labelled -1.

        >>> Pairs([0, 1], [1, 2], [1, -1], n_samples=3).negative
        Pairs(n_samples=3, n_pairs=1, positive=0, negative=1)
        """
        return self[self.labels < 0]

    @cached_property
    def n_duplicates(self) -> int:
        """Number of pairs that repeat an earlier one with the same label; counted on first use.

        >>> Pairs([0, 1, 0], [1, 0, 1], [1, 1, -1], n_samples=2).n_duplicates
        1
        """
        return len(self) - len(graph.sorted_distinct(self._evidence_keys()))

    @cached_property
    def n_contradictions(self) -> int:
        """Number of unordered pairs given with both labels; counted on first use.

        >>> Pairs([0, 1, 0], [1, 0, 1], [1, 1, -1], n_samples=2).n_contradictions
        1
        """
        keys = graph.sorted_distinct(self._evidence_keys())
        return int(np.count_nonzero(keys[1:] >> 1 == keys[:-1] >> 1))

    def _evidence_keys(self) -> IntArray:
        keys = graph.pair_keys(self.rows, self.cols)
        keys *= 2
        keys += self.labels > 0
        return keys

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: slice | ArrayLike) -> Self:
        if not isinstance(index, slice):
            index = graph.check_positions(index, len(self))
        kept = {name: value[index] for name in FIELDS if isinstance(value := getattr(self, name), np.ndarray)}
        return self._with(**kept)  # slices are views of read-only arrays

    def __add__(self, other: "Pairs") -> Self:
        return self.concatenate([self, other]) if isinstance(other, Pairs) else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Same samples, labels, weights and sources in the same order; ``merged()`` ignores order and repetitions."""
        if not isinstance(other, Pairs):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in FIELDS)

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Any, ...]]:
        # Through _valid, because pickled arrays come back writeable.
        return self._valid, tuple(getattr(self, name) for name in FIELDS)

    def __repr__(self) -> str:
        positive = np.count_nonzero(self.labels > 0)
        parts: dict[str, Any] = {"n_samples": self.n_samples, "n_pairs": len(self)}
        parts |= {"positive": positive, "negative": len(self) - positive}
        remarks: dict[str, Any] = {"duplicates": self.n_duplicates, "contradictions": self.n_contradictions}
        if self.sources is not None:
            remarks["sources"] = len(np.unique(self.sources))
        if (self.weights != 1).any():
            remarks["total_weight"] = f"{self.weights.sum():.6g}"
        parts |= {name: value for name, value in remarks.items() if value}
        return f"Pairs({', '.join(f'{name}={value}' for name, value in parts.items())})"
