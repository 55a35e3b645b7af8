"""What a reviewer does on the page: sort, filter, decide by key, undo, come back, export."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from browser.audits import make_pairs
from browser.conftest import WEBKIT
from kernelwise.report import apply_corrections, pair_report, read_corrections

pytestmark = pytest.mark.browser


def test_says_what_was_found_and_starts_with_the_most_suspect(page, report):
    page.open(report)
    assert page.text("h1") == "About 24 of 80 labels look wrong"
    assert page.current() == "mail-79"
    assert page.text("#progress-text") == f"0 of {report['summary']['to_check']} reviewed"
    assert page.texts("#card .features thead th")[:2] == ["Feature", "This row"]
    assert len(page.texts("#card .features thead th")) == 7  # for which it speaks, where it lies, and three neighbours


def test_sorts_by_columns_and_features(page, report):
    page.open(report)
    page.choose("#filter-scope", "all")
    page.click("th.col-id button")
    assert page.texts("#rows .col-id")[:3] == ["mail-00", "mail-01", "mail-02"]
    assert page.find("th.col-id").get_attribute("aria-sort") == "ascending"
    page.click("th.col-id button")
    assert page.texts("#rows .col-id")[:2] == ["mail-79", "mail-78"]
    page.click("#filters summary")
    page.choose("#sort-by", "feature-1")  # the count falls as the row number grows
    assert page.texts("#rows .col-id")[:2] == ["mail-79", "mail-78"]
    page.click("#sort-order")
    assert page.texts("#rows .col-id")[:2] == ["mail-00", "mail-01"]
    page.click("th.col-given button")
    given = page.texts("#rows .col-given")
    assert given == sorted(given)


def test_filters(page, report, audit):
    page.open(report)
    page.choose("#filter-scope", "all")
    page.click("#filters summary")
    page.choose("#filter-given", "0")
    assert page.text("#count") == f"{(audit.labels == 'eggs').sum()} rows of 80"
    assert set(page.texts("#rows .col-given")) == {"eggs"}
    page.choose("#filter-suggested", "2")
    both = (audit.labels == "eggs") & (audit.alternative == "spam")
    assert page.text("#count") == f"{both.sum()} rows of 80"
    page.click("#reset")
    page.choose("#filter-scope", "all")
    page.choose("#filter-low", "80")
    assert page.text("#count") == f"{(1 - audit.quality >= 0.8 - 1e-9).sum()} rows of 80"
    page.click("#reset")
    page.choose("#filter-text", "MAIL-7")
    assert page.texts("#rows .col-id") == [f"mail-{row}" for row in range(79, 69, -1)]
    page.choose("#filter-text", "nowhere")
    assert page.text("#card") == "No suspect matches the filters."


def test_confusion_cells_list_their_rows(page, report, audit):
    page.open(report)
    page.click(".confusion tbody tr:nth-child(1) td:nth-child(4) button")  # given eggs, suggested spam
    both = (audit.labels == "eggs") & (audit.alternative == "spam")
    assert page.text("#count") == f"{both.sum()} rows of 80"


def test_review_by_keys_and_export(page, report, audit):
    page.open(report)
    page.press("c")  # mail-79 is correct
    assert page.current() == "mail-78"
    page.press("w")  # mail-78 takes the suggested label
    third = sorted(set(audit.classes) - {audit.labels[77], audit.alternative[77]})[0]
    page.press(str(list(audit.classes).index(third) + 1))  # mail-77 takes the third label
    page.press("s")  # mail-76 is skipped
    page.press("jj")
    assert page.current() == "mail-73"
    page.press("k")
    assert page.current() == "mail-74"
    page.press("w")
    page.press("u")  # and is taken back
    assert page.current() == "mail-74"
    assert page.text("#progress-text").endswith("reviewed: 2 changed, 1 kept, 1 skipped")
    page.press("e")
    corrections = read_corrections(page.download())
    assert [(c.row, c.id, c.column, c.given, c.corrected, c.decision) for c in corrections] == [
        (79, "mail-79", "kind", audit.labels[79], audit.labels[79], "correct"),
        (78, "mail-78", "kind", audit.labels[78], audit.alternative[78], "wrong"),
        (77, "mail-77", "kind", audit.labels[77], third, "wrong"),
        (76, "mail-76", "kind", audit.labels[76], "", "skip"),
    ]
    expected = audit.labels.copy()
    expected[78], expected[77] = audit.alternative[78], third
    assert apply_corrections(audit.labels, corrections).tolist() == expected.tolist()


def test_buttons_do_what_the_keys_do(page, report):
    page.open(report)
    page.click(".action.wrong")
    page.click(".action.correct")
    page.choose("#card select", page.find("#card select option:last-child").get_attribute("value"))
    page.click("#card .other button")
    page.click(".action.skip")
    assert page.text("#progress-text").endswith("reviewed: 2 changed, 1 kept, 1 skipped")
    assert page.find("#progress").get_attribute("value") == "4"
    assert "4 of" in page.text("#live")


def test_picking_the_given_label_means_correct(page, report, audit):
    page.open(report)
    page.press(str(list(audit.classes).index(audit.labels[79]) + 1))
    assert page.text("#progress-text").endswith("reviewed: 1 kept")


def test_progress_survives_a_reload_and_other_data_do_not_see_it(page, report):
    page.open(report)
    page.press("wwc")
    page.reload()
    assert page.text("#progress-text").endswith("reviewed: 2 changed, 1 kept")
    page.open({**report, "key": "other"})
    assert page.text("#progress-text").endswith("reviewed")


def test_without_storage_it_says_so_and_goes_on(page, report):
    deny = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied') } })"
    page.open(report, before=deny)
    assert "Export them before you close" in page.text("#notice")
    page.press("w")
    assert page.text("#progress-text").endswith("reviewed: 1 changed")
    page.press("e")
    assert len(read_corrections(page.download())) == 1


def test_exported_corrections_can_be_loaded_again(page, report):
    page.open(report)
    page.press("wcs")
    page.press("e")
    path = page.download()
    page.open({**report, "key": "another browser"})
    page.find("#file").send_keys(str(path))
    page.wait("return document.getElementById('notice').textContent.includes('3 decisions loaded')")
    assert page.text("#progress-text").endswith("reviewed: 1 changed, 1 kept, 1 skipped")
    page.open({**report, "key": "other data", "suspects": {**report["suspects"], "given": [1] * 80}})
    page.find("#file").send_keys(str(path))
    page.wait("return document.getElementById('notice').textContent.includes('of other data')")
    path.write_text('row,given\n"', encoding="utf-8")
    page.find("#file").send_keys(str(path))
    page.wait("return document.getElementById('notice').textContent.includes('could not be read')")


def test_two_tabs_agree(page, report):
    if WEBKIT:
        pytest.skip("WebKit on a virtual display draws no second tab")
    page.open(report)
    first = page.driver.current_window_handle
    address = page.driver.current_url
    page.driver.switch_to.new_window("tab")
    page.driver.get(address)
    page.wait("return performance.getEntriesByName('kernelwise-ready').length > 0")
    page.press("wc")
    page.press("u")
    page.run("dispatchEvent(new Event('pagehide'))")  # saves at once
    page.driver.close()
    page.driver.switch_to.window(first)
    page.wait("return document.getElementById('progress-text').textContent.endsWith('reviewed: 1 changed')")


def test_keys_stay_out_of_fields_and_can_be_turned_off(page, report):
    page.open(report)
    page.choose("#filter-text", "cws")
    assert page.text("#progress-text").endswith("reviewed")
    page.click("#reset") if page.find("#reset").is_displayed() else page.run("document.getElementById('reset').click()")
    page.run("document.activeElement.blur()")
    page.press("?")
    assert page.find("#help").is_displayed()
    page.press("w")  # not behind the dialog
    page.click("#shortcuts")
    page.click("#help button")
    page.press("w")
    assert page.text("#progress-text").endswith("reviewed")


def test_pages_follow_the_row_under_review(page, report):
    page.open(report)
    page.choose("#filter-scope", "all")
    assert page.text("#pager span") == "Page 1 of 4"
    page.run("document.activeElement.blur()")
    page.press("j" * 25)
    assert page.text("#pager span") == "Page 2 of 4"
    assert page.current() == "mail-54"
    page.click("#pager button:last-child")
    assert page.current() == "mail-04"


@pytest.mark.parametrize("sparse", [False, True])
def test_pairs(page, sparse):
    audit = make_pairs()
    X = np.random.default_rng(2).integers(2, size=(40, 12))
    names = [f"p{row}" for row in range(40)]
    page.open(pair_report(audit, X=csr_array(X) if sparse else X, ids=names))
    ends = names[audit.pairs.rows[119]], names[audit.pairs.cols[119]]
    assert page.current() == " – ".join(ends)
    assert page.run("return document.querySelectorAll('#card .graph .node.end').length") == 2
    assert len(page.texts("#card .words")) == (3 if sparse else 0)
    page.press("w")
    page.press("c")
    page.press("e")
    wrong, right = read_corrections(page.download())
    assert (wrong.row, wrong.id, wrong.other_id) == (119, *ends)
    assert (wrong.given, wrong.corrected) == (str(audit.pairs.labels[119]), str(-audit.pairs.labels[119]))
    assert right.corrected == right.given == str(audit.pairs.labels[118])


def test_from_a_file_to_a_corrected_file(page, tmp_path):
    """What the command line finds is reviewed here and goes back into the file."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=120)
    given = np.where(np.arange(120) < 12, 1 - y, y)
    x = rng.normal(size=(120, 2)) + 4 * y[:, None]
    lines = [
        f"{row},{a:.3f},{b:.3f},{'=yes' if c else 'no'}" for row, ((a, b), c) in enumerate(zip(x, given, strict=True))
    ]
    data = tmp_path / "data.csv"
    data.write_text("\n".join(["name,a,b,answer", *lines, ""]), encoding="utf-8")

    def kernelwise(*words):
        command = [sys.executable, "-m", "kernelwise", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    kernelwise("audit", "labels", "data.csv", "--label", "answer", "--id", "name", "--report", "found.html")
    page.visit(tmp_path / "found.html")
    for _ in range(5):
        page.press("w")
    page.press("e")
    changed = {c.row for c in read_corrections(page.download())}
    assert len(changed) == 5
    assert changed <= set(range(12))  # the classes lie far apart, so the first suspects are wrong
    kernelwise("apply", "data.csv", "corrections.csv", "-o", "right.csv")
    before, after = (path.read_text(encoding="utf-8").splitlines() for path in (data, tmp_path / "right.csv"))
    different = {row - 1 for row, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    assert different == changed
    assert all(after[row + 1].endswith(",=yes" if y[row] else ",no") for row in changed)
