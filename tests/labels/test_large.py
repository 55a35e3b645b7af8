"""Learning from a sample, judging every row: the sample, the blocks, and what they have to agree on."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelwise import NoisyLabelClassifier, Verdicts, audit_labels, estimate_label_noise, plan_checks
from kernelwise.labels.large import fit_in_blocks
from kernelwise.labels.sample import Chunks, LabelCounts, draw_positions, drawn_rows, in_blocks, sample_weights, slices

N, SIZE = 1200, 500


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    truth = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    wrong = rng.random(N) < 0.15
    return X, np.where(wrong, np.where(truth == "yes", "no", "yes"), truth), truth


@pytest.fixture(scope="module")
def fitted(data):
    return NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(*data[:2])


def in_chunks(X, y, rows, weight=None, **options):
    model = NoisyLabelClassifier(sample_size=SIZE, random_state=0)
    found = fit_in_blocks(model, slices(X, y, weight, rows), **options)
    return model, np.concatenate([part.quality for part in found.results]), found


def test_the_sample_does_not_depend_on_the_cuts():
    y = np.random.default_rng(0).choice(["a", "b", "c"], 5000, p=[0.7, 0.295, 0.005])
    found = []
    for rows in (5000, 311):
        blocks = [LabelCounts.of(y[start : start + rows]) for start in range(0, 5000, rows)]
        drawn = in_blocks(draw_positions(LabelCounts.total(blocks).classes, 1000, np.random.RandomState(0)), blocks)
        starts = range(0, 5000, rows)
        nobody = np.zeros(0, dtype=int)
        parts = [
            start + drawn_rows(y[start : start + rows], None, d, nobody) for start, d in zip(starts, drawn, strict=True)
        ]
        found.append(np.concatenate(parts))
    np.testing.assert_array_equal(*found)
    sizes, rare = Counter(y[found[0]].tolist()), int(np.sum(y == "c"))
    assert sizes["c"] == min(rare, 30)
    assert sizes["a"] == pytest.approx(0.2 * np.sum(y == "a"), abs=1)


def test_weights_keep_the_shares_of_classes_and_checked_rows_stand_for_themselves():
    labels = np.array(["a"] * 40 + ["b"] * 10 + ["b"])
    checked = np.arange(51) == 50
    stands = sample_weights(labels, np.ones(51, bool), checked, {"a": 400, "b": 21})
    assert stands.sum() == pytest.approx(51)
    shares = [stands[labels == name].sum() / stands.sum() for name in "ab"]
    assert shares == pytest.approx([400 / 421, 21 / 421])
    assert stands[50] / stands[0] == pytest.approx(1 / 10)


def test_chunks_give_the_qualities_of_memory(data, fitted):
    X, y, _ = data
    model, quality, found = in_chunks(X, y, 170)
    np.testing.assert_allclose(quality, fitted.label_quality_, atol=1e-9)
    assert model.noise_rate_ == pytest.approx(fitted.noise_rate_, abs=1e-9)
    np.testing.assert_allclose(model.transition_, fitted.transition_, atol=1e-9)
    assert found.summary.rows.tolist() == np.argsort(quality, kind="stable").tolist()


def test_all_figures_come_from_one_posterior(fitted):
    assert fitted.noise_rate_ == pytest.approx(np.mean(1 - fitted.label_quality_), abs=1e-12)
    low, high = fitted.noise_interval_
    error = fitted.diagnostic_["sampling_error"]
    learned = fitted.diagnostic_["learned_from"]
    assert SIZE <= learned <= SIZE + 2
    assert error <= 1 / (2 * np.sqrt(learned)) + 1e-9
    assert low <= fitted.noise_rate_ - 1.95 * error
    assert high >= fitted.noise_rate_ + 1.95 * error


def test_rows_outside_of_the_sample_are_scored_as_well_as_its_own(data, fitted):
    X, y, truth = data
    wrong = y != truth
    sampled = in_chunks(X, y, N)[2].arguments[0][1].places
    others = np.setdiff1d(np.arange(N), sampled)
    for rows in (sampled, others):
        assert np.mean(fitted.label_quality_[rows][wrong[rows]]) < 0.4 < np.mean(fitted.label_quality_[rows])


def test_up_to_the_sample_size_nothing_changes(data):
    X, y, _ = data
    whole = NoisyLabelClassifier(random_state=0).fit(X[:500], y[:500])
    same = NoisyLabelClassifier(sample_size=500, random_state=0).fit(X[:500], y[:500])
    np.testing.assert_array_equal(same.label_quality_, whole.label_quality_)
    assert same.noise_interval_ == whole.noise_interval_
    assert "sampling_error" not in same.diagnostic_


@pytest.mark.parametrize("kind", ["sparse", "frame", "missing numbers"])
def test_kinds_of_samples(kind, data):
    X, y, _ = data
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    elif kind == "frame":
        X = pd.DataFrame(X, columns=["a", "b", "c"]).assign(side=np.where(X[:, 0] > 0, "left", "right"))
    else:
        X = X.copy()
        X[N - 1, 0] = np.nan
    model = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(X, y)
    np.testing.assert_allclose(in_chunks(X, y, 500)[1], model.label_quality_, atol=1e-9)
    assert model.label_probabilities_.shape == (N, 2)


def test_labels_weights_and_verdicts(data):
    X, y, truth = data
    y, weight = y.astype(object), np.ones(N)
    y[3], weight[4] = None, 0.0
    y[5:9] = "rare"
    checked = Verdicts([10, 1100], [truth[10], truth[1100]])
    model = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(X, y, weight, checked=checked)
    assert np.isnan(model.label_quality_[3])
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    for row in (10, 1100):
        assert model.label_quality_[row] == float(truth[row] == y[row])
    counted = (np.arange(N) != 3) & (weight > 0)
    assert model.noise_rate_ == pytest.approx(np.mean(1 - model.label_quality_[counted]), abs=1e-12)
    np.testing.assert_allclose(in_chunks(X, y, 300, weight, checked=checked)[1], model.label_quality_, atol=1e-9)


def test_drawn_checks_bound_the_share_of_all_rows(data):
    X, y, truth = data
    audit = audit_labels(X, y, sample_size=SIZE, random_state=0)
    plan = plan_checks(audit, 60, random_state=0)
    checked = plan.verdicts(truth[plan.rows])
    found = estimate_label_noise(X, y, checked=checked, sample_size=SIZE, random_state=0)
    from kernelwise import guaranteed_share

    bound = guaranteed_share(y, checked)
    assert found.interval == pytest.approx((bound.low, bound.high))


def test_progress_goes_up_to_the_end(data):
    X, y, _ = data
    told = []
    NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(X, y, progress=lambda *now: told.append(now))
    shares = [done / total for done, total in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 5


def test_what_cannot_be_learned_from_is_refused(data):
    X, y, _ = data
    for size, message in ((10, "sample_size=10 is too small"), ("all", 'must be "auto" or a number'), (2.5, "integer")):
        with pytest.raises((ValueError, TypeError), match=message):
            NoisyLabelClassifier(sample_size=size).fit(X, y)
    with pytest.raises(ValueError, match="different labels, too many for sample_size=500"):
        NoisyLabelClassifier(sample_size=500).fit(X, np.arange(N))
    with pytest.raises(ValueError, match="one class"):
        NoisyLabelClassifier(sample_size=500).fit(X, np.zeros(N))
    uneven = Chunks(lambda only: iter([(X[:100], y[:90], None), (X[100:], y[90:], None)]))
    with pytest.raises(ValueError, match="a block of X has 100 rows, and the same block of y has 90 labels"):
        fit_in_blocks(NoisyLabelClassifier(sample_size=500), uneven)


def test_a_sample_that_is_larger_than_the_table_is_all_rows(data):
    X, y = data[0][:600], data[1][:600]
    model = NoisyLabelClassifier(sample_size=5000, random_state=0)
    found = fit_in_blocks(model, slices(X, y, None, 250))
    assert [len(known.places) for _, known in found.arguments] == [250, 250, 100]
    whole = NoisyLabelClassifier(random_state=0).fit(X, y)
    assert model.noise_rate_ == pytest.approx(whole.noise_rate_, abs=0.05)
