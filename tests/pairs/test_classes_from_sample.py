"""NoisyPairClustering where classes are learned from some of the samples and all samples are judged."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelwise import NoisyPairClustering, Pairs, Verdicts
from kernelwise.metrics import normalized_mutual_info
from kernelwise.pairs.classes.evidence import PairEvidence
from kernelwise.pairs.classes.from_sample import rows_to_learn_from

N_SAMPLES, SIZE = 900, 300


def blobs(rng, n_samples=N_SAMPLES, distance=2.0):
    y = rng.integers(3, size=n_samples)
    return distance * np.eye(3, 5)[y] + rng.normal(size=(n_samples, 5)), y


def noisy_pairs(y, n_pairs, rate=0.15):
    true = Pairs.from_labels(y, n_pairs=n_pairs, random_state=0)
    return true.flip(rate, random_state=0), true


def random_evidence(rng, n_samples, n_pairs):
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    return PairEvidence(rows, cols, np.ones(n_pairs), np.zeros(n_pairs), n_samples)


@pytest.mark.parametrize("n_pairs", [0, 30, 20_000])
def test_rows_are_distinct_in_order_and_about_as_many_as_asked_for(rng, n_pairs):
    drawn = rows_to_learn_from(random_evidence(rng, 5000, n_pairs), 400, np.random.RandomState(0))
    assert (np.diff(drawn) > 0).all()
    assert drawn[0] >= 0
    assert drawn[-1] < 5000
    assert 195 < len(drawn) <= 400
    if n_pairs == 20_000:
        assert len(drawn) == 400


def test_rows_have_many_more_pairs_among_them_than_an_even_sample(rng):
    evidence = random_evidence(rng, 20_000, 20_000)
    drawn = rows_to_learn_from(evidence, 1000, np.random.RandomState(0))
    even = np.sort(rng.permutation(20_000)[:1000])
    assert evidence.among(drawn).n_pairs > 5 * evidence.among(even).n_pairs


def test_all_rows_in_pairs_are_drawn_where_they_are_few(rng):
    evidence = random_evidence(rng, 10_000, 20)
    assert np.isin(evidence.sources, rows_to_learn_from(evidence, 200, np.random.RandomState(0))).all()


def test_half_of_the_rows_are_drawn_evenly_although_pairs_are_in_one_corner(rng):
    corner = random_evidence(rng, 1000, 20_000)
    evidence = PairEvidence(corner.rows, corner.cols, corner.plus, corner.minus, 100_000)
    drawn = rows_to_learn_from(evidence, 800, np.random.RandomState(0))
    assert 370 < np.count_nonzero(drawn >= 1000) <= 400
    assert np.count_nonzero(drawn < 1000) >= 400


def test_pairs_among_some_samples_are_numbered_as_these(rng):
    evidence = PairEvidence(
        np.array([2, 5, 9]),
        np.array([5, 7, 2]),
        np.array([1.0, 0, 2]),
        np.array([0.0, 1, 0]),
        10,
        np.array([0.0, 3, 4]),
    )
    some = evidence.among(np.array([2, 5, 9]))
    assert some.n_samples == 3
    assert list(zip(some.rows, some.cols, some.plus, some.minus, some.verdicts, strict=True)) == [
        (0, 1, 1.0, 0.0, 0.0),
        (2, 0, 2.0, 0.0, 4.0),
    ]


def test_up_to_the_sample_size_the_answer_does_not_depend_on_it(rng):
    X, y = blobs(rng, 200)
    pairs, _ = noisy_pairs(y, 600)
    models = [NoisyPairClustering(3, sample_size=size, random_state=0).fit(X, pairs=pairs) for size in (None, 200)]
    for name in ("probabilities_", "pair_quality_", "labels_"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))
    assert "sample" not in models[1].diagnostic_


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(5)
    X, y = blobs(rng)
    pairs, true = noisy_pairs(y, 6000)
    return X, y, pairs, true, NoisyPairClustering(3, sample_size=SIZE, random_state=0).fit(X, pairs=pairs)


def test_samples_and_pairs_are_judged_nearly_as_well_as_by_all(fitted):
    X, y, pairs, true, model = fitted
    whole = NoisyPairClustering(3, sample_size=None, random_state=0).fit(X, pairs=pairs)
    loss = normalized_mutual_info(y, whole.labels_) - normalized_mutual_info(y, model.labels_)
    assert loss < 0.02
    assert np.array(model.noise_.flip_rates) == pytest.approx([0.15, 0.15], abs=0.03)
    right = pairs.labels == true.labels
    assert np.mean((model.pair_quality_ >= 0.5) == right) > np.mean((whole.pair_quality_ >= 0.5) == right) - 0.01


def test_the_model_says_what_it_learned_from(fitted):
    _, _, pairs, _, model = fitted
    assert model.diagnostic_["sample"].startswith(f"The classes were learned from {SIZE} of {N_SAMPLES} samples and")
    assert f"of {len(pairs):,} distinct pairs" in model.diagnostic_["sample"]


def test_chances_of_given_pairs_are_those_that_qualities_come_from(fitted):
    _, _, pairs, _, model = fitted
    chance = model.pair_probabilities(pairs.rows, pairs.cols)
    assert np.where(pairs.labels > 0, chance, 1 - chance) == pytest.approx(model.pair_quality_, abs=1e-12)


def test_samples_without_pairs_are_judged_by_their_features(rng):
    X, y = blobs(rng, 700, distance=4.0)
    pairs, _ = noisy_pairs(y[:400], 2000)
    some = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=700)
    model = NoisyPairClustering(3, sample_size=SIZE, random_state=0).fit(X, pairs=some)
    judged = np.abs(model.probabilities_[400:] - model.predict_proba(X[400:])).max(axis=1)
    assert np.median(judged) < 0.01  # a sample that the classes were learned from is judged without itself
    assert normalized_mutual_info(y[400:], model.labels_[400:]) > 0.9


def test_pairs_that_say_nothing_are_ignored_and_the_model_says_so(rng):
    X, y = blobs(rng, distance=4.0)
    pairs, _ = noisy_pairs(y, 3000, rate=0.5)
    model = NoisyPairClustering(3, sample_size=SIZE, random_state=0).fit(X, pairs=pairs)
    assert not model.pairs_help_
    assert "The pairs do not change the classes" in model.diagnostic_["pairs"]
    assert normalized_mutual_info(y, model.labels_) > 0.9


def test_words_and_checked_pairs(rng):
    y = rng.integers(3, size=N_SAMPLES)
    words = sp.csr_array(rng.poisson(np.where(np.arange(60)[None, :] % 3 == y[:, None], 0.6, 0.1)).astype(float))
    pairs, true = noisy_pairs(y, 4000)
    wrong = np.flatnonzero(pairs.labels != true.labels)[:30]
    checked = Verdicts(wrong, true.labels[wrong])
    model = NoisyPairClustering(3, sample_size=SIZE, random_state=0).fit(words, pairs=pairs, checked=checked)
    assert (model.pair_quality_[wrong] == 0).all()
    assert normalized_mutual_info(y, model.labels_) > 0.9


def test_clusters_without_pairs_and_a_number_that_is_found(rng):
    X, y = blobs(rng, distance=6.0)
    assert normalized_mutual_info(y, NoisyPairClustering(3, sample_size=SIZE, random_state=0).fit(X).labels_) > 0.95
    pairs, _ = noisy_pairs(y, 3000, rate=0.1)
    assert NoisyPairClustering(sample_size=SIZE, random_state=0).fit(X, pairs=pairs).n_clusters_ == 3


@pytest.mark.parametrize("size", [1, 0, 2.5, "all"])
def test_bad_sample_sizes_are_refused(rng, size):
    X, _ = blobs(rng, 50)
    with pytest.raises((TypeError, ValueError), match="sample_size must be"):
        NoisyPairClustering(3, sample_size=size).fit(X)


def test_more_clusters_than_the_sample_has_rows_are_refused(rng):
    with pytest.raises(ValueError, match="n_clusters=30 is more than sample_size=20; give a larger"):
        NoisyPairClustering(30, sample_size=20).fit(rng.normal(size=(50, 2)))
