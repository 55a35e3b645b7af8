"""Checked pairs are certain, calibrate the others, and guarantee intervals, whatever kind of pairs they are."""

import numpy as np
import pytest

from kernelwise import (
    NoisyPairClustering,
    PairAudit,
    PairNoise,
    Pairs,
    Verdicts,
    audit_pairs,
    audit_record_pairs,
    guaranteed_share,
    plan_checks,
)


@pytest.fixture(scope="module")
def classes():
    """Features, noisy pairs and their true labels."""
    y = np.repeat([0, 1, 2], 30)
    X = np.eye(3)[y] + 0.4 * np.random.RandomState(0).randn(90, 3)
    pairs = Pairs.from_labels(y, n_pairs=300, random_state=0).flip(0.2, random_state=0)
    return X, pairs, pairs.true_labels(y)


def records():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(60)]
    rows, cols = np.tile(np.arange(60), 3), 60 + np.concatenate([np.arange(60), rng.integers(0, 60, 120)])
    truth = np.where(cols - 60 == rows, 1, -1)
    given = np.where(np.arange(180) % 9 == 0, -truth, truth)
    return names + [name[:3] + "x" + name[3:] for name in names], Pairs(rows, cols, given, n_samples=120), truth


def drawn(pairs, truth, count, seed=0):
    """Verdicts on pairs that were drawn at random."""
    rows = np.random.RandomState(seed).permutation(len(pairs))[:count]
    return Verdicts(rows, truth[rows], chance=count / len(pairs))


def assert_one_answer(audit, truth):
    """Checked pairs are certain, figures agree, and intervals are those of the guarantee and hold."""
    pairs, checked = audit.pairs, audit.checked
    right = pairs.labels == truth
    assert audit.quality[checked.rows].tolist() == right[checked.rows].astype(float).tolist()
    assert (audit.suggested[checked.rows] == truth[checked.rows]).all()
    bounds = PairNoise.guaranteed(pairs, checked)
    for name, sign in (("precision_positive", 1), ("precision_negative", -1)):
        kind = pairs.labels == sign
        found, (low, high) = getattr(audit.noise, name), audit.intervals[name]
        assert found == pytest.approx(audit.quality[kind].mean())
        assert (low, high) == (min(bounds[name][0], found), max(bounds[name][1], found))
        assert low <= right[kind].mean() <= high
    assert audit.diagnostic["reason"] == str(guaranteed_share(audit, checked))
    assert len(plan_checks(audit, 5, random_state=0)) == 5
    assert not set(plan_checks(audit, 5, random_state=0).rows) & set(checked.rows)


def test_checked_pairs_of_classes(classes):
    X, pairs, truth = classes
    assert_one_answer(audit_pairs(X, pairs, kind="classes", checked=drawn(pairs, truth, 40), random_state=0), truth)


def test_checked_records():
    names, pairs, truth = records()
    checked = drawn(pairs, truth, 40)
    assert_one_answer(audit_record_pairs(names, pairs, checked=checked, random_state=0), truth)
    assert audit_pairs(names, pairs, kind="records", checked=checked, random_state=0).checked is checked


@pytest.mark.slow
def test_checked_links():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 40)
    X = np.eye(3)[y] + 0.5 * rng.randn(120, 3)
    near = np.argsort(-(X @ X.T) + 100 * np.eye(120), axis=1)[:, :4]
    links = Pairs.from_graph(np.column_stack([np.repeat(np.arange(120), 4), near.ravel()]), n_samples=120)
    truth = links.true_labels(y)
    audit = audit_pairs(X, links, kind="links", checked=drawn(links, truth, 60), random_state=0)
    assert audit.diagnostic["kind"] == "links"
    assert_one_answer(audit, truth)


def test_clusters_take_checked_pairs(classes):
    X, pairs, truth = classes
    checked = drawn(pairs, truth, 40)
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs, checked=checked)
    right = (pairs.labels == truth).astype(float)
    assert model.pair_quality_[checked.rows].tolist() == right[checked.rows].tolist()
    chance = model.pair_probabilities(pairs.rows, pairs.cols)
    np.testing.assert_allclose(np.where(pairs.labels > 0, chance, 1 - chance), model.pair_quality_)
    positive = pairs.labels > 0
    assert model.noise_.precision_positive == pytest.approx(model.pair_quality_[positive].mean())
    low, high = model.noise_intervals_["precision_positive"]
    assert low <= right[positive].mean() <= high
    assert "With 95" in model.diagnostic_["reason"]


def test_checks_tell_of_errors_that_pairs_alone_cannot_show(classes):
    X, _, _ = classes
    y = np.repeat([0, 1, 2], 30)
    given = Pairs.from_labels(np.minimum(y, 1), n_pairs=400, random_state=0)  # two classes are taken for one
    truth = given.true_labels(y)
    wrong = np.mean(given.labels != truth)
    without = audit_pairs(X, given, kind="classes", random_state=0)
    checked = audit_pairs(X, given, kind="classes", checked=drawn(given, truth, 50), random_state=0)
    errors = [abs(np.mean(1 - audit.quality) - wrong) for audit in (without, checked)]
    assert errors[0] > 0.1
    assert errors[1] < errors[0] / 2


def test_a_verdict_speaks_of_every_entry_of_its_pair_and_contradictions_of_none(classes):
    X, pairs, _ = classes
    twice = pairs + Pairs(pairs.cols[:2], pairs.rows[:2], -pairs.labels[:2], n_samples=pairs.n_samples)
    checked = Verdicts([0, 1, 1], [pairs.labels[0], 1, -1])
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=twice, checked=checked)
    assert model.pair_quality_[[0, len(pairs)]].tolist() == [1.0, 0.0]
    assert 0 < model.pair_quality_[1] < 1


def test_verdicts_that_do_not_fit_are_refused(classes):
    X, pairs, _ = classes
    for checked, error, message in (
        (Verdicts([0], [0]), ValueError, "checked says 0 for pair 0; a pair is 1"),
        (Verdicts([300], [1]), ValueError, "verdict on row 300, but the data have 300 pairs"),
        ([1, 2], TypeError, r"checked must be a kernelwise\.Verdicts"),
    ):
        with pytest.raises(error, match=message):
            audit_pairs(X, pairs, checked=checked)
    with pytest.raises(ValueError, match="pairs must be given with it"):
        NoisyPairClustering(3).fit(X, checked=Verdicts([0], [1]))
    with pytest.raises(ValueError, match="true_labels and index, or checked"):
        PairNoise.estimate(pairs, [1], [0], checked=Verdicts([0], [1]))
    uneven = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=90, weights=np.arange(1.0, 301.0))
    with pytest.raises(ValueError, match="differ in weight"):
        PairNoise.guaranteed(uneven, Verdicts([0], [1], chance=0.5))


def test_a_random_plan_gives_the_estimate_of_the_paper(classes):
    _, pairs, truth = classes
    checked = drawn(pairs, truth, 60)
    assert PairNoise.estimate(pairs, checked=checked) == PairNoise.estimate(pairs, truth[checked.rows], checked.rows)


def test_planned_checks_estimate_the_noise_without_bias_and_with_a_guarantee():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 200)
    pairs = Pairs.from_labels(y, n_pairs=600, random_state=0).flip(0.3, random_state=0)
    truth = pairs.true_labels(y)
    right = (pairs.labels == truth).astype(float)
    names, signs = ("prior", "precision_positive", "precision_negative"), (1, -1)
    true = [np.mean(truth > 0), *(right[pairs.labels == sign].mean() for sign in signs)]
    believed = np.clip(right * 0.5 + 0.5 * rng.rand(600), 0, 1)  # suspects are wrong more often
    audit = PairAudit(pairs, believed, pairs.labels, PairNoise.clean(pairs), {})
    found, held = [], []
    for seed in range(60):
        plan = plan_checks(audit, 60, random_state=seed)
        checked = plan.verdicts(truth[plan.rows])
        noise, bounds = PairNoise.estimate(pairs, checked=checked), PairNoise.guaranteed(pairs, checked)
        found.append([getattr(noise, name) for name in names])
        held.append([bounds[name][0] <= value <= bounds[name][1] for name, value in zip(names, true, strict=True)])
    np.testing.assert_allclose(np.mean(found, axis=0), true, atol=0.04)
    assert np.mean(held, axis=0).min() >= 0.9
