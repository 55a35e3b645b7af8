"""Families of kernels, which become single kernels when the number of features is known."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import check_choice
from .specs import Columns, Gaussian, Kernel, Linear

Scope = Literal["all", "each", "all+each"]

#: The ten widths of the noisy-label paper, for features scaled to [0, 1].
WIDTHS = tuple(2.0**power for power in range(-3, 7))


@dataclass(frozen=True)
class KernelFamily:
    """Kernels to be placed on all columns, on each column, or on both.

    Parameters
    ----------
    members : tuple of kernels
    scope : {"all", "each", "all+each"}
    columns : None, int, str or tuple, optional
        Restrict the family to a group of columns, for data made of several feature sets.

    Examples
    --------
    >>> from kernelwise.kernels import Cosine, KernelFamily, Linear
    >>> family = KernelFamily((Linear(), Cosine()), scope="all", columns=(0, 2))
    >>> [kernel.name for kernel in family.expand(n_features=3)]
    ['linear[0,2]', 'cosine[0,2]']
    """

    members: tuple[Kernel, ...]
    scope: Scope = "all"
    columns: Columns = None

    def __post_init__(self) -> None:
        check_choice("scope", self.scope, ("all", "each", "all+each"))

    def expand(self, n_features: int) -> list[Kernel]:
        """Return the kernels; the kernels on all columns come first."""
        group = self.columns if self.columns is None or isinstance(self.columns, tuple) else (self.columns,)
        each: Iterable[int | str] = range(n_features) if group is None else group
        kernels: list[Kernel] = []
        if self.scope in ("all", "all+each"):
            kernels += [member.on(group) for member in self.members]
        if self.scope in ("each", "all+each"):
            kernels += [member.on(column) for column in each for member in self.members]
        return kernels


def gaussian_kernels(widths: ArrayLike = WIDTHS, scope: Scope = "all+each", *, columns: Columns = None) -> KernelFamily:
    """Gaussian kernels of several widths; by default the ``10 (d + 1)`` kernels of the noisy-label paper.

    Parameters
    ----------
    widths : array-like of positive numbers
        The widths ``s`` of ``exp(-||x - z||^2 / (2 s^2))``.
    scope : {"all", "each", "all+each"}
        Over all features together, over each feature alone, or both.
    columns : None, int, str or tuple, optional
        Restrict the family to these columns.

    Examples
    --------
    >>> from kernelwise.kernels import gaussian_kernels
    >>> len(gaussian_kernels().expand(n_features=34))
    350
    """
    try:
        sizes = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    except (TypeError, ValueError):
        sizes = np.empty(0)
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"widths must be a non-empty list of positive numbers, got {widths!r}")
    return KernelFamily(tuple(Gaussian(width=float(width)) for width in sizes), scope, columns)


def linear_kernels(scope: Scope = "each", *, columns: Columns = None) -> KernelFamily:
    """Linear kernels; by default one per attribute, as in the noisy-pair paper.

    Examples
    --------
    >>> from kernelwise.kernels import linear_kernels
    >>> [kernel.name for kernel in linear_kernels().expand(n_features=2)]
    ['linear[0]', 'linear[1]']
    """
    return KernelFamily((Linear(),), scope, columns)


def resolve_kernels(kernels: Any, n_features: int, feature_names: Sequence[str] | None = None) -> tuple[Kernel, ...]:
    """Unfold ``kernels`` (one kernel, a family, or a sequence of both) into kernels with column positions.

    Column names are looked up in ``feature_names``; a name that is not there is an error that suggests the nearest one.

    Examples
    --------
    >>> from kernelwise.kernels import Gaussian, linear_kernels, resolve_kernels
    >>> kernels = resolve_kernels([Gaussian(columns="age"), linear_kernels()], 2, ["age", "height"])
    >>> [kernel.name for kernel in kernels]
    ['gaussian(width=1)[0]', 'linear[0]', 'linear[1]']
    """
    given = [kernels] if isinstance(kernels, Kernel | KernelFamily) else kernels
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            f"kernels must be a kernel, a family such as gaussian_kernels(), or a sequence of them, got {kernels!r}"
        )
    flat: list[Kernel] = []
    for item in given:
        if isinstance(item, KernelFamily):
            flat += item.expand(n_features)
        elif isinstance(item, Kernel):
            flat.append(item)
        else:
            raise TypeError(f"kernels contains {item!r}, which is neither a kernel nor a family of kernels")
    if not flat:
        raise ValueError("kernels is empty; give at least one kernel, for example gaussian_kernels()")
    return tuple(_with_positions(kernel, n_features, feature_names) for kernel in flat)


def _with_positions(kernel: Kernel, n_features: int, feature_names: Sequence[str] | None) -> Kernel:
    if kernel.columns == ():
        raise ValueError(f"columns of {kernel.label} is empty; name at least one, or use None for all")
    return kernel.renamed(lambda column: _position(column, n_features, feature_names))


def _position(column: int | str, n_features: int, feature_names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if feature_names is None:
            raise ValueError(f"column {column!r} is a name, but X has no column names; use a DataFrame or a position")
        names = [str(name) for name in feature_names]
        if column not in names:
            near = difflib.get_close_matches(column, names, n=1)
            raise ValueError(f"column {column!r} is not in X" + (f"; did you mean {near[0]!r}?" if near else ""))
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(f"a column is a position or a name, a group is a tuple of them; got {column!r}")
    if not -n_features <= column < n_features:
        raise ValueError(f"column {column} is outside X, which has {n_features} features")
    return int(column) % n_features
