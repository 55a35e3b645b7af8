"""The estimators: thin, validate -> bank -> problem -> solver -> fitted attributes."""

from .best_case import BestCaseMKLClassifier
from .completion_clustering import PairCompletionClustering
from .label_audit import LabelNoiseEstimate, audit_labels, estimate_label_noise
from .labelling_plan import LabellingPlan, plan_labelling
from .link_smoothing import LinkSmoother
from .linked_clustering import LinkedClustering
from .mkl import RobustMKLClassifier, SimpleMKLClassifier
from .mkl_cv import RobustMKLClassifierCV, SimpleMKLClassifierCV
from .noisy_label import NoisyLabelClassifier
from .pair_audit import audit_pairs
from .pair_clustering import PairKernelClustering
from .pair_completer import PairCompleter
from .pair_kernel_learner import PairKernelLearner

__all__ = [
    "BestCaseMKLClassifier",
    "LabelNoiseEstimate",
    "LabellingPlan",
    "LinkSmoother",
    "LinkedClustering",
    "NoisyLabelClassifier",
    "PairCompleter",
    "PairCompletionClustering",
    "PairKernelClustering",
    "PairKernelLearner",
    "RobustMKLClassifier",
    "RobustMKLClassifierCV",
    "SimpleMKLClassifier",
    "SimpleMKLClassifierCV",
    "audit_labels",
    "audit_pairs",
    "estimate_label_noise",
    "plan_labelling",
]
