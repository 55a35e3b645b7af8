"""What a reviewer sees of several answers per row: who said what, and how good every source is."""

import numpy as np
import pytest

from browser.audits import make_answers
from kernelwise import PairAudit, PairNoise, Pairs
from kernelwise.report import apply_corrections, label_report, pair_report, read_corrections

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


def test_pairs_say_who_gave_them_and_are_found_by_source(page):
    rows, cols = np.triu_indices(10, 1)
    rows, cols, labels = rows.repeat(2), cols.repeat(2), np.where(np.arange(90) % 3, 1, -1)
    pairs = Pairs(rows, cols, labels, n_samples=10, sources=np.where(np.arange(90) % 2, "Bob", "Ann"))
    quality = np.where(pairs.sources == "Bob", 0.2, 0.9)
    audit = PairAudit(pairs, quality, labels * np.where(quality < 0.5, -1, 1), PairNoise(0.5, 0.9, 0.9), {})
    page.open(pair_report(audit))
    assert page.texts("#card .chip") == ["given by Bob"]
    assert page.texts(".sources .clip") == ["Bob", "Ann"]
    agree = np.mean(labels[::2] == labels[1::2])
    said = page.text(".chart:has(.sources) figcaption p").replace("\xa0", " ")
    assert f"90 answers of 2 sources. Two answers to the same pair agree in {100 * agree:.0f} %" in said
    page.run("document.querySelectorAll('.sources button')[1].click()")
    assert page.text("#count") == "45 rows of 90"
