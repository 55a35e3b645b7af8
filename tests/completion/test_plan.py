"""plan_labelling, and the conditions of the paper's theorems that it reports."""

import math

import numpy as np
import pytest

from kernelwise import PairCompleter, Pairs, plan_labelling
from kernelwise.completion.core import labelled_for_recovery
from kernelwise.completion.plan import (
    _Theory,
    entries_for_recovery,
    reconstruction_bound,
    recovery_probability,
    uncovered_energy,
)
from kernelwise.datasets import make_block_similarity


@pytest.fixture(scope="module")
def plan():
    S, _ = make_block_similarity(300, 3, noise=2.0, random_state=0)
    return plan_labelling(S, 3, completer=PairCompleter(10), n_labelled=[20, 60], n_repeats=2, random_state=0)


def test_theorem_one_as_printed():
    shares = np.array([0.2, 0.3, 0.5])
    assert entries_for_recovery(100, shares) == math.ceil(math.ceil(512 / 0.04) * 100 * math.log(200) ** 2)


@pytest.mark.parametrize(("coherence", "n_components"), [(1.0, 1), (2.22, 50), (1.5, 7)])
def test_theorem_two_names_the_least_number(coherence, n_components):
    m = labelled_for_recovery(coherence, n_components)

    def enough(count):
        return count >= 8 * coherence * n_components * math.log(count**2 * n_components)

    assert enough(m)
    assert not enough(m - 1)
    assert all(enough(count) for count in range(m, 4 * m, max(1, m // 7)))


def test_probabilities_as_printed():
    shares = np.array([0.25, 0.75])
    m = 60
    tail = np.exp(-m * shares / 8).sum()
    assert recovery_probability(m, shares) == pytest.approx(1 - tail - 3 / m**2)
    assert recovery_probability(1, shares) == 0.0


def test_uncovered_energy_is_the_residual_of_the_indicators(rng):
    U = np.linalg.qr(rng.normal(size=(30, 6)))[0]
    y = rng.integers(0, 3, 30)
    indicators = np.eye(3)[y]
    assert uncovered_energy(y, U) == pytest.approx(np.sum((indicators - U @ U.T @ indicators) ** 2))
    span = np.linalg.qr(indicators)[0]
    assert uncovered_energy(y, span) == pytest.approx(0.0, abs=1e-10)


def test_theorem_three_bounds_the_error_of_the_reconstruction(rng):
    n, m = 200, 150
    y = rng.integers(0, 2, n)
    U = np.linalg.qr(np.eye(2)[y] + 0.02 * rng.normal(size=(n, 2)))[0]
    epsilon = uncovered_energy(y, U)
    labelled = rng.permutation(n)[:m]
    inverse = np.linalg.pinv(U[labelled])
    Z = (y[:, None] == y).astype(float)
    estimate = U @ inverse @ Z[np.ix_(labelled, labelled)] @ inverse.T @ U.T
    bound = reconstruction_bound(epsilon, n, m)
    assert bound == pytest.approx(epsilon * (1 + 2 * n / m + 2 * math.sqrt(2) * n / math.sqrt(m * epsilon)))
    assert np.linalg.norm(estimate - Z) <= bound


def test_the_table_has_a_row_for_every_question(plan):
    assert [(row["n_labelled"], row["share"]) for row in plan.rows] == [
        (m, share) for m in (20, 60) for share in (0.02, 0.05, 0.1, 0.2, 0.5)
    ]
    frame = plan.to_frame()
    assert len(frame) == 10
    assert frame["accuracy"].between(0, 1).all()
    assert plan.class_shares.sum() == pytest.approx(1.0)
    assert 1 <= plan.coherence <= 300 / 10
    assert not frame["conditions_met"].any()
    assert (frame["theorem2_labelled"] == labelled_for_recovery(plan.coherence, 10)).all()


def test_more_labelling_does_not_hurt_and_the_cheapest_sufficient_row_is_recommended(plan):
    best = {(row["n_labelled"], row["share"]): row["accuracy"] for row in plan.rows}
    assert best[60, 0.5] > 0.95
    assert best[60, 0.5] > best[20, 0.02]
    enough = [row for row in plan.rows if row["accuracy"] >= 0.95]
    assert plan.recommended["n_pairs"] == min(row["n_pairs"] for row in enough)


@pytest.mark.slow
def test_the_recommendation_holds_for_the_true_classes():
    S, y = make_block_similarity(400, 4, noise=1.0, random_state=1)
    plan = plan_labelling(S, 4, completer=PairCompleter(8), random_state=0)
    rng = np.random.RandomState(0)
    labelled = np.isin(np.arange(400), rng.choice(400, plan.recommended["n_labelled"], replace=False))
    known = Pairs.from_labels(np.where(labelled, y, -1), n_pairs=plan.recommended["n_pairs"], random_state=0)
    model = PairCompleter(8, random_state=0).fit(S, pairs=known)
    rows, cols = np.triu_indices(400, 1)
    right = model.predict_pairs(rows, cols) == np.where(y[rows] == y[cols], 1, -1)
    same = y[rows] == y[cols]
    assert (right[same].mean() + right[~same].mean()) / 2 > 0.9


def test_nothing_is_recommended_where_nothing_suffices(rng):
    noise = rng.normal(size=(100, 100))
    plan = plan_labelling(
        noise + noise.T, 5, completer=PairCompleter(5), shares=[0.02], n_labelled=[10], random_state=0
    )
    assert plan.recommended is None


def test_settings_are_those_of_the_completer_and_it_is_not_touched():
    S, _ = make_block_similarity(120, 3, random_state=0)
    completer = PairCompleter(5, method="completion", noise_rate=0.1)
    plan = plan_labelling(S, 3, completer=completer, shares=[0.5], n_labelled=[60], n_repeats=1, random_state=0)
    assert plan.n_components == 5
    assert completer.random_state is None
    assert not hasattr(completer, "n_features_in_")
    assert plan_labelling(S, 3, shares=[0.5], n_labelled=[60], n_repeats=1, random_state=0).n_components == 12


S = np.eye(20)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_labelling(S, 1), "n_clusters must be an integer of at least 2"),
        (lambda: plan_labelling(S, 2, accuracy=0.5), "accuracy must lie above 1/2"),
        (lambda: plan_labelling(S, 2, shares=[0.0]), "shares must be fractions"),
        (lambda: plan_labelling(S, 2, shares=[]), "shares must be fractions"),
        (lambda: plan_labelling(S, 2, n_repeats=0), "n_repeats must be an integer"),
        (lambda: plan_labelling(S, 2, n_labelled=[1]), "n_labelled must hold numbers between 2"),
        (lambda: plan_labelling(S, 2, n_labelled=[50]), "n_labelled must hold numbers between 2"),
        (lambda: plan_labelling(S, 2, completer=PairCompleter("auto")), "completer must have an int for n_components"),
        (lambda: plan_labelling(S[:, :3], 2), "must be a square matrix"),
        (lambda: plan_labelling(np.full((9, 9), np.nan), 2), "NaN"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_conditions_are_met_from_the_entries_and_samples_that_the_theorems_demand():
    planted = np.repeat([0, 1], 50)
    basis = np.eye(2)[planted] / math.sqrt(50)
    theory = _Theory(basis, planted)
    entries, labelled = entries_for_recovery(theory.labelled, theory.class_shares), theory.labelled
    enough = math.ceil(entries / 2)
    assert theory.row(labelled, enough)["conditions_met"]
    assert not theory.row(labelled, math.floor(entries / 2) - 1)["conditions_met"]
    assert not theory.row(labelled - 1, 10 * enough)["conditions_met"]
