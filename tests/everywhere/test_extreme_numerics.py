"""Numbers of every size: the certificate holds, or the status says why not, or a ValueError says what to do."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelwise as kw
from kernelwise.kernels import Cosine, Gaussian, gaussian_kernels, linear_kernels
from kernelwise.papers import singular_value_thresholding, soft_impute
from kernelwise.samples import power_of_two

N = 40
Y = np.repeat([0, 1], N // 2)
X = np.random.RandomState(0).randn(N, 3) + 1.5 * Y[:, None]
GRAM = X @ X.T
SIMILARITY = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
PAIRS = kw.Pairs.from_labels(Y, n_pairs=120, random_state=0).flip(0.1, random_state=1)
FEW = gaussian_kernels([0.25, 1.0], scope="all+each")
SCALES = [1e-150, 1e-30, 1e30, 1e150]
ONE_CLASS_RARE = np.where(np.arange(N) == 7, 1, 0)


def weighted(weights):
    return kw.Pairs(PAIRS.rows, PAIRS.cols, PAIRS.labels, n_samples=N, weights=weights)


def wild(count, seed=0):
    """Numbers from 1e-150 to 1e150."""
    return 10.0 ** np.random.RandomState(seed).uniform(-150, 150, count)


CLASSIFIERS = {
    "simple": lambda: kw.SimpleMKLClassifier(FEW, random_state=0),
    "unscaled": lambda: kw.SimpleMKLClassifier(FEW, scale_features=False, random_state=0),
    "linear": lambda: kw.SimpleMKLClassifier(linear_kernels(), scale_features=False, random_state=0),
    "standardised": lambda: kw.SimpleMKLClassifier(
        linear_kernels(), scale_features=False, normalize_kernels=True, fit_intercept=True, random_state=0
    ),
    "mirror-prox": lambda: kw.SimpleMKLClassifier(FEW, solver="mirror-prox", tol=1e-2, max_iter=50, random_state=0),
    "robust": lambda: kw.RobustMKLClassifier(FEW, noise_rate=0.1, random_state=0),
    "best case": lambda: kw.BestCaseMKLClassifier(FEW, n_starts=2, random_state=0),
    "simple path": lambda: kw.SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], n_folds=2, random_state=0),
    "robust path": lambda: kw.RobustMKLClassifierCV(FEW, alphas=[0.01], budgets=[0.8], n_folds=2, random_state=0),
    "noisy label": lambda: kw.NoisyLabelClassifier(random_state=0),
}
PAIR_LEARNERS = {
    "attributes": lambda: kw.PairKernelLearner(),
    "gaussian": lambda: kw.PairKernelLearner(FEW, fit_intercept=True),
    "corrected": lambda: kw.PairKernelLearner(FEW, noise=kw.PairNoise(0.5, 0.9, 0.9)),
    "clustered": lambda: kw.PairKernelClustering(kw.PairKernelLearner(FEW), n_clusters=2, random_state=0),
    "uniform": lambda: kw.UniformKernel(linear_kernels()),
    "itml": lambda: kw.ITML(random_state=0),
    "mmc": lambda: kw.MMC(random_state=0),
    "diagonal mmc": lambda: kw.MMC(diagonal=True, random_state=0),
    "mpck": lambda: kw.MPCKMeans(2, n_init=2, random_state=0),
    "shared mpck": lambda: kw.MPCKMeans(2, metric="shared", n_init=2, random_state=0),
    "spectral kernel": lambda: kw.SpectralKernelLearner(n_components=3, random_state=0),
    "kernel matrix": lambda: kw.NonparametricKernelLearner(random_state=0),
    "squared hinge": lambda: kw.NonparametricKernelLearner(loss="squared_hinge", random_state=0),
    "completer": lambda: kw.PairCompleter(5, kernels=FEW, random_state=0),
    "smoother": lambda: kw.LinkSmoother(random_state=0),
    "learned depths": lambda: kw.LinkSmoother(depth=(0, 1, 2), depth_weights="learned", random_state=0),
    "linked": lambda: kw.LinkedClustering(2, n_init=2, random_state=0),
}
SIMILARITY_MODELS = {
    "completer": lambda: kw.PairCompleter(5, random_state=0),
    "symmetric": lambda: kw.PairCompleter(5, normalize="symmetric", random_state=0),
    "completion": lambda: kw.PairCompleter(5, method="completion", noise_rate=0.1, random_state=0),
    "clustered": lambda: kw.PairCompletionClustering(2, completer=kw.PairCompleter(5), random_state=0),
    "constrained": lambda: kw.ConstrainedSpectralClustering(2, random_state=0),
    "learner": lambda: kw.PairKernelLearner("precomputed", fit_intercept=True),
    "spectral kernel": lambda: kw.SpectralKernelLearner("precomputed", n_components=5, random_state=0),
}


#: Of a refusal: what to do, or why there is nothing to do.
REMEDIES = ("divide", "scale", "the kernel is zero", "says nothing about a metric")


def sensible(call, *outputs):
    """Run ``call``: no warning but an explained one, all numbers finite; None where a ValueError says what to divide.

    ``outputs`` are functions of the model whose values have to be finite too.
    """
    reason = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", UserWarning)  # of which ConvergenceWarning is one
        try:
            model = call()
            values = [np.asarray(output(model)) for output in outputs]
        except ValueError as error:
            reason = str(error)
    if reason is not None:
        assert any(remedy in reason for remedy in REMEDIES)
        return None
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and isinstance(value, float | np.ndarray):
            values.append(np.asarray(value))
    for value in values:
        assert value.dtype.kind != "f" or np.isfinite(value).all()
    told = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert getattr(model, "converged_", True) or told
    return model


def fitted(make, data, **supervision):
    outputs = [lambda model: model.transform(data)] if hasattr(make(), "transform") else []
    return sensible(lambda: make().fit(data, **supervision), *outputs)


def judged(make, data, y=Y, weight=None):
    outputs = [lambda model: model.decision_function(data), lambda model: model.predict_proba(data)]
    return sensible(lambda: make().fit(data, y, sample_weight=weight), *outputs)


EXTREME_FEATURES = {f"times {scale:g}": scale * X for scale in SCALES} | {
    "columns apart": X * [1e-150, 1.0, 1e150],
    "duplicates": np.repeat(X[:5], N // 5, axis=0),
    "one value": np.ones((N, 3)),
    "far off": X + 1e8,
}
EXTREME_WEIGHTS = {
    "tiny": np.full(N, 1e-150),
    "huge": np.full(N, 1e150),
    "half tiny": np.where(np.arange(N) % 2, 1.0, 1e-150),
    "one huge": np.where(np.arange(N) == 0, 1e150, 1.0),
    "wild": wild(N),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREME_FEATURES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_take_features_of_any_size(name, case):
    assert judged(CLASSIFIERS[name], EXTREME_FEATURES[case]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREME_WEIGHTS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_take_weights_of_any_size(name, case):
    assert judged(CLASSIFIERS[name], X, weight=EXTREME_WEIGHTS[case]) is not None


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_take_a_single_positive(name):
    assert judged(CLASSIFIERS[name], X, ONE_CLASS_RARE) is not None


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-150, 1e-12, 1e6, 1e150])
@pytest.mark.parametrize("make", [kw.SimpleMKLClassifier, kw.RobustMKLClassifier, kw.BestCaseMKLClassifier])
@pytest.mark.parametrize("intercept", [False, True])
def test_classifiers_take_any_penalty(make, alpha, intercept):
    options = {"alpha": alpha, "fit_intercept": intercept, "probability": False, "random_state": 0}
    model = sensible(lambda: make(FEW, **options).fit(X, Y), lambda model: model.decision_function(X))
    assert -1e-12 <= model.dual_gap_ <= model.objective_ <= 1 + 1e-12  # a constant costs one, and nothing costs less


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREME_FEATURES)
@pytest.mark.parametrize("name", PAIR_LEARNERS)
def test_pair_learners_take_features_of_any_size(name, case):
    fitted(PAIR_LEARNERS[name], EXTREME_FEATURES[case], pairs=PAIRS)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [np.full(120, 1e-300), np.full(120, 1e300), wild(120), 1e150 ** np.eye(120)[0]])
@pytest.mark.parametrize("name", PAIR_LEARNERS)
def test_pair_learners_take_weights_of_any_size(name, weights):
    fitted(PAIR_LEARNERS[name], X, pairs=weighted(weights))


SMALL = np.repeat(np.arange(5), N // 5)
EXTREME_SIMILARITIES = {f"times {scale:g}": scale * SIMILARITY for scale in [*SCALES, 1e200]} | {
    "rank one": np.ones((N, N)) + 1e-14 * np.eye(N),
    "duplicates": SIMILARITY[np.ix_(SMALL, SMALL)],
    "graded": SIMILARITY * np.outer(np.geomspace(1e-75, 1e75, N), np.geomspace(1e-75, 1e75, N)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREME_SIMILARITIES)
@pytest.mark.parametrize("name", SIMILARITY_MODELS)
def test_similarities_of_any_size(name, case):
    fitted(SIMILARITY_MODELS[name], EXTREME_SIMILARITIES[case], pairs=PAIRS)


class TestCertificates:
    """Bounds against the truth in closed form."""

    @pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1.0, 1e6])
    @pytest.mark.parametrize("rare", [False, True])
    def test_one_direction(self, alpha, scale, rare):
        """For K = s y y^T, f = w sqrt(s) y: min over w of alpha w^2 / 2 + max(0, 1 - w sqrt(s))."""
        labels = ONE_CLASS_RARE if rare else Y
        sign = 2.0 * labels - 1
        gram = scale * (np.outer(sign, sign) + 1e-14 * np.eye(N))
        model = sensible(
            lambda: kw.SimpleMKLClassifier("precomputed", alpha=alpha, probability=False).fit(gram, labels)
        )
        ratio = alpha / scale
        self._assert_brackets(model, ratio / 2 if ratio <= 1 else 1 - 0.5 / ratio)

    @pytest.mark.parametrize("alpha", [1e-12, 1e-2, 1e6])
    @pytest.mark.parametrize("case", EXTREME_WEIGHTS)
    def test_weights(self, alpha, case):
        """For K = I every sample is on its own: f_i = min(1, c_i / alpha) with c_i its share of the weight."""
        weight = EXTREME_WEIGHTS[case]
        make = kw.SimpleMKLClassifier("precomputed", alpha=alpha, probability=False)
        model = sensible(lambda: make.fit(np.eye(N), Y, sample_weight=weight))
        share = weight / weight.max() / (weight / weight.max()).sum()
        f = np.minimum(1.0, share / alpha)
        self._assert_brackets(model, float((alpha / 2 * f**2 + share * (1 - f)).sum()))

    @pytest.mark.parametrize("scale", [1e-120, 1e-60, 1e60, 1e120])
    def test_scaled_kernels_with_a_scaled_penalty(self, scale):
        """K and alpha times s is the same problem."""
        make = partial(kw.RobustMKLClassifier, "precomputed", noise_rate=0.1, probability=False)
        same, scaled = make(alpha=0.01).fit(GRAM, Y), make(alpha=0.01 * scale).fit(scale * GRAM, Y)
        self._assert_brackets(scaled, same.objective_ - same.dual_gap_ / 2, slack=same.dual_gap_)
        assert scaled.converged_

    @pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0, 1e6, 1e150])
    def test_pairs(self, alpha):
        """A constant kernel leaves one number to be found; beside a large penalty only the intercept is left."""
        pairs = PAIRS[np.r_[np.flatnonzero(PAIRS.labels > 0), np.flatnonzero(PAIRS.labels < 0)[:20]]]
        share = float(np.mean(pairs.labels > 0))

        def line(w):
            return alpha / 2 * w**2 - w * (share - 0.5) + np.logaddexp(w / 2, -w / 2)

        # Beside a large penalty the loss is log 2 - w b / 2, with b = 2 share - 1, and its curvature does not matter.
        small = np.log(2) - (share - 0.5) ** 2 / (2 * alpha)
        best = minimize_scalar(line, bounds=(0, 50), method="bounded").fun if alpha <= 1 else small
        learner = kw.PairKernelLearner("precomputed", alpha=alpha, fit_intercept=False)
        alone = sensible(lambda: learner.fit(np.ones((N, N)), pairs=pairs))
        self._assert_brackets(alone, best, slack=1e-9)
        both = sensible(lambda: kw.PairKernelLearner(FEW, alpha=alpha, fit_intercept=True).fit(X, pairs=pairs))
        entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        assert both.objective_ <= entropy + 1e-12
        assert both.converged_
        if alpha >= 1e6:
            self._assert_brackets(both, entropy, slack=1e-6)

    @pytest.mark.parametrize("scale", [1e-150, 1e-40, 1e40, 1e150])
    def test_completion(self, scale):
        rows, cols = np.nonzero(np.random.RandomState(1).rand(12, 9) < 0.6)
        values = np.outer(np.arange(1.0, 13), np.arange(1.0, 10))[rows, cols]

        def complete(unit, penalty):
            return kw.complete_matrix(rows, cols, unit * values, (12, 9), penalty=penalty, random_state=0)

        def impute(unit):
            return soft_impute(rows, cols, unit * values, (12, 9), penalty=0.1 * unit).matrix / unit

        exact, scaled = complete(1.0, None), complete(scale, None)
        assert scaled.certificate.dual <= scale * exact.certificate.primal * (1 + 1e-9)
        assert scale * exact.certificate.dual <= scaled.certificate.primal * (1 + 1e-9)
        np.testing.assert_allclose(scaled.left @ scaled.right.T / scale, exact.left @ exact.right.T, atol=0.05)
        noisy, scaled = complete(1.0, 0.1), complete(scale, 0.1 * scale)
        assert scaled.certificate.primal / scale / scale == pytest.approx(noisy.certificate.primal, rel=2e-4)
        np.testing.assert_allclose(impute(scale), impute(1.0), rtol=1e-6, atol=1e-6)
        assert np.isfinite(singular_value_thresholding(rows, cols, scale * values, (12, 9), max_iter=5).matrix).all()

    @staticmethod
    def _assert_brackets(model, truth, slack=0.0):
        rounding = slack + 1e-9 * abs(truth) + 1e-15 * model.objective_
        assert model.objective_ - model.dual_gap_ <= truth + rounding
        assert truth <= model.objective_ + rounding


def decisions(make, data, weight=None):
    return make().fit(data, Y, sample_weight=weight).decision_function(data)


class TestInvariance:
    """Powers of two are exact: what does not depend on the scale must agree to the last bit."""

    @pytest.mark.parametrize("power", [-1000, 1000])
    @pytest.mark.parametrize("name", ["simple", "robust", "best case", "simple path", "noisy label"])
    def test_scaled_features(self, name, power):
        np.testing.assert_array_equal(decisions(CLASSIFIERS[name], 2.0**power * X), decisions(CLASSIFIERS[name], X))

    @pytest.mark.parametrize("power", [-900, 900])
    @pytest.mark.parametrize("name", ["simple", "robust", "best case"])
    def test_scaled_weights(self, name, power):
        make = partial(clone, CLASSIFIERS[name]().set_params(probability=False))
        weight = np.random.RandomState(2).uniform(1, 2, N)
        np.testing.assert_array_equal(decisions(make, X, 2.0**power * weight), decisions(make, X, weight))

    @pytest.mark.parametrize("power", [-1000, pytest.param(1000, marks=pytest.mark.slow)])
    def test_audits(self, power):
        labels = kw.flip_labels(Y, 0.2, random_state=0)
        audits = [kw.audit_labels(scale * X, labels, random_state=0) for scale in (1.0, 2.0**power)]
        np.testing.assert_array_equal(audits[0].quality, audits[1].quality)
        audits = [kw.audit_pairs(scale * X, PAIRS, random_state=0) for scale in (1.0, 2.0**power)]
        np.testing.assert_array_equal(audits[0].quality, audits[1].quality)

    @pytest.mark.parametrize("power", [-480, 480])
    @pytest.mark.parametrize(
        "name", ["itml", "mmc", "diagonal mmc", "spectral kernel", "kernel matrix", "squared hinge"]
    )
    def test_learned_kernels(self, name, power):
        kernels = []
        for scale in (1.0, 2.0**power):
            model = PAIR_LEARNERS[name]().fit(scale * X, pairs=PAIRS)
            kernels.append(model.kernel(scale * X))
        unit = 4.0**power if name == "itml" else 1.0  # its metric is the same, so distances grow
        np.testing.assert_allclose(kernels[1] / unit, kernels[0], rtol=1e-6, atol=1e-9 * np.abs(kernels[0]).max())

    @pytest.mark.parametrize("power", [-480, 480])
    @pytest.mark.parametrize("name", ["mpck", "shared mpck", "linked"])
    def test_clusters(self, name, power):
        labels = [PAIR_LEARNERS[name]().fit(scale * X, pairs=PAIRS).labels_ for scale in (1.0, 2.0**power)]
        assert abs(np.corrcoef(*labels)[0, 1]) == pytest.approx(1.0)

    @pytest.mark.parametrize("power", [-900, 900])
    @pytest.mark.parametrize("name", ["completer", "symmetric", "completion"])
    def test_similarities(self, name, power):
        scores = [
            SIMILARITY_MODELS[name]().fit(scale * SIMILARITY, pairs=PAIRS).label_matrix() for scale in (1.0, 2.0**power)
        ]
        np.testing.assert_allclose(scores[1], scores[0], atol=1e-5)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_cosine_and_gaussian_kernels(self, sparse):
        far, near = 1e300 * X, 1e-300 * X
        given = [sp.csr_array(rows) if sparse else rows for rows in (X, far, near)]
        for rows in given[1:]:
            np.testing.assert_allclose(Cosine()(rows, given[0]), Cosine()(X), rtol=1e-12)
        if not sparse:
            np.testing.assert_array_equal(Gaussian()(far), np.eye(N))
            np.testing.assert_array_equal(Gaussian()(near), np.ones((N, N)))

    def test_powers_of_two(self):
        numbers = np.array([0.0, 5e-324, 1e-310, 0.3, 1.0, 3.0, 1.7e308])
        powers = power_of_two(numbers)
        assert np.all(np.frexp(powers)[0] == 0.5)
        assert np.all(np.isfinite(1.0 / powers))
        normal = numbers >= np.finfo(float).tiny
        assert np.all((powers <= numbers)[normal] & (numbers / 2 < powers)[normal])


def test_a_large_constant_feature_does_not_merge_samples():
    """Samples are merged where they are equal, not where a number that stands for them is: times of day, say."""
    with_time = np.column_stack([X, np.full(N, 1.7e18)])
    model = kw.NoisyLabelClassifier(random_state=0).fit(with_time, Y)
    assert len(np.unique(model.label_quality_)) == N
    assert model.score(with_time, Y) >= kw.NoisyLabelClassifier(random_state=0).fit(X, Y).score(X, Y) - 0.05


def test_new_samples_far_beyond_the_training_data():
    for make in (CLASSIFIERS["simple"], CLASSIFIERS["noisy label"]):
        model = make().fit(1e-200 * X, Y)
        assert np.isfinite(model.predict_proba(np.full((2, 3), 1e300))).all()


def test_nothing_is_printed_where_all_samples_are_equal(capfd):
    kw.ITML().fit(np.ones((N, 3)), pairs=PAIRS)
    assert capfd.readouterr().out == ""  # LAPACK complains there of empty matrices


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kw.SimpleMKLClassifier(alpha=1e-300).fit(X, Y), "alpha must lie between"),
        (lambda: kw.SimpleMKLClassifier().fit(1.7e308 * np.sign(X) * (np.arange(N) < 2)[:, None], Y), "of X spans"),
        (lambda: kw.SimpleMKLClassifier().fit(X, Y, np.full(N, 1e307)), "sample_weight must have a finite sum"),
        (lambda: kw.NoisyLabelClassifier().fit(X, Y, np.full(N, 1e307)), "sample_weight must have a finite sum"),
        (lambda: kw.NoisyLabelClassifier().fit(sp.csr_array(1e200 * X), Y), "divide X by"),
        (lambda: kw.SimpleMKLClassifier(linear_kernels(), scale_features=False).fit(1e200 * X, Y), "divide X by"),
        (lambda: Gaussian(width=1e200), "width must lie between"),
        (lambda: weighted(np.full(120, 1e307)), "weights must have a finite sum"),
        (lambda: kw.PairKernelLearner(standardize=False).fit(1e150 * X, pairs=PAIRS), "divide the kernels by"),
        (lambda: kw.PairKernelLearner().fit(1e200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.UniformKernel().fit(1e200 * X), "divide X by"),
        (lambda: kw.ITML().fit(1e200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.MMC().fit(1e-200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.MPCKMeans(2).fit(1e-200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.NonparametricKernelLearner().fit(1e200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.NonparametricKernelLearner(C=1e200).fit(X, pairs=PAIRS), "divide C times the weights"),
        (lambda: kw.LinkedClustering(2).fit(1e200 * X, pairs=PAIRS), "divide X by"),
        (lambda: kw.complete_matrix([0], [0], [1e200], (2, 2)), "divide values by"),
        (lambda: kw.complete_matrix([0], [0], [1.0], (2, 2), penalty=1.0, weights=[1e200]), "divide weights by"),
        (lambda: soft_impute([0], [0], [1e-200], (2, 2), penalty=1.0), "divide values by"),
        (lambda: singular_value_thresholding([0], [0], [1.0], (2, 2), threshold=1e300), "divide threshold and step by"),
    ],
)
def test_what_cannot_be_computed_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
