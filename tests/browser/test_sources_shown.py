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
