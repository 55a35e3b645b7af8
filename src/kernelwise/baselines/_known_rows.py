"""Samples recognised by their values, for methods that know nothing of other samples."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..kernels.specs import is_sparse


@dataclass(frozen=True)
class KnownRows:
    """Where each row of a matrix stands, by a digest of its values.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.baselines._known_rows import KnownRows
    >>> KnownRows.of(np.array([[1.0], [2.0], [1.0]])).find(np.array([[1.0], [1.0], [3.0]]))
    array([ 0,  2, -1])
    """

    positions: dict[bytes, list[int]]
    sparse: bool

    @classmethod
    def of(cls, X: Any) -> Self:
        positions: dict[bytes, list[int]] = {}
        for i, key in enumerate(_row_keys(X)):
            positions.setdefault(key, []).append(i)
        return cls(positions, is_sparse(X))

    def find(self, X: Any) -> NDArray[np.intp]:
        """The position of each row, -1 for a new one; the t-th of equal rows is the t-th known one, or the last."""
        if is_sparse(X) != self.sparse:
            X = sp.csr_array(X) if self.sparse else X.toarray()
        seen: dict[bytes, int] = {}
        found = np.full(X.shape[0], -1, dtype=np.intp)
        for i, key in enumerate(_row_keys(X)):
            known = self.positions.get(key)
            if known is not None:
                found[i] = known[min(seen.get(key, 0), len(known) - 1)]
                seen[key] = seen.get(key, 0) + 1
        return found


def _row_keys(X: Any) -> list[bytes]:
    """A digest of every row, equal for equal rows."""
    if not is_sparse(X):
        positive_zeros = np.ascontiguousarray(X) + 0.0
        return [_digest(row.tobytes()) for row in positive_zeros]
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    columns = rows.indices.astype(np.int64)
    parts = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return [_digest(columns[part].tobytes() + rows.data[part].tobytes()) for part in parts]


def _digest(values: bytes) -> bytes:
    return blake2b(values, digest_size=16).digest()
