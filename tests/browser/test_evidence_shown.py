"""What a reviewer sees of a row: the first card without scrolling, telling features, texts, records and pictures."""

import base64

import numpy as np
import pandas as pd
import pytest

from browser.audits import make_labels
from kernelwise import PairAudit, PairNoise, Pairs
from kernelwise.report import image_links, label_report, pair_report

pytestmark = pytest.mark.browser

#: One transparent pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def place_of(page, selector):
    return page.run(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return box.toJSON()", selector
    )


@pytest.fixture
def wide_report():
    """Sixteen columns, the telling ones last."""
    audit = make_labels(300, labels=("Yes", "No"))
    rng = np.random.default_rng(5)
    believed = np.where(audit.quality > 0.5, audit.labels, audit.alternative)
    frame = {f"question {k}": rng.choice(["an answer", "another answer"], 300) for k in range(14)}
    frame["MonthlyCharges"] = rng.normal(size=300).round(2) + 3 * (believed == "Yes")
    frame["Contract"] = np.where(believed == "Yes", "Month-to-month", "Two year")
    ids = [f"{row:04d}-ABCDE" for row in range(300)]
    return label_report(audit, X=pd.DataFrame(frame), ids=ids, kernel_weights={"wide": 0.7, "narrow": 0.3})


def test_the_first_card_is_in_view_and_does_not_scroll(page, wide_report):
    page.open(wide_report, width=1280, height=800)
    assert place_of(page, "#card")["top"] < 220
    assert place_of(page, "#card .actions")["bottom"] < 400
    assert place_of(page, "#card .features tbody tr")["bottom"] < 700  # the most telling feature is in view
    assert page.run("const card = document.getElementById('card'); return card.scrollHeight <= card.clientHeight")
    page.click("#welcome-close")
    assert place_of(page, "#card")["top"] < 150


def test_all_neighbours_fit_at_1280(page, wide_report):
    page.open(wide_report, width=1280, height=800)
    assert page.run("const box = document.querySelector('#card .scroll'); return box.scrollWidth <= box.clientWidth")


def test_the_most_telling_features_come_first(page, wide_report):
    page.open(wide_report)
    names = page.texts("#card .features tbody th")
    assert names[0] == "Contract"
    assert names[1] == "MonthlyCharges"
    assert len(names) == 12
    assert page.texts("#card .features tbody tr:first-child .speaks")
    page.click("[data-part=all-features]")
    assert len(page.texts("#card .features tbody th")) == 16


def test_differences_from_neighbours_are_marked_by_a_sign(page, wide_report):
    page.open(wide_report)
    rows = page.run(
        "const rows = [...document.querySelectorAll('#card .features tbody tr')];"
        "return rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    for cells in rows[2:]:  # words, not numbers
        own = cells[1]
        for other in cells[-3:]:
            assert other == own or other.startswith("≠ ")


def test_columns_that_matter_are_named_and_kernels_are_one_click_away(page, wide_report):
    page.open(wide_report)
    assert page.texts(".charts .chart h2")[0] == "Which columns matter"
    assert page.texts(".columns .clip")[:2] == ["Contract", "MonthlyCharges"]
    assert page.texts(".columns .how")[0].startswith("“Month-to-month”: 100\u00a0% of Yes; ")
    assert page.texts(".columns .how")[1].startswith("typical: ")
    assert not page.find(".inside .bars").is_displayed()
    page.click(".inside summary")
    assert page.find(".inside .bars").is_displayed()
    assert "wide" in page.text(".inside .bars")


@pytest.fixture
def stories():
    audit = make_labels(120, labels=("cats", "dogs"))
    believed = np.where(audit.quality > 0.5, audit.labels, audit.alternative)
    words = {"cats": "purr milk whiskers", "dogs": "bark bone leash"}
    texts = [f"Story {row}: once there was a {words[label]} and so on. " * 12 for row, label in enumerate(believed)]
    texts[119] += f"<b>Ignore</b> {words[audit.labels[119]].upper()} https://example.org/x.png"
    return label_report(audit, X=pd.DataFrame({"story": texts, "length": [len(text) for text in texts]})), audit, texts


def test_texts_are_whole_and_their_telling_words_are_marked(page, stories):
    report, audit, texts = stories
    page.open(report)
    assert page.text("#card .own-text .text") == texts[119]
    given, suggested = audit.labels[119], audit.alternative[119]
    words = {"cats": {"purr", "milk", "whiskers"}, "dogs": {"bark", "bone", "leash"}}
    for kind, label in (("for-given", given), ("for-suggested", suggested)):
        marked = {word.lower() for word in page.texts(f"#card .own-text .text mark.{kind}")}
        assert marked == words[label]
    styles = page.run(
        "return ['for-given', 'for-suggested'].map((kind) =>"
        "  getComputedStyle(document.querySelector(`mark.${kind}`)).textDecorationStyle)"
    )
    assert styles == ["dotted", "solid"]  # told apart without colours
    assert len(page.texts("#card .near-text")) == 3
    assert page.run("return document.querySelectorAll('#card .text b, #card img').length") == 0


def test_text_has_the_width_of_the_card_and_is_on_the_first_screen_of_a_phone_with_both_labels(page, stories):
    report, _, _ = stories
    page.open(report, width=1280, height=800)
    card, own, near = (place_of(page, selector) for selector in ("#card", ".own-text", ".near-texts"))
    assert own["width"] > 0.55 * card["width"]
    assert near["left"] > own["right"]
    page.open(report, width=390, height=844)
    own, text, claim, near = (
        place_of(page, selector) for selector in (".own-text", ".own-text .text", ".claim", ".near-texts")
    )
    decide = place_of(page, "#card .actions")
    assert claim["bottom"] <= text["top"] < decide["top"] - 50
    assert near["top"] >= own["bottom"]


def test_long_texts_are_folded(page):
    audit = make_labels(40, labels=("a", "b"))
    texts = [f"{row} " + "word " * 2000 + "end" for row in range(40)]
    page.open(label_report(audit, X=pd.DataFrame({"text": texts})))
    assert page.text("#card .own-text .text").endswith("…")
    page.click("#card .own-text button")
    assert page.text("#card .own-text .text") == texts[39]


def test_records_stand_side_by_side_with_their_differences(page):
    records = pd.DataFrame(
        {
            "name": ["Anna Maria Berg", "Ann Maria Berg"] * 20,
            "city": ["Oslo", "Oslo"] * 20,
            "born": ["1970-01-02", None] * 20,
            "price": ["6.90", "9.50"] * 20,
        }
    )
    rows = np.arange(0, 40, 2)
    pairs = Pairs(rows, rows + 1, np.where(rows % 4, 1, -1), n_samples=40)
    quality = np.linspace(0.9, 0.1, 20)
    audit = PairAudit(pairs, quality, -pairs.labels, PairNoise(0.5, 0.8, 0.8), {}, {"kind": "records"})
    page.open(pair_report(audit, X=records))
    assert page.texts("#card .ends .sign") == ["≠", "=", "∅", "≠"]
    assert page.texts("#card .ends tbody mark") == ["Anna", "Ann", "6.90", "9.50"]
    assert page.texts("#card .ends tbody tr:nth-child(1) bdi")[1:] == ["Anna Maria Berg", "Ann Maria Berg"]
    assert not page.texts("#card .graph")  # nothing else is linked to these two


def test_words_that_both_records_have_are_not_underlined(page):
    names = ["Black Remote (Sony) - RM_, new", "sony remote, black: RM old"]
    pairs = Pairs([0], [1], [1], n_samples=2)
    audit = PairAudit(pairs, np.array([0.1]), -pairs.labels, PairNoise(0.5, 0.8, 0.8), {}, {"kind": "records"})
    page.open(pair_report(audit, X=pd.DataFrame({"name": names})))
    assert page.texts("#card .ends .sign") == ["≠"]
    assert page.texts("#card .ends tbody mark") == ["new", "old"]


def test_pictures_are_shown_and_a_lost_one_is_named(page, tmp_path):
    audit = make_labels(40, labels=("a", "b"))
    names = [f"picture {row}.png" for row in range(40)]
    for name in names[:39]:
        (tmp_path / name).write_bytes(PIXEL)
    names[37] = "https://example.org/tracker.png"
    links = image_links(names, folder=tmp_path, page=tmp_path / "review.html")
    page.open(label_report(audit, X=np.arange(80.0).reshape(40, 2), images=links))
    page.wait("return document.querySelector('#card .lost') !== null")
    assert "picture 39.png" in page.text("#card .lost")
    page.press("c")
    page.wait("return document.querySelector('#card .own-picture img')?.naturalWidth === 1")
    page.wait("return [...document.querySelectorAll('#card .near-picture img')].every(one => one.naturalWidth === 1)")
    page.press("c")
    assert not page.texts("#card .own-picture")  # an address elsewhere is never asked for
    errors = [message for message in page.complaints() if "39.png" not in message]
    assert not errors


def test_embedded_pictures_need_no_file(page, tmp_path):
    audit = make_labels(20, labels=("a", "b"))
    (tmp_path / "one.png").write_bytes(PIXEL)
    links = image_links(["one.png"] * 20, folder=tmp_path, embed=True)
    (tmp_path / "one.png").unlink()
    page.open(label_report(audit, images=links))
    page.wait("return document.querySelector('#card .own-picture img')?.naturalWidth === 1")


def test_labels_in_the_list_are_whole(page):
    audit = make_labels(60, labels=("negative", "tall_building", "inside_city", "positive"))
    page.open(label_report(audit), width=1280, height=800)
    page.press("c")
    cut = page.run(
        "const parts = '#rows :is(.col-given, .col-suggested) bdi, #heads button, #rows .col-decision';"
        "return [...document.querySelectorAll(parts)].filter((node) => node.scrollWidth > node.clientWidth + 1"
        "  || node.scrollHeight > node.clientHeight + 1).map((node) => node.textContent)"
    )
    assert not cut


def test_the_largest_number_of_a_histogram_is_whole(page, report):
    report["figures"]["chances"]["counts"][0] = 1_214_942
    page.open(report)
    left = page.run(
        "const text = [...document.querySelectorAll('.chart text')].find((one) => one.textContent === '1,214,942');"
        "return text.getBBox().x"
    )
    assert left >= 0


def test_a_character_that_is_written_as_a_number_is_no_word(page):
    audit = make_labels(80, labels=("live", "studio"))
    believed = np.where(audit.quality > 0.5, audit.labels, audit.alternative)
    texts = [
        f"a long enough title of a song, number {row}, that was recorded some time ago"
        + (" &#40;stage&#41;" if label == "live" else " in a room")
        for row, label in enumerate(believed)
    ]
    page.open(label_report(audit, X=pd.DataFrame({"title": texts})))
    marked = set(page.texts("#card .own-text .text mark"))
    assert marked
    assert marked <= {"stage", "in", "room"}
