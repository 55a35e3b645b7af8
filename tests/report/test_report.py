"""The review page as data, the page around it, and the corrections that come back."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.manifold import SpectralEmbedding
from sklearn.tree import DecisionTreeClassifier

from kernelwise import LabelAudit, PairAudit, PairNoise, Pairs, RobustMKLClassifier
from kernelwise.datasets import load_heart
from kernelwise.files import FileError
from kernelwise.kernels import Gaussian
from kernelwise.report import (
    ConvergenceDisplay,
    Correction,
    CorrectionsError,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    LabelMatrixDisplay,
    NoiseCurveDisplay,
    PageSettings,
    ScoreDistributionDisplay,
    apply_corrections,
    label_report,
    named_kernel_weights,
    pair_report,
    read_corrections,
    render,
    trusted_neighbours,
    write_corrections,
    write_report,
)
from kernelwise.report.corrections import neutralise, restore

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(2)</script>",
    "<!--",
    "=cmd()",
    "a\u2028b\u2029c",
    "שלום עולם",
    "🦊 & 🐻",
    "x" * 10_000,
    "\ud800 lonely",
    'line\nend, "quoted"\ttab',
]


def label_audit(rng, n=60, labels=("ham", "spam", "eggs")):
    classes = np.array(sorted(labels), dtype=object)
    probabilities = rng.dirichlet(np.ones(len(classes)), size=n)
    given = rng.integers(len(classes), size=n)
    return LabelAudit(
        labels=classes[given],
        quality=probabilities[np.arange(n), given],
        suggested=classes[probabilities.argmax(axis=1)],
        probabilities=probabilities,
        classes=classes,
        noise_rate=0.3,
        noise_interval=(0.2, 0.4),
        transition=np.eye(len(classes)),
    )


def pair_audit(rng, n=30, n_pairs=80):
    pairs = Pairs.from_labels(rng.integers(3, size=n), n_pairs=n_pairs, random_state=0)
    quality = rng.random(n_pairs)
    return PairAudit(pairs, quality, np.where(quality > 0.5, pairs.labels, -pairs.labels), PairNoise(0.4, 0.7, 0.9), {})


def page_data(page):
    (stored,) = re.findall(r'<script type="application/json" id="report-data">(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(stored)


class TestLabelReport:
    def test_lists_every_row_once_most_suspect_first(self, rng):
        audit = label_audit(rng)
        report = label_report(audit)
        suspects = report["suspects"]
        assert sorted(suspects["row"]) == list(range(60))
        assert suspects["quality"] == sorted(suspects["quality"])
        for row, code, code_suggested in zip(suspects["row"], suspects["given"], suspects["suggested"], strict=True):
            assert report["values"][code] == audit.labels[row]
            assert report["values"][code_suggested] == audit.suggested[row]

    def test_headline_numbers(self, rng):
        audit = label_audit(rng)
        summary = label_report(audit, settings=PageSettings(precision=0.8))["summary"]
        assert summary["to_check"] == audit.worth_checking(0.8)
        first = np.sort(audit.quality)[: summary["to_check"]]
        assert summary["expected_wrong"] == pytest.approx((1 - first).sum(), rel=1e-5)
        assert summary["rates"] == [{"name": "labels", "n": 60, "rate": 0.3, "interval": [0.2, 0.4]}]

    def test_is_json_whatever_the_frame_holds(self, rng):
        frame = pd.DataFrame(
            {
                "number": [1.5, np.nan, np.inf] * 20,
                "whole": [123456789.0, np.nan, -7.0] * 20,
                "text": [None, "a", ""] * 20,
                "when": pd.to_datetime(["2020-01-01", None, "2021-02-03"] * 20),
                "kind": pd.Categorical(["x", None, "y"] * 20),
                "nullable": pd.array([1, None, 3] * 20, dtype="Int64"),
                "flag": [True, False, True] * 20,
                7: ["seven"] * 60,
            }
        )
        report = json.loads(json.dumps(label_report(label_audit(rng), X=frame), allow_nan=False))
        shown = dict(zip([c["name"] for c in report["columns"]], report["suspects"]["features"], strict=True))
        at = report["suspects"]["row"].index(0)
        assert [shown[name][at] for name in ("number", "whole", "text", "nullable", "flag", "7")] == [
            1.5, 123456789, None, 1, "True", "seven",
        ]  # fmt: skip
        at = report["suspects"]["row"].index(1)
        assert [shown[name][at] for name in ("number", "whole", "text", "when", "kind", "nullable")] == [
            None, None, "a", None, None, None,
        ]  # fmt: skip

    def test_numbers_in_an_array_of_objects_are_numbers(self, rng):
        X = np.array([[1.5, "a"], [None, "b"], [3, None]] * 20, dtype=object)
        report = label_report(label_audit(rng), X=X)
        number, text = report["columns"]
        assert "range" in number
        assert "range" not in text
        assert set(report["suspects"]["features"][0]) == {1.5, None, 3.0}
        assert any(detail["near"] for detail in report["details"])

    def test_figures_count_every_label(self, rng):
        audit = label_audit(rng)
        figures = label_report(audit, settings=PageSettings(max_rows=5))["figures"]
        assert sum(figures["chances"]["counts"]) == 60
        assert sum(count for _, _, count in figures["confusions"]) == 60
        for given_code, suggested_code, count in figures["confusions"]:
            same = (audit.labels == audit.classes[given_code]) & (audit.suggested == audit.classes[suggested_code])
            assert count == same.sum()
        disagree = [first != second for first, second, _ in figures["confusions"]]
        assert disagree == sorted(disagree, reverse=True)
        counts = [count for first, second, count in figures["confusions"] if first != second]
        assert counts == sorted(counts, reverse=True)

    def test_limits(self, rng):
        few = PageSettings(max_rows=10, max_details=3, max_columns=2)
        report = label_report(label_audit(rng), X=rng.normal(size=(60, 5)), settings=few)
        assert len(report["suspects"]["row"]) == 10
        assert len(report["details"]) == 3
        assert (len(report["columns"]), report["n_columns"]) == (2, 5)
        assert [len(near["values"]) for detail in report["details"] for near in detail["near"]] == 9 * [2]

    def test_key_follows_the_data_and_not_the_audit(self, rng):
        audit, other = label_audit(np.random.default_rng(1)), label_audit(np.random.default_rng(2))
        same = LabelAudit(
            audit.labels, other.quality, other.suggested, other.probabilities, other.classes, 0.1, (0, 1), np.eye(3)
        )
        keys = [label_report(one)["key"] for one in (audit, same, other)]
        assert keys[0] == keys[1] != keys[2]
        assert label_report(audit, ids=np.arange(60) + 1)["key"] != keys[0]
        assert label_report(audit, settings=PageSettings(max_rows=3))["key"] == keys[0]

    def test_inputs_stay_as_they_were(self, rng):
        X, audit = rng.normal(size=(60, 4)), label_audit(rng)
        before = X.copy(), audit.labels.copy()
        label_report(audit, X=X)
        assert (before[0] == X).all()
        assert (audit.labels == before[1]).all()

    def test_weights_and_gap(self, rng):
        history = [(k, 0.1 * k, 1 + 2.0**-k, 1 - 2.0**-k) for k in range(1000)]
        weights = {"wide": 0.25, "narrow": 0.75, "unused": 0.0}
        figures = label_report(label_audit(rng), kernel_weights=weights, history=history)["figures"]
        assert figures["weights"] == {"bars": [["narrow", 0.75], ["wide", 0.25]], "n_kernels": 3, "n_used": 2}
        assert len(figures["gap"]) <= 300
        assert figures["gap"][0] == [0, 2.0]
        assert figures["gap"][-1][0] == 999

    def test_sparse_rows_show_their_words(self, rng):
        X = csr_array((rng.random((60, 20)) < 0.3).astype(float))
        names = [f"word {j}" for j in range(20)]
        report = label_report(label_audit(rng), X=X, feature_names=names)
        dense = X.toarray()
        for row, detail in zip(report["suspects"]["row"], report["details"], strict=True):
            assert {word for word, _ in detail["words"]} == {names[j] for j in np.flatnonzero(dense[row])}
            for near in detail["near"]:
                both = np.flatnonzero(dense[row] * dense[near["row"]])
                assert set(near["shared"]) == {names[j] for j in both}


class TestTrustedNeighbours:
    def test_agrees_with_a_search_through_all_rows(self, rng):
        audit, X = label_audit(rng), rng.normal(size=(60, 3)) * [1, 10, 100]
        found = trusted_neighbours(audit, X, rows=range(60), n_neighbors=2)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        for row in range(60):
            members = np.flatnonzero(audit.labels == audit.suggested[row])
            trusted = [at for at in members if audit.quality[at] >= np.median(audit.quality[members])]
            others = [at for at in trusted if at != row]
            nearest = sorted(others, key=lambda at: np.linalg.norm(Z[at] - Z[row]))[:2]
            assert found[row].tolist() == nearest

    def test_none_where_nobody_carries_the_label(self):
        labels, suggested = np.array(["a", "a"]), np.array(["b", "a"])
        audit = LabelAudit(
            labels, np.array([0.1, 0.9]), suggested, np.eye(2), np.array(["a", "b"]), 0.5, (0, 1), np.eye(2)
        )
        assert trusted_neighbours(audit, [[0.0], [1.0]], [0, 1]).tolist() == [[-1] * 3, [-1] * 3]

    def test_missing_values_do_not_stop_it(self, rng):
        X = rng.normal(size=(60, 3))
        X[::2, 1] = np.nan
        assert (trusted_neighbours(label_audit(rng), X, range(60)) >= -1).all()


class TestPairReport:
    def test_surroundings_are_those_of_the_graph(self, rng):
        audit = pair_audit(rng)
        report = pair_report(audit)
        positive = audit.pairs.labels > 0
        linked = {i: set() for i in range(30)}
        for i, j in zip(audit.pairs.rows[positive].tolist(), audit.pairs.cols[positive].tolist(), strict=True):
            linked[i].add(j)
            linked[j].add(i)
        for at, detail in zip(report["suspects"]["row"], report["details"], strict=True):
            i, j = int(audit.pairs.rows[at]), int(audit.pairs.cols[at])
            graph = detail["graph"]
            common = (linked[i] & linked[j]) - {i, j}
            own = [linked[end] - common - {i, j} for end in (i, j)]
            assert graph["total"] == [len(common), len(own[0]), len(own[1])]
            nodes = [int(name) for name in graph["ids"]]
            assert nodes[:2] == [i, j]
            assert len(set(nodes)) == len(nodes) == 2 + sum(graph["shown"])
            assert all(nodes[b] in linked[nodes[a]] for a, b in graph["edges"])

    def test_rates_of_both_labels(self, rng):
        audit = pair_audit(rng)
        same, different = pair_report(audit)["summary"]["rates"]
        assert (same["rate"], different["rate"]) == (0.3, 0.1)
        assert same["n"] + different["n"] == 80
        assert same["interval"] == [None, None]
        known = {"precision_positive": (0.6, 0.75)}  # of the right ones
        audit = PairAudit(audit.pairs, audit.quality, audit.suggested, audit.noise, known)
        assert pair_report(audit)["summary"]["rates"][0]["interval"] == pytest.approx([0.25, 0.4])

    def test_dense_and_sparse_features(self, rng):
        audit, X = pair_audit(rng), rng.integers(2, size=(30, 6))
        dense, sparse = pair_report(audit, X=X), pair_report(audit, X=csr_array(X))
        for at, left, right in zip(dense["suspects"]["row"], dense["details"], sparse["details"], strict=True):
            i, j = audit.pairs.rows[at], audit.pairs.cols[at]
            assert left["ends"] == [X[i].tolist(), X[j].tolist()]
            assert right["n_words"] == [(X[i] & X[j]).sum(), (X[i] & ~X[j] & 1).sum(), (X[j] & ~X[i] & 1).sum()]


class TestPage:
    def test_hostile_contents_stay_data(self, rng):
        hostile = HOSTILE * 6
        audit = label_audit(rng, n=len(hostile), labels=HOSTILE)
        frame = pd.DataFrame({HOSTILE[0]: hostile, HOSTILE[2]: hostile}, dtype=object)
        names = PageSettings(title=HOSTILE[1] + "\ud800", id_name=HOSTILE[0], label_name=HOSTILE[2])
        page = render(label_report(audit, X=frame, ids=hostile, settings=names))
        data = page_data(page)
        assert data["title"] == HOSTILE[1] + "\ud800"
        assert sorted(data["suspects"]["id"]) == sorted(hostile)
        assert [column["name"] for column in data["columns"]] == [HOSTILE[0], HOSTILE[2]]
        assert page.count("<script") == 2  # the data and the program
        assert "<img" not in page
        page.encode("utf-8")

    def test_needs_nothing_else(self, rng):
        page = render(label_report(label_audit(rng), X=rng.normal(size=(60, 3))))
        outside = set(re.findall(r"https?://[^\s\"'`<)]*", page)) - {"http://www.w3.org/2000/svg"}
        assert not outside
        assert not re.search(r"@import|url\(", page)
        assert "default-src 'none'" in page
        assert "unsafe-" not in page
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch("):
            assert word not in page

    def test_same_report_same_bytes(self, rng):
        report = pair_report(pair_audit(rng))
        assert render(report) == render(json.loads(json.dumps(report)))

    @pytest.mark.parametrize(
        ("rate", "to_check", "expected"),
        [(0.3, True, "About 18 of 60 labels look wrong"), (0.0, False, "The labels look right")],
    )
    def test_headline(self, rng, rate, to_check, expected):
        audit = label_audit(rng)
        quality = audit.quality if to_check else np.ones(60)
        audit = LabelAudit(
            audit.labels, quality, audit.labels, audit.probabilities, audit.classes, rate, (0, 1), np.eye(3)
        )
        page = render(label_report(audit))
        assert f"<h1>{expected}</h1>" in page
        assert ("None of them is suspect enough" in page) != to_check

    def test_writes_all_or_nothing(self, rng, tmp_path):
        report, path = label_report(label_audit(rng)), tmp_path / "review.html"
        assert write_report(report, path) == path
        assert path.read_text(encoding="utf-8") == render(report)
        with pytest.raises(FileError, match="exists"):
            write_report({**report, "title": "other"}, path)
        assert path.read_text(encoding="utf-8") == render(report)
        write_report({**report, "title": "other"}, path, force=True)
        assert "other" in path.read_text(encoding="utf-8")
        with pytest.raises(ValueError, match="JSON compliant"):
            write_report({**report, "n_columns": float("nan")}, path, force=True)
        assert [p.name for p in tmp_path.iterdir()] == ["review.html"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda audit: label_report(audit, ids=["a"]), "ids has 1 values for 60 rows"),
        (lambda audit: label_report(audit, X=np.ones((3, 2))), "X has 3 rows, but the audit is of 60"),
        (lambda audit: label_report(audit, X=np.ones(60)), "X must be a table"),
        (lambda audit: label_report(audit, X=np.ones((60, 2)), feature_names=["a"]), "feature_names has 1 names"),
        (lambda audit: label_report(audit, neighbours=np.ones((3, 2))), "neighbours must be a number or an array"),
        (lambda audit: label_report(audit, neighbours=np.full((60, 2), 60)), "positions of rows below 60"),
        (lambda audit: label_report(audit, kernel_weights=[np.nan]), "kernel_weights must be finite"),
        (lambda audit: trusted_neighbours(audit, np.ones((60, 1)), [0], n_neighbors=0), "n_neighbors must be at least"),
        (lambda audit: trusted_neighbours(audit, np.ones((3, 1)), [0]), "X has 3 rows, but the audit is of 60"),
        (lambda audit: render({"kind": "labels"}), "report must come from label_report or pair_report"),
        (lambda audit: PageSettings(max_rows=-1), "max_rows must be a whole number"),
        (lambda audit: PageSettings(precision=0), "precision must be a number above 0"),
    ],
)
def test_bad_input(rng, call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(label_audit(rng))


cell_text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("=+-@\t\r\n',\""), max_size=20)


class TestCorrections:
    @given(cell_text)
    def test_neutralised_cells_are_no_formulas_and_come_back(self, cell):
        safe = neutralise(cell)
        assert not safe.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert restore(safe) == cell

    @given(st.lists(st.tuples(cell_text, cell_text, cell_text, cell_text, cell_text), max_size=5))
    def test_round_trip(self, tmp_path_factory, values):
        corrections = [
            Correction(row, given=a, corrected=b, decision="wrong", id=c, other_id=d, column=e, reviewed_at="now")
            for row, (a, b, c, d, e) in enumerate(values)
        ]
        path = tmp_path_factory.mktemp("corrections") / "corrections.csv"
        assert read_corrections(write_corrections(corrections, path)) == corrections
        with path.open(newline="", encoding="utf-8-sig") as stream:
            assert len(list(csv.reader(stream))) == len(corrections) + 1

    def test_does_not_replace_a_file(self, tmp_path):
        path = write_corrections([], tmp_path / "corrections.csv")
        with pytest.raises(FileError, match="exists"):
            write_corrections([], path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "has no column 'row'"),
            (b"row,given,decision\n", "has no column 'corrected'"),
            (b"row,given,corrected,decision\n-1,a,b,wrong\n", "line 2: row must be a whole number"),
            (b"row,given,corrected,decision\n1.5,a,b,wrong\n", "line 2: row must be a whole number"),
            (b"row,given,corrected,decision\n1,a,b,maybe\n", "line 2: decision must be one of correct, wrong, skip"),
            (
                b"row,given,corrected,decision\n1,a,a,correct\n1,a,b,correct\n",
                "line 3: the label is said to be correct",
            ),
            (b"row,given,corrected,decision\n1,a,b\n", "line 2: not as many cells as columns"),
            (b"row,given,corrected,decision\n1,a,b,wrong,more\n", "line 2: not as many cells as columns"),
            (b'row,given,corrected,decision\n1,"a,b,wrong\n', "unexpected end of data"),
            (b"row,given,corrected,decision\n1,\xff,b,wrong\n", "is not UTF-8 text"),
        ],
    )
    def test_bad_files(self, tmp_path, content, message):
        path = tmp_path / "corrections.csv"
        path.write_bytes(content)
        with pytest.raises(CorrectionsError, match=re.escape(message)):
            read_corrections(path)

    def test_apply(self):
        labels = np.array(["ham", "spam", "ham"])
        corrections = [
            Correction(0, "ham", "a longer label", "wrong"),
            Correction(1, "spam", "spam", "correct"),
            Correction(2, "ham", "", "skip"),
        ]
        assert apply_corrections(labels, corrections).tolist() == ["a longer label", "spam", "ham"]
        assert labels.tolist() == ["ham", "spam", "ham"]
        again = [*corrections, Correction(0, "ham", "ham", "correct")]
        assert apply_corrections(labels, again).tolist() == ["ham", "spam", "ham"]

    @pytest.mark.parametrize(
        ("labels", "given_label", "corrected", "expected"),
        [
            ([1, -1], "1", "-1", [-1, -1]),
            ([1, 2], "1", "7", [7, 2]),
            ([0.5, 1.5], "0.5", "1.5", [1.5, 1.5]),
            ([True, False], "True", "False", [False, False]),
            (np.array(["a", None], dtype=object), "a", "b", ["b", None]),
        ],
    )
    def test_apply_keeps_the_type(self, labels, given_label, corrected, expected):
        result = apply_corrections(labels, [Correction(0, given_label, corrected, "wrong")])
        assert result.tolist() == expected
        assert result.dtype == np.asarray(labels).dtype

    @pytest.mark.parametrize(
        ("correction", "message"),
        [
            (Correction(3, "1", "2", "wrong"), "row 3 is not one of the 3 rows"),
            (Correction(0, "2", "1", "wrong"), "row 0 has the label '1', but the correction was made for '2'"),
            (Correction(0, "1", "many", "wrong"), "'many' does not fit labels of type int64"),
        ],
    )
    def test_refuses_what_does_not_fit(self, correction, message):
        with pytest.raises(CorrectionsError, match=re.escape(message)):
            apply_corrections([1, 2, 2], [correction])


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
        assert (1 - audit.quality >= display.threshold).sum() == audit.worth_checking(0.8)

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
