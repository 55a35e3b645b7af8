"""Bounds from checked rows hold whatever a model believes: exact enumeration, simulated reviews, sequences of plans."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, hypergeom

from kernelwise import LabelAudit, PairAudit, PairNoise, Pairs, Verdicts, checks_needed, guaranteed_share, plan_checks
from kernelwise.review.audit import whole_numbers
from kernelwise.review.bounds import Batch, Stratum, drawn_rounds, error_bounds


def audit_with(wrong):
    """An audit that believes in these chances to be wrong; all labels are 0."""
    labels, wrong = np.zeros(len(wrong), int), np.clip(wrong, 0, 1)
    return LabelAudit(
        labels=labels,
        quality=1 - wrong,
        suggested=labels,
        probabilities=np.column_stack([1 - wrong, wrong]),
        classes=np.array([0, 1]),
        noise_rate=float(wrong.mean()),
        noise_interval=(0.0, 1.0),
        transition=np.eye(2),
    )


def population(rng, n_rows, rate, belief="calibrated"):
    """Truth (1 is an error) and chances by a model with an area under the curve of .9, or of a worse kind."""
    truth = (rng.random(n_rows) < rate).astype(int)
    logit = np.log(rate / (1 - rate)) + 1.81 * (rng.normal(size=n_rows) + 1.81 * truth) - 1.64
    chance = 1 / (1 + np.exp(-(3 if belief == "overconfident" else 1) * logit))
    return truth, {"shuffled": rng.permutation(chance), "inverted": 1 - chance}.get(belief, chance)


@pytest.mark.parametrize(("size", "drawn"), [(60, 12), (200, 30)])
def test_one_stratum_has_the_exact_bounds_of_the_hypergeometric_distribution(size, drawn):
    for errors in range(drawn + 1):
        low, high = error_bounds([Batch(0, [Stratum(size, drawn, errors)])], 0.025)
        possible = np.arange(size + 1)
        above = possible[hypergeom.sf(errors - 1, size, possible, drawn) > 0.025]
        below = possible[hypergeom.cdf(errors, size, possible, drawn) > 0.025]
        assert (low, high) == (above.min(), below.max())


@pytest.mark.parametrize(
    ("sizes", "drawn"), [((80, 40, 20), 3), ((60, 60, 60), 5), ((60, 60, 60), 8), ((120, 20, 10), 8), ((90, 30), 5)]
)
def test_coverage_by_enumeration_is_at_least_nominal(sizes, drawn):
    outcomes = list(product(range(drawn + 1), repeat=len(sizes)))
    bounds = np.array(
        [
            error_bounds([Batch(0, [Stratum(n, drawn, k) for n, k in zip(sizes, one, strict=True)])], 0.025)
            for one in outcomes
        ]
    )
    rng = np.random.default_rng(0)
    worst = 1.0
    for _ in range(200):
        errors = [round(n * share) for n, share in zip(sizes, rng.beta(0.4, 0.6, len(sizes)), strict=True)]
        chances = [hypergeom.pmf(np.arange(drawn + 1), n, k, drawn) for n, k in zip(sizes, errors, strict=True)]
        joint = np.array([np.prod([chance[k] for chance, k in zip(chances, one, strict=True)]) for one in outcomes])
        worst = min(worst, joint[(bounds[:, 0] <= sum(errors)) & (sum(errors) <= bounds[:, 1])].sum())
    assert worst >= 0.945


@pytest.mark.parametrize("belief", ["calibrated", "overconfident", "shuffled", "inverted"])
@pytest.mark.parametrize("n_checks", [12, 60])
def test_simulated_reviews_are_covered_whatever_the_model_believes(belief, n_checks):
    rng = np.random.default_rng(0)
    covered, always = [], []
    for review in range(60):
        truth, chance = population(rng, 400, 0.15, belief)
        plan = plan_checks(audit_with(chance), n_checks, random_state=review)
        checked = plan.verdicts(truth[plan.rows])
        for held, bound in (
            (covered, guaranteed_share(np.zeros(400, int), checked)),
            (always, guaranteed_share(np.zeros(400, int), checked, always=True)),
        ):
            held.append(bound.low <= truth.mean() <= bound.high)
    assert np.mean(covered) >= 0.9  # of 60; the benchmark "checks" has thousands
    assert np.mean(always) >= 0.95


def test_a_sequence_of_plans_keeps_the_guarantee_and_never_repeats_a_row():
    rng = np.random.default_rng(1)
    held = []
    for review in range(30):
        truth, chance = population(rng, 300, 0.2)
        checked = None
        for batch in range(5):
            believed = np.where(rng.random(300) < 0.5, chance, rng.random(300))  # another audit each time
            plan = plan_checks(audit_with(believed), 12, checked=checked, suspects=0.5, random_state=5 * review + batch)
            new = plan.verdicts(truth[plan.rows])
            assert checked is None or not set(plan.rows.tolist()) & set(checked.rows.tolist())
            checked = new if checked is None else checked + new
        bound = guaranteed_share(np.zeros(300, int), checked)
        assert bound.n_checked == 60
        held.append(bound.low <= truth.mean() <= bound.high)
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize("n_rows", [60, 61, 300])
def test_rounding_does_not_change_a_plan(n_rows):
    """Whole plans are the same where chances are equal but for their last digits, also at the borders of strata."""
    rng = np.random.default_rng(2)
    for wrong in (np.full(n_rows, 0.2), np.repeat([1e-13, 0.2, 0.7], n_rows // 3), np.round(rng.random(n_rows), 1)):
        plan = plan_checks(audit_with(wrong), 40, random_state=0)
        for _ in range(3):
            moved = plan_checks(audit_with(wrong + 1e-12 * rng.random(len(wrong))), 40, random_state=0)
            np.testing.assert_array_equal(moved.rows, plan.rows)
            np.testing.assert_array_equal(moved.draw, plan.draw)


def test_a_row_that_looks_otherwise_hardly_changes_a_plan():
    wrong = np.random.default_rng(3).random(200)
    chances = (np.append(first, wrong[1:]) for first in (0.01, 0.99))
    plans = [plan_checks(audit_with(now), 40, random_state=0).rows for now in chances]
    assert len(np.intersect1d(*plans)) >= 30


def test_plans_with_a_good_audit_are_narrower_and_find_more_than_a_random_sample():
    rng = np.random.default_rng(0)
    ours, plain, found, by_chance = [], [], 0, 0
    for review in range(20):
        truth, chance = population(rng, 2000, 0.15)
        plan = plan_checks(audit_with(chance), 100, random_state=review)
        bound = guaranteed_share(np.zeros(2000, int), plan.verdicts(truth[plan.rows]))
        sample = truth[rng.choice(2000, 100, replace=False)].sum()
        ours.append(bound.high - bound.low)
        plain.append(beta.ppf(0.975, sample + 1, 100 - sample) - beta.ppf(0.025, sample, 101 - sample))
        found, by_chance = found + bound.n_found, by_chance + sample
    assert np.mean(ours) < np.mean(plain)
    assert found > 1.7 * by_chance


def test_classes_predictions_suspects_and_one_side():
    rng = np.random.default_rng(0)
    truth, chance = population(rng, 1000, 0.2)
    audit = audit_with(chance)
    plan = plan_checks(audit, 200, random_state=0)
    checked = plan.verdicts(truth[plan.rows])
    given = audit.labels
    first = guaranteed_share(audit, checked, among=audit.order[:100])
    assert first.n_rows == 100
    assert first.low <= truth[audit.order[:100]].mean() <= first.high
    predictions = (chance > 0.5).astype(int)
    wrong = guaranteed_share(given, checked, predictions=predictions)
    assert wrong.low <= np.mean(predictions != truth) <= wrong.high
    both, upper = guaranteed_share(given, checked), guaranteed_share(given, checked, side="upper")
    assert upper.low == 0
    assert upper.high < both.high
    assert both.remaining == pytest.approx((both.low - checked_share(both), both.high - checked_share(both)))
    assert "at most" in str(upper)


def test_a_class_is_covered_also_where_unusually_many_draws_fell_into_it():
    """Ten classes of 100 rows and 50 draws: ten draws in one class are twice as many as expected."""
    rng = np.random.default_rng(0)
    given, held = np.arange(1000) % 10, []
    truth, chance = population(rng, 1000, 0.4)
    found = np.where(truth == 1, 10, given)  # a label that nobody has given
    for review in range(300):
        plan = plan_checks(audit_with(chance), 50, random_state=review)
        checked = plan.verdicts(found[plan.rows])
        for k in np.flatnonzero(np.bincount(given[plan.rows]) >= 10):
            bound = guaranteed_share(given, checked, among=given == k)
            held.append(bound.low <= truth[given == k].mean() <= bound.high)
    assert len(held) >= 50
    assert np.mean(held) >= 0.945  # bounds that count all draws alone: 0.84


def test_a_part_without_a_check_is_unknown():
    checked = Verdicts(np.arange(50), [0] * 45 + [1] * 5, chance=0.05)
    bound = guaranteed_share(np.zeros(1000, int), checked, among=np.arange(500, 520))
    assert (bound.low, bound.high) == (0, 1)


def checked_share(bound):
    return bound.n_found / bound.n_rows


def test_rows_that_nobody_can_tell_widen_both_bounds():
    given = np.zeros(500, int)
    clear = Verdicts(np.arange(50), [0] * 45 + [1] * 5, chance=0.1)
    vague = Verdicts(np.arange(50), [0] * 40 + [None] * 8 + [1] * 2, chance=0.1)
    narrow, wide = guaranteed_share(given, clear), guaranteed_share(given, vague)
    assert wide.n_unclear == 8
    assert wide.low < narrow.low
    assert wide.high > narrow.high


def test_pairs_have_the_same_guarantee():
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(400) < 0.5, 1, -1)
    pairs = Pairs(np.arange(400), np.arange(400) + 1, labels, n_samples=401)
    truth = np.where(rng.random(400) < 0.2, -labels, labels)
    audit = PairAudit(pairs, np.where(truth == labels, 0.8, 0.4), labels, PairNoise(0.5, 0.8, 0.8), {})
    plan = plan_checks(audit, 60, random_state=0)
    bound = guaranteed_share(audit, plan.verdicts(truth[plan.rows]))
    assert bound.low <= np.mean(truth != labels) <= bound.high
    assert "pairs are wrong" in str(bound)


def test_more_checks_are_needed_for_a_smaller_bound():
    given = np.zeros(2000, int)
    checked = Verdicts(np.arange(50), [0] * 50, chance=0.025)
    needed = [checks_needed(given, checked, bound) for bound in (0.1, 0.05, 0.02, 0.01)]
    assert needed[0] == 0
    assert needed == sorted(needed)
    again = Verdicts(np.arange(50 + needed[2]), [0] * (50 + needed[2]), chance=(50 + needed[2]) / 2000)
    assert guaranteed_share(given, again, side="upper").high <= 0.02
    many = Verdicts(np.arange(50), [1] * 25 + [0] * 25, chance=0.025)
    assert checks_needed(given, many, 0.02) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": [0, 1], "labels": [0, 1], "chance": [0.1, 0.0]}, "chance must lie above 0.* row 1"),
        ({"rows": [0, -1], "labels": [0, 1]}, "positions from 0"),
        ({"rows": [0, 1], "labels": [0]}, "one label for each of 2 rows"),
        ({"rows": [3], "labels": [0], "chance": [0.1], "draw": ["third"], "drawn_from": [10]}, "must look like 2b7"),
        (
            {"rows": [3, 4], "labels": [0, 0], "chance": 0.1, "draw": ["1a1", "1a1"], "drawn_from": [10, 10]},
            "draw 1a1 belongs to row 3 and to row 4",
        ),
        (
            {"rows": [3, 4], "labels": [0, 0], "chance": [0.1, 0.2], "draw": ["1a1", "1a2"], "drawn_from": [10, 10]},
            "come from different plans",
        ),
    ],
)
def test_verdicts_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Verdicts(**arguments)


def test_lost_verdicts_and_other_data_are_noticed():
    truth, chance = population(np.random.default_rng(0), 300, 0.2)
    audit = audit_with(chance)
    first = plan_checks(audit, 40, random_state=0)
    one = first.verdicts(truth[first.rows])
    second = plan_checks(audit, 40, checked=one, suspects=0.0, random_state=0)
    two = second.verdicts(truth[second.rows])
    given = np.zeros(300, int)
    assert guaranteed_share(given, one + two).n_checked == guaranteed_share(given, two + one).n_checked == 80
    with pytest.raises(ValueError, match=r"plan 2 was drawn when .* verdicts are missing"):
        guaranteed_share(given, two)
    with pytest.raises(ValueError, match="the data have changed"):
        guaranteed_share(np.zeros(350, int), one)
    with pytest.raises(ValueError, match="of other data"):
        guaranteed_share(np.zeros(20, int), one)
    with pytest.raises(ValueError, match="nothing can be guaranteed"):
        guaranteed_share(given, Verdicts([1, 2], [0, 0]))
    with pytest.raises(ValueError, match=r"come from different plans|belongs to row"):
        one + plan_checks(audit, 40, random_state=1).verdicts(truth[:40])


def test_contradictions_are_evidence_and_second_opinions_settle_them():
    checked = Verdicts([3, 3, 5], ["a", "b", "a"])
    assert checked.found() == {3: None, 5: "a"}
    audit = audit_with(np.linspace(0, 1, 20))
    plan = plan_checks(audit, 1, checked=checked, again=True)
    assert plan.rows.tolist() == [3]
    assert (checked + plan.verdicts(["b"])).found() == {3: "b", 5: "a"}


def test_the_first_verdicts_of_a_plan_count_already():
    truth, chance = population(np.random.default_rng(0), 300, 0.2)
    plan = plan_checks(audit_with(chance), 40, random_state=0)
    widths = []
    for done in (2, 8, 20, 40):
        bound = guaranteed_share(np.zeros(300, int), plan.verdicts(truth[plan.rows[:done]]))
        assert bound.low <= truth.mean() <= bound.high
        widths.append(bound.high - bound.low)
    assert widths == sorted(widths, reverse=True)
    with pytest.raises(ValueError, match="at most 40 labels"):
        plan.verdicts([0] * 41)


def test_later_plans_choose_suspects_while_a_tenth_of_all_checks_was_drawn():
    truth, chance = population(np.random.default_rng(0), 400, 0.2)
    audit, checked, n_drawn = audit_with(chance), Verdicts([], []), []
    for batch in range(13):
        plan = plan_checks(audit, 10, checked=checked, random_state=batch)
        n_drawn.append(int(np.sum(plan.chance < 1)))
        checked = checked + plan.verdicts(truth[plan.rows])
    assert n_drawn == [10, *[0] * 9, 1, 1, 1]
    bound = guaranteed_share(np.zeros(400, int), checked)
    assert bound.n_checked == 130
    assert bound.low <= truth.mean() <= bound.high
    assert np.sum(plan_checks(audit, 10, checked=checked, suspects=0, random_state=0).chance < 1) == 10


def test_duplicated_verdicts_count_once():
    given, rows = np.zeros(500, int), np.arange(50)
    once = Verdicts(rows, [1] * 5 + [0] * 45, chance=0.1)
    assert guaranteed_share(given, once + once) == guaranteed_share(given, once)
    assert len((once + once).found()) == 50


def test_a_contradicted_draw_counts_as_a_row_that_nobody_can_tell():
    given = np.zeros(500, int)
    drawn = Verdicts(np.arange(50), [1] * 5 + [0] * 45, chance=0.1)
    contradicted, vague = drawn + Verdicts([0], [0]), Verdicts(np.arange(50), [None] + [1] * 4 + [0] * 45, chance=0.1)
    assert guaranteed_share(given, contradicted) == guaranteed_share(given, vague)


def test_a_plan_refuses_more_checks_than_there_are_labels():
    audit = audit_with(np.linspace(0, 1, 20))
    with pytest.raises(ValueError, match="between 1 and 20, the number of labels that nobody checked"):
        plan_checks(audit, 21)
    with pytest.raises(TypeError, match="LabelAudit or a PairAudit"):
        plan_checks([0, 1], 1)
    assert sorted(plan_checks(audit, 20, random_state=0).rows.tolist()) == list(range(20))


def test_shares_that_are_whole_numbers_of_rows_stay_so():
    assert whole_numbers((0.3, 0.5), 10) == (3, 5)
    assert whole_numbers((3 / 49, 46 / 49), 49) == (3, 46)


def test_rounds_know_what_was_drawn_before():
    """Two strata of 5 and 3 rows; the second round draws from 4 and 2 rows that are left, after one row of each."""
    names, sizes = ["1a1", "1b1", "1a2", "1b2"], [5, 3, 5, 3]
    checked = Verdicts(
        [0, 5, 1, 6], ["b", "a", "a", "a"], chance=[0.4, 2 / 3, 0.4, 2 / 3], draw=names, drawn_from=sizes
    )
    first, second = drawn_rounds(checked, {0: True, 5: False, 1: False, 6: False}, 8, unclear=True)
    assert first == (0, [5, 3], [0, 0], [0, 0], [True, False], 2)
    assert second == (1, [4, 2], [1, 1], [1, 0], [False, False], 2)


def test_draws_of_earlier_plans_allow_more_strata():
    audit = audit_with(np.linspace(0.01, 0.99, 400))
    plan = plan_checks(audit, 40, random_state=0)
    checked = Verdicts(plan.rows, np.zeros(40, int), chance=plan.chance, draw=plan.draw, drawn_from=plan.drawn_from)
    alone = plan_checks(audit, 4, suspects=0.0, random_state=0)
    later = plan_checks(audit, 4, suspects=0.0, checked=checked, random_state=0)
    assert [len({name.lstrip("0123456789")[0] for name in one.draw}) for one in (alone, later)] == [1, 4]
