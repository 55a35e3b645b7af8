"""What the methods that learn from pairs share: reading of samples and pairs, the learned kernel, and operations on
rows, dense or sparse alike.
"""

from collections.abc import Sequence
from typing import Any, Self
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ...checks import Array, check_count, check_positive
from ...samples import check_magnitude, read_samples, tagged
from ...statements import Pairs
from ...statements.noise import resolve_pairs


class FromPairs(BaseEstimator):
    """Base of estimators that learn from pairs of samples."""

    random_state: Any

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels from which pairs are drawn where none are given; -1 for unknown.
        pairs : Pairs, default=None
        """
        raise NotImplementedError  # abstract: each method is its own problem

    def _check(self, *, positive: Sequence[str], counts: Sequence[str]) -> None:
        """Refuse parameters that are not positive numbers, or not counts."""
        for name in positive:
            check_positive(name, getattr(self, name))
        for name in counts:
            check_count(name, getattr(self, name))

    def _read(
        self, X: Any, y: Any, pairs: Pairs | None, *, least: int = 2, required: bool = True, both_kinds: bool = False
    ) -> tuple[Any, Pairs, np.random.RandomState]:
        """Return the samples and the pairs, validated, and the generator that has drawn pairs from labels."""
        X = read_samples(self, X, ensure_min_samples=least)
        check_magnitude(X, "X")
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, X.shape[0], random_state=rng, required=required, both_kinds=both_kinds)
        return X, Pairs([], [], [], n_samples=X.shape[0]) if known is None else known, rng

    def _warn_unless_converged(self, unit: str, remedy: str) -> None:
        """Warn with the gap that was reached, after a fit that has set all its attributes."""
        model: Any = self
        if not model.converged_:
            warn(
                f"the duality gap is {model.dual_gap_:.2g} at objective {model.objective_:.4g} after {model.n_iter_} "
                f"{unit}; raise max_iter or tol, or {remedy}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True, required=True)


class Best:
    """The best primal point and the best dual point so far, which together are the certificate.

    Points have an ``objective``, the value of the problem, and a ``value``, the lower bound of the dual.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol, self.max_iter, self.n_iter = tol, max_iter, 0
        self.primal: Any = None
        self.dual: Any = None

    def see(self, point: Any, n_iter: int = 1) -> None:
        """Keep a point where it improves a bound; None stands for a point outside of the domain."""
        self.n_iter += n_iter
        if point is not None:
            self.primal = point if self.primal is None or point.objective < self.primal.objective else self.primal
            self.dual = point if self.dual is None or point.value > self.dual.value else self.dual

    @property
    def gap(self) -> float:
        """A bound on the distance of the objective to the optimum."""
        return max(float(self.primal.objective - self.dual.value), 0.0)

    @property
    def reached(self) -> bool:
        """Whether the gap is small enough."""
        return self.gap <= self.tol * max(1.0, abs(self.primal.objective))

    @property
    def done(self) -> bool:
        """Whether to stop."""
        return self.reached or self.n_iter >= self.max_iter

    def stop(self, xk: Array) -> None:
        """End a minimisation of SciPy, as its callback, if the gap is small enough or the iterations have run out."""
        if self.done:
            raise StopIteration


class PairTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FromPairs):
    """Base of estimators that learn features whose inner products are the learned kernel."""

    def transform(self, X: Any) -> Array:
        """Learned features of samples."""
        raise NotImplementedError  # abstract: each method has its own features

    def kernel(self, X: Any, Z: Any = None) -> Array:
        """The learned kernel between the rows of ``X`` and of ``Z`` (of ``X`` where ``Z`` is None)."""
        left = self.transform(X)
        right = left if Z is None else self.transform(Z)
        return left @ right.T


class MahalanobisTransformer(PairTransformer):
    r"""Base of the metrics :math:`\|x - z\|_M^2 = (x - z)^T M (x - z)` with :math:`M = L^T L`.

    ``fit`` of a subclass leaves L in ``components_``, of shape (n_components, n_features).
    """

    components_: Array

    def transform(self, X: Any) -> Array:
        """Samples in coordinates where Euclidean distances are the learned ones, ``X L^T``."""
        check_is_fitted(self)
        return read_samples(self, X, reset=False) @ self.components_.T

    def get_mahalanobis_matrix(self) -> Array:
        """The learned matrix ``M``."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]


def squared(rows: Any) -> Any:
    """Squares of the entries."""
    return rows.multiply(rows).tocsr() if sp.issparse(rows) else np.square(rows)


def weighted_gram(rows: Any, weights: Array) -> Array:
    """``sum_c weights_c v_c v_c^T`` of the rows v."""
    if sp.issparse(rows):
        return (rows.T @ (sp.diags_array(weights) @ rows)).toarray()
    return rows.T @ (weights[:, None] * rows)
