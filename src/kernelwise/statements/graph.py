r"""Labels and links as integers: codes of classes, labels that are flipped, keys of pairs, and uniform draws of pairs.

The unordered pair :math:`i < j` has the key

.. math:: \kappa(i, j) = j (j - 1) / 2 + i,

so that the pairs of n samples have the numbers :math:`0, \dots, n (n - 1) / 2 - 1` without gaps, for every n. A set of
links is a sorted array of keys, 8 bytes per link, and a random pair is a random integer: no array of all n^2 pairs is
ever made.

The checks of pairs and of labels come first: each returns a clean array, or says what is wrong and what to do.
"""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..checks import IntArray, check_count, check_ends, check_probability, check_vector, is_number

# The amount of noise; see flip_labels.
Rate: TypeAlias = float | Mapping[Any, float] | ArrayLike
RandomState: TypeAlias = int | np.random.RandomState | None
# Keys of pairs (see graph.py) stay below 2^61, which leaves room for a label bit.
MAX_SAMPLES = 2**31
# More pairs than this (1.6 GB) are not made from labels unless the user asks for a number of pairs.
MAX_ALL_PAIRS = 50_000_000


def check_pair_labels(name: str, labels: ArrayLike) -> IntArray:
    """Labels of pairs, each +1 or -1."""
    labels = check_vector(name, labels, "iuf", "the numbers +1 and -1 (from 0/1 or booleans: 2 * labels - 1)")
    wrong = (labels != 1) & (labels != -1)
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"{name} must be +1 (same class) or -1 (different classes), got {labels[first]} at pair {first};"
            " if yours are 0/1, pass 2 * labels - 1"
        )
    return labels.astype(np.int64)


def check_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """Weights of pairs: positive, with a finite sum."""
    weights = check_vector("weights", weights, "iuf", "numbers")
    wrong = ~((weights > 0) & (weights < np.inf))
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"weights must be positive and finite, got {weights[first]} at pair {first};"
            " leave out pairs that do not count"
        )
    weights = weights.astype(np.float64)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):
        raise ValueError(f"weights must have a finite sum, and the largest is {weights.max():.3g}; divide them by it")
    return weights


def check_subset(index: ArrayLike, n_samples: int) -> IntArray:
    """Check that indices of samples, or the indices from a mask, are distinct and in range."""
    index = check_vector("index", index, "iub", "integer indices or booleans")
    if index.dtype.kind == "b":
        if len(index) != n_samples:
            raise ValueError(f"index is a mask of {len(index)} values for n_samples={n_samples} samples")
        index = np.flatnonzero(index)
    if not len(index):
        raise ValueError("index selects no sample")
    outside = (index < 0) | (index >= n_samples)
    if outside.any():
        raise ValueError(
            f"index holds {index[outside][0]}, but samples are numbered 0 to {n_samples - 1} (n_samples={n_samples})"
        )
    values, counts = np.unique(index, return_counts=True)
    if len(values) < len(index):
        raise ValueError(f"index holds sample {values[counts > 1][0]} more than once; indices must be distinct")
    return index


def check_positions(index: Any, n_pairs: int) -> NDArray[Any]:
    """An index into an array of pairs: positions or a mask."""
    if np.ndim(index) == 0 or isinstance(index, tuple):
        raise TypeError(f"index pairs with a slice, an int array or a mask (one pair: pairs[[3]]), got {index!r}")
    index = check_vector("index", index, "iub", "integer positions or booleans")
    if index.dtype.kind == "b" and len(index) != n_pairs:
        raise ValueError(f"index is a mask of {len(index)} values for {n_pairs} pairs")
    return index if index.size else np.empty(0, dtype=np.int64)


def class_codes(y: ArrayLike) -> tuple[NDArray[Any], IntArray]:
    """Sorted classes of ``y`` and the position of every label among them."""
    y = np.asarray(y)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"y must be a non-empty one-dimensional array of labels, got shape {y.shape}")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"y has a missing label (NaN) at position {int(np.isnan(y).argmax())}; drop it first")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y has missing labels or mixes types that cannot be sorted ({error})") from error
    return classes, codes.astype(np.int64, copy=False)


def known_codes(y: ArrayLike) -> IntArray:
    """A non-negative integer for every class, and -1 where ``y`` is the number -1, which means unknown."""
    classes, codes = class_codes(y)
    if classes.tolist() == [-1, 1]:
        raise ValueError(
            "y holds only -1 and 1, and -1 means unknown here; if it is a class, pass (y > 0), and if it is not,"
            " rename the class 1"
        )
    unknown = np.asarray(classes == -1)
    return np.where(unknown[codes], -1, codes)


def count_pairs(n_samples: int) -> int:
    """Number of unordered pairs of distinct samples.

    >>> count_pairs(5)
    10
    """
    return n_samples * (n_samples - 1) // 2


def pair_keys(rows: IntArray, cols: IntArray) -> IntArray:
    """Key of each unordered pair; the order of its ends does not matter."""
    high = np.maximum(rows, cols).astype(np.int64, copy=False)
    # In place from here on: at ten million pairs every temporary counts.
    keys = high - 1
    keys *= high
    keys //= 2
    keys += np.minimum(rows, cols)
    return keys


def key_pairs(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Ends ``rows < cols`` of each key, the inverse of :func:`pair_keys`."""
    root = np.sqrt(keys * 2.0 + 0.25)
    root += 0.5
    cols = root.astype(np.int64)
    del root
    # Because of rounding, ``cols`` is often too large by one, but below MAX_SAMPLES it is never too small.
    cols -= cols * (cols - 1) // 2 > keys
    rows = cols - 1
    rows *= cols
    rows //= -2
    rows += keys
    return rows, cols


def sorted_distinct(values: IntArray) -> IntArray:
    """Sort ``values`` in place and return them without repetitions.

    >>> sorted_distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    values.sort()
    first = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values if first.all() else values[first]


def sum_by_key(keys: IntArray, values: NDArray[np.float64]) -> tuple[IntArray, NDArray[np.float64]]:
    """Sorted distinct keys and the sum of the values of each.

    >>> sum_by_key(np.array([3, 1, 3]), np.array([0.5, 1.0, 2.0]))
    (array([1, 3]), array([1. , 2.5]))
    """
    distinct, inverse = np.unique(keys, return_inverse=True)
    sums = np.bincount(inverse, weights=values, minlength=len(distinct))
    return distinct, sums.astype(np.float64, copy=False)


def distinct_integers(total: int, count: int, rng: np.random.RandomState) -> IntArray:
    """A uniform sample without replacement of ``count`` integers below ``total``, sorted."""
    if count > total // 4:
        sample = rng.permutation(total)[:count].astype(np.int64, copy=False)
        sample.sort()
        return sample
    # Each round draws as many integers as are missing, so this is sampling one by one, where repetitions are skipped.
    # At most a quarter of the range is ever taken, so every round finds about three quarters of the missing integers.
    sample = np.empty(0, dtype=np.int64)
    while missing := count - sample.size:
        sample = sorted_distinct(np.concatenate([sample, rng.randint(total, size=missing, dtype=np.int64)]))
    return sample


def keys_of_labelled(n_labelled: int, n_pairs: int | None, random_state: Any) -> IntArray:
    """Sorted keys of ``n_pairs`` distinct pairs of labelled samples, drawn uniformly; None for all pairs.

    >>> keys_of_labelled(3, None, 0), len(keys_of_labelled(9, 4, 0))
    (array([0, 1, 2]), 4)
    """
    total = count_pairs(n_labelled)
    if total == 0:
        raise ValueError(f"y has {n_labelled} known labels, but a pair needs two")
    if n_pairs is None:
        if total > MAX_ALL_PAIRS:
            raise ValueError(f"{n_labelled} labels make {total} pairs; set n_pairs to draw some of them")
        return np.arange(total)
    n_pairs = check_count("n_pairs", n_pairs)
    if n_pairs > total:
        raise ValueError(f"n_pairs={n_pairs}, but {n_labelled} known labels make only {total} pairs")
    return distinct_integers(total, n_pairs, check_random_state(random_state))


def unlinked_keys(links: IntArray, n_samples: int, count: int, rng: np.random.RandomState) -> IntArray:
    """Sorted keys of ``count`` distinct pairs that are not among ``links``, drawn uniformly.

    Ranks among the unlinked pairs are drawn and then shifted past the links. So no draw is ever rejected, and a graph
    that is nearly complete costs no more than an empty graph.

    >>> unlinked_keys(np.array([0, 2, 3]), 4, 3, np.random.RandomState(0))
    array([1, 4, 5])
    """
    total = count_pairs(n_samples)
    free = total - links.size
    if count > free:
        raise ValueError(
            f"negatives asks for {count} unlinked pairs, but only {free} of the {total} pairs of {n_samples} samples"
            f" are unlinked; ask for at most {free}"
        )
    keys = distinct_integers(free, count, rng)
    free_below_link = links - np.arange(links.size)
    keys += np.searchsorted(free_below_link, keys, side="right")
    return keys


def count_negatives(negatives: str | float | None, n_links: int) -> int:
    """The number of negative pairs: "equal" (as many as links), a number (int), a ratio to links (float), or None.

    >>> [count_negatives(negatives, 10) for negatives in ("equal", 3, 0.5, 0, None)]
    [10, 3, 5, 0, 0]
    """
    if negatives is None:
        return 0
    if isinstance(negatives, str) and negatives == "equal":
        return n_links
    if not is_number(negatives) or not 0 <= float(negatives) < np.inf:
        raise ValueError(
            'negatives must be "equal", a number of pairs (int), a ratio to the number of links (float), or None,'
            f" got {negatives!r}"
        )
    return int(negatives) if isinstance(negatives, Integral) else round(float(negatives) * n_links)


def read_links(graph: Any, n_samples: int | None) -> tuple[IntArray, int]:
    """Sorted distinct keys of the links of ``graph`` and its number of nodes; self-links are dropped."""
    if n_samples is not None:
        n_samples = check_count("n_samples", n_samples, most=MAX_SAMPLES)
    if sp.issparse(graph):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            raise ValueError(f"an adjacency matrix must be square, got shape {graph.shape}")
        n_nodes, (rows, cols) = graph.shape[0], graph.tocsr().nonzero()
    elif hasattr(graph, "edges"):
        rows, cols, n_nodes = _ends_of_graph(graph)
    else:
        rows, cols, n_nodes = _ends_of_edges(graph, n_samples)
    check_count("n_samples", n_nodes, most=MAX_SAMPLES)
    if n_samples is not None and n_samples != n_nodes:
        raise ValueError(f"n_samples={n_samples} but the graph has {n_nodes} nodes; leave n_samples out")
    linked = rows != cols
    if not linked.all():
        rows, cols = rows[linked], cols[linked]
    return sorted_distinct(pair_keys(rows, cols)), n_nodes


def _ends_of_graph(graph: Any) -> tuple[IntArray, IntArray, int]:
    """Ends of the edges of a networkx-like graph: ``edges`` and ``nodes`` may be views, lists or methods."""
    edges = graph.edges() if callable(graph.edges) else graph.edges
    if hasattr(graph, "nodes"):
        nodes = list(graph.nodes() if callable(graph.nodes) else graph.nodes)
    else:
        nodes = list(range(graph.number_of_nodes()))
    position = {node: i for i, node in enumerate(nodes)}
    try:
        ends = [position[edge[k]] for edge in edges for k in (0, 1)]
    except KeyError as error:
        raise ValueError(f"an edge of the graph names {error.args[0]!r}, which is not one of its nodes") from error
    rows_cols = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return rows_cols[:, 0], rows_cols[:, 1], len(nodes)


def _ends_of_edges(edges: Any, n_samples: int | None) -> tuple[IntArray, IntArray, int]:
    edges = np.asarray(edges)
    if edges.size == 0:
        edges = np.empty((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(
            f"an edge array must have shape (n_edges, 2), got {edges.shape};"
            " pass a dense adjacency matrix as scipy.sparse.csr_array(adjacency)"
        )
    if n_samples is None:
        if not len(edges):
            raise ValueError("n_samples is needed: the edge array is empty, so it does not tell how many samples exist")
        n_samples = max(int(edges.max()), 0) + 1
    rows, cols = check_ends(edges[:, 0], edges[:, 1], n_samples, kind="edge")
    return rows, cols, n_samples


def flip_labels(y: ArrayLike, rate: Rate, *, random_state: RandomState = None) -> NDArray[Any]:
    r"""A noisy copy of class labels.

    Label :math:`y_i` of class c becomes class :math:`c'` with probability :math:`T_{c c'}`. A rate r means
    :math:`T_{cc} = 1 - r` and :math:`T_{cc'} = r / (k - 1)` elsewhere, k the number of classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any type that can be sorted, such as integers, booleans or strings. ``y`` is not changed.
    rate : float, dict, array of shape (n,) or array of shape (k, k)
        A number: the probability that a label becomes wrong; all other classes are then equally likely. A dict
        ``{class: rate}``: a probability per true class; labels of classes that are not in the dict stay as they are. An
        array of n probabilities: one per sample. A k x k array: the matrix T, rows for true and columns for noisy
        classes, both in sorted order; every row has a sum of one.
    random_state : int, RandomState or None
        With the same seed, labels that are flipped at a low rate are also flipped at every higher rate, except with a
        matrix.

    Returns
    -------
    ndarray of shape (n,)
        The dtype is that of ``y``.

    Examples
    --------
    >>> y = np.array(["ham", "spam", "spam", "ham", "spam", "ham"])
    >>> flip_labels(y, {"spam": 1.0})
    array(['ham', 'ham', 'ham', 'ham', 'ham', 'ham'], dtype='<U4')
    >>> flip_labels(y, [[0.0, 1.0], [0.0, 1.0]])
    array(['spam', 'spam', 'spam', 'spam', 'spam', 'spam'], dtype='<U4')
    >>> bool((flip_labels(y, 0.0) == y).all())
    True
    """
    classes, codes = class_codes(y)
    return classes[flip_codes(codes, classes, rate, random_state)]


def flip_codes(
    codes: NDArray[np.int64], classes: NDArray[Any], rate: Rate, random_state: RandomState
) -> NDArray[np.int64]:
    """The positions of labels among ``classes`` after noise; ``rate`` as in :func:`flip_labels`.

    >>> flip_codes(np.array([0, 1, 1]), np.array([-1, 1]), 1.0, None)
    array([1, 0, 0])
    """
    rates = _as_rates(rate, codes, classes)
    rng = check_random_state(random_state)
    n_classes = len(classes)
    uniform = rng.random_sample(len(codes))
    if rates.ndim == 2:
        cumulative = rates.cumsum(axis=1)
        cumulative /= cumulative[:, -1:]  # the end is exactly one, so classes of probability zero are never drawn
        noisy = np.empty_like(codes)
        for c in range(n_classes):
            noisy[codes == c] = np.searchsorted(cumulative[c], uniform[codes == c], side="right")
        return noisy
    if n_classes == 1 and rates.any():
        raise ValueError(f"y holds the single class {classes[0]!s}, so there is no other class to flip to")
    # A jump is drawn for every label, flipped or not, so that a higher rate flips the same labels and more.
    jump = rng.randint(1, max(n_classes, 2), size=len(codes))
    return np.where(uniform < rates, (codes + jump) % n_classes, codes)


def _as_rates(rate: Rate, codes: NDArray[np.int64], classes: NDArray[Any]) -> NDArray[np.float64]:
    """The flip probability of every label (1-d), or the transition matrix (2-d)."""
    if isinstance(rate, Mapping):
        known = classes.tolist()
        unknown = [c for c in rate if c not in known]
        if unknown:
            raise ValueError(f"rate names the class {unknown[0]!r}, which is not one of {known}")
        return np.array([check_probability(f"rate[{c!r}]", rate.get(c, 0.0)) for c in known])[codes]
    rates = np.asarray(rate)
    if rates.dtype.kind not in "iuf":
        raise TypeError(f"rate must be a number, a dict of class to number, or an array of numbers, got {rate!r}")
    outside = ~((rates >= 0) & (rates <= 1))
    if outside.any():
        raise ValueError(f"rate must hold probabilities between 0 and 1, got {rates[outside].flat[0]}")
    if rates.ndim == 0:
        return np.full(len(codes), float(rates))
    if rates.ndim == 1 and len(rates) != len(codes):
        raise ValueError(
            f"rate has {len(rates)} values for {len(codes)} labels; a one-dimensional rate is one probability per"
            " label (for rates per class pass a dict)"
        )
    if rates.ndim >= 2:
        k = len(classes)
        if rates.shape != (k, k):
            raise ValueError(
                f"rate as a transition matrix must have shape {(k, k)} (classes {classes.tolist()}), got {rates.shape}"
            )
        sums = rates.sum(axis=1)
        c = int(np.abs(sums - 1).argmax())
        if abs(sums[c] - 1) > 1e-8:
            raise ValueError(
                f"row {c} of the transition matrix rate (true class {classes[c]!s}) sums to {sums[c]:.6g}, not to one"
            )
    return rates.astype(np.float64)
