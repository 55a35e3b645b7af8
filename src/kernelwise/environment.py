"""What results depend on besides the data: the versions of Python and of the packages."""

import platform

__all__ = ["versions"]


def versions() -> dict[str, str]:
    """Return the versions that results may depend on.

    Examples
    --------
    >>> from kernelwise.environment import versions
    >>> sorted(versions())
    ['kernelwise', 'numpy', 'python', 'scipy', 'sklearn']
    """
    import numpy
    import scipy
    import sklearn

    import kernelwise

    packages = (kernelwise, numpy, scipy, sklearn)
    return {"python": platform.python_version()} | {package.__name__: package.__version__ for package in packages}
