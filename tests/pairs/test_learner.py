"""PairKernelLearner and UniformKernel: the weights against a convex solver, the feature map, and the conventions."""

import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import oracles
from kernelwise import PairNoise, Pairs, UniformKernel
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.kernels import Gaussian, gaussian_kernels, linear_kernels, precomputed
from kernelwise.pairs.learner import PairKernelLearner

NOISE = PairNoise(0.5, 0.8, 0.7)


@pytest.fixture
def data(rng):
    """Attributes that are mostly absent, of which the first two tell the classes apart, and noisy pairs."""
    y = rng.integers(2, size=80)
    X = rng.random((80, 6)) * (rng.random((80, 6)) < 0.3)
    X[:, 0] += y
    X[:, 1] += 1 - y
    pairs = Pairs.from_labels(y, n_pairs=400, random_state=0).flip({1: 0.2, -1: 0.3}, random_state=0)
    return X, y, pairs


def statistic_by_hand(values, pairs, noise, strength):
    """Solve the constrained least squares problem of every kernel in rational numbers, then clip."""
    positive = pairs.labels > 0
    found = []
    for column in values.T:
        given = column[positive].mean(), column[~positive].mean()
        p = noise.prior, 1 - noise.prior
        b = oracles.true_class_means_exactly(noise.matrix, p, given, column.mean())
        found.append(p[0] * b[0] - p[1] * b[1])
    limit = np.inf if strength is None else strength * values.mean(axis=0)
    return np.clip(found, -limit, limit)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("feasible", [0.9, 0.1, None, False])
def test_weights_solve_problem_7(data, feasible, fit_intercept):
    X, _, pairs = data
    learner = PairKernelLearner(alpha=1e-2, noise=NOISE, feasible=feasible, fit_intercept=fit_intercept, tol=1e-8)
    learner.fit(X, pairs=pairs)
    values = X[pairs.rows] * X[pairs.cols]
    statistic = statistic_by_hand(values, pairs, NOISE, feasible or None)
    np.testing.assert_allclose(learner.statistic_, statistic, rtol=1e-9, atol=1e-12)
    uniform = np.full(len(pairs), 1 / len(pairs))
    w, bias, optimum = oracles.pair_weights(values, uniform, statistic, 1e-2, 0.0 if fit_intercept else None)
    np.testing.assert_allclose(learner.objective_, optimum, atol=1e-7)
    np.testing.assert_allclose(learner.kernel_weights_, w, atol=1e-3 * (1 + w.max()))
    np.testing.assert_allclose(learner.intercept_, bias, atol=5e-3)
    assert -1e-14 <= learner.dual_gap_ <= 1e-8  # below zero by rounding alone
    assert learner.kkt_residual_ <= 1e-8


def test_labels_at_their_word_are_logistic_regression_with_weights_that_are_not_negative(data):
    X, _, pairs = data
    learner = PairKernelLearner(alpha=1e-2, tol=1e-8).fit(X, pairs=pairs)
    values = X[pairs.rows] * X[pairs.cols]
    statistic = (pairs.labels[:, None] * values).mean(axis=0)
    w, _, optimum = oracles.pair_weights(values, np.full(len(pairs), 1 / len(pairs)), statistic, 1e-2)
    np.testing.assert_allclose(learner.objective_, optimum, atol=1e-7)
    np.testing.assert_allclose(learner.kernel_weights_, w, atol=1e-3)
    losses = np.log1p(np.exp(-pairs.labels * (values @ learner.kernel_weights_)))
    by_hand = losses.mean() + 0.5e-2 * learner.kernel_weights_ @ learner.kernel_weights_
    np.testing.assert_allclose(learner.objective_, by_hand)
    assert learner.noise_ == PairNoise.clean(pairs)


def test_every_correction_is_the_same_for_clean_pairs(data):
    X, y, _ = data
    pairs = Pairs.from_labels(y, n_pairs=400, random_state=0)
    clean = PairNoise.clean(pairs)
    options = [{}, {"noise": clean, "feasible": None}, {"noise": clean, "correction": "forward"}]
    options += [{"noise": NOISE, "correction": "none"}]
    weights = [
        PairKernelLearner(alpha=1e-2, tol=1e-8, **option).fit(X, pairs=pairs).kernel_weights_ for option in options
    ]
    for found in weights[1:]:
        np.testing.assert_allclose(found, weights[0], atol=1e-5)


def test_the_correction_brings_the_weights_closer_to_those_of_clean_pairs(rng):
    y = rng.integers(2, size=400)
    X = np.column_stack([y, 1 - y, rng.random((400, 3))]) * 1.0
    pairs = Pairs.from_labels(y, n_pairs=20_000, random_state=0)
    noisy = pairs.flip({1: 0.3, -1: 0.1}, random_state=1)
    truth = PairKernelLearner(alpha=1e-2).fit(X, pairs=pairs).kernel_weights_
    noise = PairNoise.estimate(noisy, noisy[:2000].true_labels(y), np.arange(2000))
    found = {
        correction: PairKernelLearner(alpha=1e-2, noise=noise, correction=correction, feasible=1.0)
        .fit(X, pairs=noisy)
        .kernel_weights_
        for correction in ("statistic", "none")
    }
    error = {name: np.linalg.norm(weights - truth) for name, weights in found.items()}
    assert error["statistic"] < 0.3 * error["none"]


def test_alpha_is_a_hundredth_over_the_number_of_pairs_by_default(data):
    X, _, pairs = data
    assert PairKernelLearner().fit(X, pairs=pairs).alpha_ == pytest.approx(0.01 / 400)
    heavy = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=80, weights=np.full(400, 2.0))
    twice = PairKernelLearner().fit(X, pairs=pairs + pairs)
    weighted = PairKernelLearner().fit(X, pairs=heavy)
    assert weighted.alpha_ == pytest.approx(twice.alpha_)
    np.testing.assert_allclose(weighted.kernel_weights_, twice.kernel_weights_, rtol=1e-4, atol=1e-6)


def test_the_order_of_the_samples_does_not_matter(data, rng):
    X, _, pairs = data
    order = rng.permutation(80)
    one = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(X, pairs=pairs)
    other = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(X[order], pairs=pairs.restrict(order))
    np.testing.assert_allclose(one.kernel_weights_, other.kernel_weights_, atol=1e-6)


def test_features_have_the_combined_kernel_as_inner_product(data):
    X, _, pairs = data
    learner = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(X[:60], pairs=pairs.restrict(np.arange(60)))
    expected = (X * learner.kernel_weights_) @ X[:5].T
    np.testing.assert_allclose(learner.kernel(X, X[:5]), expected, atol=1e-10)
    np.testing.assert_allclose(learner.kernel(X), (X * learner.kernel_weights_) @ X.T, atol=1e-10)
    assert learner.transform(X).shape == (80, np.count_nonzero(learner.kernel_weights_))


def test_sparse_data_stays_sparse(data):
    X, _, pairs = data
    dense = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(X, pairs=pairs)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        sparse = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(kind(X), pairs=pairs)
        features = sparse.transform(kind(X))
        assert sp.issparse(features)
        np.testing.assert_allclose(sparse.kernel_weights_, dense.kernel_weights_, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(features.toarray(), dense.transform(X), rtol=1e-4, atol=1e-6)
    assert isinstance(UniformKernel().fit(sp.csr_array(X)).kernel(sp.csr_array(X)), np.ndarray)


def test_general_kernels_and_given_matrices_agree(data):
    X, _, pairs = data
    family = gaussian_kernels([0.3, 1.0, 3.0], scope="all")
    options = {"noise": NOISE, "alpha": 1e-3, "tol": 1e-9}
    learner = PairKernelLearner(family, **options).fit(X, pairs=pairs)
    grams = np.stack([Gaussian(width=width)(X) for width in (0.3, 1.0, 3.0)])
    stack = np.moveaxis(grams, 0, -1)
    stacked = PairKernelLearner("precomputed", **options).fit(stack, pairs=pairs)
    index = np.arange(80).reshape(-1, 1)
    indexed = PairKernelLearner(precomputed(grams), **options).fit(index, pairs=pairs)
    combined = np.tensordot(learner.kernel_weights_, grams, axes=1)
    assert learner.kernel_weights_.any()
    for other, given in ((stacked, stack), (indexed, index)):
        np.testing.assert_allclose(other.kernel_weights_, learner.kernel_weights_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(other.kernel(given), combined, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(learner.kernel(X), combined, atol=1e-6)
    np.testing.assert_allclose(stacked.transform(stack[:7]), stacked.transform(stack)[:7], atol=1e-12)
    names = learner.get_feature_names_out()
    assert len(names) == learner.transform(X).shape[1]
    assert names[0].startswith("gaussian(width=")


def test_uniform_kernel_is_the_mean(data):
    X, y, pairs = data
    uniform = UniformKernel().fit(X, y, pairs=pairs)
    np.testing.assert_allclose(uniform.kernel(X), X @ X.T / 6)
    gaussians = UniformKernel(gaussian_kernels([0.5, 2.0], scope="all")).fit(X)
    np.testing.assert_allclose(gaussians.kernel(X), (Gaussian(width=0.5)(X) + Gaussian(width=2.0)(X)) / 2, atol=1e-8)


def test_names_of_columns_and_a_table_of_weights(data):
    X, _, pairs = data
    columns = [f"word {letter}" for letter in "abcdef"]
    frame = pd.DataFrame(X, columns=columns)
    learner = PairKernelLearner(noise=NOISE, alpha=1e-2).fit(frame, pairs=pairs)
    active = np.flatnonzero(learner.kernel_weights_)
    assert learner.get_feature_names_out().tolist() == [columns[j] for j in active]
    table = learner.kernel_table()
    assert [row["weight"] for row in table] == sorted(learner.kernel_weights_, reverse=True)
    assert {row["kernel"] for row in table[:2]} == {"linear[word a]", "linear[word b]"}
    assert learner.kernel_table(top=1) == table[:1]
    named = PairKernelLearner([Gaussian(columns=("word a", "word b")), Gaussian(columns="word f")]).fit(
        frame, pairs=pairs
    )
    assert named.kernel_names_ == ("gaussian(width=1)[word a,word b]", "gaussian(width=1)[word f]")
    output = clone(learner).set_output(transform="pandas").fit(frame, pairs=pairs).transform(frame)
    assert output.columns.tolist() == [columns[j] for j in active]


def test_labels_make_balanced_pairs(data):
    X, y, _ = data
    learner = PairKernelLearner(alpha=1e-2, random_state=0).fit(X, y)
    assert learner.noise_.prior == pytest.approx(0.5)
    assert set(np.argsort(-learner.kernel_weights_)[:2]) == {0, 1}
    again = PairKernelLearner(alpha=1e-2, random_state=0).fit(X, np.array(["no", "yes"])[y])
    np.testing.assert_array_equal(again.kernel_weights_, learner.kernel_weights_)


def test_clone_and_pickle(data):
    X, _, pairs = data
    learner = PairKernelLearner(gaussian_kernels([0.5, 1.0], scope="all"), noise=NOISE, alpha=1e-3)
    assert clone(learner).get_params()["noise"] == NOISE
    learner.fit(X, pairs=pairs)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))


def test_pairs_are_routed_through_a_pipeline(data):
    X, _, pairs = data
    with config_context(enable_metadata_routing=True):
        learner = PairKernelLearner(noise=NOISE, alpha=1e-3).set_fit_request(pairs=True)
        pipeline = make_pipeline(MinMaxScaler(), learner).fit(X, pairs=pairs)
        features = make_pipeline(MinMaxScaler(), clone(learner)).fit_transform(X, pairs=pairs)
    direct = PairKernelLearner(noise=NOISE, alpha=1e-3).fit(MinMaxScaler().fit_transform(X), pairs=pairs)
    np.testing.assert_allclose(pipeline[-1].kernel_weights_, direct.kernel_weights_)
    np.testing.assert_allclose(pipeline.transform(X), features)


def test_iterations_are_logged_on_request(data, caplog):
    X, _, pairs = data
    with caplog.at_level(logging.INFO, logger="kernelwise"):
        PairKernelLearner(noise=NOISE).fit(X, pairs=pairs)
        assert not caplog.records
        learner = PairKernelLearner(noise=NOISE, verbose=1).fit(X, pairs=pairs)
    assert len(caplog.records) == learner.n_iter_ + 1
    assert "<= optimum <=" in caplog.text


def test_warnings_say_what_is_doubtful(data):
    X, _, pairs = data
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations at a relative residual"):
        stopped = PairKernelLearner(noise=NOISE, max_iter=1).fit(X, pairs=pairs)
    assert not stopped.converged_
    assert stopped.dual_gap_ > 0
    with pytest.warns(UserWarning, match="prior of the pairs trained on"):
        PairKernelLearner(noise=PairNoise(0.9, 0.8, 0.7)).fit(X, pairs=pairs)
    few = pairs.positive[:3] + pairs.negative
    with pytest.warns(
        UserWarning, match="all kernel weights are zero.* without an intercept a kernel needs a larger sum"
    ):
        learner = PairKernelLearner(fit_intercept=False).fit(X, pairs=few)
    assert learner.transform(X).shape == (80, 0)
    assert not learner.kernel(X).any()
    opposed = Pairs(pairs.rows, pairs.cols, -pairs.labels, n_samples=80)
    with pytest.warns(UserWarning, match="all kernel weights are zero.* no kernel is larger on positive pairs"):
        PairKernelLearner(fit_intercept=True).fit(X[:, :2], pairs=opposed)


def test_an_intercept_is_added_where_signs_are_unbalanced(data):
    """Few positive pairs: without a bias all weights are zero; with half of the pairs positive nothing changes."""
    X, _, pairs = data
    few = pairs.positive[:60] + pairs.negative
    model = PairKernelLearner().fit(X, pairs=few)
    always = PairKernelLearner(fit_intercept=True).fit(X, pairs=few)
    assert model.intercept_ == always.intercept_ < 0
    assert model.kernel_weights_.any()
    np.testing.assert_array_equal(model.kernel_weights_, always.kernel_weights_)
    half = pairs.positive[:150] + pairs.negative[:150]
    for noise in (None, PairNoise(0.3, 0.8, 0.7)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of the prior, which does not fit on purpose
            balanced, never = (
                PairKernelLearner(noise=noise, **options).fit(X, pairs=half)
                for options in ({}, {"fit_intercept": False})
            )
        assert balanced.intercept_ == 0
        np.testing.assert_array_equal(balanced.kernel_weights_, never.kernel_weights_)


@pytest.mark.parametrize("fraction", [0.5, 0.55, 0.6, 0.8])
@pytest.mark.parametrize("n_pairs", [100, 1000])
def test_the_intercept_is_a_matter_of_the_bayesian_information_criterion(rng, n_pairs, fraction):
    """The log-likelihood of the signs at their own frequency against even odds, and the price of one parameter."""
    X = rng.random((n_pairs + 1, 2))
    labels = np.where(np.arange(n_pairs) < fraction * n_pairs, 1, -1)
    pairs = Pairs(np.arange(n_pairs), np.arange(1, n_pairs + 1), labels, n_samples=n_pairs + 1)
    p = (labels > 0).mean()
    likelihood = n_pairs * (p * np.log(p) + (1 - p) * np.log(1 - p)), n_pairs * np.log(0.5)
    expected = likelihood[0] - likelihood[1] > 0.5 * np.log(n_pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # signs without a reason may leave all weights zero
        model = PairKernelLearner(alpha=1e-2).fit(X, pairs=pairs)
    assert (model.intercept_ != 0) == expected


def test_measurements_are_standardised_and_attributes_are_not(data, rng):
    attributes, y, pairs = data
    X = rng.normal(size=(80, 3)) * [1.0, 100.0, 1e-3] + [5.0, -3.0, 0.0]
    X[:, 0] += 3 * y
    model = PairKernelLearner(noise=NOISE).fit(X, pairs=pairs)
    Z = StandardScaler().fit_transform(X)
    raw = PairKernelLearner(noise=NOISE, standardize=False).fit(Z, pairs=pairs)
    np.testing.assert_allclose(model.kernel_weights_, raw.kernel_weights_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.kernel(X[:5], X), raw.kernel(Z[:5], Z), rtol=1e-6, atol=1e-9)
    units = PairKernelLearner(noise=NOISE).fit(X * [1e3, 1.0, -7.0] + 2.0, pairs=pairs)
    np.testing.assert_allclose(units.kernel_weights_, model.kernel_weights_, rtol=1e-5, atol=1e-8)
    sparse_at_last = model.transform(sp.csr_array(X[:4]))
    np.testing.assert_allclose(sparse_at_last, model.transform(X[:4]))
    for same in (attributes, sp.csr_array(X - X.min())):
        kept, paper = (PairKernelLearner(alpha=1e-2, standardize=on).fit(same, pairs=pairs) for on in (True, False))
        np.testing.assert_array_equal(kept.kernel_weights_, paper.kernel_weights_)
    constant = PairKernelLearner(noise=NOISE).fit(np.column_stack([X, np.full(80, 0.1)]), pairs=pairs)
    assert constant.kernel_weights_[3] == 0
    kernels = linear_kernels()  # chosen by the user, so nothing is done to the columns
    np.testing.assert_allclose(
        PairKernelLearner(kernels, alpha=1e-2).fit(X, pairs=pairs).kernel_weights_,
        PairKernelLearner(alpha=1e-2, standardize=False).fit(X, pairs=pairs).kernel_weights_,
    )


def test_the_statistic_of_a_signed_kernel_is_kept_below_its_mean_magnitude(data, rng):
    _, _, pairs = data
    X = rng.normal(size=(80, 4))
    model = PairKernelLearner(noise=PairNoise(0.5, 0.55, 0.56), standardize=False).fit(X, pairs=pairs)
    limit = 0.9 * np.abs(X[pairs.rows] * X[pairs.cols]).mean(axis=0)
    assert (np.abs(model.statistic_) <= limit + 1e-12).all()
    assert np.isclose(np.abs(model.statistic_), limit).any()  # this noise is strong enough to need the limit


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a positive number, or None"),
        ({"alpha": "paper"}, ValueError, "alpha must be a positive number, or None"),
        ({"noise": "paper"}, TypeError, 'noise must be None, "auto" or a kernelwise.PairNoise'),
        ({"noise": (0.5, 0.8, 0.8)}, TypeError, "PairNoise.estimate"),
        ({"noise": PairNoise(0.5, 0.3, 0.7)}, ValueError, "carry no information"),
        ({"noise": PairNoise(0.5, 0.3, 0.7), "correction": "forward"}, ValueError, "carry no information"),
        ({"noise": PairNoise(1.0, 0.9, 0.7), "fit_intercept": True}, ValueError, "prior of noise inside"),
        ({"correction": "backward"}, ValueError, 'correction must be "statistic", "none" or "forward", got'),
        ({"feasible": 1.5}, ValueError, "feasible must lie above 0"),
        ({"feasible": True}, ValueError, "feasible must lie above 0"),
        ({"fit_intercept": "yes"}, ValueError, 'fit_intercept must be True, False or "auto", got'),
        ({"standardize": "auto"}, ValueError, "standardize must be True or False, got 'auto'"),
        ({"tol": 0}, ValueError, "tol must lie"),
        ({"max_iter": 0}, ValueError, "max_iter must be an integer of at least 1, got 0"),
        ({"kernels": "rbf"}, TypeError, "kernels must be a kernel, a family"),
        ({"kernels": "precomputed"}, ValueError, r"must have shape \(n, n\) or \(n, n, n_kernels\)"),
    ],
)
def test_bad_options(data, options, error, message):
    X, _, pairs = data
    with pytest.raises(error, match=message):
        PairKernelLearner(**options).fit(X, pairs=pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, pairs: {"X": X}, "requires y to be passed"),
        (lambda X, y, pairs: {"X": X, "pairs": pairs.positive}, "no negative"),
        (lambda X, y, pairs: {"X": X, "pairs": pairs.negative}, "no positive"),
        (lambda X, y, pairs: {"X": X[:40], "pairs": pairs}, "pairs are over n_samples=80 samples, but X has 40"),
        (lambda X, y, pairs: {"X": X, "y": y[:40]}, "y has 40 labels for 80 samples"),
        (lambda X, y, pairs: {"X": np.where(X > 1, np.nan, X), "pairs": pairs}, "NaN"),
    ],
)
def test_bad_data(data, change, message):
    with pytest.raises(ValueError, match=message):
        PairKernelLearner(noise=NOISE).fit(**change(*data))


def test_precision_outside_the_unit_interval_is_refused():
    with pytest.raises(ValueError, match="precision_positive must lie between 0 and 1"):
        PairNoise(0.5, 1.2, 0.8)


def test_the_error_of_a_low_rank_is_not_a_negative_kernel(data, rng):
    X = rng.random((80, 3))
    narrow = gaussian_kernels([0.05], scope="each")
    learner = PairKernelLearner(narrow, rank=1e-3, noise=NOISE, alpha=1e-2).fit(X, pairs=data[2])
    assert learner.converged_


def test_new_matrices_must_be_of_the_fitted_kernels(data):
    X, _, pairs = data
    stack = np.stack([Gaussian(width=width)(X) for width in (0.5, 1.0)], axis=-1)
    learner = PairKernelLearner("precomputed").fit(stack, pairs=pairs)
    with pytest.raises(ValueError, match="X has 1 kernels, but the model was fitted with 2"):
        learner.transform(stack[:, :, 0])


@pytest.mark.parametrize("feasible", [0.9, None])
@pytest.mark.parametrize("load", [load_cora, load_citeseer])
def test_the_papers_problem_is_solved_to_six_digits_on_its_data(load, feasible):
    papers = load()
    pairs = Pairs.from_graph(papers.edges, n_samples=len(papers.target), random_state=0)
    noise = PairNoise.estimate(pairs, pairs.true_labels(papers.target), np.arange(len(pairs)))
    learner = PairKernelLearner(noise=noise, feasible=feasible).fit(papers.data, pairs=pairs)
    assert learner.converged_
    assert learner.kkt_residual_ < 1e-6
    assert learner.dual_gap_ < 1e-6 * abs(learner.objective_)
    # Erratum of the paper: where the statistic is not kept feasible, rare words get enormous weights.
    assert learner.kernel_weights_.max() > 1e3 if feasible is None else learner.kernel_weights_.max() < 3
