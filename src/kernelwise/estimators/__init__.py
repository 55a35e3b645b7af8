"""The estimators: thin, validate -> bank -> problem -> solver -> fitted attributes."""

from .best_case import BestCaseMKLClassifier
from .link_smoothing import LinkSmoother
from .linked_clustering import LinkedClustering
from .mkl import RobustMKLClassifier, SimpleMKLClassifier
from .mkl_cv import RobustMKLClassifierCV, SimpleMKLClassifierCV
from .pair_clustering import PairKernelClustering
from .pair_kernel_learner import PairKernelLearner

__all__ = [
    "BestCaseMKLClassifier",
    "LinkSmoother",
    "LinkedClustering",
    "PairKernelClustering",
    "PairKernelLearner",
    "RobustMKLClassifier",
    "RobustMKLClassifierCV",
    "SimpleMKLClassifier",
    "SimpleMKLClassifierCV",
]
