"""Pairs from graphs: numbers of pairs, draws of unlinked pairs, all kinds of graphs."""

import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from kernelwise import Pairs
from kernelwise.statements.graph import distinct_integers, key_pairs, pair_keys
from plain_pairs import triples


@st.composite
def some_graph(draw):
    n = draw(st.integers(2, 9))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=60))


# --- keys and draws ---------------------------------------------------------------------------------------------


def test_keys_number_all_pairs_without_gaps():
    rows, cols = np.array(list(combinations(range(40), 2))).T
    keys = pair_keys(rows, cols)
    assert sorted(keys) == list(range(780))
    assert (pair_keys(cols, rows) == keys).all()


@given(st.lists(st.tuples(st.integers(0, 2**31 - 2), st.integers(1, 2**31 - 1)), min_size=1))
def test_keys_are_inverted_up_to_the_largest_sample(ends):
    ends = [(i, j) for i, j in ends if i < j] + [(0, 1), (2**31 - 2, 2**31 - 1), (0, 2**31 - 1)]
    rows, cols = np.array(ends).T
    back = key_pairs(pair_keys(rows, cols))
    np.testing.assert_array_equal(back, (rows, cols))


def test_keys_are_inverted_where_rounding_is_hardest(rng):
    """The first and the last row of a column, where the square root comes closest to an integer."""
    cols = np.concatenate([np.arange(1, 10_000), rng.integers(2**20, 2**31, 100_000), 2**31 - np.arange(1, 10_000)])
    for rows in (np.zeros_like(cols), cols - 1):
        np.testing.assert_array_equal(key_pairs(pair_keys(rows, cols)), (rows, cols))


@given(st.integers(0, 60), st.data())
def test_distinct_integers_are_distinct_sorted_and_in_range(total, data):
    count = data.draw(st.integers(0, total))
    sample = distinct_integers(total, count, np.random.RandomState(data.draw(st.integers(0, 99))))
    assert len(sample) == count
    assert (np.diff(sample) > 0).all()
    assert not count or (sample[0] >= 0 and sample[-1] < total)


def test_distinct_integers_can_use_up_a_long_range():
    sample = distinct_integers(200_000, 199_999, np.random.RandomState(0))
    assert len(np.unique(sample)) == 199_999


def test_distinct_integers_from_a_range_beyond_memory():
    sample = distinct_integers(2**61, 1000, np.random.RandomState(0))
    assert len(np.unique(sample)) == 1000
    assert 0.4 < (sample < 2**60).mean() < 0.6


# --- graphs -----------------------------------------------------------------------------------------------------
@given(some_graph(), st.integers(0, 99), st.data())
def test_from_graph_keeps_links_and_draws_only_unlinked_pairs(graph, seed, data):
    n, edges = graph
    links = {frozenset(edge) for edge in edges if edge[0] != edge[1]}
    n_free = n * (n - 1) // 2 - len(links)
    count = data.draw(st.integers(0, n_free))
    pairs = Pairs.from_graph(edges, n_samples=n, negatives=count, random_state=seed)
    positive = [ends for ends, _, _ in triples(pairs.positive)]
    negative = [ends for ends, _, _ in triples(pairs.negative)]
    assert len(positive) == len(links)
    assert set(positive) == links
    assert len(negative) == len(set(negative)) == count
    assert not links & set(negative)
    assert pairs.n_samples == n
    assert (pairs.weights == 1).all()
    assert pairs == Pairs.from_graph(edges, n_samples=n, negatives=count, random_state=seed)


@pytest.mark.parametrize("count", [2, 5])  # by repeated draws and by permutation
def test_from_graph_draws_every_set_of_unlinked_pairs_equally_often(count):
    """Chi-square over all sets of unlinked pairs: stronger than uniform single pairs."""
    links = [(0, 1), (1, 2), (2, 3), (4, 5), (0, 5), (1, 4)]
    free = {frozenset(pair) for pair in combinations(range(6), 2)} - {frozenset(link) for link in links}
    rng = np.random.RandomState(0)
    n_draws = 6000
    seen = Counter(
        frozenset(ends for ends, _, _ in triples(Pairs.from_graph(links, negatives=count, random_state=rng).negative))
        for _ in range(n_draws)
    )
    subsets = [frozenset(subset) for subset in combinations(free, count)]
    assert set(seen) <= set(subsets)
    expected = n_draws / len(subsets)
    statistic = sum((seen[subset] - expected) ** 2 / expected for subset in subsets)
    assert statistic < chi2.ppf(0.999, len(subsets) - 1)


@pytest.mark.parametrize(
    ("negatives", "expected"),
    [("equal", 4), (3, 3), (np.int64(3), 3), (1, 1), (1.0, 4), (0.5, 2), (np.float64(1.5), 6), (0, 0), (None, 0)],
)
def test_number_of_negatives(negatives, expected):
    pairs = Pairs.from_graph([(0, 1), (1, 2), (2, 3), (3, 4)], negatives=negatives, random_state=0)
    assert len(pairs.positive) == 4
    assert len(pairs.negative) == expected


def test_all_unlinked_pairs_of_a_nearly_complete_graph():
    n = 300
    missing = {frozenset((3, 7)), frozenset((0, 299)), frozenset((298, 299))}
    edges = [pair for pair in combinations(range(n), 2) if frozenset(pair) not in missing]
    pairs = Pairs.from_graph(edges, n_samples=n, negatives=3, random_state=0)
    assert {ends for ends, _, _ in triples(pairs.negative)} == missing


class TinyGraph:
    """The little of networkx that is asked for, as plain attributes."""

    def __init__(self, nodes, edges):
        self.nodes, self.edges = nodes, edges


class MethodGraph:
    """The same as methods, with edge keys as in a multigraph."""

    def nodes(self):
        return iter(["d", "a", "c", "b"])

    def edges(self):
        return iter([("a", "b", 0), ("b", "a", 1), ("d", "d", 0), ("c", "d", 0)])


class NumberedGraph:
    """Nodes known by their number only."""

    edges = ((1, 3), (2, 0))

    def number_of_nodes(self):
        return 4


def test_every_kind_of_graph_gives_the_same_pairs():
    edges = np.array([[1, 3], [3, 1], [0, 0], [2, 0]])
    reference = Pairs.from_graph(edges, n_samples=4, random_state=3)
    values = np.array([-2.0, 0.5, 1.0, 7.0])
    named = TinyGraph(["d", "a", "c", "b"], [("a", "b"), ("b", "a"), ("d", "d"), ("c", "d")])
    adjacency = sp.coo_array((values, edges.T), shape=(4, 4))
    sparse = [kind(adjacency) for kind in (sp.coo_array, sp.csr_matrix, sp.csc_array, sp.lil_array)]
    for graph in [named, MethodGraph(), NumberedGraph(), edges.tolist(), *sparse]:
        assert Pairs.from_graph(graph, random_state=3) == reference


def test_stored_zeros_are_no_links():
    adjacency = sp.csr_array(([1.0, 0.0], ([0, 1], [1, 2])), shape=(4, 4))
    assert triples(Pairs.from_graph(adjacency, negatives=None)) == [({0, 1}, 1, 1.0)]


@pytest.mark.slow
def test_ten_million_links_in_a_minute_and_two_gigabytes():
    pytest.importorskip("resource")
    script = """
import resource, sys, time
import numpy as np
from kernelwise import Pairs
edges = np.random.default_rng(0).integers(1_000_000, size=(10_000_000, 2))
start = time.perf_counter()
pairs = Pairs.from_graph(edges, n_samples=1_000_000, random_state=0)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(seconds, peak, len(pairs.positive), len(pairs.negative), pairs.n_duplicates, pairs.n_contradictions)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    seconds, peak, n_positive, n_negative, n_duplicates, n_contradictions = map(float, run.stdout.split())
    assert seconds < 60
    assert peak < 2e9
    assert 9.9e6 < n_positive == n_negative
    assert n_duplicates == n_contradictions == 0


# --- bad calls --------------------------------------------------------------------------------------------------

BAD_CALLS = {
    "dense adjacency": (lambda: Pairs.from_graph(np.eye(3, dtype=int)), r"shape \(n_edges, 2\).*csr_array"),
    "float edges": (lambda: Pairs.from_graph([[0.0, 1.0]]), "integer indices"),
    "edge outside": (lambda: Pairs.from_graph([[0, 1], [1, 7]], n_samples=3), r"edge 1 is \(1, 7\)"),
    "edge negative": (lambda: Pairs.from_graph([[-3, -1]]), r"edge 0 is \(-3, -1\)"),
    "no edges, no samples": (lambda: Pairs.from_graph([]), "n_samples is needed"),
    "rectangular": (lambda: Pairs.from_graph(sp.csr_array((2, 3))), r"square, got shape \(2, 3\)"),
    "other n_samples": (lambda: Pairs.from_graph(sp.eye_array(3), n_samples=4), "n_samples=4 but .* 3 nodes"),
    "text n_samples": (lambda: Pairs.from_graph([[0, 1]], n_samples="4"), "n_samples must be an integer.* got '4'"),
    "unknown node": (lambda: Pairs.from_graph(TinyGraph(["a"], [("a", "z")])), "names 'z'"),
    "too many negatives": (lambda: Pairs.from_graph([[0, 1]], n_samples=3, negatives=5), "only 2 of the 3 pairs"),
    "equal is too many": (lambda: Pairs.from_graph([[0, 1], [1, 2]]), "asks for 2 .* only 1 of"),
    "negative negatives": (lambda: Pairs.from_graph([[0, 1]], negatives=-1), "negatives must be.*got -1"),
    "NaN negatives": (lambda: Pairs.from_graph([[0, 1]], negatives=np.nan), "negatives must be.*got nan"),
    "unknown negatives": (lambda: Pairs.from_graph([[0, 1]], negatives="all"), "negatives must be.*got 'all'"),
    "true negatives": (lambda: Pairs.from_graph([[0, 1]], negatives=True), "negatives must be.*got True"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
