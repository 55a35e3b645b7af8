"""A function written as a sum of kernels at a few samples, as fitted models keep the function."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from .bank import FactorBank
from .specs import Kernel

#: New samples are evaluated in pieces of this many kernel values.
CHUNK_VALUES = 2**24


@dataclass(frozen=True)
class Term:
    """``k(x, P) C``: one kernel, its landmarks P and a column of coefficients per output."""

    kernel: Kernel
    landmarks: Any
    coef: Array


@dataclass(frozen=True)
class KernelExpansion:
    """``f(x) = sum_j k_j(x, P_j) C_j + offset`` with one or more outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import FactorBank, KernelExpansion, Linear
    >>> bank = FactorBank.build(np.array([[1.0], [2.0]]), [Linear()])
    >>> f = KernelExpansion.from_parts(bank, [{0: np.array([3.0])}], np.array([0.5]))
    >>> f(np.array([[1.0], [10.0]])).tolist()
    [[3.5], [30.5]]
    """

    terms: tuple[Term, ...]
    offset: Array

    @classmethod
    def from_parts(cls, bank: FactorBank, outputs: list[dict[int, Array]], intercepts: Array) -> "KernelExpansion":
        """Express functions ``f_j = F_j w_j``, one dict of parts per output, as sums over landmarks."""
        offset = np.array(intercepts, dtype=np.float64)
        terms = []
        for j in sorted(set().union(*outputs)):
            feature_map = bank.maps[j]
            coef = np.zeros((feature_map.rank, len(outputs)))
            for k, parts in enumerate(outputs):
                if j in parts:
                    coef[:, k], shift = feature_map.expansion(parts[j])
                    offset[k] += shift
            terms.append(Term(feature_map.kernel, feature_map.landmarks, coef))
        return cls(tuple(terms), offset)

    def __call__(self, X: Any) -> Array:
        """Return f of every row of ``X``, one column per output."""
        values = np.tile(self.offset, (X.shape[0], 1))
        for term in self.terms:
            size = max(1, CHUNK_VALUES // max(1, len(term.coef)))
            for start in range(0, X.shape[0], size):
                rows = slice(start, start + size)
                S = term.kernel.select(X[rows])
                values[rows] += term.kernel.evaluate(S, term.landmarks) @ term.coef
        return values
