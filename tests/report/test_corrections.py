"""Corrections that come back from the review page: the file, and what it changes."""

import csv
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwise.files import FileError
from kernelwise.report import (
    Correction,
    CorrectionsError,
    apply_corrections,
    read_corrections,
    verdicts_of,
    write_corrections,
)
from kernelwise.report.corrections import neutralise, restore

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
            Correction(row, given=a, corrected=b, decision=kind, id=c, other_id=d, column=e, reviewed_at="now")
            for row, (a, b, c, d, e) in enumerate(values)
            for kind in ["skip" if b.strip() in ("", a.strip()) else "wrong"]
        ]
        path = tmp_path_factory.mktemp("corrections") / "corrections.csv"
        assert read_corrections(write_corrections(corrections, path)) == corrections
        with path.open(newline="", encoding="utf-8-sig") as stream:
            assert len(list(csv.reader(stream))) == len(corrections) + 1

    def test_in_a_list_of_suspects_correct_overrules_the_suggestion(self, tmp_path):
        path = tmp_path / "suspects.csv"
        path.write_text("row,given,corrected,decision,quality\n1,a,b,correct,0.2\n2,a,b,wrong,0.1\n", encoding="utf-8")
        assert [(one.corrected, one.decision) for one in read_corrections(path)] == [("a", "correct"), ("b", "wrong")]

    def test_does_not_replace_a_file(self, tmp_path):
        path = write_corrections([], tmp_path / "corrections.csv")
        with pytest.raises(FileError, match="exists"):
            write_corrections([], path)

    def test_the_other_label_of_a_list_of_suspects_does_not_count_where_the_label_is_correct(self, tmp_path):
        path = tmp_path / "suspects.csv"
        path.write_text("row,given,corrected,decision,quality\n0,a,b,correct,.2\n1,a,b,wrong,.2\n2,a,b,skip,.2\n")
        assert apply_corrections(["a", "a", "a"], read_corrections(path)).tolist() == ["a", "b", "a"]
        assert verdicts_of(read_corrections(path), ["a", "a", "a"]).found() == {0: "a", 1: "b"}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "has no column 'row'"),
            (b"row,given,decision\n", "has no column 'corrected'"),
            (b"row,given,corrected,decision\n-1,a,b,wrong\n", "line 2: row must be a whole number"),
            (b"row,given,corrected,decision\n1.5,a,b,wrong\n", "line 2: row must be a whole number"),
            (
                b"row,given,corrected,decision\n1,a,b,maybe\n",
                "line 2: decision must be one of correct, wrong, unclear, skip",
            ),
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


def test_what_was_accepted_in_bulk_is_applied_but_is_no_verdict(tmp_path):
    made = [
        Correction(0, "a", "b", "wrong", how="in bulk at 95 %"),
        Correction(1, "a", "b", "wrong"),
        Correction(2, "b", "", "skip"),
    ]
    corrections = read_corrections(write_corrections(made, tmp_path / "corrections.csv"))
    assert corrections == made
    assert apply_corrections(["a", "a", "b"], corrections).tolist() == ["b", "b", "b"]
    with pytest.warns(UserWarning, match="1 decision was accepted in bulk; nobody looked"):
        assert verdicts_of(corrections, ["a", "a", "b"]).found() == {1: "b"}
    assert verdicts_of(corrections, ["a", "a", "b"], in_bulk=True).found() == {0: "b", 1: "b"}


def test_a_typing_error_in_a_corrected_label_is_refused_and_a_new_label_is_not():
    labels = ["spam"] * 20 + ["ham"] * 20
    with pytest.raises(CorrectionsError, match=r"row 3 is corrected to 'hm'.*write 'ham'"):
        verdicts_of([Correction(3, given="spam", corrected="hm", decision="wrong")], labels)
    found = verdicts_of([Correction(3, given="spam", corrected="advice", decision="wrong")], labels)
    assert found.found() == {3: "advice"}


def test_picked_rows_of_a_plan_are_noticed():
    labels = ["spam"] * 20 + ["ham"] * 20

    def decided(*draws):
        return [
            Correction(
                row, given="spam", corrected="spam", decision="correct", chance="0.1", draw=draw, drawn_from="40"
            )
            for row, draw in enumerate(draws)
        ]

    with pytest.warns(UserWarning, match="2 planned rows were left out.*only if no one picked"):
        verdicts_of(decided("1a1", "1a4"), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdicts_of(decided("1a1", "1a2"), labels)
