"""The classifier for labels of unknown quality."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import roc_auc_score

from kernelwise import NoisyLabelClassifier, RobustMKLClassifier, flip_labels
from kernelwise.kernels.specs import Laplace
from kernelwise.scoring import pool
from kernelwise.scoring.forest import SHRINKAGES, ShrunkenForest, node_values
from kernelwise.scoring.kernel_scores import diverse_kernels
from kernelwise.scoring.pool import _positive_mean, average_path
from kernelwise.tables.preparation import TableFeatures


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(600, noise=0.2, random_state=1)
    return X, y, flip_labels(y, 0.3, random_state=1)


@pytest.fixture(scope="module")
def fitted(moons):
    X, _, given = moons
    return NoisyLabelClassifier(random_state=0).fit(X[:400], given[:400])


def test_it_learns_through_the_noise_and_finds_it(moons, fitted):
    X, y, given = moons
    wrong = y[:400] != given[:400]
    assert np.mean(fitted.predict(X[400:]) == y[400:]) > 0.9
    assert fitted.noise_rate_ == pytest.approx(wrong.mean(), abs=0.08)
    assert fitted.noise_interval_[0] < wrong.mean() < fitted.noise_interval_[1]
    assert roc_auc_score(wrong, -fitted.label_quality_) > 0.9
    np.testing.assert_allclose(fitted.transition_.sum(axis=1), 1.0)
    assert fitted.noise_rate_ == pytest.approx(np.mean(1 - fitted.label_quality_), abs=1e-15)


def test_probabilities_are_of_the_true_label(moons, fitted):
    X, y, _ = moons
    belief = fitted.predict_proba(X[400:])
    np.testing.assert_allclose(belief.sum(axis=1), 1.0)
    assert abs(belief.max(axis=1).mean() - np.mean(belief.argmax(axis=1) == y[400:])) < 0.1
    decision = fitted.decision_function(X[400:])
    np.testing.assert_array_equal(fitted.predict(X[400:]), fitted.classes_[(decision > 0).astype(int)])


def test_clean_labels_are_found_clean(moons):
    X, _, _ = moons
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = NoisyLabelClassifier(random_state=0).fit(X[:300], y[:300])
    assert model.noise_rate_ < 0.03
    assert np.mean(model.predict(X[300:]) == y[300:]) > 0.96
    assert np.median(model.label_quality_) > 0.95


def test_unequal_rates_move_the_threshold():
    X, y = make_moons(700, noise=0.2, random_state=3)
    given = flip_labels(y, {0: 0.0, 1: 0.45}, random_state=3)
    model = NoisyLabelClassifier(random_state=0).fit(X[:500], given[:500])
    assert np.mean(model.predict(X[500:]) == y[500:]) > 0.9
    assert model.transition_[1, 0] > 0.3
    assert model.transition_[0, 1] < 0.15


def test_labels_without_a_meaning_are_called_unreliable(rng):
    model = NoisyLabelClassifier(random_state=0).fit(rng.normal(size=(150, 4)), rng.integers(0, 2, 150))
    assert not model.diagnostic_["reliable"]


def test_many_classes_with_names():
    X, y = make_blobs(400, centers=4, cluster_std=0.8, random_state=0)
    names = np.array(["ash", "beech", "cedar", "oak"])
    given = flip_labels(y, 0.3, random_state=0)
    model = NoisyLabelClassifier(random_state=0).fit(X[:300], names[given[:300]])
    assert np.mean(model.predict(X[300:]) == names[y[300:]]) > 0.85
    assert model.noise_rate_ == pytest.approx(np.mean(given[:300] != y[:300]), abs=0.08)
    assert model.predict_proba(X[:5]).shape == (5, 4)
    assert model.transition_.shape == (4, 4)


def test_weight_zero_leaves_a_sample_out_but_audits_it(moons):
    X, _, given = moons
    weight = np.ones(200)
    weight[:50] = 0.0
    model = NoisyLabelClassifier(random_state=0).fit(X[:200], given[:200], sample_weight=weight)
    without = NoisyLabelClassifier(random_state=0).fit(X[50:200], given[50:200])
    np.testing.assert_allclose(model.predict_proba(X[200:220]), without.predict_proba(X[200:220]), atol=1e-10)
    assert model.label_quality_.shape == (200,)


@pytest.mark.parametrize("factor", [0.5, 2.0, 10.0])
def test_one_weight_for_all_rows_changes_nothing(moons, factor):
    X, _, given = moons
    plain = NoisyLabelClassifier(random_state=0).fit(X[:200], given[:200])
    weighted = NoisyLabelClassifier(random_state=0).fit(X[:200], given[:200], sample_weight=np.full(200, factor))
    np.testing.assert_allclose(weighted.label_probabilities_, plain.label_probabilities_, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X[200:]), plain.predict_proba(X[200:]), atol=1e-9)
    np.testing.assert_allclose(weighted.noise_interval_, plain.noise_interval_, atol=1e-9)


def test_weights_that_balance_the_classes_change_predictions_and_not_the_audit(rng):
    y = (np.arange(300) < 60).astype(int)
    X = rng.normal(size=(300, 4)) + 1.8 * y[:, None] * np.array([1.0, 1.0, 0.0, 0.0])
    given = flip_labels(y, 0.2, random_state=0)
    weight = 150 / np.bincount(given)[given]
    plain = NoisyLabelClassifier(random_state=0).fit(X, given)
    balanced = NoisyLabelClassifier(random_state=0).fit(X, given, sample_weight=weight)
    np.testing.assert_allclose(balanced.label_quality_, plain.label_quality_, atol=1e-9)
    assert balanced.noise_rate_ == pytest.approx(plain.noise_rate_)
    assert balanced.noise_interval_ == pytest.approx(plain.noise_interval_)
    odds = [logit(model.predict_proba(X)[:, 1]) for model in (plain, balanced)]
    assert np.ptp(odds[1] - odds[0]) < 1e-9  # a rare class is more frequent among rows as the weights have them
    assert 0.3 < np.mean(odds[1] - odds[0]) < np.log(weight.max() / weight.min())


def test_the_order_of_samples_does_not_matter(moons):
    X, _, given = moons
    order = np.random.RandomState(0).permutation(200)
    straight = NoisyLabelClassifier(random_state=0).fit(X[:200], given[:200])
    shuffled = NoisyLabelClassifier(random_state=0).fit(X[order], given[order])
    np.testing.assert_allclose(straight.label_quality_[order], shuffled.label_quality_, atol=1e-8)


def test_it_survives_a_pickle_and_a_clone(moons, fitted):
    X, _, _ = moons
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X[:9]), fitted.predict_proba(X[:9]))
    assert clone(fitted).get_params() == {"sample_size": "auto", "random_state": 0}


def test_the_feature_that_decides_is_the_important_one(rng):
    X = rng.normal(size=(200, 4))
    model = NoisyLabelClassifier(random_state=0).fit(X, flip_labels((X[:, 2] > 0).astype(int), 0.1, random_state=0))
    importances = model.feature_importances_
    assert importances.argmax() == 2
    assert importances.sum() == pytest.approx(1.0)


def test_sparse_text_like_data(rng):
    X = sp.random_array((150, 60), density=0.2, rng=rng, format="csr")
    y = (np.asarray(X[:, :20].sum(axis=1)).ravel() > np.asarray(X[:, 20:40].sum(axis=1)).ravel()).astype(int)
    model = NoisyLabelClassifier(random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.9
    assert model.feature_importances_.shape == (60,)


def test_tables_with_categories_and_text():
    pd = pytest.importorskip("pandas", reason="tables of several types are DataFrames")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    words = np.array([["good", "fine", "nice"], ["bad", "poor", "dull"]])
    table = pd.DataFrame({
        "number": np.where(rng.random(200) < 0.1, np.nan, y + rng.normal(size=200)),
        "colour": pd.Categorical(np.where(rng.random(200) < 0.3, "red", np.where(y == 1, "blue", "green"))),
        "text": [f"{words[k, rng.integers(3)]} item {i}" for i, k in enumerate(y)],
    })  # fmt: skip
    kinds = {name: kind for name, kind, _ in TableFeatures().fit(table).steps_}
    assert kinds == {"number": "numeric", "colour": "categorical", "text": "text"}
    model = NoisyLabelClassifier(random_state=0).fit(table[:150], flip_labels(y[:150], 0.1, random_state=0))
    assert np.mean(model.predict(table[150:]) == y[150:]) > 0.9
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["number", "colour", "text"]
    assert model.feature_importances_.shape == (3,)


def test_a_level_that_was_never_seen_is_no_error():
    pd = pytest.importorskip("pandas", reason="tables of several types are DataFrames")
    prepared = TableFeatures().fit(pd.DataFrame({"a": ["x", "y", None]}))
    np.testing.assert_array_equal(prepared.transform(pd.DataFrame({"a": ["z"]})), [[0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.zeros((3, 1)), [1, 1, 1], {}, "one class"),
        (np.zeros((2, 1)), [0, 1], {"sample_weight": [1.0, -1.0]}, "must not be negative"),
        (np.zeros((3, 1)), [0.1, 0.2, 0.3], {}, "Unknown label type"),
        (np.full((2, 1), np.nan), [0, 1], {}, "no column to learn from"),
        (np.full((2, 1), np.inf), [0, 1], {}, "infinity"),
    ],
)
def test_bad_input_is_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        NoisyLabelClassifier().fit(X, y, **options)


def test_kernels_have_unit_diagonals_and_are_positive_semidefinite(rng):
    X = rng.normal(size=(30, 4))
    for kernel in diverse_kernels(X):
        gram = kernel(X)
        np.testing.assert_allclose(gram.diagonal(), kernel.diagonal(X))
        assert np.linalg.eigvalsh(gram).min() > -1e-10


def test_shrinkage_by_a_walk_from_the_root(rng):
    X = rng.normal(size=(80, 3))
    Y = np.column_stack([X[:, 0], X[:, 1] * X[:, 2]])
    forest = ShrunkenForest(1.0).grow(X, Y, np.ones(80), np.random.RandomState(0))
    tree = forest._trees[0]
    found = node_values(tree)
    for row in X[:10].astype(np.float32):
        path = tree.decision_path(row[None]).indices
        means, sizes = tree.value[path, :, 0], tree.weighted_n_node_samples[path]
        for position, shrinkage in enumerate(SHRINKAGES):
            steps = np.diff(means, axis=0) / (1 + shrinkage / sizes[:-1, None])
            np.testing.assert_allclose(found[path[-1], :, position], steps.sum(axis=0), atol=1e-12)


def test_the_noise_rate_of_the_paper_may_be_estimated(moons):
    X, _, given = moons
    model = RobustMKLClassifier(noise_rate="auto", random_state=0).fit(X[:150], given[:150])
    assert 0.1 < model.noise_rate_ < 0.5


def test_overlap_and_noise_near_the_boundary_are_bracketed(rng):
    """Two overlapping Gaussians: a share Phi(-1) = .16 of a class lies beyond the boundary. Clean labels, or noise?"""
    y = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 2)) + np.outer(2.0 * y - 1, [1.0, 0.0])
    clean = NoisyLabelClassifier(random_state=0).fit(X, y)
    assert clean.noise_rate_ < 0.08
    assert clean.diagnostic_["largest_noise_rate"] == pytest.approx(0.16, abs=0.04)
    apart = NoisyLabelClassifier(random_state=0).fit(X + np.outer(5.0 * y, [1.0, 0.0]), y)
    assert apart.noise_rate_ <= apart.diagnostic_["largest_noise_rate"] < 0.02


def test_a_view_that_the_sample_speaks_against_still_points_somewhere(rng):
    """E[r | r > 0] for r seen as N(r, error^2), against a mean over draws; and scores that do not vanish."""
    seen, error = np.array([-0.08, -0.02, 0.0, 0.05, 0.5]), 0.04
    draws = seen + error * rng.normal(size=(400_000, 5))
    expected = [draw[draw > 0].mean() for draw in draws.T]
    np.testing.assert_allclose(_positive_mean(seen, error), expected, rtol=0.02)

    Y = rng.choice([-1.0, 1.0], (100, 1))
    against = -0.1 * Y + rng.normal(size=(100, 1))
    assert average_path(iter([against]), Y, np.ones(100), np.ones(1))[0] > 0


def test_a_copy_with_another_label_is_outvoted(rng):
    """Sixty places with five samples each, and nothing to learn from neighbours: only copies tell what is wrong."""
    place = rng.normal(size=(60, 3))
    true = np.repeat(rng.integers(0, 2, 60), 5)
    given = true.copy()
    wrong = rng.choice(60, 30, replace=False) * 5  # one of five, at half of the places
    given[wrong] = 1 - given[wrong]
    model = NoisyLabelClassifier(random_state=0).fit(np.repeat(place, 5, axis=0), given)
    assert model.score(np.repeat(place, 5, axis=0), true) > 0.95
    assert set(np.argsort(model.label_quality_)[:25]) <= set(wrong)
    assert model.noise_rate_ == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(("n", "most"), [(20, 20), (21, 7), (40, 7), (41, 4)])
def test_kernels_of_more_samples_have_fewer_landmarks(monkeypatch, rng, n, most):
    for name, size in {"EXACT": 20, "MANY": 40, "RANK_SOME": 7, "RANK_MANY": 4}.items():
        monkeypatch.setattr(pool, name, size)
    X, given = rng.normal(size=(n, 3)), np.arange(n) % 2
    fitting = pool._Fitting(X, given, 2, np.ones(n), np.random.RandomState(0))
    view = fitting.kernel(Laplace(1.0), None)
    assert len(view.score.landmarks) == most


def test_a_feature_that_was_constant_says_nothing_however_large_it_becomes(rng):
    from kernelwise.scoring.kernel_scores import CUT, _Standardiser

    X = np.column_stack([np.full(20, 1e-300), 1e-300 * rng.normal(size=20)])
    scaled = _Standardiser.fit(X, np.ones(20))(np.array([[1e200, 1e200], [-1e200, -1e200]]))
    np.testing.assert_array_equal(scaled, [[0.0, CUT], [0.0, -CUT]])


def test_turning_a_huge_feature_round_turns_its_standardised_values_round(rng):
    from kernelwise.labels.classifier import _Standardiser

    X, weight = np.column_stack([1e200 * rng.uniform(1e-6, 1.0, 20), rng.normal(size=20)]), np.ones(20)
    np.testing.assert_array_equal(_Standardiser.fit(-X, weight)(-X), -_Standardiser.fit(X, weight)(X))


def test_one_column_of_texts_is_refused_with_the_remedy():
    pd = pytest.importorskip("pandas", reason="a column of a DataFrame is a Series")
    texts = ["buy now", "see you"] * 20
    for column in (pd.Series(texts), texts, np.array(texts)):
        with pytest.raises(ValueError, match=r"one column of texts.*frame\[\['text'\]\]"):
            NoisyLabelClassifier().fit(column, [0, 1] * 20)
