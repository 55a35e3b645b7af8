"""Learning from supervision that cannot be trusted.

The public names are loaded on first use, so that ``import kernelwise`` stays as quick as ``import sklearn``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import kernels as kernels
    from . import metrics as metrics
    from .baselines import ITML as ITML
    from .baselines import MMC as MMC
    from .baselines import ConstrainedSpectralClustering as ConstrainedSpectralClustering
    from .baselines import MPCKMeans as MPCKMeans
    from .baselines import NonparametricKernelLearner as NonparametricKernelLearner
    from .baselines import SpectralKernelLearner as SpectralKernelLearner
    from .baselines import UniformKernel as UniformKernel
    from .estimators import BestCaseMKLClassifier as BestCaseMKLClassifier
    from .estimators import LinkedClustering as LinkedClustering
    from .estimators import LinkSmoother as LinkSmoother
    from .estimators import NoisyLabelClassifier as NoisyLabelClassifier
    from .estimators import PairCompleter as PairCompleter
    from .estimators import PairCompletionClustering as PairCompletionClustering
    from .estimators import PairKernelClustering as PairKernelClustering
    from .estimators import PairKernelLearner as PairKernelLearner
    from .estimators import RobustMKLClassifier as RobustMKLClassifier
    from .estimators import RobustMKLClassifierCV as RobustMKLClassifierCV
    from .estimators import SimpleMKLClassifier as SimpleMKLClassifier
    from .estimators import SimpleMKLClassifierCV as SimpleMKLClassifierCV
    from .estimators import audit_labels as audit_labels
    from .estimators import audit_pairs as audit_pairs
    from .estimators import estimate_label_noise as estimate_label_noise
    from .estimators import plan_labelling as plan_labelling
    from .problems import complete_matrix as complete_matrix
    from .supervision import LabelAudit as LabelAudit
    from .supervision import PairAudit as PairAudit
    from .supervision import PairNoise as PairNoise
    from .supervision import Pairs as Pairs
    from .supervision import flip_labels as flip_labels

_HOME = {
    "datasets": None,
    "kernels": None,
    "metrics": None,
    "LabelAudit": "supervision",
    "PairAudit": "supervision",
    "PairNoise": "supervision",
    "Pairs": "supervision",
    "RobustMKLClassifier": "estimators",
    "SimpleMKLClassifier": "estimators",
    "BestCaseMKLClassifier": "estimators",
    "RobustMKLClassifierCV": "estimators",
    "SimpleMKLClassifierCV": "estimators",
    "LinkSmoother": "estimators",
    "LinkedClustering": "estimators",
    "PairCompleter": "estimators",
    "plan_labelling": "estimators",
    "PairCompletionClustering": "estimators",
    "PairKernelClustering": "estimators",
    "PairKernelLearner": "estimators",
    "audit_pairs": "estimators",
    "UniformKernel": "baselines",
    "ITML": "baselines",
    "ConstrainedSpectralClustering": "baselines",
    "MMC": "baselines",
    "MPCKMeans": "baselines",
    "NonparametricKernelLearner": "baselines",
    "SpectralKernelLearner": "baselines",
    "complete_matrix": "problems",
    "flip_labels": "supervision",
    "NoisyLabelClassifier": "estimators",
    "audit_labels": "estimators",
    "estimate_label_noise": "estimators",
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
