"""Files as people have them, on the command line: what is said, and what comes out."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")

from command_line import refused, run_here
from kernelwise import flip_labels


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    return partial(run_here, capsys)


def write_birds(folder, *, change=lambda rows: rows):
    """Sixty birds of two kinds, with decimal commas, and a column that is known only after the label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 3 * (np.arange(60) % 2)[:, None]
    kind = flip_labels(np.array(["Adelie", "Gentoo"])[np.arange(60) % 2], 0.1, random_state=0)
    rows = [
        {
            "bill": f"{40 + x:.2f}".replace(".", ","),
            "flipper": f"{1800 + 100 * z:,.1f}".replace(",", " ").replace(".", ","),
            "seen": f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2023",
            "ring": "A" if k == "Adelie" else "G",
            "kind": k,
        }
        for i, ((x, z), k) in enumerate(zip(X, kind, strict=True))
    ]
    rows = change(rows)
    with open(folder / "birds.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def write_continents(folder, *, n_na=24, more=()):
    """Lands of four continents, and more of them in the place of Europe."""
    rng = np.random.default_rng(0)
    sizes = {"EU": 60, "AS": 50, "SA": 20, "NA": n_na}
    kinds = [(4 * k, name) for k, (name, size) in enumerate(sizes.items()) for _ in range(size)]
    kinds += [(0, name) for name in more]
    lines = [f"{place + rng.normal():.3f},{rng.normal():.3f},{name}" for place, name in kinds]
    (folder / "lands.csv").write_text("\n".join(["area,people,continent", *lines]) + "\n")


@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "1000"]])
def test_a_frequent_na_is_a_class_and_a_rare_one_is_no_label(folder, call, chunks):
    asked = ["audit", "labels", "lands.csv", "--label", "continent", "-q", *chunks]
    rows = "rows with a label" if chunks else "rows"
    write_continents(folder)
    out = call(*asked)[1]
    assert out.startswith(f"lands.csv: 154 {rows}, 4 classes\nThe label 'NA' (24 rows) is taken for a class; ")
    write_continents(folder, n_na=3, more=["?"])  # the question mark shows how a missing label is written
    out = call(*asked)[1]
    assert out.startswith(f"lands.csv: 133 {rows}, 4 classes; 1 row has no label\nThe label 'NA' (3 rows) is taken")
    write_continents(folder, n_na=3)
    out = call(*asked)[1]
    assert out.startswith(f"lands.csv: 130 {rows}, 3 classes; 3 rows have no label: 3 'NA'\n")


def test_a_label_na_is_reviewed_and_corrected_as_any_other(folder, call):
    write_continents(folder, more=["NA"])  # the last one lies in Europe
    out = call("audit", "labels", "lands.csv", "--label", "continent", "--json", "-q", "-o", "found.csv")[1]
    first = json.loads(out)["suspects"][0]
    assert (first["id"], first["given"], first["suggested"]) == ("156", "NA", "EU")
    found = (folder / "found.csv").read_text(encoding="utf-8-sig").replace("skip", "wrong", 1)
    (folder / "found.csv").write_text(found)
    assert call("apply", "lands.csv", "found.csv", "-q")[0] == 0
    assert (folder / "lands-corrected.csv").read_text().endswith(",EU\n")


def write_prices(folder):
    """The prices of 120 flats, two of which are far off."""
    rng = np.random.default_rng(0)
    size = rng.uniform(20, 120, 120)
    price = np.round(size * 3 + rng.normal(size=120) * 5, 2)
    price[[10, 50]] = price.min() + price.max() - price[[10, 50]]
    lines = [f"{a:.2f};{b:.2f}".replace(".", ",") for a, b in zip(size, price, strict=True)]
    (folder / "flats.csv").write_text("\n".join(["size;price", *lines]) + "\n")
    return price


def test_numbers_as_labels_are_reviewed_in_groups(folder, call):
    price = write_prices(folder)
    asked = ["audit", "labels", "flats.csv", "--label", "price", "-q"]
    status, out, err = call(*asked, "--report", "page.html", "--checks", "6", "-o", "found.csv")
    assert status == 0, err
    assert "flats.csv: 120 rows, 4 classes\nThe column 'price' looks like numbers, not classes" in out
    assert 'write the right number into the column "corrected"' in out
    assert "1: up to " in (folder / "page.html").read_text(encoding="utf-8")
    with open("found.csv", newline="", encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    planned = [row for row in found if row["draw"]]
    assert len(planned) == 6
    assert all(float(row["given"].replace(",", ".")) == price[int(row["row"])] for row in planned)
    planned[0] |= {"decision": "wrong", "corrected": f"{price.max():.2f}".replace(".", ",")}
    for row in planned[1:]:
        row["decision"] = "correct"
    with open("checked.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, found[0])
        writer.writeheader()
        writer.writerows(planned)
    status, out, err = call(*asked, "--checked", "checked.csv", "--json", "-o", "again.csv")
    assert status == 0, err
    n_wrong = 0 if price[int(planned[0]["row"])] > np.quantile(price, 0.75) else 1
    assert (json.loads(out)["checked"], json.loads(out)["guarantee"]["found"]) == (6, n_wrong)
    with open("again.csv", newline="", encoding="utf-8") as stream:
        kept = [row["decision"] for row in csv.DictReader(stream) if row["draw"]]
    assert sorted(kept) == ["correct"] * (6 - n_wrong) + ["wrong"] * n_wrong


def test_groups_that_were_reviewed_on_the_page_are_verdicts_and_no_numbers_to_write(folder, call):
    write_prices(folder)
    asked = ["audit", "labels", "flats.csv", "--label", "price", "-q", "--json"]
    suspect = json.loads(call(*asked)[1])["suspects"][0]
    assert suspect["given"][:3] != suspect["suggested"][:3]
    made = f'{suspect["row"]},price,"{suspect["given"]}","{suspect["suggested"]}",wrong'
    (folder / "page.csv").write_text(f"row,column,given,corrected,decision\n{made}\n")
    status, out, err = call(*asked, "--checked", "page.csv")
    assert status == 0, err
    assert json.loads(out)["checked"] == 1
    refused(call("apply", "flats.csv", "page.csv"), "the corrections are of groups of numbers")


def test_the_code_minus_one_is_a_class_and_it_is_said(folder, call):
    rng = np.random.default_rng(0)
    lines = [f"{3 * k + rng.normal():.3f},{k - 1}" for k in rng.integers(0, 3, 90)]
    (folder / "a.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    for chunks in ([], ["--chunk-rows", "1000"]):
        status, out, err = call("audit", "labels", "a.csv", "--label", "y", "-q", *chunks)
        assert (status, err) == (0, "")
        assert "\nThe label -1 " in out
        assert "is taken for a class; where it says that there is no label, leave it out.\n" in out


def test_na_beside_numbers_is_no_label(folder, call):
    rng = np.random.default_rng(0)
    lines = [f"{k + rng.normal():.3f},{'NA' if i % 3 == 0 else k}" for i, k in enumerate(rng.integers(0, 2, 90))]
    (folder / "a.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    out = call("audit", "labels", "a.csv", "--label", "y", "-q")[1]
    assert out.startswith("a.csv: 60 rows, 2 classes; 30 rows have no label: 30 'NA'\n")


def test_a_column_that_gives_the_label_away_is_named_and_can_be_left_out(folder, call):
    write_birds(folder)
    status, out, err = call("audit", "labels", "birds.csv", "--label", "kind", "--json", "-q")
    assert status == 0
    assert "warning: column 'ring' gives the label away: its value 'A' goes with the label 'Adelie'" in err
    assert "in 60 of 60 rows" in err
    assert "--ignore 'ring'" in err
    assert json.loads(out)["giveaways"][0]["column"] == "ring"
    status, out, err = call("audit", "labels", "birds.csv", "--label", "kind", "--ignore", "ring", "-q")
    assert (status, err) == (0, "")
    assert "not used: --ignore leaves it out" in out
    assert "numbers with decimal comma" in out
    assert "blanks between thousands" in out
    assert "dates as time passed" in out
    refused(call("audit", "labels", "birds.csv", "--label", "kind", "--ignore", "rang"), "did you mean 'ring'?")
    refused(call("audit", "labels", "birds.csv", "--label", "kind", "--ignore", "kind"), "also named by --label")


def test_labels_that_look_alike_are_audited_and_said(folder, call):
    def change(rows):
        rows[3]["kind"], rows[5]["kind"], rows[7]["kind"] = "Gentto", "GENTOO ", ""
        return rows

    write_birds(folder, change=change)
    options = ("--label", "kind", "--ignore", "ring", "-q", "-o", "review.csv")
    status, out, _ = call("audit", "labels", "birds.csv", *options)
    assert status == 0
    assert "Label 'GENTOO' (1 row) is taken as 'Gentoo'" in out
    assert "Label 'Gentto' (1 row) looks like 'Gentoo'" in out
    with open("review.csv", newline="", encoding="utf-8") as stream:
        review = list(csv.DictReader(stream))
    first = review[0]
    assert (first["row"], first["id"], first["given"]) == ("3", "5", "Gentto")  # line 5 of the spreadsheet
    assert [row["given"] for row in review if row["row"] == "5"] == ["GENTOO"]  # as it is written


def test_numbers_in_the_column_of_labels_are_cut_into_groups(folder, call):
    write_birds(folder)
    options = ("--label", "bill", "--ignore", "ring", "-q", "-o", "review.csv")
    status, out, _ = call("audit", "labels", "birds.csv", *options)
    assert status == 0
    assert "The column 'bill' looks like numbers, not classes" in out
    assert "cut into 4 groups of equal size" in out
    with open("review.csv", newline="", encoding="utf-8") as stream:
        first = next(csv.DictReader(stream))
    assert "," in first["given"]  # the number as it is written
    assert first["corrected"] == ""


@pytest.mark.parametrize(
    ("decision", "corrected", "message"),
    [
        ("Wrong", "{given}", "is said to be wrong, but the column 'corrected' holds the same label"),
        ("WRONG", "", "is said to be wrong, but the column 'corrected' is empty"),
    ],
)
def test_a_wrong_label_without_a_right_one_is_refused(folder, call, decision, corrected, message):
    write_birds(folder)
    given = (folder / "birds.csv").read_text().splitlines()[1].split(";")[-1]
    content = f"Row;Column;Given;Corrected;Decision\n0;kind;{given};{corrected.format(given=given)};{decision}\n"
    (folder / "corrections.csv").write_text(content)
    refused(call("apply", "birds.csv", "corrections.csv"), message)


def test_corrections_of_a_spreadsheet_are_applied(folder, call):
    write_birds(folder)
    given = (folder / "birds.csv").read_text().splitlines()[1].split(";")[-1]
    other = "Gentoo" if given == "Adelie" else "Adelie"
    (folder / "corrections.csv").write_text(
        f"Line;Column;Given;Corrected;Decision\n2;kind;{given.upper()};{other};Wrong\n", encoding="utf-8-sig"
    )
    status, out, err = call("apply", "birds.csv", "corrections.csv")
    assert (status, err) == (0, "")
    assert "1 corrected, of 1 reviewed" in out
    assert (folder / "birds-corrected.csv").read_text().splitlines()[1].endswith(other)


def test_classify_says_its_accuracy_and_predictions_have_ids_and_all_probabilities(folder, call):
    write_birds(folder)
    options = ("--label", "kind", "--ignore", "ring", "-m", "m.skops", "-o", "rows.csv", "-q")
    status, out, err = call("classify", "birds.csv", *options)
    assert (status, err) == (0, "")
    assert "On rows that it did not learn from, the model agrees with" in out
    assert "at 95 % confidence" in out
    low, high = re.search(r"the model should predict .*between ([\d.]+)% and ([\d.]+)%", " ".join(out.split())).groups()
    agree = re.search(r"agrees with ([\d.]+)% of the given labels", " ".join(out.split()))[1]
    assert 0 <= float(low) <= float(agree) <= float(high) <= 100
    status, _, err = call("predict", "m.skops", "birds.csv", "-o", "predicted.csv", "-q")
    assert (status, err) == (0, "")
    for name, columns in {
        "rows.csv": ["line", "kind", "predicted kind", "probability", "P(Adelie)", "P(Gentoo)"],
        "predicted.csv": ["line", "kind", "probability", "P(Adelie)", "P(Gentoo)"],
    }.items():
        with open(name, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert list(rows[0]) == columns
        assert [row["line"] for row in rows] == [str(line) for line in range(2, 62)]
        for row in rows:
            both = [float(row["P(Adelie)"]), float(row["P(Gentoo)"])]
            assert sum(both) == pytest.approx(1.0, abs=2e-4)
            assert max(both) == float(row["probability"])
    refused(call("predict", "birds.csv", "birds.csv"), "birds.csv is not a model: it is a text table whose first line")


def write_two_records(folder):
    """120 rows with two names, two days and an answer; returns which answers are wrong, and the true answers."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefgh"), 7)) for _ in range(120)]
    wrong, truth = set(range(0, 120, 12)), np.where(np.arange(120) % 2 == 0, "duplicate", "different")
    lines = ["name_1,name_2,born_1,born_2,answer"]
    for i, name in enumerate(names):
        other = name[:3] + "x" + name[3:] if i % 2 == 0 else names[(i + 37) % 120]
        day = f"2001-03-{1 + i % 28:02d}"
        given = {"duplicate": "different", "different": "duplicate"}[truth[i]] if i in wrong else truth[i]
        lines.append(f"{name},{other},{day},{'2001' if i == 5 else day},{given}")
    (folder / "pairs.csv").write_text("\n".join(lines) + "\n")
    return wrong, truth


def test_two_records_in_every_row(folder, call):
    wrong, _ = write_two_records(folder)
    status, out, err = call("audit", "pairs", "pairs.csv", "--report", "page.html", "-o", "review.csv", "-q")
    assert (status, err) == (0, "")
    assert "120 pairs of records, compared by name (name_1 and name_2), born (born_1 and born_2)" in " ".join(
        out.split()
    )
    page = (folder / "page.html").read_text()
    assert '"columns":[{"name":"name"},{"name":"born"}]' in page
    assert '"ends":[[' in page
    with open("review.csv", newline="", encoding="utf-8") as stream:
        review = list(csv.DictReader(stream))
    assert {int(row["row"]) for row in review[: len(wrong)]} == wrong
    assert (review[0]["column"], review[0]["given"], review[0]["corrected"]) == ("answer", "different", "duplicate")
    refused(call("audit", "pairs", "pairs.csv", "--answer", "anser"), "did you mean 'answer'?")


def test_options_of_two_records(folder, call):
    write_two_records(folder)
    status, out, err = call("audit", "pairs", "pairs.csv", "--ignore", "born_2", "--kind", "name=text", "--json")
    assert status == 0, err
    assert json.loads(out)["compared"] == ["name"]
    refused(call("audit", "pairs", "pairs.csv", "--ignore", "born_3"), "--ignore born_3: pairs.csv has no such column")
    refused(call("audit", "pairs", "pairs.csv", "--kind", "nam=text"), "did you mean 'name'")
    refused(call("audit", "pairs", "pairs.csv", "--ignore", "born", "--ignore", "name"), "--ignore leaves no column")


def test_checks_of_two_records(folder, call):
    wrong, truth = write_two_records(folder)
    status, out, err = call("audit", "pairs", "pairs.csv", "--checks", 30, "-o", "review.csv", "--report", "page.html")
    assert status == 0, err
    assert "Check 30 lines next" in out
    assert "--checked review.csv" in " ".join(out.split())
    with open("review.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows[:30]:  # a person writes the decision and nothing else
        row["decision"] = "correct" if truth[int(row["row"])] == row["given"] else "wrong"
    with open("found.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    status, out, err = call("audit", "pairs", "pairs.csv", "--checked", "found.csv", "--json")
    assert status == 0, err
    result = json.loads(out)
    assert result["guarantee"]["checked"] == 30
    assert result["guarantee"]["low"] <= len(wrong) / 120 <= result["guarantee"]["high"]
    assert result["noise_interval"] == [result["guarantee"]["low"], result["guarantee"]["high"]]
    assert not {int(row["row"]) for row in rows[:30]} & {one["row"] for one in result["suspects"]}
    (folder / "other.csv").write_text((folder / "found.csv").read_text().replace(",duplicate,wrong", ",twin,wrong"))
    refused(call("audit", "pairs", "pairs.csv", "--checked", "other.csv"), "--checked says 'twin', but the answers")
