"""What the data looks like: kernel functions, families of them, and banks that evaluate them together."""

from .bank import AttributeBank, FactorBank, KernelBank
from .build import DenseBank, RankWarning, build_bank
from .expansion import KernelExpansion
from .families import KernelFamily, gaussian_kernels, linear_kernels, resolve_kernels
from .gram_checks import check_positive_semidefinite, project_psd
from .landmarks import LandmarkMap
from .precomputed import IndexedGram, StackedGram, precomputed
from .specs import Cosine, FunctionKernel, Gaussian, Kernel, Linear, Polynomial, UnitDiagonal

__all__ = [
    "AttributeBank",
    "Cosine",
    "DenseBank",
    "FactorBank",
    "FunctionKernel",
    "Gaussian",
    "IndexedGram",
    "Kernel",
    "KernelBank",
    "KernelExpansion",
    "KernelFamily",
    "LandmarkMap",
    "Linear",
    "Polynomial",
    "RankWarning",
    "StackedGram",
    "UnitDiagonal",
    "build_bank",
    "check_positive_semidefinite",
    "gaussian_kernels",
    "linear_kernels",
    "precomputed",
    "project_psd",
    "resolve_kernels",
]
