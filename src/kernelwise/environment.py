"""The versions of Python and of the packages, on which results depend besides the data."""

import platform
from importlib import import_module

__all__ = ["versions"]


def versions() -> dict[str, str]:
    """Return the versions that results may depend on.

    >>> sorted(versions())
    ['kernelwise', 'numpy', 'python', 'scipy', 'sklearn']
    """
    packages = {name: import_module(name).__version__ for name in ("kernelwise", "numpy", "scipy", "sklearn")}
    return {"python": platform.python_version(), **packages}
