"""How reviewers work with the page: first steps, many rows at once, comments, names, and coming back."""

import numpy as np
import pytest

from browser.audits import make_labels
from kernelwise import plan_checks
from kernelwise.report import label_report, merge_corrections, read_corrections, verdicts_of

pytestmark = pytest.mark.browser


def leave_and_come_back(page):
    page.run("dispatchEvent(new Event('pagehide'))")  # saves at once
    page.reload()


def forget(page):
    page.run("localStorage.clear()")


def test_the_keys_are_explained_once(page, report):
    page.open(report)
    forget(page)
    page.reload()
    assert page.find("#welcome").is_displayed()
    assert {"C", "W", "?"} <= set(page.texts("#welcome kbd"))
    page.press("w")  # it is not in the way
    assert page.text("#progress-text").endswith("1 changed")
    page.click("#welcome-close")
    leave_and_come_back(page)
    assert not page.find("#welcome").is_displayed()


def test_many_suggestions_at_once_and_back(page, report, audit):
    page.open(report)
    page.press("c")  # the first is decided, and stays as it is
    page.click("#bulk summary")
    page.choose("#bulk-chance", "80")
    high = int(((1 - audit.quality) >= 0.8 - 1e-9).sum()) - 1
    assert page.text("#bulk-accept") == f"Change {high} rows"
    page.click("#bulk-accept")
    assert f"{high} labels changed" in page.text("#notice p")
    assert page.text("#progress-text").endswith(f"{high} changed, 1 kept")
    page.press("e")
    exported = read_corrections(page.download())
    assert sum(one.how == "in bulk at 80 %" for one in exported) == high
    assert not any(one.comment for one in exported)
    with pytest.warns(UserWarning, match=f"{high} decisions were accepted in bulk"):
        assert len(verdicts_of(exported, audit.labels).rows) == 1
    page.run("document.activeElement.blur()")
    page.press("u")
    assert page.text("#progress-text").endswith("reviewed: 1 kept")


def test_bulk_keeps_to_the_filter_and_has_an_undo_button(page, report, audit):
    page.open(report)
    page.click("#filters summary")
    page.choose("#filter-given", "0")
    page.click("#bulk summary")
    page.choose("#bulk-chance", "50")
    wanted = (audit.labels == "eggs") & (1 - audit.quality >= 0.5)
    assert page.text("#bulk-accept") == f"Change {wanted.sum()} rows"
    page.click("#bulk-accept")
    page.click("#bulk-undo")
    assert page.text("#progress-text").endswith("reviewed")
    assert not page.find("#notice").is_displayed()


def test_what_was_accepted_in_bulk_is_no_check_of_a_plan_made_later(page):
    audit = make_labels(200)
    page.open(label_report(audit))
    page.click("#bulk summary")
    page.choose("#bulk-chance", "50")
    page.click("#bulk-accept")
    page.run("dispatchEvent(new Event('pagehide'))")  # saves at once
    page.open(label_report(audit, plan=plan_checks(audit, 30, random_state=0)))
    assert page.text("#progress-text").startswith("0 of 30")
    assert "Check these 30 rows" in page.text("#guarantee")
    page.press("w")  # a look at the row is a check
    assert page.text("#progress-text").startswith("1 of 30")
    assert "With 95" in page.text("#guarantee")


def test_planned_rows_are_never_accepted_in_bulk(page):
    audit = make_labels(200)
    page.open(label_report(audit, plan=plan_checks(audit, 30, random_state=0)))
    page.click("#bulk summary")
    page.choose("#bulk-chance", "50")
    assert page.text("#bulk-accept") == "Change 0 rows"
    assert not page.find("#bulk-accept").is_enabled()


def test_reload_returns_to_the_same_place_with_undo(page, report):
    page.open(report)
    page.choose("#filter-scope", "all")
    page.click("#filters summary")
    page.choose("#filter-given", "1")
    page.click("th.col-id button")
    page.run("document.activeElement.blur()")
    page.press("jjjw")
    page.press("c")
    before, listed = page.current(), page.texts("#rows .col-id")
    leave_and_come_back(page)
    assert page.current() == before
    assert page.texts("#rows .col-id") == listed
    assert page.find("#filter-given").get_attribute("value") == "1"
    page.press("u")
    assert page.text("#progress-text").endswith("reviewed: 1 changed")
    page.press("u")
    assert page.text("#progress-text").endswith("reviewed")


def test_comments_and_names_are_exported_and_merged(page, report, audit):
    page.open(report)
    forget(page)
    page.reload()
    page.choose("#reviewer", "Ann B.")
    page.run("document.activeElement.blur()")
    page.press("m")
    page.press("see page 3")
    page.run("document.activeElement.blur()")
    page.press("w")
    page.press("j")  # a comment without a decision
    page.press("m")
    page.press("ask Bob")
    page.run("document.activeElement.blur()")
    page.press("e")
    assert "1 decision exported as corrections-ann-b.csv" in page.text("#notice")
    assert "kernelwise apply mail.csv corrections-ann-b.csv" in page.text("#notice code")
    ann = read_corrections(page.download("corrections-ann-b.csv"))
    assert [(one.row, one.decision, one.reviewer, one.comment) for one in ann] == [
        (79, "wrong", "Ann B.", "see page 3"),
        (77, "skip", "Ann B.", "ask Bob"),
    ]
    leave_and_come_back(page)
    assert page.find("#reviewer").get_attribute("value") == "Ann B."
    assert page.find("#card .comment").get_attribute("value") == "ask Bob"
    page.open({**report, "key": "Bob's browser"})
    page.choose("#reviewer", "Bob")
    page.run("document.activeElement.blur()")
    page.press("c")
    page.press("e")
    bob = read_corrections(page.download("corrections-bob.csv"))
    merged = merge_corrections({"1": ann, "2": bob})
    assert merged.disputed == [79]
    assert (merged.agreements[0].first, merged.agreements[0].second) == ("Ann B.", "Bob")
    page.find("#file").send_keys(str(page.folder / "corrections-ann-b.csv"))  # the other one's word comes in
    page.wait("return document.getElementById('notice').textContent.includes('took the place of another')")
    page.press("k" * 5)
    page.run("document.getElementById('reviewer').value = ''")
    assert page.text("#progress-text").endswith("1 changed, 1 skipped")
    page.press("u")
    assert page.text("#progress-text").endswith("1 kept")
    forget(page)


def test_decisions_of_an_earlier_version_are_taken_over(page, report):
    page.open(report)
    key = f"kernelwise-review-{page.folder} {report['key']}"
    page.run("localStorage.setItem(arguments[0], JSON.stringify([[79, 'skip', null, '']])); location.reload()", key)
    page.wait("return document.getElementById('progress-text')?.textContent.endsWith('1 skipped')")


def test_nothing_to_export_is_said(page, report):
    page.open(report)
    page.press("e")
    assert "nothing to export yet" in page.text("#notice")


def test_the_list_follows_while_the_card_stays_in_view(page):
    page.open(label_report(make_labels(200), X=np.random.default_rng(0).normal(size=(200, 30))), height=800)
    page.choose("#filter-scope", "all")
    page.run("document.activeElement.blur(); scrollTo(0, 900)")
    page.press("c" * 22)
    top = page.run("return document.getElementById('card').getBoundingClientRect().top")
    assert -1 <= top < 300
    row = page.run("return document.querySelector('#rows [aria-current]').getBoundingClientRect().toJSON()")
    assert 0 <= row["top"] < 800
