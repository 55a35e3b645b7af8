"""The methods that all learned Mahalanobis metrics share."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..samples import read_samples
from ..supervision import Pairs
from .row_operations import FloatArray


class MahalanobisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Base of the metrics :math:`\|x - z\|_M^2 = (x - z)^T M (x - z)` with :math:`M = L^T L`.

    ``fit`` of a subclass leaves L in ``components_``, of shape (n_components, n_features).
    """

    components_: FloatArray

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels from which pairs are drawn where none are given.
        pairs : Pairs, default=None
        """
        raise NotImplementedError  # abstract: each metric is its own problem

    def transform(self, X: Any) -> FloatArray:
        """Samples in coordinates where Euclidean distances are the learned ones, ``X L^T``."""
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return X @ self.components_.T

    def kernel(self, X: Any, Z: Any = None) -> FloatArray:
        """The learned kernel ``x^T M z`` between the rows of ``X`` and of ``Z`` (of ``X`` where ``Z`` is None)."""
        left = self.transform(X)
        right = left if Z is None else self.transform(Z)
        return left @ right.T

    def get_mahalanobis_matrix(self) -> FloatArray:
        """The learned matrix ``M``."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless pairs are given, of which scikit-learn knows nothing
        tags.input_tags.sparse = True
        return tags
