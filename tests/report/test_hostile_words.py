"""Words made to do harm: in a page they become no element, in a spreadsheet no formula."""

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from command_line import run_here
from kernelwise import Answers, LabelAudit, PairAudit, PairNoise, Pairs, audit_answers
from kernelwise.cli.show import csv_text
from kernelwise.files import (
    corrected_file,
    read_table,
)
from kernelwise.report import (
    Correction,
    PageSettings,
    label_report,
    pair_report,
    read_corrections,
    render,
    write_corrections,
)

# --------------------------------------------------------------------------------------------------------------- pages

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "</ScRiPt ><svg/onload=alert(3)>",
    '"><img src=x onerror=alert(4)>',
    "' onmouseover='alert(5)",
    "javascript:alert(6)",
    "<a href='javascript:alert(7)'>x</a>",
    "<!--<script>",
    "]]>",
    "</title><style>*{display:none}</style>",
    "${alert(8)} $title $$ %(x)s {0}",
    "&lt;script&gt;&#x3c;b&#x3e;",
    "\u2028alert(9)\u2029",
    "\u202eevil\ufeff\x00\x1b[31m",
]


class Elements(HTMLParser):
    """All elements with their attributes, but for the hashes of the policy."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))

    def handle_comment(self, data):
        self.found.append(("comment", data))

    def handle_decl(self, decl):
        self.found.append(("declaration", decl))

    def unknown_decl(self, data):
        self.found.append(("declaration", data))


def label_page(words):
    n, classes = len(words), np.array(sorted(words), dtype=object)
    audit = LabelAudit(
        labels=classes,
        quality=np.linspace(0.1, 0.9, n),
        suggested=classes[::-1],
        probabilities=np.full((n, n), 1 / n),
        classes=classes,
        noise_rate=0.3,
        noise_interval=(0.2, 0.4),
        transition=np.eye(n),
    )
    cells = np.array([words, words[::-1]], dtype=object).T
    settings = PageSettings(title=" ".join(words), id_name=words[0], label_name=words[1])
    weights = dict.fromkeys(words, 1 / n)
    return render(
        label_report(audit, X=cells, feature_names=words[:2], ids=words, kernel_weights=weights, settings=settings)
    )


def pair_page(words):
    n = len(words)
    pairs = Pairs(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, dtype=int), n_samples=n)
    quality = np.linspace(0.1, 0.9, n - 1)
    audit = PairAudit(pairs, quality, -pairs.labels, PairNoise(0.4, 0.7, 0.9), {})
    settings = PageSettings(title=words[3], id_name=words[2])
    return render(
        pair_report(audit, X=np.array([words], dtype=object).T, feature_names=words[:1], ids=words, settings=settings)
    )


def answer_page(words):
    sources = np.tile(words, 4)
    answers = Answers(np.arange(len(sources)) % 8, sources, np.repeat(words[::-1], 4), n_rows=8)
    return render(label_report(audit_answers(None, answers), ids=words[:8], settings=PageSettings(title=words[4])))


@pytest.mark.parametrize("make", [label_page, pair_page, answer_page])
def test_no_word_becomes_an_element(make):
    harmless = [f"word {number}" for number in range(len(HOSTILE))]
    assert Elements(make(HOSTILE)).found == Elements(make(harmless)).found


# -------------------------------------------------------------------------------------------------------- spreadsheets

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=1",
    "''@x",
    '=HYPERLINK("x")',
]
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")


def test_corrections_hold_no_formula_and_come_back_as_they_were(tmp_path):
    made = [
        Correction(row, given=cell, corrected=f"{cell}2", decision="wrong", id=cell, other_id=cell[::-1], column=cell)
        for row, cell in enumerate([*FORMULAS, "-1", "1e-5", "", "plain", "'tis"])
    ]
    path = write_corrections(made, tmp_path / "corrections.csv")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        assert not [cell for row in csv.reader(stream) for cell in row if cell.startswith(DANGEROUS)]
    assert read_corrections(path) == made


def test_tables_hold_no_formula_and_all_numbers(tmp_path):
    numbers = ["-1", "+1", "-0.25", "1e-5", "-1e300", "0.1000"]
    text = csv_text(["=header", "n"], [[cell, number] for cell, number in zip(FORMULAS, numbers * 2, strict=False)])
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert not [row[0] for row in rows if row[0].startswith(DANGEROUS)]
    assert [row[0].removeprefix("'") for row in rows] == ["=header", *FORMULAS]
    assert [row[1] for row in rows[1:]] == (numbers * 2)[: len(FORMULAS)]


def test_corrected_rows_keep_the_ends_of_lines_in_their_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'note,label\r\n"two\nlines",x\r\n"old\rmac",y\r\n')
    path.write_bytes(corrected_file(path, "label", {0: "new\nlabel", 1: "z"}))
    table = read_table(path, as_written=["note", "label"])
    assert table["note"].labels() == ["two\nlines", "old\rmac"]
    assert table["label"].labels() == ["new\nlabel", "z"]


def test_the_list_of_suspects_holds_no_formula(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"=cmd{i},{(i % 7) / 7},{'+yes' if i % 7 > 3 else '@no'}" for i in range(40)]
    Path("a.csv").write_text("\n".join(["-id,x,=label", *lines]) + "\n")
    status, _, err = run_here(
        capsys, "audit", "labels", "a.csv", "--label", "=label", "--id", "-id", "-o", "suspects.csv"
    )
    assert status == 0, err
    with open("suspects.csv", newline="", encoding="utf-8") as stream:
        assert not [cell for row in csv.reader(stream) for cell in row if cell.startswith(DANGEROUS)]
    assert {one.id for one in read_corrections("suspects.csv")} == {f"=cmd{i}" for i in range(40)}
