"""The reference bank: every Gram matrix in memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from ..checks import check_ends
from ..memory import require
from .bank import NEGLIGIBLE, KernelBank, one_name_each
from .gram_checks import check_gram_stack
from .specs import Kernel

Array = NDArray[np.float64]

DENSE_REMEDY = "leave dense=False for factors, with rank=500 or so, or take a sample of the rows"


class DenseBank(KernelBank):
    """All m Gram matrices as one (m, n, n) array: exact, simple, and quadratic in n.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> bank = DenseBank(np.stack([np.eye(2), np.ones((2, 2))]), names=["identity", "constant"])
    >>> bank.products([1.0, 2.0]).tolist()
    [[1.0, 2.0], [3.0, 3.0]]
    """

    def __init__(self, grams: ArrayLike, *, names: Sequence[str] | None = None):
        self.grams = check_gram_stack(grams, name="grams")
        self.n_samples = self.grams.shape[1]
        self.ranks = np.full(len(self.grams), self.n_samples, dtype=np.intp)
        self.names = one_name_each(names, len(self.grams), default="kernel")
        self._cross: _CrossGrams | None = None

    @classmethod
    def build(cls, X: Any, kernels: Sequence[Kernel], *, center: bool = False, scale: bool = False) -> "DenseBank":
        """Evaluate ``kernels`` on the rows of ``X``; ``center`` and ``scale`` as in :func:`build_bank`."""
        n = X.shape[0]
        # The stack, and the list of matrices from which the stack is made.
        require(16 * len(kernels) * n**2, f"{len(kernels)} dense Gram matrices of {n} samples", DENSE_REMEDY)
        cross = _CrossGrams(X, kernels, center=center, scale=scale)
        bank = cls(cross.training(), names=[kernel.name for kernel in kernels])
        bank._cross = cross
        return bank

    def products(self, v: ArrayLike) -> Array:
        return self.grams @ self._vector(v)

    def quadratic_forms(self, v: ArrayLike) -> Array:
        vector = self._vector(v)
        return self.products(vector) @ vector

    def cross_products(self, X: Any, v: ArrayLike) -> Array:
        if self._cross is None:
            raise ValueError("this bank was made from matrices alone; build it from kernels to use it on new samples")
        return self._cross.products(X, self._vector(v))

    def factor(self, j: int) -> Array:
        return _eigen_factor(self.grams[j])

    def diagonals(self) -> Array:
        return np.einsum("jii->ji", self.grams)

    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        left, right = check_ends(rows, cols, self.n_samples)
        return self.grams[:, left, right].T

    def combined_factor(self, weights: ArrayLike) -> Array:
        combined = np.tensordot(self._weights(weights, signed=False), self.grams, axes=1)
        return _eigen_factor(combined)


def _eigen_factor(gram: Array) -> Array:
    values, vectors = eigh(gram)
    keep = values > 1e-14 * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])


class _CrossGrams:
    """Gram matrices centred and scaled with training statistics, for training samples and for new ones."""

    def __init__(self, X: Any, kernels: Sequence[Kernel], *, center: bool, scale: bool):
        self.kernels, self.X, self.center = kernels, X, center
        n = X.shape[0]
        samples = np.arange(n)
        self.landmarks = [kernel.take(kernel.select(X), samples) for kernel in kernels]
        self.means = np.zeros((len(kernels), n))
        self.scales = np.ones(len(kernels))
        for j, gram in enumerate(self._raw(X)):
            if center:
                self.means[j] = gram.mean(axis=0)
            if scale:
                power = np.trace(gram) / n
                spread = power - self.means[j].mean()
                self.scales[j] = spread if spread > NEGLIGIBLE * power else 1.0

    def _raw(self, X: Any) -> Any:
        for kernel, landmarks in zip(self.kernels, self.landmarks, strict=True):
            yield kernel.evaluate(kernel.select(X), landmarks)

    def _grams(self, X: Any) -> Any:
        for gram, means, scale in zip(self._raw(X), self.means, self.scales, strict=True):
            if self.center:
                gram = gram - gram.mean(axis=1, keepdims=True) - means + means.mean()
            yield gram / scale

    def training(self) -> Array:
        return np.stack(list(self._grams(self.X)))

    def products(self, X: Any, v: Array) -> Array:
        return np.stack([gram @ v for gram in self._grams(X)])
