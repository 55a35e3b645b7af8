"""Methods to compare with, one file each, with the interfaces of the estimators."""

from .itml import ITML
from .mmc import MMC
from .mpckmeans import MPCKMeans
from .nonparametric_kernel import NonparametricKernelLearner
from .spectral_kernel import SpectralKernelLearner
from .uniform_kernel import UniformKernel

__all__ = ["ITML", "MMC", "MPCKMeans", "NonparametricKernelLearner", "SpectralKernelLearner", "UniformKernel"]
