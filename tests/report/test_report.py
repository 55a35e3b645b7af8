"""The review page as data, the page around it, and the corrections that come back."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from kernelwise import Answers, LabelAudit, PairAudit, Verdicts, audit_answers
from kernelwise.files import FileError
from kernelwise.report import (
    PageSettings,
    label_report,
    pair_report,
    render,
    trusted_neighbours,
    write_report,
)
from kernelwise.report.page import headlines
from kernelwise.review.audit import whole_numbers
from made_audits import label_audit, pair_audit

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
            assert report["values"][code_suggested] == audit.alternative[row] != audit.labels[row]

    def test_headline_numbers(self, rng):
        audit = label_audit(rng)
        summary = label_report(audit, settings=PageSettings(precision=0.8))["summary"]
        assert summary["to_check"] == audit.worth_checking(precision=0.8)
        chosen = label_report(audit, settings=PageSettings(chance=0.8))["summary"]
        assert chosen["to_check"] == audit.worth_checking(0.8)
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
        believed = np.where(audit.quality > 0.5, audit.labels, audit.alternative)
        for given_code, suggested_code, count in figures["confusions"]:
            same = (audit.labels == audit.classes[given_code]) & (believed == audit.classes[suggested_code])
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
            members = np.flatnonzero(audit.labels == audit.alternative[row])
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
        assert ("No label is more likely wrong than right." in page) != to_check

    def test_where_explanations_disagree_the_headline_is_a_range(self, rng):
        verdict = {"reliable": False, "reason": "Nobody can tell.", "claim": "Of some errors only."}
        page = render(label_report(replace(label_audit(rng), diagnostic=verdict)))
        assert "<h1>Between 12 and 24 of 60 labels look wrong</h1>" in page
        assert "Nobody can tell." in page
        assert "Of some errors only." in page

    def test_where_explanations_disagree_nothing_is_said_of_errors_among_the_suspects(self, rng):
        verdict = {"reliable": False, "reason": "Nobody can tell.", "claim": "Of some errors only."}
        audit = label_audit(rng)
        count = audit.worth_checking()
        assert f"{count} are worth checking.</p>" in render(label_report(replace(audit, diagnostic=verdict)))
        assert f"{count} are worth checking: about" in render(label_report(audit))

    def test_pairs_of_which_little_is_known_have_a_range(self, rng):
        ends = {"precision_positive": (0.0, 0.9), "precision_negative": (0.5, 1.0)}
        verdict = {"reliable": False, "reason": "The links form communities."}
        audit = replace(pair_audit(rng), intervals=ends, diagnostic=verdict)
        positive, negative = np.count_nonzero(audit.pairs.labels > 0), np.count_nonzero(audit.pairs.labels < 0)
        low, high = whole_numbers((0.1 * positive / (n := positive + negative), (positive + 0.5 * negative) / n), n)
        page = render(pair_report(audit))
        assert f"<h1>Between {low} and {high} of {n} pairs look wrong</h1>" in page
        assert "given as same that look wrong: between 10\u00a0% and 100\u00a0%." in page
        assert "The links form communities." in page
        assert "should be wrong" not in re.search(r'<p class="lead">.*</p>', page)[0]

    def test_where_no_pair_is_likely_wrong_the_page_says_how_to_read_the_list(self, rng):
        audit = replace(pair_audit(rng), quality=np.full(len(pair_audit(rng).pairs), 0.9))
        said = "No single pair is more likely wrong than right; the list begins with the most suspect."
        assert said in render(pair_report(audit))

    def test_the_headline_of_records_has_the_range_of_all_answers(self, rng):
        ends = {"precision_positive": (0.0, 0.9), "precision_negative": (0.5, 1.0)}
        verdict = {"reliable": False, "reason": "Nobody can tell.", "wrong_interval": (0.1, 0.2)}
        audit = replace(pair_audit(rng), intervals=ends, diagnostic=verdict)
        low, high = whole_numbers((0.1, 0.2), n := len(audit.pairs))
        assert f"<h1>Between {low} and {high} of {n} pairs look wrong</h1>" in render(pair_report(audit))

    def test_rows_that_were_checked_are_no_suspects(self, rng):
        audit = label_audit(rng)
        first = audit.order[:5]
        quality = audit.quality.copy()
        quality[first] = 0.0
        checked = Verdicts(first, audit.alternative[first])
        report = label_report(replace(audit, quality=quality, checked=checked))
        assert report["summary"]["to_check"] == audit.worth_checking() - 5
        assert sorted(report["suspects"]["row"][-5:]) == sorted(first)
        assert report["suspects"]["row"][0] == audit.order[5]

    @pytest.mark.parametrize("by_model", [True, False])
    def test_the_columns_that_matter_are_on_the_page(self, rng, by_model):
        audit = label_audit(rng)
        X = rng.normal(size=(60, 50))
        X[:, 47] = np.unique(audit.labels, return_inverse=True)[1]
        weights = {"x47": 0.5, "x49": 0.3, "x0": 0.2} if by_model else None
        report = label_report(audit, X=X, column_weights=weights, settings=PageSettings(max_columns=3))
        names = [column["name"] for column in report["columns"]]
        assert len(names) == len(report["suspects"]["features"]) == 3
        assert "x47" in names
        assert names == ["x0", "x47", "x49"] or not by_model
        assert report["n_columns"] == 50
        first, _ = report["figures"]["columns"]["bars"][0]
        assert names[first] == "x47"

    def test_who_said_what_stands_beside_every_row(self, rng):
        """Of the consensus, and of the labels of one column that several sources gave."""
        said = np.where(rng.random((200, 3)) < (0.1, 0.2, 0.4), 1, 0) ^ (np.arange(200) % 2)[:, None]
        audit = audit_answers(None, Answers.from_table(said, sources=["Ann", "Bob", "Cy"]))
        page = label_report(audit)
        assert page["sources"]["consensus"]
        assert page["sources"]["names"][0] == "Cy"
        assert [one["n"] for one in page["sources"]["table"]] == [200] * 3
        place = [page["sources"]["names"].index(name) for name in ("Ann", "Bob", "Cy")]
        for row, answers in zip(page["suspects"]["row"], page["sources"]["said"], strict=True):
            found = dict(zip(answers[::2], answers[1::2], strict=True))
            assert [page["values"][found[at]] for at in place] == [str(label) for label in said[row]]
        assert "consensus labels" in headlines(page)[0]
        single = audit_answers(None, Answers.from_column(said[:, 0], np.array(["Ann", "Bob"])[np.arange(200) % 2]))
        page = label_report(single.given_labels(), answers=single)
        assert not page["sources"]["consensus"]
        assert "consensus" not in headlines(page)[0]
        assert {len(answers) for answers in page["sources"]["said"]} == {2}

    def test_rows_without_a_label_are_not_listed(self, rng):
        audit = label_audit(rng)
        labels, quality = audit.labels.astype(object), audit.quality.copy()
        labels[:5], quality[:5] = None, np.nan
        report = label_report(replace(audit, labels=labels, quality=quality))
        assert sorted(report["suspects"]["row"]) == list(range(5, 60))
        assert report["summary"]["n"] == report["summary"]["rates"][0]["n"] == 55
        assert sum(report["figures"]["chances"]["counts"]) == 55
        render(report)

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
        (
            lambda audit: trusted_neighbours(audit, np.ones((60, 1)), [0], n_neighbors=0),
            "n_neighbors must be an integer of at least 1",
        ),
        (lambda audit: trusted_neighbours(audit, np.ones((3, 1)), [0]), "X has 3 rows, but the audit is of 60"),
        (lambda audit: render({"kind": "labels"}), "report must come from label_report or pair_report"),
        (lambda audit: PageSettings(max_rows=-1), "max_rows must be an integer of at least 0"),
        (lambda audit: PageSettings(precision=0), "precision must be a number above 0"),
    ],
)
def test_bad_input(rng, call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(label_audit(rng))
