"""The decisions of several reviewers become one, and their agreement is told."""

from dataclasses import replace

import pytest

from kernelwise.report import Correction, CorrectionsError, merge_corrections, read_corrections, write_corrections


def said(row, answer, reviewer="", comment=""):
    decision = {"ham": "correct", "?": "unclear", "-": "skip"}.get(answer, "wrong")
    corrected = "" if decision in ("unclear", "skip") else answer
    return Correction(row, "ham", corrected, decision, id=f"m{row}", reviewer=reviewer, comment=comment)


def test_the_majority_counts():
    reviews = {name: [said(0, answer)] for name, answer in zip("abc", ("spam", "ham", "spam"), strict=True)}
    merged = merge_corrections(reviews)
    (one,) = merged.corrections
    assert (one.decision, one.corrected, one.reviewer) == ("wrong", "spam", "a, b, c")
    assert merged.disputed == [0]


@pytest.mark.parametrize("answers", [("spam", "ham"), ("spam", "eggs", "ham"), ("spam", "?")])
def test_without_a_majority_it_is_unclear_and_says_who_said_what(answers):
    merged = merge_corrections({f"r{k}": [said(0, answer)] for k, answer in enumerate(answers)})
    (one,) = merged.corrections
    assert (one.decision, one.corrected) == ("unclear", "")
    assert all(f"r{k}: {answer.replace('?', 'cannot tell')}" in one.comment for k, answer in enumerate(answers))


def test_skipped_rows_do_not_vote():
    merged = merge_corrections({"a": [said(0, "-"), said(1, "-")], "b": [said(0, "spam"), said(1, "-")]})
    assert [one.decision for one in merged.corrections] == ["wrong", "skip"]
    assert merged.disputed == merged.agreements == []


def test_agreement_is_cohens_kappa():
    from sklearn.metrics import cohen_kappa_score

    first = ["spam", "ham", "?", "spam", "ham", "eggs", "ham"]
    second = ["spam", "ham", "ham", "ham", "ham", "eggs", "?"]
    merged = merge_corrections(
        {
            "x.csv": [said(row, one, "Ann") for row, one in enumerate(first)],
            "y.csv": [said(row, one) for row, one in enumerate(second)],
        }
    )
    (agreement,) = merged.agreements
    assert (agreement.first, agreement.second) == ("Ann", "y.csv")
    assert (agreement.n_both, agreement.n_same) == (7, 4)
    assert agreement.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert merge_corrections({"a": [said(0, "ham")], "b": [said(0, "ham")]}).agreements[0].kappa is None


def test_the_last_decision_of_a_reviewer_counts_also_from_two_files():
    merged = merge_corrections({"1": [said(0, "spam", "Ann")], "2": [said(0, "ham", "Ann")]})
    assert [one.decision for one in merged.corrections] == ["correct"]
    assert not merged.disputed


def test_other_data_are_refused():
    other = Correction(0, "eggs", "eggs", "correct", id="m0")
    with pytest.raises(CorrectionsError, match="merge reviews of the same data"):
        merge_corrections({"a": [said(0, "ham")], "b": [other]})


def test_names_and_comments_survive_the_file(tmp_path):
    made = [said(0, "spam", reviewer="Zoë", comment='=1, "really"'), said(1, "?", comment="line\nend")]
    assert read_corrections(write_corrections(made, tmp_path / "corrections.csv")) == made


def test_what_was_accepted_in_bulk_yields_to_those_who_looked():
    in_bulk = [replace(said(row, "spam"), how="in bulk at 95 %") for row in (0, 1)]
    merged = merge_corrections({"ann": in_bulk, "bob": in_bulk, "cem": [said(0, "ham")]})
    assert [(one.row, one.decision, one.how) for one in merged.corrections] == [
        (0, "correct", ""),
        (1, "wrong", "in bulk at 95 %"),
    ]
    assert merged.disputed == []
    assert merged.agreements == []  # nobody but cem looked at a row
