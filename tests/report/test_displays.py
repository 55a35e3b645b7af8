"""Displays: what is drawn is what the model holds."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.manifold import SpectralEmbedding
from sklearn.tree import DecisionTreeClassifier

from kernelwise import RobustMKLClassifier
from kernelwise.datasets import load_heart
from kernelwise.kernels import Gaussian
from kernelwise.report import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    LabelMatrixDisplay,
    NoiseCurveDisplay,
    ScoreDistributionDisplay,
    named_kernel_weights,
)
from made_audits import label_audit


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def mkl(n_classes=2):
    X, y = load_heart(return_X_y=True)
    y = y if n_classes == 2 else np.arange(len(y)) % n_classes
    return RobustMKLClassifier(kernels=[Gaussian(width=1.0), Gaussian(width=4.0)], alpha=0.1).fit(X[:60], y[:60])


@pytest.mark.usefixtures("pyplot")
class TestDisplays:
    def test_kernel_weights(self):
        model = mkl()
        display = KernelWeightsDisplay.from_estimator(model)
        drawn = sorted(bar.get_width() for bar in display.bars_)
        assert drawn == pytest.approx(sorted(model.kernel_weights_[model.kernel_weights_ > 0]))
        assert KernelWeightsDisplay({"a": 0.1, "b": 0.9, "c": 0.0}).plot(max_kernels=1).bars_[0].get_width() == 0.9

    def test_kernels_are_named_after_the_features(self):
        X, y = load_heart(return_X_y=True, as_frame=True)
        model = RobustMKLClassifier(kernels=[Gaussian(width=1.0, columns=0), Gaussian(width=1.0)]).fit(X[:60], y[:60])
        assert [name.partition("[")[2] for name in named_kernel_weights(model)] == ["age]", "all]"]

    def test_kernel_weights_of_several_classes_are_means(self):
        model = mkl(n_classes=3)
        total = sum(named_kernel_weights(model).values())
        assert total == pytest.approx(model.kernel_weights_.mean(axis=0).sum())

    def test_convergence(self):
        model = mkl()
        (line,) = ConvergenceDisplay.from_estimator(model).lines_
        gaps = [row.primal - row.dual for row in model.history_[0]]
        assert line.get_ydata() == pytest.approx([gap for gap in gaps if gap > 0])
        lines = ConvergenceDisplay.from_estimator(mkl(n_classes=3), time=True).lines_
        assert [line.get_label() for line in lines] == ["0", "1", "2"]

    def test_noise_curve(self, rng):
        X, y = load_heart(return_X_y=True)
        models = {"stump": DecisionTreeClassifier(max_depth=1), "prior": DummyClassifier()}
        display = NoiseCurveDisplay.from_estimator(models, X, y, rates=[0.0, 1.0], cv=3, random_state=0)
        stump = display.scores["stump"]
        assert stump.shape == (2, 3)
        # With every label flipped, the same stump says the opposite.
        assert stump[0] == pytest.approx(1 - stump[1])
        assert [line.get_label() for line in display.lines_] == ["stump", "prior"]
        assert display.lines_[0].get_ydata() == pytest.approx(stump.mean(axis=1))

    def test_label_matrix(self, rng):
        matrix, labels = rng.normal(size=(6, 6)), np.array([1, 0, 1, 0, 2, 0])
        display = LabelMatrixDisplay(matrix, labels).plot()
        order = [1, 3, 5, 0, 2, 4]
        assert (display.image_.get_array() == matrix[order][:, order]).all()
        assert len(display.ax_.lines) == 4  # two edges, across and down

    def test_label_matrix_of_an_estimator(self):
        class Completer:
            labels_ = np.array([1, 0])

            def label_matrix(self):
                return np.array([[2.0, -1.0], [-1.0, 1.0]])

        display = LabelMatrixDisplay.from_estimator(Completer())
        assert display.image_.get_array().tolist() == [[1.0, -1.0], [-1.0, 2.0]]

    @pytest.mark.parametrize("n_components", [1, 2, 5])
    def test_embedding(self, rng, n_components):
        points, labels = rng.normal(size=(20, n_components)), np.arange(20) % 3
        display = EmbeddingDisplay(points, labels).plot()
        drawn = np.concatenate([artist.get_offsets() for artist in display.points_])
        assert len(display.points_) == 3
        if n_components <= 2:  # nothing is lost: distances between points stay
            order = np.argsort(labels, kind="stable")
            assert pdist(drawn) == pytest.approx(pdist(points[order]))

    def test_embedding_of_estimators(self, rng):
        X = rng.normal(size=(20, 4))
        pca = PCA(2).fit(X)
        assert EmbeddingDisplay.from_estimator(pca, X).points == pytest.approx(pca.transform(X))
        map_ = SpectralEmbedding(2, affinity="rbf", random_state=0).fit(X)
        assert EmbeddingDisplay.from_estimator(map_).points is not None

    def test_score_distribution(self, rng):
        audit = label_audit(rng)
        display = ScoreDistributionDisplay.from_audit(audit, precision=0.8)
        assert sum(bar.get_height() for bar in display.bars_) == 60
        assert (1 - audit.quality >= display.threshold).sum() == audit.worth_checking(precision=0.8)

    def test_draws_on_given_axes(self, pyplot, rng):
        figure, axes = pyplot.subplots()
        display = ScoreDistributionDisplay(rng.random(10)).plot(axes)
        assert display.ax_ is axes
        assert display.figure_ is figure
        figure.canvas.draw()

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: KernelWeightsDisplay.from_estimator(PCA().fit(np.eye(3))), TypeError, "has no kernel_weights_"),
            (lambda: KernelWeightsDisplay.from_estimator(RobustMKLClassifier()), NotFittedError, "is not fitted"),
            (lambda: ConvergenceDisplay.from_estimator(PCA().fit(np.eye(3))), TypeError, "has no history_"),
            (lambda: LabelMatrixDisplay.from_estimator(PCA()), TypeError, "has no label_matrix()"),
            (lambda: EmbeddingDisplay.from_estimator(PCA().fit(np.eye(3))), TypeError, "pass X to transform it"),
            (lambda: NoiseCurveDisplay([0.1], {"a": [0.9]}), ValueError, "must have shape (1, n_trials)"),
            (lambda: LabelMatrixDisplay(np.ones((2, 3))), ValueError, "matrix must be square"),
            (lambda: LabelMatrixDisplay(np.eye(2), labels=[1]), ValueError, "one label for each of 2 rows"),
            (lambda: EmbeddingDisplay(np.ones(3)), ValueError, "rows of coordinates"),
            (lambda: EmbeddingDisplay(np.eye(2), labels=[1]), ValueError, "one label for each of 2 rows"),
            (lambda: ScoreDistributionDisplay([0.5], to_check=2), ValueError, "between 0 and 1, got 2"),
        ],
    )
    def test_bad_input(self, call, error, message):
        with pytest.raises(error, match=re.escape(message)):
            call()
