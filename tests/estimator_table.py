"""Every public estimator with settings that keep scikit-learn's checks quick. One row per estimator; add yours here."""

from kernelwise import (
    BestCaseMKLClassifier,
    NoisyLabelClassifier,
    RobustMKLClassifier,
    RobustMKLClassifierCV,
    SimpleMKLClassifier,
    SimpleMKLClassifierCV,
)
from kernelwise.kernels import gaussian_kernels

FEW = gaussian_kernels([0.125, 0.5, 2.0], scope="all")

ESTIMATORS = [
    NoisyLabelClassifier(random_state=0),
    SimpleMKLClassifier(random_state=0),
    SimpleMKLClassifier(FEW, fit_intercept=True, normalize_kernels=True, random_state=0),
    RobustMKLClassifier(FEW, noise_rate=0.1, random_state=0),
    BestCaseMKLClassifier(FEW, n_starts=1, random_state=0),
    SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], random_state=0),
    RobustMKLClassifierCV(FEW, alphas=[0.01], budgets=[1.0, 0.8], n_folds=3, random_state=0),
]

#: (estimator, check): why it cannot pass. Empty, and meant to stay so.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}
