r"""A weighted sum of kernels as a feature map: :math:`\phi(x)^\top \phi(z) = \sum_j w_j k_j(x, z)`, :math:`w_j \ge 0`.

:class:`CombinedKernelTransformer` has the methods that all learners of kernel weights share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ..checks import Array, Index, require
from ..samples import read_samples, refuse_collections, tagged
from .bank import AttributeBank, FactorBank, KernelBank
from .build import build_bank
from .families import linear_kernels, resolve_kernels
from .landmarks import LandmarkMap
from .precomputed import StackedGram, gram_stack
from .specs import Kernel, is_precomputed
from .standardize import Standardization, standardization


@dataclass(frozen=True)
class AttributeFeatures:
    r"""The features :math:`\sqrt{w_j} x_j` of weighted linear kernels on single columns; sparse stays sparse."""

    columns: Index
    scales: Array
    standardization: Standardization | None = None

    def __call__(self, X: Any) -> Any:
        """Return one column per kernel of positive weight."""
        X = X if self.standardization is None else self.standardization(X)
        chosen = X[:, self.columns]
        return sp.csr_array(chosen @ sp.diags_array(self.scales)) if sp.issparse(X) else chosen * self.scales

    def names(self, kernel_names: Sequence[str], attributes: Sequence[str]) -> list[str]:
        """Return the name of every feature, which is the name of its attribute."""
        return [str(attributes[j]) for j in self.columns]


@dataclass(frozen=True)
class LandmarkFeatures:
    r"""The features :math:`\sqrt{w_j} \phi_j(x)` of weighted kernels, each through its landmarks, side by side."""

    index: Index
    maps: tuple[LandmarkMap, ...]
    scales: Array

    def __call__(self, X: Any) -> Array:
        """Return as many columns per kernel of positive weight as it has landmarks."""
        parts = [scale * phi(X) for phi, scale in zip(self.maps, self.scales, strict=True)]
        return np.hstack(parts) if parts else np.zeros((X.shape[0], 0))

    def names(self, kernel_names: Sequence[str], attributes: Sequence[str]) -> list[str]:
        """Return the name of every feature, which is the name of its kernel and a number."""
        owners = zip(self.index, self.maps, strict=True)
        return [f"{kernel_names[j]}_{position}" for j, phi in owners for position in range(phi.rank)]


def combined_features(
    bank: KernelBank, weights: ArrayLike, standardization: Standardization | None = None
) -> AttributeFeatures | LandmarkFeatures:
    """Return the feature map of ``sum_j weights_j K_j``, without the kernels of weight zero."""
    chosen = bank._weights(weights, signed=False)
    active = np.flatnonzero(chosen)
    scales = np.sqrt(chosen[active])
    if isinstance(bank, AttributeBank):
        return AttributeFeatures(active, scales, standardization)
    if isinstance(bank, FactorBank):
        return LandmarkFeatures(active, tuple(bank.maps[j] for j in active), scales)
    raise TypeError(f"a {type(bank).__name__} has no feature map for new samples; build the bank with dense=False")


class CombinedKernelTransformer(TransformerMixin, BaseEstimator):
    """Base of estimators that weigh the kernels of a bank."""

    kernels: Any
    rank: int | float | None
    random_state: Any
    #: Whether measurements are standardised for ``kernels=None``; a learner can have a parameter of this name.
    standardize: bool = False

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        raise NotImplementedError  # abstract: each learner has its own weights

    def transform(self, X: Any) -> Any:
        r"""Samples in the space where the combined kernel is the inner product.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_out)
            Sparse for sparse ``X`` and one linear kernel per attribute. Kernels of weight zero take no columns.
        """
        check_is_fitted(self)
        return self._features(self._read(X, fitting=False))

    def kernel(self, X: Any, Z: Any = None) -> Array:
        """The combined kernel between the rows of ``X`` and of ``Z`` (of ``X`` where ``Z`` is None), a dense matrix."""
        left = self.transform(X)
        right = left if Z is None else self.transform(Z)
        rows, columns = left.shape[0], right.shape[0]
        require(8 * rows * columns, f"a kernel of {rows} x {columns} samples", "take some of the rows at a time")
        gram = left @ right.T
        return gram.toarray() if sp.issparse(gram) else gram

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of ``transform``: of the attributes where kernels are linear on single attributes."""
        check_is_fitted(self)
        attributes = _check_feature_names_in(self, input_features)
        return np.array(self._features.names(self.kernel_names_, attributes), dtype=object)

    def kernel_table(self, top: int | None = None) -> list[dict[str, Any]]:
        """The kernels and their weights, the heaviest first; ``pandas.DataFrame(...)`` makes a table of the list.

        Parameters
        ----------
        top : int, optional
            Return only this many kernels.

        Returns
        -------
        list of dict with ``kernel`` and ``weight``
        """
        check_is_fitted(self)
        order = np.argsort(-self.kernel_weights_, kind="stable")[:top]
        return [{"kernel": self.kernel_names_[j], "weight": float(self.kernel_weights_[j])} for j in order]

    def _read(self, X: Any, *, fitting: bool) -> Any:
        """Validate features, or a Gram stack of shape (n_samples, n_training_samples[, n_kernels])."""
        if not self._is_precomputed:
            minimum = 2 if fitting else 1
            return read_samples(self, X, reset=fitting, ensure_min_samples=minimum)
        refuse_collections(self, X=X)
        stack = validate_data(self, X, dtype=np.float64, allow_nd=True, reset=fitting)
        return gram_stack(stack, None if fitting else len(self.kernel_weights_))

    def _fit_bank(self, X: Any) -> KernelBank:
        """Validate ``X``, resolve the kernels and evaluate them."""
        X = self._read(X, fitting=True)
        if self._is_precomputed:
            chosen: Any = [StackedGram(position=j) for j in range(X.shape[2])]
        else:
            chosen = linear_kernels() if self.kernels is None else self.kernels
        specs = self._name_kernels(chosen, X.shape[1])
        self._standardization = self._find_standardization(X)
        if self._standardization is not None:
            X = self._standardization(X)
        return build_bank(X, specs, rank=self.rank, random_state=check_random_state(self.random_state))

    def _find_standardization(self, X: Any) -> Standardization | None:
        return standardization(X) if self.standardize and self.kernels is None else None

    def _name_kernels(self, chosen: Any, n_features: int) -> tuple[Kernel, ...]:
        """Return the kernels with column positions, and keep their names."""
        attributes = getattr(self, "feature_names_in_", None)
        specs = resolve_kernels(chosen, n_features, attributes)
        self.kernel_names_ = tuple(
            (kernel if attributes is None else kernel.renamed(lambda column: str(attributes[column]))).name
            for kernel in specs
        )
        return specs

    def _fit_equal_weights(self, X: Any) -> Self:
        """Fit without supervision: the mean of the kernels."""
        bank = self._fit_bank(X)
        self._combine(bank, np.full(bank.n_kernels, 1.0 / bank.n_kernels))
        return self

    def _combine(self, bank: KernelBank, weights: Array) -> None:
        self.kernel_weights_ = weights
        self._features = combined_features(bank, weights, self._standardization)

    @property
    def _is_precomputed(self) -> bool:
        return is_precomputed(self.kernels)

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=not self._is_precomputed, pairwise=self._is_precomputed)
