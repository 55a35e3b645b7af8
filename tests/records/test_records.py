"""Pairs of records: features are symmetric and aware of missing cells, and wrong answers are found by features, votes
and transitivity."""

import difflib
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from kernelwise import Pairs, audit_record_pairs, pair_features
from kernelwise.datasets import load_cora
from kernelwise.records.recognition import looks_like_records
from kernelwise.records.repeated import fit_repeated_answers
from kernelwise.records.strings import common_subsequence, compare_strings, first_numbers
from kernelwise.records.transitivity import add_transitivity, triangles
from kernelwise.tables.notation import Habits

FIRST = [
    "anna",
    "bernd",
    "carla",
    "dieter",
    "elena",
    "frank",
    "greta",
    "hans",
    "ines",
    "jonas",
    "klara",
    "lukas",
    "maria",
    "nils",
    "olga",
    "paul",
]
LAST = [
    "schmidt",
    "schneider",
    "fischer",
    "weber",
    "meyer",
    "wagner",
    "becker",
    "schulz",
    "hoffmann",
    "koch",
    "richter",
    "klein",
    "wolf",
    "neumann",
]
STREETS = ["garden", "mill", "church", "station", "lake", "forest", "school", "north", "castle", "bridge"]


def typing_error(text, rng):
    place, letter = rng.integers(1, max(len(text), 2)), rng.choice(list("abcdefghij"))
    return [
        text[:place] + letter + text[place:],
        text[:place] + text[place + 1 :],
        text[:place].upper() + text[place:],
    ][rng.integers(3)]


def people(rng, n_people=120, copies=2):
    """Records of people, each given several times with errors and gaps; who is who; and candidates for duplicates."""
    rows, person = [], []
    for number in range(n_people):
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        street = f"{rng.choice(STREETS)} street {rng.integers(1, 200)}"
        born = pd.Timestamp("1940-01-01") + pd.Timedelta(days=int(rng.integers(0, 25_000)))
        income = float(rng.integers(20, 90) * 500)
        for _ in range(copies):
            row = [name, street, born.date().isoformat(), income]
            row[0] = typing_error(row[0], rng) if rng.random() < 0.5 else row[0]
            row[1] = None if rng.random() < 0.15 else row[1]
            row[2] = None if rng.random() < 0.1 else row[2]
            row[3] = np.nan if rng.random() < 0.1 else row[3] * rng.choice([1.0, 1.1])
            rows.append(row)
            person.append(number)
    person = np.array(person)
    records = pd.DataFrame(rows, columns=["name", "street", "born", "income"])
    surname = records["name"].str.lower().str.split().str[-1].str[:3]
    candidates = [pair for _, block in records.groupby(surname) for pair in combinations(block.index, 2)]
    ends = np.array(candidates)
    same = person[ends[:, 0]] == person[ends[:, 1]]
    kept = np.flatnonzero(same | (rng.random(len(ends)) < 5 * same.sum() / len(ends)))
    truth = np.where(same[kept], 1, -1)
    return records, Pairs(ends[kept, 0], ends[kept, 1], truth, n_samples=len(records))


@pytest.fixture(scope="module")
def register():
    return people(np.random.default_rng(1))


@pytest.fixture(scope="module")
def tenth(register):
    """Answers of which one in ten is wrong, and their audit."""
    records, truth = register
    pairs = truth.flip(0.1, random_state=1)
    return pairs, audit_record_pairs(records, pairs, random_state=0)


def trigrams(texts):
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform(texts)


def feature(found, name):
    return found.values[:, found.names.index(name)]


# Strings


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_common_subsequence_is_that_of_the_usual_table(first, second):
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
    assert common_subsequence(first, second) == table[-1, -1]


def test_a_longer_text_has_at_least_the_blocks_that_difflib_finds(rng):
    texts = ["".join(rng.choice(list("abcd "), 150)) for _ in range(20)]
    for first, second in zip(texts[::2], texts[1::2], strict=True):
        blocks = difflib.SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
        assert common_subsequence(first, second) >= sum(block.size for block in blocks)


@given(st.lists(st.one_of(st.none(), st.text(max_size=20)), min_size=2, max_size=8))
@settings(max_examples=10)
def test_comparisons_of_strings_are_symmetric_and_lie_between_0_and_1(cells):
    rows, cols = np.triu_indices(len(cells), 1)
    one, other = compare_strings(cells, rows, cols), compare_strings(cells, cols, rows)
    for way, values in one.items():
        np.testing.assert_allclose(values, other[way], err_msg=way)
        known = values[~np.isnan(values)]
        assert (known >= 0).all(), way
        assert (known <= 1 + 1e-9).all(), way


def test_equal_strings_are_alike_in_every_way_and_strangers_in_none():
    cells = ["Canon A-720 IS camera", "canon a720is camera!", "Canon A720 IS Camera", "qqq"]
    found = compare_strings(cells, np.array([1, 0, 0]), np.array([1, 2, 3]))
    assert all(values[0] == pytest.approx(1) for values in found.values())
    assert found["numbers in common"][1] == 1  # A-720 and A720 are one code
    assert found["words in common"][2] == found["characters in common"][2] == 0


def test_numbers_are_read_as_people_write_them():
    np.testing.assert_array_equal(
        first_numbers(["$1,299.00", "7.5 %", "1.299,00", "2,5", ""]), [1299, 7.5, 1299, 2.5, np.nan]
    )


def test_numbers_in_texts_are_read_as_those_of_a_column():
    cells = ["cable 0.125 m", "cable 125 m", "cable .125 m", "cable 1.250 m", "freezer at -18 C", "camera A-720"]
    np.testing.assert_array_equal(first_numbers(cells), [0.125, 125, 0.125, 1.25, -18, 720])
    commas = ["Kabel 0,125 m", "Kabel 1,250 m", "minus: \u22122,5 Grad", "-€3"]
    np.testing.assert_array_equal(first_numbers(commas, Habits(decimal_comma=True)), [0.125, 1.25, -2.5, -3])
    np.testing.assert_array_equal(first_numbers(["price 1,299", "price 12", "release 1.2.3"]), [1299, 12, np.nan])


def test_a_cable_of_an_eighth_of_a_metre_is_no_cable_of_125_metres():
    pairs = Pairs([0, 0], [1, 2], [1, -1], n_samples=3)
    found = pair_features(["cable 0.125 m", "cable .125 m", "cable 125 m"], pairs)
    assert found.values[:, found.names.index("text: same number")].tolist() == [1.0, 0.0]


# Features


def test_features_are_symmetric_in_the_two_records(register):
    records, pairs = register
    turned = Pairs(pairs.cols, pairs.rows, pairs.labels, n_samples=pairs.n_samples)
    one, other = pair_features(records, pairs), pair_features(records, turned)
    assert one.names == other.names
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)


def test_features_do_not_look_at_labels(register):
    records, pairs = register
    flipped = pairs.flip(0.5, random_state=0)
    np.testing.assert_array_equal(pair_features(records, pairs).values, pair_features(records, flipped).values)


def test_each_kind_of_column_is_compared_in_its_own_way(register):
    found = pair_features(*register)
    assert {"name: letters in order", "born: days apart", "income: nearness", "income: ratio"} <= set(found.names)
    assert "born: words in common" not in found.names
    assert np.isfinite(found.values).all()


def test_numbers_that_differ_by_rounding_are_one_number():
    records = pd.DataFrame({"size": [0.3 * (1 + 1e-12), 0.3, 0.7], "id": [12345678901.0, 12345678902.0, 7.0]})
    found = pair_features(records[["size"]], Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    np.testing.assert_array_equal(feature(found, "whole record: equal"), [1, 0])
    whole = pair_features(records[["id"]], Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    np.testing.assert_array_equal(feature(whole, "whole record: equal"), [0, 0])  # whole numbers keep all digits


def test_a_missing_cell_speaks_neither_for_nor_against():
    records = pd.DataFrame({"city": ["Rome", "Rome", None, "Oslo"], "size": [1.0, 2.0, np.nan, 4.0]})
    pairs = Pairs([0, 0, 0], [1, 3, 2], [1, -1, -1], n_samples=4)
    found = pair_features(records, pairs)
    for name in ("city: equal", "size: nearness"):
        values = feature(found, name)
        assert values[2] == pytest.approx(values[:2].mean())
    np.testing.assert_array_equal(feature(found, "city: one missing"), [0, 0, 1])
    np.testing.assert_array_equal(feature(found, "city: both missing"), [0, 0, 0])


def test_the_lead_compares_a_pair_with_the_other_pairs_of_its_records():
    texts = ["red apple", "red apple", "red plum", "blue fig"]
    pairs = Pairs([0, 0, 0, 1], [1, 2, 1, 3], [1, -1, -1, -1], n_samples=4)
    found = pair_features(texts, pairs)
    lead = feature(found, "whole record: characters in common, lead over other pairs")
    likeness = feature(found, "whole record: characters in common")
    assert lead[0] == lead[2] == pytest.approx(1 - likeness[1])  # an answer that is given twice is no rival of itself
    assert lead[1] == pytest.approx(likeness[1] - 1)
    assert lead[3] == pytest.approx(likeness[3] - 1)


def test_lists_of_rows_frames_and_arrays_give_the_same_features(register):
    records, pairs = register
    frame = records.rename(columns=dict(zip(records.columns, [f"column {j}" for j in range(1, 5)], strict=True)))
    expected = pair_features(frame, pairs)
    for other in (records.to_numpy(dtype=object), records.to_numpy(dtype=object).tolist()):
        found = pair_features(other, pairs)
        assert found.names == expected.names
        np.testing.assert_allclose(found.values, expected.values)


def test_dense_and_sparse_matrices_have_the_same_cosines(rng):
    X = rng.random((30, 6)) * (rng.random((30, 6)) < 0.5)
    pairs = Pairs.from_labels(np.arange(30) % 3, n_pairs=60, random_state=0)
    dense, sparse = pair_features(X, pairs), pair_features(sp.csr_array(X), pairs)
    for way in ("cosine", "shorter within longer", "cosine, lead over other pairs"):
        np.testing.assert_allclose(feature(dense, f"whole record: {way}"), feature(sparse, f"whole record: {way}"))


@pytest.mark.parametrize(
    ("records", "error", "words"),
    [
        (None, TypeError, "records must be a data frame"),
        ("one text", TypeError, "records must be a data frame"),
        (np.zeros(4), TypeError, "records must have rows and columns"),
        ([["a"], ["b", "c"], ["d"], ["e"]], TypeError, "records must hold strings, or rows of one length"),
        (["a", 3, "b", "c"], TypeError, "got int among the cells"),
        (["a", "b"], ValueError, r"records has 2 rows, but the pairs are over n_samples=4"),
        (np.full((4, 2), np.nan), ValueError, "records contains NaN"),
    ],
)
def test_bad_records_are_refused_by_name(records, error, words):
    with pytest.raises(error, match=words):
        pair_features(records, Pairs([0, 1], [1, 2], [1, -1], n_samples=4))


def test_bad_pairs_are_refused_by_name(register):
    records, pairs = register
    with pytest.raises(TypeError, match=r"pairs must be a kernelwise\.Pairs, got ndarray"):
        pair_features(records, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="pairs is empty"):
        pair_features(records, pairs[:0])
    with pytest.raises(ValueError, match=r"no pair that is given as different \(-1\)"):
        audit_record_pairs(records, pairs.positive)
    with pytest.raises(ValueError, match=r"no pair that is given as the same \(\+1\)"):
        audit_record_pairs(records, pairs.negative)
    with pytest.raises(ValueError, match="2 different pairs, too few"):
        audit_record_pairs(records, pairs.positive[:1] + pairs.negative[:1])


# The audit


@pytest.mark.parametrize("rate", [0.1, 0.3, {1: 0.3}])
def test_wrong_answers_come_first_and_rates_lie_in_their_intervals(register, tenth, rate):
    records, truth = register
    pairs = truth.flip(rate, random_state=1)
    audit = tenth[1] if rate == 0.1 else audit_record_pairs(records, pairs, random_state=0)
    wrong, positive = pairs.labels != truth.labels, pairs.labels > 0
    assert roc_auc_score(wrong, -audit.quality) > 0.97
    right = {"precision_positive": ~wrong[positive], "precision_negative": ~wrong[~positive], "prior": truth.labels > 0}
    for name, values in right.items():
        low, high = audit.intervals[name]
        assert low <= values.mean() <= high, name
    low, high = audit.diagnostic["wrong_interval"]
    assert low <= wrong.mean() <= high
    assert f"etween {low:.1%} and {high:.1%} of the answers are wrong" in audit.diagnostic["reason"]
    assert audit.noise.precision_positive == pytest.approx(audit.quality[positive].mean())
    assert audit.noise.precision_negative == pytest.approx(audit.quality[~positive].mean())


def test_of_right_answers_at_most_one_in_twenty_is_called_wrong(register):
    steps = []
    audit = audit_record_pairs(*register, random_state=0, progress=lambda done, total: steps.append((done, total)))
    assert audit.worth_checking() <= 0.05 * len(audit.pairs)
    assert audit.diagnostic["kind"] == "records"
    assert audit.diagnostic["reliable"]
    assert steps == [(done, 5) for done in range(1, 6)]  # progress is told to the end


def test_the_audit_is_the_same_for_the_same_seed_and_leaves_its_input_alone(register, tenth):
    records, (pairs, audit) = register[0], tenth
    copy = records.copy()
    assert audit_record_pairs(records, pairs, random_state=0) == audit
    pd.testing.assert_frame_equal(records, copy)


def test_a_matrix_of_numbers_serves_as_records(register, tenth):
    records, truth = register
    audit = audit_record_pairs(trigrams(records["name"] + records["born"].fillna("")), tenth[0], random_state=0)
    assert roc_auc_score(tenth[0].labels != truth.labels, -audit.quality) > 0.9


def test_answers_of_several_people_are_votes(register):
    records, truth = register
    people = [truth.flip(0.25, random_state=seed) for seed in range(3)]
    together = audit_record_pairs(records, Pairs.concatenate(people), random_state=0)
    suggested = together.suggested.reshape(3, -1)
    assert (suggested == suggested[0]).all()  # one verdict for a pair, whoever answered
    answers = np.stack([person.labels for person in people])
    by_majority = np.mean(np.sign(answers.sum(axis=0)) != truth.labels)
    assert np.mean(suggested[0] != truth.labels) < by_majority / 3
    assert roc_auc_score((answers != truth.labels).ravel(), -together.quality) > 0.97


def test_differing_answers_to_a_pair_tell_the_rates(register):
    """Two fifths of the pairs that are the same are called different, and a tenth of the others the same."""
    records, truth = register
    people = [truth.flip({1: 0.4, -1: 0.1}, random_state=seed) for seed in range(3)]
    together = audit_record_pairs(records, Pairs.concatenate(people), random_state=0)
    right = np.concatenate([person.labels == truth.labels for person in people])
    positive = together.pairs.labels > 0
    assert together.diagnostic["reliable"]
    assert together.diagnostic["n_differing"] > 100
    assert np.mean(1 - together.quality) == pytest.approx(np.mean(~right), abs=0.02)
    for name, kind in (("precision_positive", positive), ("precision_negative", ~positive)):
        low, high = together.intervals[name]
        assert low <= np.mean(right[kind]) <= high
        assert high - low < 0.25


def test_rounding_hardly_moves_what_repeated_answers_tell(rng):
    same = rng.random(400) < 0.3
    score = 2.0 * same + rng.normal(size=400)
    yes = rng.binomial(3, np.where(same, 0.7, 0.1))
    votes = np.stack([3.0 - yes, yes])
    found = [
        fit_repeated_answers(np.column_stack([-moved, moved]), votes, np.random.RandomState(0))
        for moved in (score, score * (1 + 1e-10 * rng.normal(size=400)))
    ]
    np.testing.assert_allclose(found[1].transitions, found[0].transitions, atol=1e-8)
    np.testing.assert_allclose(found[1].slopes, found[0].slopes, atol=1e-7)


def test_copies_of_one_answer_are_no_evidence_of_its_rate(register, tenth):
    records, _ = register
    pairs, once = tenth
    twice = audit_record_pairs(records, pairs + pairs, random_state=0)
    assert twice.diagnostic["n_differing"] == 0
    (low, high), (least, most) = (audit.intervals["precision_positive"] for audit in (once, twice))
    assert most - least > 0.5 * (high - low)


def test_rates_and_slope_are_found_from_answers_that_differ(rng):
    """Scores overlap, so that one answer per pair could not tell overlap from errors; three answers can."""
    same = rng.random(3000) < 0.25
    score = rng.normal(size=3000) + 1.5 * same
    yes = rng.binomial(3, np.where(same, 0.65, 0.15))
    found = fit_repeated_answers(np.column_stack([-score, score]), np.stack([3.0 - yes, yes]), np.random.RandomState(0))
    for called, true in ((found.transitions[:, 0, 1], 0.15), (found.transitions[:, 1, 0], 0.35)):
        assert called.mean() == pytest.approx(true, abs=4 * called.std())
        assert called.std() < 0.03
    assert found.shares[:, 1].mean() == pytest.approx(same.mean(), abs=0.03)
    np.testing.assert_allclose(found.slopes.mean(), 0.75, rtol=0.3)  # log-odds are 1.5 per unit, shared by two columns


def test_equal_votes_for_both_answers_leave_the_features_to_decide(register):
    records, truth = register
    again = np.flatnonzero(truth.labels > 0)[:10]
    contested = Pairs(truth.rows[again], truth.cols[again], -truth.labels[again], n_samples=truth.n_samples)
    audit = audit_record_pairs(records, truth + contested, random_state=0)
    np.testing.assert_allclose(audit.quality[again] + audit.quality[len(truth) :], 1.0)
    assert np.mean(audit.quality[again] > 0.5) >= 0.9


def test_weights_are_relative(register, tenth):
    pairs, audit = tenth
    heavy = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=pairs.n_samples, weights=np.full(len(pairs), 64.0))
    np.testing.assert_allclose(audit_record_pairs(register[0], heavy, random_state=0).quality, audit.quality)


def test_records_that_say_nothing_are_noticed(rng):
    texts = ["".join(rng.choice(list("abcdefgh"), 10)) for _ in range(200)]
    pairs = Pairs.from_labels(np.arange(200) // 2, n_pairs=400, random_state=0).flip(0.3, random_state=0)
    audit = audit_record_pairs(texts, pairs, random_state=0)
    assert not audit.diagnostic["reliable"]
    assert "hardly tell" in audit.diagnostic["reason"]


# Transitivity


@given(st.integers(0, 10_000))
def test_all_triangles_are_found(seed):
    rng = np.random.default_rng(seed)
    rows, cols = np.triu_indices(9, 1)
    kept = rng.permutation(np.flatnonzero(rng.random(len(rows)) < 0.6))
    turned = rng.random(len(kept)) < 0.5
    rows, cols = np.where(turned, cols[kept], rows[kept]), np.where(turned, rows[kept], cols[kept])
    place = {frozenset(pair): t for t, pair in enumerate(zip(rows.tolist(), cols.tolist(), strict=True))}
    expected = set()
    for corners in combinations(range(9), 3):
        sides = [frozenset(side) for side in combinations(corners, 2)]
        if all(side in place for side in sides):
            expected.add(frozenset(place[side] for side in sides))
    found = triangles(rows, cols, 9)
    assert len(found) == len(expected)
    assert set(map(frozenset, found.tolist())) == expected


def test_without_triangles_nothing_changes(rng):
    log_odds = rng.standard_normal(5)
    found, count = add_transitivity(log_odds, np.zeros(5, dtype=int), np.arange(1, 6), 6)
    assert count == 0
    np.testing.assert_array_equal(found, log_odds)


def entities(rng, size=4, n_records=400):
    """All pairs within entities of ``size`` records and as many pairs of near entities, with the truth."""
    number = np.arange(n_records) // size
    rows, cols = np.triu_indices(n_records, 1)
    near = np.flatnonzero(
        (number[cols] - number[rows] == 0) | ((number[cols] - number[rows] == 1) & (rng.random(len(rows)) < 0.4))
    )
    return rows[near], cols[near], np.where(number[rows[near]] == number[cols[near]], 1, -1)


def test_transitivity_finds_errors_that_features_cannot_see(rng):
    rows, cols, truth = entities(rng)
    answer = np.where(rng.random(len(truth)) < 0.1, -truth, truth)
    log_odds = answer * np.log(9)  # nothing is known but that one answer in ten is wrong
    found, count = add_transitivity(log_odds, rows, cols, 400)
    wrong, called = answer != truth, answer * found < 0
    assert count > 0
    assert roc_auc_score(wrong, -answer * found) > 0.97
    assert wrong[called].mean() > 0.9
    assert called.sum() > 0.3 * wrong.sum()


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_errors_in_a_dense_group_do_not_confirm_each_other(rng, rate):
    """Groups of 18 records of which all pairs are asked: every pair is in 16 triangles."""
    person, group = np.arange(360) // 3, np.arange(360) // 18
    rows, cols = np.triu_indices(360, 1)
    asked = group[rows] == group[cols]
    rows, cols = rows[asked], cols[asked]
    truth = np.where(person[rows] == person[cols], 1, -1)
    answer = np.where(rng.random(len(truth)) < rate, -truth, truth)
    prior = np.mean(truth > 0)
    before = np.log(prior / (1 - prior)) + answer * np.log((1 - rate) / rate)
    after, _ = add_transitivity(before, rows, cols, 360)
    wrong = answer != truth
    assert roc_auc_score(wrong, -answer * after) > roc_auc_score(wrong, -answer * before)
    assert np.mean(answer * after < 0) <= max(np.mean(answer * before < 0), 1.1 * wrong.mean())


def test_the_audit_uses_transitivity(rng):
    """Records of an entity look as alike as records of its neighbour, so that only other pairs tell."""
    rows, cols, truth = entities(rng)
    texts = [f"group {''.join(chr(97 + int(digit)) for digit in str(record // 8))}" for record in range(400)]
    truth = Pairs(rows, cols, truth, n_samples=400)
    pairs = truth.flip(0.1, random_state=0)
    audit = audit_record_pairs(texts, pairs, random_state=0)
    inside = np.arange(400) // 8
    alike = inside[rows] == inside[cols]  # here features do not tell "same" from "different"
    wrong = pairs.labels != truth.labels
    assert audit.diagnostic["n_triangles"] > 0
    assert roc_auc_score(wrong[alike], -audit.quality[alike]) > 0.9


# Which kind of pairs


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("form", ["frame", "texts", "matrix"])
def test_candidates_for_duplicates_are_recognised(register, rate, form):
    records, truth = register
    texts = [" ".join(map(str, row)) for row in records.to_numpy(dtype=object).tolist()]
    X = {"frame": records, "texts": texts, "matrix": trigrams(texts)}[form]
    found, reason = looks_like_records(truth.flip(rate, random_state=0), X)
    assert found, reason
    assert reason.startswith("The pairs are candidates for duplicates")


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
@pytest.mark.parametrize("per_sample", [0.5, 3])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_pairs_of_classes_are_no_records(load, per_sample, rate):
    X, y = load(return_X_y=True)
    pairs = Pairs.from_labels(y, n_pairs=int(per_sample * len(y)), random_state=0).flip(rate, random_state=0)
    found, reason = looks_like_records(pairs, X)
    assert not found
    assert "audit_record_pairs" in reason


def test_links_are_no_records():
    papers = load_cora()
    pairs = Pairs.from_graph(papers.edges, n_samples=len(papers.target), random_state=0)
    for noisy in (pairs, pairs.flip(0.4, random_state=0), pairs.positive):
        assert not looks_like_records(noisy, papers.data)[0]
    assert not looks_like_records(pairs, None)[0]


def test_pairs_of_near_samples_of_a_few_classes_are_no_records():
    X, y = load_digits(return_X_y=True)
    gaps = ((X[:, None, :8] - X[None, :, :8]) ** 2).sum(axis=2) + 1e9 * np.eye(len(X))
    near = gaps.argsort(axis=1)[:, :4]
    ends = np.unique(np.sort(np.column_stack([np.repeat(np.arange(len(y)), 4), near.ravel()]), axis=1), axis=0)
    pairs = Pairs(ends[:, 0], ends[:, 1], np.where(y[ends[:, 0]] == y[ends[:, 1]], 1, -1), n_samples=len(y))
    assert not looks_like_records(pairs, X)[0]
