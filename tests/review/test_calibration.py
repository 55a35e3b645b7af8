"""Checked rows: certain themselves, learned from, and the measure of all other rows."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kernelwise import (
    NoisyLabelClassifier,
    Verdicts,
    audit_labels,
    estimate_label_noise,
    flip_labels,
    plan_checks,
)
from kernelwise.labels.audit import audit_by
from kernelwise.review.diagnosis import calibrated, recalibrate
from kernelwise.review.guarantee import Guarantee


def made(rows=200, flips=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    X = 1.5 * np.array([[-1.0, 0.5], [1.0, -0.5]])[y] + rng.normal(size=(rows, 2))
    return X, y, flip_labels(y, flips, random_state=seed)


@pytest.fixture(scope="module")
def reviewed():
    X, truth, given = made()
    before = audit_labels(X, given, random_state=0)
    plan = plan_checks(before, 40, random_state=0)
    return X, truth, given, before, plan.verdicts(truth[plan.rows])


def test_every_figure_comes_from_one_posterior_with_checks_too(reviewed):
    X, truth, given, _, checked = reviewed
    model = NoisyLabelClassifier(random_state=0).fit(X, given, checked=checked)
    audit = audit_by(model, given, checked)
    wrong = 1 - audit.quality
    assert audit.noise_rate == model.noise_rate_ == pytest.approx(wrong.mean(), abs=1e-12)
    np.testing.assert_array_equal(audit.quality, model.label_quality_)
    np.testing.assert_array_equal(wrong[checked.rows], given[checked.rows] != truth[checked.rows])
    low, high = audit.noise_interval
    assert low <= audit.noise_rate <= high
    assert low <= np.mean(given != truth) <= high
    shares = audit.probabilities.mean(axis=0)
    assert shares @ (1 - np.diag(audit.transition)) == pytest.approx(audit.noise_rate, abs=1e-9)
    assert "With 95 % confidence" in audit.diagnostic["reason"]
    assert "whatever the model believes" in audit.diagnostic["claim"]
    assert audit == audit_labels(X, given, checked=checked, random_state=0)
    assert estimate_label_noise(X, given, checked=checked, random_state=0).noise_rate == audit.noise_rate
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_no_checks_change_nothing(reviewed):
    X, _, given, before, _ = reviewed
    assert audit_labels(X, given, checked=Verdicts([], []), random_state=0).quality.tolist() == before.quality.tolist()
    vague = audit_labels(X, given, checked=Verdicts([3], [None]), random_state=0)
    assert vague.quality.tolist() == before.quality.tolist()


def test_checks_move_the_rate_towards_the_truth():
    """Rule-made errors: the labels of one corner are all wrong, which no audit of labels alone can see."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    truth = (X[:, 0] > 0).astype(int)
    given = np.where(X[:, 1] > 0.3, 1 - truth, truth)
    blind = audit_labels(X, given, random_state=0)
    plan = plan_checks(blind, 60, random_state=0)
    seen = audit_labels(X, given, checked=plan.verdicts(truth[plan.rows]), random_state=0)
    wrong = np.mean(given != truth)
    assert abs(seen.noise_rate - wrong) < 0.5 * abs(blind.noise_rate - wrong)
    assert seen.noise_interval[0] <= wrong <= seen.noise_interval[1]


def test_checks_calibrate_any_estimator_and_given_probabilities(reviewed):
    X, truth, given, _, checked = reviewed
    wrong = np.mean(given != truth)
    by_estimator = audit_labels(X, given, estimator=LogisticRegression(), checked=checked, random_state=0)
    chances = np.clip(np.eye(2)[given], 0.02, 0.98)  # a model that believes every label
    believer, seen = (audit_labels(None, given, probabilities=chances, checked=known) for known in (None, checked))
    for audit in (by_estimator, seen):
        assert abs(audit.noise_rate - wrong) < 0.12
        assert audit.noise_rate == pytest.approx(np.mean(1 - audit.quality), abs=1e-12)
        assert (audit.quality[checked.rows] == (given[checked.rows] == truth[checked.rows])).all()
    assert abs(seen.noise_rate - wrong) < abs(believer.noise_rate - wrong)
    with pytest.raises(ValueError, match="introduces the class '7'"):
        audit_labels(None, given, probabilities=chances, checked=Verdicts([0], [7]))


def test_rows_chosen_without_chances_improve_the_model_but_guarantee_nothing(reviewed):
    X, truth, given, before, _ = reviewed
    worst = before.order[:20]
    audit = audit_labels(X, given, checked=Verdicts(worst, truth[worst]), random_state=0)
    assert "guarantee nothing" in audit.diagnostic["reason"]
    assert (audit.quality[worst] == (given[worst] == truth[worst])).all()


def test_a_verdict_may_introduce_a_class_and_settle_a_row_without_a_label():
    X, truth, _ = made(flips=0.0)
    given = np.array(["ham", "spam"], dtype=object)[truth]
    given[9] = None
    checked = Verdicts([4, 9], ["phishing", "spam"])
    model = NoisyLabelClassifier(random_state=0).fit(X, given, checked=checked)
    assert model.classes_.tolist() == ["ham", "phishing", "spam"]
    assert model.label_probabilities_[4].tolist() == [0.0, 1.0, 0.0]
    assert model.label_probabilities_[9].tolist() == [0.0, 0.0, 1.0]
    assert model.label_quality_[4] == 0
    assert np.isnan(model.label_quality_[9])
    assert model.noise_rate_ == pytest.approx(np.nanmean(1 - model.label_quality_), abs=1e-12)
    assert model.predict_proba(X).shape == (200, 3)


def test_equal_rows_keep_their_own_verdicts():
    X, _, given = made(120, flips=0.2)
    X[1], given[1] = X[0], given[0]
    model = NoisyLabelClassifier(random_state=0).fit(X, given, checked=Verdicts([0], [1 - given[0]]))
    assert model.label_quality_[0] == 0
    assert model.label_quality_[1] > 0


def test_chosen_suspects_leave_the_share_of_wrong_labels_to_the_drawn_rows():
    rng = np.random.default_rng(0)
    n_rows, wrong = 1000, np.zeros(1000, bool)
    score = rng.normal(size=n_rows)
    wrong[np.argsort(-score)[:100]] = True  # the most suspect rows are wrong, and the model does not know how few
    given = np.zeros(n_rows, dtype=np.intp)
    chance = 1 / (1 + np.exp(-(score - 1.0)))
    posterior = np.column_stack([1 - chance, chance])
    rows = np.concatenate([rng.permutation(n_rows)[:30], np.argsort(-score)[:60]])
    truth = wrong[rows].astype(np.intp)
    rates = [
        recalibrate(posterior, posterior, given, rows, truth, None, chosen).posterior(posterior, posterior, given)[:, 1]
        for chosen in (None, np.arange(90) >= 30)
    ]
    errors = [abs(float(rate.mean()) - 0.1) for rate in rates]
    assert errors[1] < errors[0]


def test_verdicts_of_other_data_are_refused(reviewed):
    X, _, given, _, checked = reviewed
    with pytest.raises(ValueError, match="row 500, but the data have 200 rows"):
        audit_labels(X, given, checked=Verdicts([500], [0]))
    with pytest.raises(ValueError, match="'spam' for row 0, but the labels are numbers"):
        audit_labels(X, given, checked=Verdicts([0], ["spam"]))
    with pytest.raises(TypeError, match=r"kernelwise\.Verdicts, got dict"):
        audit_labels(X, given, checked={0: 1})
    with pytest.raises(ValueError, match="the data have changed"):
        audit_labels(np.vstack([X, X]), np.concatenate([given, given]), checked=checked, random_state=0)


def test_without_evidence_nothing_is_recalibrated_and_with_much_the_data_decide():
    rng = np.random.default_rng(0)
    given = rng.integers(0, 2, 2000)
    truth = np.where(rng.random(2000) < 0.3, 1 - given, given)
    belief, posterior = np.full((2000, 2), 0.5), np.where(np.eye(2)[given] == 1, 0.95, 0.05)
    rates = []
    for n_checked in (1, 10, 1000):
        how = recalibrate(belief, posterior, given, np.arange(n_checked), truth[:n_checked])
        rates.append(np.mean(1 - how.posterior(belief, posterior, given)[np.arange(2000), given]))
    assert rates[-1] == pytest.approx(0.3, abs=0.03)
    assert rates[0] < 0.5  # one check that is a surprise does not decide


def test_checks_tell_how_far_the_model_can_be_trusted():
    """A model that is right has the narrow prior; a sure model whose chances mean nothing has the wide prior."""
    rng = np.random.default_rng(0)
    given, chance = np.zeros(1000, dtype=np.intp), rng.beta(0.3, 0.9, 1000)
    posterior, rows = np.column_stack([1 - chance, chance]), np.arange(600)
    right = (rng.random(1000) < chance).astype(np.intp)
    senseless = (rng.random(1000) < 0.5).astype(np.intp)
    trusted, doubted = (recalibrate(posterior, posterior, given, rows, truth[rows]) for truth in (right, senseless))
    assert trusted.shares.sum() == pytest.approx(1)
    assert trusted.shares.argmax() == 0
    assert doubted.shares[-1] > 0.9
    kept = [np.corrcoef(how.posterior(posterior, posterior, given)[:, 1], chance)[0, 1] for how in (trusted, doubted)]
    moved = [np.ptp(how.posterior(posterior, posterior, given)[:, 1]) for how in (trusted, doubted)]
    assert kept[0] > 0.95
    assert moved[1] < 0.6 < 0.9 < moved[0]


def test_chances_end_inside_the_guarantee_whatever_the_model_believes(rng):
    belief = np.full((400, 2), 0.5)
    given, wrong = rng.integers(2, size=400), rng.random(400) < 0.1
    posterior = np.full((400, 2), 0.5)
    posterior[np.arange(400), given] = 0.3 + 0.3 * rng.random(400)  # far too low, and in an order that says nothing
    posterior[np.arange(400), 1 - given] = 1 - posterior[np.arange(400), given]
    truth = np.where(np.arange(400) < 60, np.where(wrong, 1 - given, given), -1)
    for low, high in ((0.05, 0.06), (0.28, 0.3)):
        bound = Guarantee(low, high, (low + high) / 2, 400, 60, 6, 0, 0.95)
        found, _ = calibrated(belief, posterior, given, truth, np.ones(400), bound)
        share = np.mean(1 - found[np.arange(400), given])
        assert low - 1e-9 <= share <= high + 1e-9
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert set(found[:60].ravel()) == {0.0, 1.0}
