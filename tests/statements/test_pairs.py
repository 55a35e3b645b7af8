import copy
import pickle
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kernelwise import Pairs
from kernelwise.statements.noise import resolve_pairs
from plain_pairs import triples


@st.composite
def some_pairs(draw, max_samples=8, max_pairs=25):
    """Few samples and many pairs, so that repetitions and contradictions are the rule."""
    n = draw(st.integers(2, max_samples))
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, n - 1)), max_size=max_pairs))
    rows = [i for i, _ in ends]
    cols = [(i + jump) % n for i, jump in ends]
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(ends), max_size=len(ends)))
    weights = draw(st.lists(st.floats(0.01, 100), min_size=len(ends), max_size=len(ends)))
    return Pairs(rows, cols, labels, n_samples=n, weights=weights)


# --- the object -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64])
def test_index_dtypes_become_int64(dtype):
    pairs = Pairs(np.array([0, 1], dtype), np.array([2, 2], dtype), np.array([1.0, -1.0]), n_samples=3)
    assert pairs.rows.dtype == pairs.cols.dtype == pairs.labels.dtype == np.int64
    assert pairs.weights.dtype == np.float64
    assert triples(pairs) == [({0, 2}, 1, 1.0), ({1, 2}, -1, 1.0)]


def test_arrays_cannot_be_written_and_inputs_are_neither_kept_nor_locked():
    rows, cols, labels, weights = np.array([0, 1]), np.array([1, 2]), np.array([1, -1]), np.array([1.0, 2.0])
    pairs = Pairs(rows, cols, labels, n_samples=3, weights=weights)
    before = triples(pairs)
    rows[:], cols[:], labels[:], weights[:] = 2, 0, 1, 9.0
    assert triples(pairs) == before
    for made in (pairs, pairs[:1], pairs[[1]], pairs.flip(0.5), pairs.merged(), pickle.loads(pickle.dumps(pairs))):
        for name in ("rows", "cols", "labels", "weights"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(made, name)[0] = 1
    with pytest.raises(AttributeError):
        pairs.n_samples = 7


@given(some_pairs())
def test_copies_are_equal_and_pairs_are_not_hashable(pairs):
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert copy.deepcopy(pairs) == pairs
    with pytest.raises(TypeError, match="unhashable"):
        hash(pairs)


def test_equality_sees_every_part():
    pairs = Pairs([0, 1], [1, 2], [1, -1], n_samples=3)
    others = [
        Pairs([0, 1], [1, 2], [1, -1], n_samples=4),
        Pairs([0, 0], [1, 2], [1, -1], n_samples=3),
        Pairs([0, 1], [2, 2], [1, -1], n_samples=3),
        Pairs([0, 1], [1, 2], [1, 1], n_samples=3),
        Pairs([0, 1], [1, 2], [1, -1], n_samples=3, weights=[1, 2]),
        pairs[:1],
        pairs[[1, 0]],
        "pairs",
    ]
    assert pairs == pairs[[0, 1]]
    assert all(pairs != other for other in others)


@given(some_pairs(), st.data())
def test_indexing_is_that_of_the_columns(pairs, data):
    everything = triples(pairs)
    mask = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    assert triples(pairs[mask]) == [t for t, kept in zip(everything, mask, strict=True) if kept]
    cut = data.draw(st.slices(len(pairs)))
    assert triples(pairs[cut]) == everything[cut]
    if len(pairs):
        positions = data.draw(st.lists(st.integers(-len(pairs), len(pairs) - 1)))
        assert triples(pairs[positions]) == [everything[t] for t in positions]
    assert pairs[[]].n_samples == pairs.n_samples


@given(some_pairs(), st.integers(0, 25), st.integers(0, 25))
def test_concatenation_undoes_slicing(pairs, a, b):
    a, b = sorted((a, b))
    parts = [pairs[:a], pairs[a:b], pairs[b:]]
    assert Pairs.concatenate(parts) == parts[0] + parts[1] + parts[2] == pairs


@given(some_pairs())
def test_signs_split_the_pairs(pairs):
    assert (pairs.positive.labels == 1).all()
    assert (pairs.negative.labels == -1).all()
    assert sorted(triples(pairs), key=repr) == sorted(triples(pairs.positive + pairs.negative), key=repr)


# --- evidence ---------------------------------------------------------------------------------------------------
@given(some_pairs())
def test_merged_adds_up_weights_per_pair_and_label(pairs):
    expected = Counter()
    for ends, label, weight in triples(pairs):
        expected[ends, label] += weight
    merged = pairs.merged()
    assert {(ends, label): weight for ends, label, weight in triples(merged)} == pytest.approx(expected)
    assert len(merged) == len(expected)
    assert (merged.rows < merged.cols).all()
    assert merged.merged() == merged
    assert pairs.n_duplicates == len(pairs) - len(expected)
    assert pairs.n_contradictions == sum((ends, -label) in expected for ends, label in expected) // 2


@given(some_pairs())
def test_to_sparse_is_the_symmetric_sum(pairs):
    expected = np.zeros((pairs.n_samples, pairs.n_samples))
    for i, j, label, weight in zip(pairs.rows, pairs.cols, pairs.labels, pairs.weights, strict=True):
        expected[i, j] += label * weight
        expected[j, i] += label * weight
    matrix = pairs.to_sparse()
    assert isinstance(matrix, sp.csr_array)
    np.testing.assert_allclose(matrix.toarray(), expected, atol=1e-10)
    assert (matrix.toarray() == matrix.toarray().T).all()
    assert matrix.nnz == 2 * len({ends for ends, _, _ in triples(pairs)})


@given(some_pairs(), st.data())
def test_restrict_equals_brute_force(pairs, data):
    index = data.draw(st.lists(st.integers(0, pairs.n_samples - 1), min_size=1, unique=True))
    expected = [
        (frozenset(map(index.index, ends)), label, weight)
        for ends, label, weight in triples(pairs)
        if ends <= set(index)
    ]
    restricted = pairs.restrict(index)
    assert restricted.n_samples == len(index)
    assert triples(restricted) == expected
    mask = np.isin(np.arange(pairs.n_samples), index)
    assert pairs.restrict(mask) == pairs.restrict(sorted(index))


@given(some_pairs(), st.data())
def test_agreement_is_the_weight_that_is_right(pairs, data):
    y = data.draw(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=pairs.n_samples, max_size=pairs.n_samples))
    y[0], y[1] = 0, 0  # at least one known pair, once it is added
    pairs = pairs + Pairs([0], [1], [1], n_samples=pairs.n_samples)
    right = total = 0.0
    for i, j, label, weight in zip(pairs.rows, pairs.cols, pairs.labels, pairs.weights, strict=True):
        if y[i] != -1 and y[j] != -1:
            total += weight
            right += weight * ((y[i] == y[j]) == (label == 1))
    assert pairs.agreement(y) == pytest.approx(right / total)
    assert pairs.merged().agreement(y) == pytest.approx(right / total)


def test_repr_says_what_is_peculiar():
    plain = Pairs([0, 1], [1, 2], [1, -1], n_samples=3)
    assert repr(plain) == "Pairs(n_samples=3, n_pairs=2, positive=1, negative=1)"
    odd = Pairs([0, 1, 0], [1, 0, 1], [1, 1, -1], n_samples=3, weights=[1, 2, 0.5])
    assert repr(odd) == (
        "Pairs(n_samples=3, n_pairs=3, positive=2, negative=1, duplicates=1, contradictions=1, total_weight=3.5)"
    )
    assert repr(plain[:0]) == "Pairs(n_samples=3, n_pairs=0, positive=0, negative=0)"


# --- labels -----------------------------------------------------------------------------------------------------
@given(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=2, max_size=12).filter(lambda y: sum(c >= 0 for c in y) > 1))
def test_from_labels_gives_all_pairs_of_known_samples(y):
    if set(y) == {-1, 1}:
        y = [2 if c == 1 else c for c in y]
    expected = {
        (frozenset((i, j)), 1 if y[i] == y[j] else -1, 1.0)
        for i, j in combinations(range(len(y)), 2)
        if y[i] != -1 != y[j]
    }
    pairs = Pairs.from_labels(y)
    assert len(pairs) == len(expected)
    assert set(triples(pairs)) == expected
    assert pairs.n_samples == len(y)


@given(st.integers(2, 30), st.integers(0, 99), st.data())
def test_from_labels_draws_distinct_pairs(n, seed, data):
    y = np.random.default_rng(seed).choice(["a", "bb", "c"], n)
    n_pairs = data.draw(st.integers(1, n * (n - 1) // 2))
    pairs = Pairs.from_labels(y, n_pairs=n_pairs, random_state=seed)
    assert len(pairs) == len({ends for ends, _, _ in triples(pairs)}) == n_pairs
    assert set(triples(pairs)) <= set(triples(Pairs.from_labels(y)))
    assert pairs.agreement(y) == 1.0


def test_from_labels_draws_from_many_samples_without_listing_their_pairs():
    y = np.arange(1_000_000) % 4
    pairs = Pairs.from_labels(y, n_pairs=20_000, random_state=0)
    sigma = np.sqrt(0.25 * 0.75 / 20_000)
    assert abs((pairs.labels == 1).mean() - 0.25) < 5 * sigma


@pytest.mark.parametrize(
    "y", [[True, False, True], ["x", "y", "x"], [0.5, 1.5, 0.5], np.array([7, 8, 7], dtype=object)]
)
def test_from_labels_takes_any_kind_of_class(y):
    truth = [1 if y[i] == y[j] else -1 for i, j in [(0, 1), (0, 2), (1, 2)]]
    assert Pairs.from_labels(y).labels.tolist() == truth


# --- flips ------------------------------------------------------------------------------------------------------
@given(some_pairs(), st.integers(0, 99))
def test_flip_at_zero_and_one(pairs, seed):
    assert pairs.flip(0.0, random_state=seed) == pairs
    everything = pairs.flip(1.0, random_state=seed)
    assert (everything.labels == -pairs.labels).all()
    assert everything.flip(1) == pairs


def test_flip_rates(rng):
    n = 40_000
    ends = rng.integers(100, size=n)
    pairs = Pairs(ends, (ends + 1) % 100, rng.choice([-1, 1], n), n_samples=100)
    per_pair = rng.uniform(0, 0.6, n)
    cases = [
        (0.2, 0.2, 0.2),
        ({1: 0.1, -1: 0.4}, 0.1, 0.4),
        ({-1: 0.3}, 0.0, 0.3),
        ([[0.6, 0.4], [0.1, 0.9]], 0.1, 0.4),  # rows and columns in the order -1, +1
        (per_pair, 0.3, 0.3),
    ]
    for rate, rate_positive, rate_negative in cases:
        flipped = pairs.flip(rate, random_state=0).labels != pairs.labels
        for sign, expected in ((1, rate_positive), (-1, rate_negative)):
            seen = flipped[pairs.labels == sign]
            assert abs(seen.mean() - expected) <= 5 * np.sqrt(expected * (1 - expected) / len(seen))
    low = per_pair < 0.05
    assert (pairs.flip(per_pair, random_state=1).labels != pairs.labels)[low].mean() < 0.1


# --- bad calls --------------------------------------------------------------------------------------------------

PAIRS = Pairs([0, 1, 2], [1, 2, 3], [1, -1, 1], n_samples=4)
BAD_CALLS = {
    "index too large": (lambda: Pairs([0, 1], [1, 9], [1, 1], n_samples=4), r"pair 1 is \(1, 9\).*0 and 3"),
    "index negative": (lambda: Pairs([0, -2], [1, 3], [1, 1], n_samples=4), r"pair 1 is \(-2, 3\)"),
    "self-pair": (lambda: Pairs([0, 2], [1, 2], [1, 1], n_samples=4), "pair 1 joins sample 2 to itself"),
    "zero-one labels": (lambda: Pairs([0, 1], [1, 2], [1, 0], n_samples=4), r"got 0 at pair 1.*2 \* labels - 1"),
    "boolean labels": (lambda: Pairs([0], [1], [True], n_samples=4), r"labels must hold.*2 \* labels - 1.*bool"),
    "NaN label": (lambda: Pairs([0], [1], [np.nan], n_samples=4), "labels must be .* got nan"),
    "float indices": (lambda: Pairs([0.0], [1], [1], n_samples=4), "rows must hold integer indices.*float64"),
    "2-d indices": (lambda: Pairs([0], [[1]], [1], n_samples=4), r"cols must be one-dimensional.*\(1, 1\)"),
    "ends of two lengths": (lambda: Pairs([0, 1], [1], [1], n_samples=4), "one length, got 2 and 1"),
    "labels of another length": (lambda: Pairs([0], [1], [1, 1], n_samples=4), "1 pairs, 2 labels"),
    "weights of another length": (lambda: Pairs([0], [1], [1], n_samples=4, weights=[1, 2]), "and 2 weights"),
    "zero weight": (lambda: Pairs([0], [1], [1], n_samples=4, weights=[0.0]), "weights must be positive.*got 0.0"),
    "infinite weight": (lambda: Pairs([0], [1], [1], n_samples=4, weights=[np.inf]), "finite, got inf at pair 0"),
    "NaN weight": (lambda: Pairs([0], [1], [1], n_samples=4, weights=[np.nan]), "finite, got nan at pair 0"),
    "float n_samples": (lambda: Pairs([0], [1], [1], n_samples=4.0), "n_samples must be an integer.* got 4.0"),
    "no samples": (lambda: Pairs([], [], [], n_samples=0), "n_samples must be an integer between 1 and .* got 0"),
    "too many samples": (lambda: Pairs([], [], [], n_samples=2**40), "n_samples must be .* between 1 and 2147483648"),
    "one pair by number": (lambda: PAIRS[1], r"pairs\[\[3\]\]"),
    "two indices": (lambda: PAIRS[0, 1], r"a slice, an int array or a mask"),
    "float positions": (lambda: PAIRS[[0.5]], "integer positions or booleans"),
    "mask of another length": (lambda: PAIRS[[True]], "mask of 1 values for 3 pairs"),
    "nothing to concatenate": (lambda: Pairs.concatenate([]), "parts is empty"),
    "concatenate something else": (lambda: Pairs.concatenate([PAIRS, 3]), "must hold Pairs, got int"),
    "add other samples": (lambda: PAIRS + Pairs([], [], [], n_samples=9), r"n_samples=\[4, 9\]"),
    "restrict to nothing": (lambda: PAIRS.restrict([False] * 4), "selects no sample"),
    "restrict by a short mask": (lambda: PAIRS.restrict([True]), "mask of 1 values for n_samples=4"),
    "restrict outside": (lambda: PAIRS.restrict([1, 4]), "index holds 4.*0 to 3"),
    "restrict negative": (lambda: PAIRS.restrict([-1]), "index holds -1"),
    "restrict twice": (lambda: PAIRS.restrict([1, 2, 1]), "sample 1 more than once"),
    "classes of other samples": (lambda: PAIRS.agreement([0, 1]), "y has 2 labels.*n_samples=4"),
    "classes all unknown": (lambda: PAIRS.agreement([-1, -1, -1, 0]), "truth of no pair"),
    "signs as classes": (lambda: PAIRS.agreement([-1, 1, 1, -1]), r"-1 means unknown.*pass \(y > 0\)"),
    "pairs of too many labels": (lambda: Pairs.from_labels(np.zeros(20_000, int)), "199990000 pairs; set n_pairs"),
    "too many pairs": (lambda: Pairs.from_labels([0, 1, -1], n_pairs=2), "2 known labels make only 1 pairs"),
    "no pairs": (lambda: Pairs.from_labels([0, 1], n_pairs=0), "n_pairs must be an integer of at least 1, got 0"),
    "fraction of pairs": (lambda: Pairs.from_labels([0, 1], n_pairs=0.5), "n_pairs must be an integer.* got 0.5"),
    "one known label": (lambda: Pairs.from_labels([0, -1]), "1 known labels, but a pair needs two"),
    "signs as labels": (lambda: Pairs.from_labels([-1, 1, 1]), "-1 means unknown"),
    "NaN class": (lambda: Pairs.from_labels([0.0, np.nan]), "missing label.*position 1"),
    "None class": (lambda: Pairs.from_labels(["a", None]), "missing labels or mixes types"),
    "flip label": (lambda: PAIRS.flip({0: 0.1}), r"names the class 0, which is not one of \[-1, 1\]"),
    "flip too few": (lambda: PAIRS.flip([0.1, 0.2]), "2 values for 3 labels"),
    "flip above one": (lambda: PAIRS.flip(1.2), "between 0 and 1, got 1.2"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        PAIRS + [1]


@pytest.mark.parametrize("y", [[0, 0, 1, 2, 1, 0], [0] * 5, [0, 1, 2, 3]])
def test_pairs_drawn_from_labels_can_be_balanced(y):
    plain, balanced = (resolve_pairs(None, y, len(y), random_state=0, both_kinds=False, balance=b) for b in (0, 1))
    np.testing.assert_array_equal(plain.labels, balanced.labels)
    totals = {sign: balanced.weights[balanced.labels == sign].sum() for sign in set(balanced.labels.tolist())}
    np.testing.assert_allclose(list(totals.values()), len(plain) / len(totals))
    given = Pairs([0, 1, 2], [1, 2, 3], [1, -1, -1], n_samples=4, weights=[3.0, 1.0, 2.0])
    assert resolve_pairs(given, None, 4, random_state=0, balance=True) == given
