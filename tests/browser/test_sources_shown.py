"""What a reviewer sees of several answers per row: who said what, and how good every source is."""

import numpy as np
import pytest

from browser.audits import make_answers
from kernelwise.report import apply_corrections, label_report, read_corrections

pytestmark = pytest.mark.browser


def test_the_card_says_who_said_what_and_rows_are_found_by_source(page):
    audit, table = make_answers()
    page.open(label_report(audit))
    names = np.array(["Ann", "Bob", "Cy"])
    row = int(page.current())
    expected = {f"{name}: {label}" for name, label in zip(names, table[row], strict=True) if label is not None}
    assert set(page.texts("#card .chip")) == expected
    assert page.text("#card .claim > div:first-child .quiet") == "Consensus"
    assert page.texts(".sources .clip")[0] == "Cy"
    assert "320 answers of 3 sources." in page.text(".chart:has(.sources) figcaption p")
    page.run("document.querySelector('.sources button').click()")  # the least accurate source
    differs = [label is not None and label != agreed for label, agreed in zip(table[:, 2], audit.labels, strict=True)]
    assert page.text("#count") == f"{sum(differs)} rows of 120"
    page.choose("#filter-source", "")
    assert page.text("#count") == "120 rows"


def test_decisions_about_the_consensus_are_exported(page):
    audit, _ = make_answers()
    page.open(label_report(audit))
    row = int(page.current())
    page.press("w")
    page.press("e")
    made = read_corrections(page.download())
    corrected = apply_corrections(audit.labels, made)
    assert np.flatnonzero(corrected != audit.labels).tolist() == [row]


def test_rows_can_be_told_apart_by_their_ids_beside_long_labels(page):
    audit, _ = make_answers(labels=("tall-building-front", "opencountryside"))
    ids = [f"img-{row:04d}" for row in range(len(audit.labels))]
    page.open(label_report(audit, ids=ids))
    fits = "return [...document.querySelectorAll('#rows .open')].every((one) => one.scrollWidth <= one.clientWidth)"
    assert page.run(fits)


def test_parts_with_many_suspects_stand_above_the_list(page):
    audit, _ = make_answers()
    page.open(
        label_report(audit) | {"slices": ["<b>38</b> of 45 suspects have year = 2008, as 10.0% of all rows have."]}
    )
    assert page.texts(".queue .slices li") == ["<b>38</b> of 45 suspects have year = 2008, as 10.0% of all rows have."]


def test_sources_with_few_answers_are_not_judged(page):
    audit, _ = make_answers(n=9)
    page.open(label_report(audit))
    assert all("too few to judge" in said for said in page.texts(".sources .how"))
    assert "gave too few answers to judge" in page.find("#card .chip").get_attribute("title")
