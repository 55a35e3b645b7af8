"""Learning from supervision that cannot be trusted.

Each public name is loaded on its first use, together with the modules that the name needs and no others. So ``import
kernelwise`` stays quick, and a program that uses one estimator loads the package of one situation.
"""

from typing import TYPE_CHECKING

from .first_use import loaders

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
    from .baselines.transitive_closure import TransitiveClosure as TransitiveClosure
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
    from .pairs.noisy_clustering import NoisyPairClustering as NoisyPairClustering
    from .pairs.records.audit import audit_record_pairs as audit_record_pairs
    from .pairs.records.features import pair_features as pair_features
    from .supervision import CheckPlan as CheckPlan
    from .supervision import Guarantee as Guarantee
    from .supervision import LabelAudit as LabelAudit
    from .supervision import PairAudit as PairAudit
    from .supervision import PairNoise as PairNoise
    from .supervision import Pairs as Pairs
    from .supervision import Verdicts as Verdicts
    from .supervision import checks_needed as checks_needed
    from .supervision import flip_labels as flip_labels
    from .supervision import guaranteed_share as guaranteed_share
    from .supervision import plan_checks as plan_checks

#: The module that each public name is loaded from; None for a public module.
_HOME = {
    name: home
    for home, names in {
        None: ["datasets", "kernels", "metrics"],
        "supervision": [
            "CheckPlan",
            "Guarantee",
            "LabelAudit",
            "PairAudit",
            "PairNoise",
            "Pairs",
            "Verdicts",
            "checks_needed",
            "flip_labels",
            "guaranteed_share",
            "plan_checks",
        ],
        "labels.classifier": ["NoisyLabelClassifier"],
        "labels.audit": ["audit_labels", "estimate_label_noise"],
        "mkl.classifiers": ["RobustMKLClassifier", "SimpleMKLClassifier"],
        "mkl.best_case": ["BestCaseMKLClassifier"],
        "mkl.paths": ["RobustMKLClassifierCV", "SimpleMKLClassifierCV"],
        "links.smoothing": ["LinkSmoother"],
        "links.clustering": ["LinkedClustering"],
        "pairs.clustering": ["PairKernelClustering"],
        "pairs.noisy_clustering": ["NoisyPairClustering"],
        "pairs.learner": ["PairKernelLearner"],
        "pairs.audit.wrong_pairs": ["audit_pairs"],
        "pairs.records.audit": ["audit_record_pairs"],
        "pairs.records.features": ["pair_features"],
        "completion.completer": ["PairCompleter"],
        "completion.clustering": ["PairCompletionClustering"],
        "completion.plan": ["plan_labelling"],
        "completion.matrix.complete": ["complete_matrix"],
        "baselines.uniform_kernel": ["UniformKernel"],
        "baselines.itml": ["ITML"],
        "baselines.constrained_spectral": ["ConstrainedSpectralClustering"],
        "baselines.mmc": ["MMC"],
        "baselines.mpckmeans": ["MPCKMeans"],
        "baselines.nonparametric_kernel": ["NonparametricKernelLearner"],
        "baselines.spectral_kernel": ["SpectralKernelLearner"],
        "baselines.transitive_closure": ["TransitiveClosure"],
    }.items()
    for name in names
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = loaders(__name__, _HOME)
