"""Methods that a careful user would try first on noisy labels, tuned by cross-validation on the noisy labels alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from ...checks import Array
from ...kernels import gaussian_kernels, resolve_kernels

#: libsvm may run for hours at large C on kernels that are nearly singular.
SVC_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
LOGISTIC_GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
#: Multiples of 1 / (number of features * variance), the default of SVC.
GAMMA_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)


def mean_gram(X: Array, Z: Array) -> Array:
    """Return the mean of the paper's Gaussian kernels between the rows of two arrays."""
    kernels = resolve_kernels(gaussian_kernels(), X.shape[1])
    everything = np.arange(len(Z))
    grams = (kernel.evaluate(kernel.select(X), kernel.take(kernel.select(Z), everything)) for kernel in kernels)
    return np.asarray(sum(grams)) / len(kernels)


def _mean_kernel_svc(X: Array, y: Array, folds: Any) -> Any:
    return GridSearchCV(SVC(kernel=mean_gram), {"C": SVC_GRID}, cv=folds).fit(X, y)


def _rbf_svc(X: Array, y: Array, folds: Any) -> Any:
    gamma = np.array(GAMMA_GRID) / (X.shape[1] * X.var())
    return GridSearchCV(SVC(), {"C": SVC_GRID, "gamma": gamma}, cv=folds).fit(X, y)


def _logistic(X: Array, y: Array, folds: Any) -> Any:
    return GridSearchCV(LogisticRegression(max_iter=2000), {"C": LOGISTIC_GRID}, cv=folds).fit(X, y)


def _cleanlab(X: Array, y: Array, folds: Any) -> Any:
    """Choose C of the logistic regression on the noisy labels, then fit cleanlab's classifier around it."""
    cleanlab = import_module("cleanlab.classification")
    chosen = _logistic(X, y, folds).best_params_["C"]
    learner = cleanlab.CleanLearning(LogisticRegression(C=chosen, max_iter=2000), seed=0)
    return learner.fit(X, (y > 0).astype(int))


#: Functions of training samples, labels +1 and -1, and a splitter of scikit-learn that return a fitted baseline; it
#: predicts positive numbers for the positive class.
BASELINES: dict[str, Callable[[Array, Array, Any], Any]] = {
    "SVC, mean kernel": _mean_kernel_svc,
    "SVC, RBF": _rbf_svc,
    "logistic regression": _logistic,
    "cleanlab": _cleanlab,
}
