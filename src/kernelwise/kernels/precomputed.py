"""Gram matrices that the user gives, in one of two ways. Both ways are safe in cross-validation:

* :func:`precomputed` holds the matrices and is used with ``X = sample indices`` (one column). Any splitter that slices
  the rows of ``X`` then slices all the matrices at once.
* ``kernels="precomputed"`` with ``X`` of shape ``(n, n)`` or ``(n, n, n_kernels)``: samples first, as scikit-learn's
  pairwise estimators slice them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Array, Index
from .bank import one_name_each
from .gram_checks import check_gram_stack, project_psd
from .specs import Kernel


def check_stack_shape(shape: tuple[int, ...], *, fitting: bool) -> None:
    """Refuse an ``X`` that is neither a Gram matrix nor a stack of them, samples first; for ``fit``, square ones."""
    if len(shape) not in (2, 3) or (fitting and shape[0] != shape[1]):
        raise ValueError(
            f'with kernels="precomputed" X must have shape (n, n) or (n, n, n_kernels), samples first, got {shape}; '
            "use numpy.moveaxis(grams, 0, -1) for a stack with the kernels first"
        )


def gram_stack(X: Array, n_fitted: int | None) -> Array:
    """Return ``X`` with shape (n_samples, n_training_samples, n_kernels); ``n_fitted`` is None in ``fit``."""
    check_stack_shape(X.shape, fitting=n_fitted is None)
    stack = X[:, :, None] if X.ndim == 2 else X
    if n_fitted is not None and stack.shape[2] != n_fitted:
        raise ValueError(f"X has {stack.shape[2]} kernels, but the model was fitted with {n_fitted}")
    return stack


@dataclass(frozen=True, eq=False)
class IndexedGram(Kernel):
    """A kernel read from a square matrix; samples are row numbers of that matrix. :func:`precomputed` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import IndexedGram
    >>> IndexedGram(gram=np.array([[2.0, 1.0], [1.0, 3.0]]))(np.array([[1]])).tolist()
    [[3.0]]
    """

    gram: Array = field(default_factory=lambda: np.zeros((0, 0)))
    title: str = "precomputed"
    psd_by_formula = False

    @property
    def label(self) -> str:
        return self.title

    @property
    def name(self) -> str:
        return self.title

    def __deepcopy__(self, memo: dict[int, Any]) -> "IndexedGram":
        # The matrix is read-only: cloning an estimator need not copy it.
        return self

    def select(self, X: Any) -> Index:
        n = self.gram.shape[0]
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != 1 or X.dtype.kind not in "iuf":
            raise ValueError(
                f"with precomputed(...) kernels X must be one column of sample indices in 0..{n - 1}, "
                f"got shape {X.shape} of {X.dtype}; use X = numpy.arange(n).reshape(-1, 1)"
            )
        outside = ~((X >= 0) & (n > X) & (np.floor(X) == X))
        if outside.any():
            raise ValueError(
                f"sample index {X[outside][0]} in X is not one of 0..{n - 1}, the rows of the precomputed matrices"
            )
        return X[:, 0].astype(np.intp)

    def evaluate(self, S: Any, T: Any) -> Array:
        return self.gram[np.ix_(S, T)]

    def diagonal(self, S: Any) -> Array:
        return self.gram[S, S]


@dataclass(frozen=True)
class StackedGram(Kernel):
    """Kernel number ``position`` of a stack ``X`` of shape (n_samples, n_training_samples, n_kernels).

    A single matrix of shape (n_samples, n_training_samples) is a stack of one kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import StackedGram
    >>> stack = np.stack([np.eye(2), np.ones((2, 2))], axis=2)
    >>> StackedGram(position=1)(stack).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    position: int = 0
    psd_by_formula = False

    @property
    def label(self) -> str:
        return f"precomputed[{self.position}]"

    @property
    def name(self) -> str:
        return self.label

    def select(self, X: Any) -> Array:
        stack = np.asarray(X)
        stack = stack[:, :, None] if stack.ndim == 2 else stack
        if stack.ndim != 3 or not 0 <= self.position < stack.shape[2]:
            raise ValueError(
                f"X must be a stack of shape (n_samples, n_training_samples, n_kernels) with more than {self.position} "
                f"kernels, got shape {np.shape(X)}"
            )
        return stack[:, :, self.position]

    def take(self, S: Any, index: Index) -> Index:
        # A training sample is a column of the stack, for every set of rows.
        _check_square(S)
        return index

    def evaluate(self, S: Any, T: Any) -> Array:
        return np.asarray(S[:, T], dtype=np.float64)

    def diagonal(self, S: Any) -> Array:
        _check_square(S)
        return np.diagonal(S)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        if Z is not None:
            raise TypeError("a stacked Gram matrix holds its own second argument; call the kernel with X alone")
        return self.select(X)


def _check_square(S: Any) -> None:
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(
            f"training with stacked Gram matrices needs as many rows as columns in X, got shape {S.shape}; "
            "select the same samples in both: X[index][:, index]"
        )


def precomputed(
    grams: ArrayLike | Sequence[ArrayLike], *, names: Sequence[str] | None = None, project: bool = False
) -> tuple[Kernel, ...]:
    """Kernels from given Gram matrices, to be used with ``X`` = one column of sample indices.

    Parameters
    ----------
    grams : array of shape (n, n) or (n_kernels, n, n), or a sequence of (n, n) arrays
        Symmetric positive semi-definite matrices over all the samples, training and test together.
    names : sequence of str, optional
        One name per matrix, shown in tables of weights.
    project : bool
        Replace every matrix by the nearest positive semi-definite one. Without it, a matrix that is not positive
        semi-definite is an error when it is used.

    Returns
    -------
    tuple of kernels

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import precomputed
    >>> kernels = precomputed(np.stack([np.eye(3), np.ones((3, 3))]), names=["identity", "constant"])
    >>> [kernel.name for kernel in kernels]
    ['identity', 'constant']
    >>> kernels[1](np.array([[0], [2]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    stack = check_gram_stack(grams, name="grams")
    if project:
        stack = np.stack([project_psd(gram) for gram in stack])
    stack.flags.writeable = False
    titles = one_name_each(names, len(stack), default="precomputed")
    return tuple(IndexedGram(gram=gram, title=title) for gram, title in zip(stack, titles, strict=True))
