"""One file per compared method, with the interfaces of the estimators."""

from .uniform_kernel import UniformKernel

__all__ = ["UniformKernel"]
