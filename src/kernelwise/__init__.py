"""Learning from supervision that cannot be trusted.

Each public name is loaded on its first use, together with the modules that the name needs and no others. So ``import
kernelwise`` stays quick, and a program that uses one estimator loads the package of one task.
"""

from typing import TYPE_CHECKING

from .first_use import loaders

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import kernels as kernels
    from . import metrics as metrics
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
    from .papers.lkcnpc.itml import ITML as ITML
    from .papers.lkcnpc.mmc import MMC as MMC
    from .papers.lkcnpc.mpckmeans import MPCKMeans as MPCKMeans
    from .papers.lkcnpc.nonparametric_kernel import NonparametricKernelLearner as NonparametricKernelLearner
    from .papers.lkcnpc.spectral_kernel import SpectralKernelLearner as SpectralKernelLearner
    from .papers.lkcnpc.transitive_closure import TransitiveClosure as TransitiveClosure
    from .papers.lkcnpc.uniform_kernel import UniformKernel as UniformKernel
    from .papers.tpcmc.constrained_spectral import ConstrainedSpectralClustering as ConstrainedSpectralClustering
    from .records.audit import audit_record_pairs as audit_record_pairs
    from .records.features import pair_features as pair_features
    from .review import CheckPlan as CheckPlan
    from .review import Guarantee as Guarantee
    from .review import LabelAudit as LabelAudit
    from .review import PairAudit as PairAudit
    from .review import checks_needed as checks_needed
    from .review import guaranteed_share as guaranteed_share
    from .review import plan_checks as plan_checks
    from .statements import PairNoise as PairNoise
    from .statements import Pairs as Pairs
    from .statements import Verdicts as Verdicts
    from .statements import flip_labels as flip_labels

#: The module that each public name is loaded from; None for a public module.
_HOME = {
    name: home
    for home, names in {
        None: ["datasets", "kernels", "metrics"],
        "statements": ["PairNoise", "Pairs", "Verdicts", "flip_labels"],
        "review": [
            "CheckPlan",
            "Guarantee",
            "LabelAudit",
            "PairAudit",
            "checks_needed",
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
        "records.audit": ["audit_record_pairs"],
        "records.features": ["pair_features"],
        "completion.completer": ["PairCompleter"],
        "completion.clustering": ["PairCompletionClustering"],
        "completion.plan": ["plan_labelling"],
        "completion.matrix.complete": ["complete_matrix"],
        "papers.lkcnpc.uniform_kernel": ["UniformKernel"],
        "papers.lkcnpc.itml": ["ITML"],
        "papers.tpcmc.constrained_spectral": ["ConstrainedSpectralClustering"],
        "papers.lkcnpc.mmc": ["MMC"],
        "papers.lkcnpc.mpckmeans": ["MPCKMeans"],
        "papers.lkcnpc.nonparametric_kernel": ["NonparametricKernelLearner"],
        "papers.lkcnpc.spectral_kernel": ["SpectralKernelLearner"],
        "papers.lkcnpc.transitive_closure": ["TransitiveClosure"],
    }.items()
    for name in names
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = loaders(__name__, _HOME)
