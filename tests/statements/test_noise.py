import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwise import PairNoise, Pairs, flip_labels

probability = st.floats(0, 1)

labels = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=30).map(np.array),
    st.lists(st.booleans(), min_size=1, max_size=30).map(np.array),
    st.lists(st.sampled_from(["a", "bcd", "ef"]), min_size=1, max_size=30).map(np.array),
    st.lists(st.sampled_from(["a", "bcd"]), min_size=1, max_size=30).map(lambda y: np.array(y, dtype=object)),
)


# --- PairNoise --------------------------------------------------------------------------------------------------
@given(probability, probability, probability)
def test_matrix_mixes_conditional_means(prior, d_pos, d_neg):
    """Equation (3): the mean over a given label mixes the means over the true labels."""
    mean_pos, mean_neg = 3.0, -0.5
    given_pos, given_neg = np.array([mean_pos, mean_neg]) @ PairNoise(prior, d_pos, d_neg).matrix
    assert given_pos == pytest.approx(d_pos * mean_pos + (1 - d_pos) * mean_neg)
    assert given_neg == pytest.approx((1 - d_neg) * mean_pos + d_neg * mean_neg)


@pytest.mark.parametrize("d_pos", [0.0, 0.1, 0.3, 0.7, 0.9, 1.0])
def test_singular_exactly_when_precisions_sum_to_one(d_pos):
    assert PairNoise(0.5, d_pos, 1 - d_pos).is_singular
    assert not PairNoise(0.5, d_pos, 0.55).is_singular
    assert np.linalg.det(PairNoise(0.5, d_pos, 0.55).matrix) == pytest.approx(d_pos + 0.55 - 1)


def test_a_frozen_value():
    noise = PairNoise(np.float32(0.5), 1, 0)
    assert noise == PairNoise(0.5, 1.0, 0.0) == pickle.loads(pickle.dumps(noise))
    assert len({noise, PairNoise(0.5, 1.0, 0.0)}) == 1
    with pytest.raises(FrozenInstanceError):
        noise.prior = 0.1
    noise.matrix[:] = 7  # a fresh array each time
    assert noise.matrix[0, 0] == 1


@st.composite
def checked_pairs(draw):
    n = draw(st.integers(2, 20))
    given_labels = [1, -1] + draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 2, max_size=n - 2))
    true_labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    weights = draw(st.lists(st.floats(0.1, 10), min_size=n, max_size=n))
    return Pairs(np.arange(n), np.arange(n) + 1, given_labels, n_samples=n + 1, weights=weights), np.array(true_labels)


@given(checked_pairs())
def test_estimate_from_all_pairs_is_exact(case):
    """With every pair checked, precisions and prior are plain weighted fractions."""
    pairs, truth = case
    noise = PairNoise.estimate(pairs, truth, np.arange(len(pairs)))
    w, given_labels = pairs.weights, pairs.labels
    for precision, sign in ((noise.precision_positive, 1), (noise.precision_negative, -1)):
        assert precision == pytest.approx(
            w[(given_labels == sign) & (truth == sign)].sum() / w[given_labels == sign].sum()
        )
    assert noise.prior == pytest.approx(w[truth == 1].sum() / w.sum())


@given(checked_pairs(), st.data())
def test_estimate_looks_at_the_index_only(case, data):
    pairs, truth = case
    extra = data.draw(st.lists(st.integers(2, len(pairs) - 1), unique=True)) if len(pairs) > 2 else []
    index = np.array([1, 0] + extra)
    noise = PairNoise.estimate(pairs, truth[index], index)
    sample = PairNoise.estimate(pairs[index], truth[index], np.arange(len(index)))
    assert noise.precision_positive == pytest.approx(sample.precision_positive)
    assert noise.precision_negative == pytest.approx(sample.precision_negative)
    share = pairs.weights[pairs.labels == 1].sum() / pairs.weights.sum()
    expected = noise.precision_positive * share + (1 - noise.precision_negative) * (1 - share)
    assert noise.prior == pytest.approx(expected)
    mask = np.isin(np.arange(len(pairs)), index)
    by_mask = PairNoise.estimate(pairs, truth[mask], mask)
    np.testing.assert_allclose(by_mask.matrix, noise.matrix)


def test_estimate_finds_the_noise_that_was_made(rng):
    """Ties the parts together: classes -> true pairs -> flips -> a checked sample -> the noise of Bayes' rule."""
    y = rng.integers(3, size=2000)
    true_pairs = Pairs.from_labels(y, n_pairs=100_000, random_state=0)
    prior = (true_pairs.labels == 1).mean()
    noisy = true_pairs.flip({1: 0.3, -1: 0.1}, random_state=1)
    index = rng.choice(len(noisy), 20_000, replace=False)
    noise = PairNoise.estimate(noisy, noisy[index].true_labels(y), index)
    made = PairNoise.from_flip_rates(prior, 0.3, 0.1)
    for name in ("prior", "precision_positive", "precision_negative"):
        assert getattr(noise, name) == pytest.approx(getattr(made, name), abs=0.03)
    assert noisy.agreement(y) == pytest.approx(1 - 0.3 * prior - 0.1 * (1 - prior), abs=0.01)


@given(st.floats(0.01, 0.99), probability, probability)
def test_flip_rates_obey_bayes(prior, rate_positive, rate_negative):
    joint = np.array([[prior * (1 - rate_positive), prior * rate_positive],
                      [(1 - prior) * rate_negative, (1 - prior) * (1 - rate_negative)]])  # fmt: skip
    given_positive, given_negative = joint.sum(axis=0)
    if min(given_positive, given_negative) <= 0:
        with pytest.raises(ValueError, match="never given"):
            PairNoise.from_flip_rates(prior, rate_positive, rate_negative)
        return
    noise = PairNoise.from_flip_rates(prior, rate_positive, rate_negative)
    np.testing.assert_allclose(noise.matrix, joint / joint.sum(axis=0), atol=1e-12)
    # The prior follows from the precisions and the given labels.
    assert noise.matrix[0] @ [given_positive, given_negative] == pytest.approx(noise.prior)


def test_no_flips_are_clean():
    pairs = Pairs([0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, -1], n_samples=4, weights=[1, 1, 2, 4])
    assert PairNoise.clean(pairs) == PairNoise.from_flip_rates(0.5, 0, 0) == PairNoise(0.5, 1, 1)


# --- flip_labels ------------------------------------------------------------------------------------------------
@given(labels, st.integers(0, 99), st.data())
def test_flips_keep_dtype_classes_and_input(y, seed, data):
    before = y.copy()
    rate = data.draw(probability) if len(set(y.tolist())) > 1 else 0.0
    noisy = flip_labels(y, rate, random_state=seed)
    assert noisy.dtype == y.dtype
    assert noisy.shape == y.shape
    assert noisy is not y
    assert set(noisy.tolist()) <= set(y.tolist())
    assert (y == before).all()
    assert (noisy == flip_labels(y.tolist(), rate, random_state=seed)).all()


@given(labels, st.integers(0, 99))
def test_rate_zero_is_a_copy_and_rate_one_leaves_nothing(y, seed):
    k, n = len(set(y.tolist())), len(y)
    for nothing in (0, 0.0, {}, np.zeros(n), np.eye(k)):
        copy = flip_labels(y, nothing, random_state=seed)
        assert (copy == y).all()
        assert not np.shares_memory(copy, y)
    if k > 1:
        everything = (np.ones((k, k)) - np.eye(k)) / (k - 1)
        for rate in (1, 1.0, dict.fromkeys(y.tolist(), 1.0), np.ones(n), everything):
            assert (flip_labels(y, rate, random_state=seed) != y).all()


@given(labels.filter(lambda y: len(set(y.tolist())) > 1), probability, probability, st.integers(0, 99))
def test_flips_at_a_low_rate_are_kept_at_a_higher_one(y, a, b, seed):
    low, high = sorted((a, b))
    less, more = (flip_labels(y, rate, random_state=seed) for rate in (low, high))
    assert (more == less)[less != y].all()


def check_transitions(y, noisy, expected):
    """Observed transition frequencies within five standard errors; zero probabilities exactly."""
    classes = np.unique(y)
    for c, row in zip(classes, expected, strict=True):
        seen = noisy[y == c]
        for target, p in zip(classes, row, strict=True):
            assert abs((seen == target).mean() - p) <= 5 * np.sqrt(p * (1 - p) / len(seen))


@pytest.mark.parametrize("classes", [[0, 1, 2], ["x", "yy", "z"], [10.5, 20.5, 30.5]])
def test_transition_frequencies(classes, rng):
    y = rng.choice(classes, 30_000)
    a, _, c = classes
    transition = np.array([[0.7, 0.3, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]])
    cases = [
        (0.3, [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]]),
        ({a: 0.4, c: 0.1}, [[0.6, 0.2, 0.2], [0, 1, 0], [0.05, 0.05, 0.9]]),
        (transition, transition),
        (transition.tolist(), transition),
    ]
    for rate, expected in cases:
        check_transitions(y, flip_labels(y, rate, random_state=0), expected)


def test_rates_per_sample(rng):
    y = rng.integers(2, size=20_000)
    rate = np.where(np.arange(20_000) < 10_000, 0.0, 0.4)
    wrong = flip_labels(y, rate, random_state=0) != y
    assert not wrong[:10_000].any()
    assert abs(wrong[10_000:].mean() - 0.4) < 5 * np.sqrt(0.24 / 10_000)


def test_two_classes_flip_to_the_other():
    y = np.array([True, False, True])
    assert flip_labels(y, 1.0).tolist() == [False, True, False]
    assert flip_labels(y, {True: 1.0}).tolist() == [False, False, False]


# --- bad calls --------------------------------------------------------------------------------------------------

PAIRS = Pairs([0, 1, 2], [1, 2, 3], [1, -1, 1], n_samples=4)
Y = np.array([0, 1, 2, 1])
BAD_CALLS = {
    "prior": (lambda: PairNoise(1.5, 0.5, 0.6), "prior must lie between 0 and 1, got 1.5"),
    "precision_positive": (lambda: PairNoise(0.5, -0.1, 0.6), "precision_positive must lie.*got -0.1"),
    "precision_negative": (lambda: PairNoise(0.5, 0.5, np.nan), "precision_negative must lie.*got nan"),
    "text": (lambda: PairNoise("0.5", 0.5, 0.6), "prior must be a number between 0 and 1, got '0.5'"),
    "boolean": (lambda: PairNoise(0.5, True, 0.6), "precision_positive must be a number.*got True"),
    "estimate from arrays": (lambda: PairNoise.estimate([1, -1], [1], [0]), "must be a kernelwise.Pairs, got list"),
    "truth too long": (lambda: PairNoise.estimate(PAIRS, [1, 1, 1], [0, 1]), "3 values but index picks 2"),
    "truth as classes": (lambda: PairNoise.estimate(PAIRS, [0, 2], [0, 1]), "true_labels must be .1"),
    "no positive": (lambda: PairNoise.estimate(PAIRS, [1], [1]), r"no pair labelled \+1"),
    "no negative": (lambda: PairNoise.estimate(PAIRS, [1, 1], [0, 2]), "no pair labelled -1"),
    "clean of nothing": (lambda: PairNoise.clean(PAIRS[:0]), "pairs is empty"),
    "flip rate": (lambda: PairNoise.from_flip_rates(0.5, 1.1, 0), "rate_positive must lie.*got 1.1"),
    "nothing given negative": (lambda: PairNoise.from_flip_rates(1.0, 0, 0), "never given"),
    "rate above one": (lambda: flip_labels(Y, 1.1), "rate must hold probabilities between 0 and 1, got 1.1"),
    "rate negative": (lambda: flip_labels(Y, -0.1), "between 0 and 1, got -0.1"),
    "rate NaN": (lambda: flip_labels(Y, np.nan), "between 0 and 1, got nan"),
    "rate as text": (lambda: flip_labels(Y, "0.1"), "rate must be a number.*got '0.1'"),
    "rate boolean": (lambda: flip_labels(Y, True), "rate must be a number.*got True"),
    "rate None": (lambda: flip_labels(Y, None), "rate must be a number.*got None"),
    "unknown class": (lambda: flip_labels(Y, {7: 0.1}), r"names the class 7.*\[0, 1, 2\]"),
    "class rate": (lambda: flip_labels(Y, {1: 2.0}), r"rate\[1\] must lie between 0 and 1, got 2.0"),
    "class rates as a list": (lambda: flip_labels(Y, [0.1, 0.2, 0.3]), "3 values for 4 labels.*pass a dict"),
    "matrix shape": (lambda: flip_labels(Y, np.eye(2)), r"shape \(3, 3\).*got \(2, 2\)"),
    "3-d rate": (lambda: flip_labels(Y, np.zeros((3, 3, 3))), r"got \(3, 3, 3\)"),
    "matrix rows": (lambda: flip_labels(Y, [[1, 0, 0], [0.5, 0.4, 0], [0, 0, 1]]), r"row 1 .*class 1.*sums to 0.9"),
    "matrix entry": (lambda: flip_labels(Y, [[2, -1, 0], [0, 1, 0], [0, 0, 1]]), "between 0 and 1, got 2"),
    "single class": (lambda: flip_labels(["a", "a"], 0.1), "single class a"),
    "empty": (lambda: flip_labels([], 0.1), "non-empty"),
    "2-d labels": (lambda: flip_labels([[1, 2]], 0.1), r"one-dimensional.*\(1, 2\)"),
    "NaN label": (lambda: flip_labels([1.0, np.nan], 0.1), "missing label .NaN. at position 1"),
    "mixed labels": (lambda: flip_labels(np.array([1, "a"], dtype=object), 0.1), "mixes types"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_class_of_probability_zero_is_never_drawn():
    class NearlyOne(np.random.RandomState):
        def random_sample(self, size=None):
            return np.full(size, 1 - 1e-12)

    almost = [[1 - 1e-9, 0.0], [0.0, 1.0]]  # whose first row sums to one but for rounding
    assert flip_labels(np.array(["a", "b"]), almost, random_state=NearlyOne()).tolist() == ["a", "b"]
