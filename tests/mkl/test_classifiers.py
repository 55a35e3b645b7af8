"""The multiple-kernel classifiers as a user meets them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import (
    BestCaseMKLClassifier,
    RobustMKLClassifier,
    RobustMKLClassifierCV,
    SimpleMKLClassifier,
    SimpleMKLClassifierCV,
    flip_labels,
)
from kernelwise.datasets import load_breast_cancer, load_heart, load_ionosphere
from kernelwise.kernels import FunctionKernel, Gaussian, Linear, RankWarning, gaussian_kernels, precomputed

FEW = gaussian_kernels([0.25, 1.0, 4.0], scope="all")
CLASSIFIERS = [
    SimpleMKLClassifier(FEW, random_state=0),
    RobustMKLClassifier(FEW, noise_rate=0.2, random_state=0),
    BestCaseMKLClassifier(FEW, noise_rate=0.2, random_state=0),
    SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], random_state=0),
    RobustMKLClassifierCV(FEW, alphas=[0.1, 0.01], budgets=[1.0, 0.7], random_state=0),
]


@pytest.fixture(scope="module")
def heart():
    X, y = load_heart(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.array(["ash", "birch", "cedar"])[np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.5])]
    return X, y


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
class TestEveryClassifier:
    def test_learns_in_spite_of_noise(self, model, heart):
        X, y = heart
        noisy = flip_labels(y[:200], 0.2, random_state=0)
        fitted = clone(model).fit(X[:200], noisy)
        assert fitted.score(X[200:], y[200:]) > 0.75
        assert fitted.converged_
        assert 0 <= fitted.dual_gap_ <= 2e-4 * fitted.objective_

    def test_string_classes_and_probabilities_agree(self, model, three_classes):
        X, y = three_classes
        fitted = clone(model).fit(X, y)
        probability = fitted.predict_proba(X)
        assert list(fitted.classes_) == ["ash", "birch", "cedar"]
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_array_equal(fitted.classes_[probability.argmax(axis=1)], fitted.predict(X))
        assert fitted.kernel_weights_.shape == (3, 3)
        assert fitted.score(X, y) > 0.75  # the best case distrusts a fifth of labels that are all right here

    def test_order_of_samples_does_not_matter(self, model, heart, rng):
        X, y = (part[::2] for part in heart)
        order = rng.permutation(len(y))
        one, two = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))

    def test_pipeline_and_cross_validated_probabilities(self, model, heart):
        X, y = (part[::2] for part in heart)
        pipeline = make_pipeline(StandardScaler(), clone(model))
        probability = cross_val_predict(pipeline, X, y, cv=2, method="predict_proba")
        assert log_loss(y, probability) < 0.6


class TestFunctionsAndWeights:
    def test_dual_coefficients_give_the_decisions(self, heart):
        X, y = heart
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        model = SimpleMKLClassifier(FEW, tol=1e-8, probability=False).fit(X, y)
        values = sum(
            kernel(scaled) @ coef for kernel, coef in zip(model.kernels_, model.dual_coef_.toarray(), strict=True)
        )
        np.testing.assert_allclose(values, model.decision_function(X), atol=1e-3)

    def test_weights_are_a_named_table(self):
        frame = load_heart(as_frame=True)
        model = SimpleMKLClassifier(random_state=0, probability=False).fit(frame.data, frame.target)
        table = model.kernel_table(as_frame=True)
        assert list(table.columns) == ["kernel", "features", "weight"]
        assert table.weight.is_monotonic_decreasing
        assert abs(table.weight.sum() - 1) < 1e-9
        assert set(table.features) <= {"all", *frame.data.columns}
        np.testing.assert_array_equal(model.feature_names_in_, frame.data.columns)

    def test_a_feature_set_by_name(self):
        frame = load_heart(as_frame=True)
        first, second = frame.data.columns[:2]
        kernels = [Gaussian(width=1.0, columns=(first, second)), Linear(columns=second)]
        model = SimpleMKLClassifier(kernels, probability=False).fit(frame.data, frame.target)
        assert {row["features"] for row in model.kernel_table()} <= {f"{first}, {second}", second}

    def test_sample_weight_two_is_the_sample_twice(self, heart, rng):
        X, y = heart
        repeats = rng.integers(0, 3, len(y))
        weighted = RobustMKLClassifier(FEW, random_state=0).fit(X, y, sample_weight=repeats)
        repeated = RobustMKLClassifier(FEW, random_state=0).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
        np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))

    def test_full_budget_is_the_simple_classifier(self, heart):
        X, y = heart
        simple = SimpleMKLClassifier(tol=1e-8, probability=False).fit(X, y)
        robust = RobustMKLClassifier(budget=1.0, tol=1e-8, probability=False).fit(X, y)
        np.testing.assert_allclose(robust.decision_function(X), simple.decision_function(X), atol=1e-4)

    def test_binding_budget_rescales_the_penalty(self, heart):
        """f_St(alpha, rho) = r f_Si(alpha r) with r = 1 - eta, eta the loss at which the budget is spent."""
        X, y = heart
        robust = RobustMKLClassifier(FEW, alpha=0.05, budget=0.5, tol=1e-9, probability=False).fit(X, y)
        f = robust.decision_function(X)
        losses = np.sort(np.maximum(0, 1 - (2 * y - 1) * f))[::-1]
        r = 1 - losses[len(y) // 2]
        assert 0 < r < 1
        simple = SimpleMKLClassifier(FEW, alpha=0.05 * r, tol=1e-9, probability=False).fit(X, y)
        np.testing.assert_allclose(f, r * simple.decision_function(X), atol=1e-4)

    def test_risk_gives_the_papers_budget(self, heart):
        X, y = heart
        model = RobustMKLClassifier(FEW, noise_rate=0.2, risk=0.05, probability=False).fit(X, y)
        tau = np.sqrt(np.log(20) / 2)
        assert model.budget_ == pytest.approx(0.8 + tau + tau / np.sqrt(len(y)))

    def test_intercept_follows_the_majority_where_nothing_else_does(self, rng):
        X = rng.normal(size=(60, 2))
        y = np.arange(60) % 10 > 0
        model = SimpleMKLClassifier(FEW, alpha=1e3, fit_intercept=True, probability=False).fit(X, y)
        assert model.predict(X).all()
        assert model.intercept_[0] > 0.9

    def test_best_case_reports_a_lower_objective_from_more_starts(self, heart):
        X, y = heart
        noisy = flip_labels(y, 0.3, random_state=0)
        objectives = [
            BestCaseMKLClassifier(FEW, noise_rate=0.3, n_starts=k, random_state=0, probability=False)
            .fit(X, noisy)
            .objective_
            for k in (1, 4)
        ]
        assert objectives[1] <= objectives[0] + 1e-9


class TestOtherInputs:
    def test_sparse_equals_dense(self, rng):
        X = rng.random((60, 8)) * (rng.random((60, 8)) < 0.3)
        y = (X[:, 0] + X[:, 1] > 0.2).astype(int)
        X[:2] = 1.0  # the same range for both scalings: 0 to 1
        dense = SimpleMKLClassifier(FEW, probability=False, tol=1e-8).fit(X, y)
        sparse = SimpleMKLClassifier(FEW, probability=False, tol=1e-8).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-5)

    def test_precomputed_by_index_in_cross_validation(self, heart):
        X, y = heart
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        kernels = precomputed([Gaussian(width=w)(scaled) for w in (0.5, 2.0)], names=["narrow", "wide"])
        index = np.arange(len(y))[:, None]
        by_index = SimpleMKLClassifier(kernels, probability=False)
        by_features = SimpleMKLClassifier(
            [Gaussian(width=0.5), Gaussian(width=2.0)], scale_features=False, probability=False
        )
        folds = StratifiedKFold(3)
        np.testing.assert_allclose(
            cross_val_score(by_index, index, y, cv=folds), cross_val_score(by_features, scaled, y, cv=folds)
        )
        assert {row["kernel"] for row in by_index.fit(index, y).kernel_table()} <= {"narrow", "wide"}

    def test_precomputed_stack_in_cross_validation(self, heart):
        X, y = heart
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        stack = np.stack([Gaussian(width=w)(scaled) for w in (0.5, 2.0)], axis=2)
        search = GridSearchCV(SimpleMKLClassifier("precomputed", probability=False), {"alpha": [0.1, 0.01]}, cv=3).fit(
            stack, y
        )
        assert search.best_score_ > 0.75
        assert search.predict(stack[:5]).shape == (5,)

    def test_a_matrix_that_is_no_kernel_can_be_projected(self, heart):
        X, y = heart
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        similarity = np.tanh(scaled @ scaled.T - 3.0)  # the sigmoid "kernel" is indefinite
        index = np.arange(len(y))[:, None]
        with pytest.raises(ValueError, match=r"precomputed.*smallest eigenvalue is -"):
            SimpleMKLClassifier(precomputed(similarity), probability=False).fit(index, y)
        SimpleMKLClassifier(precomputed(similarity, project=True), probability=False).fit(index, y)

    def test_grid_search_over_kernels(self, heart):
        X, y = heart
        grid = {"kernels": [FEW, gaussian_kernels([1.0], scope="each")], "alpha": [0.1, 0.01]}
        search = GridSearchCV(SimpleMKLClassifier(probability=False), grid, cv=3).fit(X, y)
        assert search.best_score_ > 0.75

    def test_inside_calibrated_classifier(self, heart):
        X, y = heart
        model = CalibratedClassifierCV(SimpleMKLClassifier(FEW, probability=False), cv=3).fit(X[:200], y[:200])
        assert log_loss(y[200:], model.predict_proba(X[200:])) < 0.6

    def test_data_frame_of_labels_and_features(self):
        frame = load_breast_cancer(as_frame=True)
        labels = pd.Series(np.where(frame.target == 1, "bad", "good"))
        model = SimpleMKLClassifier(FEW, random_state=0).fit(frame.data, labels)
        assert set(model.predict(frame.data.head())) <= {"bad", "good"}

    def test_rank_cap_is_announced(self):
        X, y = load_ionosphere(return_X_y=True)
        with pytest.warns(RankWarning, match="another model"):
            SimpleMKLClassifier(gaussian_kernels([0.125], scope="all"), rank=5, probability=False).fit(X, y)


class TestPath:
    def test_path_scores_equal_separate_fits(self, heart):
        X, y = heart
        model = SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.001], random_state=0).fit(X, y)
        best = SimpleMKLClassifier(FEW, alpha=model.alpha_, tol=1e-4, probability=False).fit(X, y)
        assert model.objective_ == pytest.approx(best.objective_, rel=2e-4)
        assert model.alpha_ == model.cv_results_["alpha"][np.argmax(model.cv_results_["mean_test_score"])]

    def test_threads_change_nothing(self, heart):
        X, y = heart
        one = RobustMKLClassifierCV(FEW, alphas=[0.1, 0.01], budgets=[1.0, 0.6], random_state=0, n_jobs=1).fit(X, y)
        two = RobustMKLClassifierCV(FEW, alphas=[0.1, 0.01], budgets=[1.0, 0.6], random_state=0, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def _not_a_kernel(S, T):
    return -(S @ T.T)


X_OK = np.random.default_rng(0).normal(size=(12, 2))
Y_OK = np.arange(12) % 2
BAD_CALLS = [
    (lambda: SimpleMKLClassifier(FEW).fit(X_OK, np.zeros(12)), "one class"),
    (lambda: SimpleMKLClassifier(FEW).fit(X_OK, Y_OK, sample_weight=Y_OK), "one class"),
    (lambda: SimpleMKLClassifier(FEW).fit(np.full((12, 2), np.nan), Y_OK), "NaN"),
    (lambda: SimpleMKLClassifier(FEW).fit(np.full((12, 2), np.inf), Y_OK), "infinity"),
    (lambda: SimpleMKLClassifier(FEW).fit(X_OK, Y_OK + 0.5 * np.arange(12)), "continuous"),
    (
        lambda: SimpleMKLClassifier(FEW).fit(X_OK, Y_OK, sample_weight=-np.ones(12)),
        "sample_weight must not be negative",
    ),
    (lambda: SimpleMKLClassifier(FEW, alpha=0).fit(X_OK, Y_OK), "alpha must be a positive"),
    (lambda: SimpleMKLClassifier(FEW, alpha=-1).fit(X_OK, Y_OK), "alpha must be a positive"),
    (lambda: SimpleMKLClassifier(FEW, tol=2).fit(X_OK, Y_OK), "tol, the relative duality gap"),
    (lambda: SimpleMKLClassifier(FEW, max_iter=0).fit(X_OK, Y_OK), "max_iter must be an integer of at least 1, got 0"),
    (lambda: SimpleMKLClassifier(FEW, solver="simplex").fit(X_OK, Y_OK), 'solver must be "auto"'),
    (lambda: SimpleMKLClassifier("gaussian").fit(X_OK, Y_OK), "kernels must be"),
    (lambda: SimpleMKLClassifier([]).fit(X_OK, Y_OK), "kernels is empty"),
    (lambda: SimpleMKLClassifier(Linear(columns=7)).fit(X_OK, Y_OK), "column 7 is outside X"),
    (lambda: SimpleMKLClassifier(FEW, rank=0).fit(X_OK, Y_OK), "rank must be at least 1"),
    (lambda: SimpleMKLClassifier("precomputed").fit(X_OK, Y_OK), "samples first"),
    (lambda: SimpleMKLClassifier("precomputed").fit(np.zeros((3, 12, 12)), Y_OK[:3]), "samples first"),
    (lambda: SimpleMKLClassifier("precomputed").fit(-np.eye(12), Y_OK), "smallest eigenvalue is -1"),
    (lambda: SimpleMKLClassifier(FunctionKernel(function=_not_a_kernel)).fit(X_OK, Y_OK), "not positive semi-definite"),
    (lambda: RobustMKLClassifier(FEW, noise_rate=0.5).fit(X_OK, Y_OK), "noise_rate must lie in"),
    (lambda: RobustMKLClassifier(FEW, noise_rate=-0.1).fit(X_OK, Y_OK), "noise_rate must lie in"),
    (lambda: RobustMKLClassifier(FEW, budget=0).fit(X_OK, Y_OK), "budget, the share"),
    (lambda: RobustMKLClassifier(FEW, budget=1.2).fit(X_OK, Y_OK), "budget, the share"),
    (lambda: RobustMKLClassifier(FEW, risk=1.0).fit(X_OK, Y_OK), "risk must lie"),
    (lambda: RobustMKLClassifier(FEW, risk=0.1, budget=0.5).fit(X_OK, Y_OK), "give either risk or budget"),
    (lambda: BestCaseMKLClassifier(FEW, n_starts=0).fit(X_OK, Y_OK), "n_starts must be"),
    (lambda: RobustMKLClassifierCV(FEW, alphas=[]).fit(X_OK, Y_OK), "at least one value"),
    (lambda: RobustMKLClassifierCV(FEW, budgets=[2.0]).fit(X_OK, Y_OK), "budget, the share"),
    (lambda: RobustMKLClassifierCV(FEW, n_folds=1).fit(X_OK, Y_OK), "n_folds must be"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_input_is_refused_with_a_reason(call, message):
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        call()


def test_unconverged_is_announced_with_the_gap(heart):
    X, y = heart
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        model = SimpleMKLClassifier(max_iter=1, tol=1e-9, probability=False).fit(X, y)
    assert not model.converged_
    assert model.dual_gap_ > 0


def test_probabilities_that_were_not_asked_for():
    model = SimpleMKLClassifier(FEW, probability=False).fit(X_OK, Y_OK)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X_OK)
    assert "probability=True" in str(caught.value.__cause__)
