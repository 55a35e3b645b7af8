"""Methods to compare with, one file each, with the interfaces of the estimators."""

from .constrained_spectral import ConstrainedSpectralClustering
from .dense_completion import DenseCompletion, singular_value_thresholding, soft_impute
from .itml import ITML
from .mmc import MMC
from .mpckmeans import MPCKMeans
from .nonparametric_kernel import NonparametricKernelLearner
from .spectral_kernel import SpectralKernelLearner
from .transitive_closure import TransitiveClosure
from .uniform_kernel import UniformKernel

__all__ = [
    "ITML",
    "MMC",
    "ConstrainedSpectralClustering",
    "DenseCompletion",
    "MPCKMeans",
    "NonparametricKernelLearner",
    "SpectralKernelLearner",
    "TransitiveClosure",
    "UniformKernel",
    "singular_value_thresholding",
    "soft_impute",
]
