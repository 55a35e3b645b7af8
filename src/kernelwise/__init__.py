"""Learning from supervision that cannot be trusted.

Each public name is loaded on its first use, together with the modules that the name needs and no others. So ``import
kernelwise`` stays quick, and a program that uses one estimator loads the package of one situation.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import kernels as kernels
    from . import metrics as metrics
    from .baselines.constrained_spectral import ConstrainedSpectralClustering as ConstrainedSpectralClustering
    from .baselines.itml import ITML as ITML
    from .baselines.mmc import MMC as MMC
    from .baselines.mpckmeans import MPCKMeans as MPCKMeans
    from .baselines.nonparametric_kernel import NonparametricKernelLearner as NonparametricKernelLearner
    from .baselines.spectral_kernel import SpectralKernelLearner as SpectralKernelLearner
    from .baselines.uniform_kernel import UniformKernel as UniformKernel
    from .completion.clustering import PairCompletionClustering as PairCompletionClustering
    from .completion.completer import PairCompleter as PairCompleter
    from .completion.matrix.complete import complete_matrix as complete_matrix
    from .completion.plan import plan_labelling as plan_labelling
    from .labels.audit import audit_labels as audit_labels
    from .labels.audit import estimate_label_noise as estimate_label_noise
    from .labels.classifier import NoisyLabelClassifier as NoisyLabelClassifier
    from .links.clustering import LinkedClustering as LinkedClustering
    from .links.smoothing import LinkSmoother as LinkSmoother
    from .mkl.best_case import BestCaseMKLClassifier as BestCaseMKLClassifier
    from .mkl.classifiers import RobustMKLClassifier as RobustMKLClassifier
    from .mkl.classifiers import SimpleMKLClassifier as SimpleMKLClassifier
    from .mkl.paths import RobustMKLClassifierCV as RobustMKLClassifierCV
    from .mkl.paths import SimpleMKLClassifierCV as SimpleMKLClassifierCV
    from .pairs.audit.wrong_pairs import audit_pairs as audit_pairs
    from .pairs.clustering import PairKernelClustering as PairKernelClustering
    from .pairs.learner import PairKernelLearner as PairKernelLearner
    from .supervision import LabelAudit as LabelAudit
    from .supervision import PairAudit as PairAudit
    from .supervision import PairNoise as PairNoise
    from .supervision import Pairs as Pairs
    from .supervision import flip_labels as flip_labels

#: The module that each public name is loaded from; None for a public module.
_HOME = {
    "datasets": None,
    "kernels": None,
    "metrics": None,
    "LabelAudit": "supervision",
    "PairAudit": "supervision",
    "PairNoise": "supervision",
    "Pairs": "supervision",
    "flip_labels": "supervision",
    "NoisyLabelClassifier": "labels.classifier",
    "audit_labels": "labels.audit",
    "estimate_label_noise": "labels.audit",
    "RobustMKLClassifier": "mkl.classifiers",
    "SimpleMKLClassifier": "mkl.classifiers",
    "BestCaseMKLClassifier": "mkl.best_case",
    "RobustMKLClassifierCV": "mkl.paths",
    "SimpleMKLClassifierCV": "mkl.paths",
    "LinkSmoother": "links.smoothing",
    "LinkedClustering": "links.clustering",
    "PairKernelClustering": "pairs.clustering",
    "PairKernelLearner": "pairs.learner",
    "audit_pairs": "pairs.audit.wrong_pairs",
    "PairCompleter": "completion.completer",
    "PairCompletionClustering": "completion.clustering",
    "plan_labelling": "completion.plan",
    "complete_matrix": "completion.matrix.complete",
    "UniformKernel": "baselines.uniform_kernel",
    "ITML": "baselines.itml",
    "ConstrainedSpectralClustering": "baselines.constrained_spectral",
    "MMC": "baselines.mmc",
    "MPCKMeans": "baselines.mpckmeans",
    "NonparametricKernelLearner": "baselines.nonparametric_kernel",
    "SpectralKernelLearner": "baselines.spectral_kernel",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME[name]
    value = import_module(f".{name}", __name__) if home is None else getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
