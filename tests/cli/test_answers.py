"""Several answers per row on the command line: the consensus, the sources, whom to ask next."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

from command_line import refused, run_here
from kernelwise import Answers, audit_answers, plan_answers
from kernelwise.labels.describe import slices_of
from kernelwise.tables.columns import Column, Table

pytest.importorskip("skops")

RATES = {"Ann": 0.08, "Bob": 0.15, "Cy": 0.45}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    return partial(run_here, capsys)


def crowd(n=150, seed=0):
    """The truth, and what three people say of it; Cy leaves out every third row."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.5, "ham", "spam")
    other = np.where(truth == "ham", "spam", "ham")
    table = {name: np.where(rng.random(n) < rate, other, truth).astype(object) for name, rate in RATES.items()}
    table["Cy"][::3] = ""
    return truth, table


@pytest.fixture
def mails(folder):
    """A file with a column for each of three people, and one feature."""
    truth, table = crowd()
    x = np.random.default_rng(1).normal(size=len(truth)) + 2 * (truth == "spam")
    lines = ["id,x,Ann,Bob,Cy"]
    lines += [f"m{i},{x[i]:.3f},{table['Ann'][i]},{table['Bob'][i]},{table['Cy'][i]}" for i in range(len(truth))]
    (folder / "mails.csv").write_text("\n".join(lines) + "\n")
    return truth


@pytest.fixture
def only_answers(folder):
    """A table of ids, and a table of answers; there is nothing to learn from."""
    truth, table = crowd()
    (folder / "items.csv").write_text("item\n" + "".join(f"i{row}\n" for row in range(len(truth))))
    said = [(f"i{row}", who, cells[row]) for who, cells in table.items() for row in range(len(truth)) if cells[row]]
    (folder / "said.csv").write_text("item,worker,answer\n" + "".join(f"{a},{b},{c}\n" for a, b, c in said))
    return truth, table


COLUMNS = ["--label", "Ann", "--label", "Bob", "--label", "Cy"]


def rows_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def result_of(call, *arguments):
    status, out, err = call(*arguments, "--json", "-q")
    assert status == 0, err
    return json.loads(out)


def test_columns_of_labels_are_sources_and_no_features(mails, call):
    found = result_of(call, "audit", "labels", "mails.csv", *COLUMNS)
    assert {one["column"] for one in found["data"]["columns"]} == {"id", "x"}
    assert found["n_answers"] == 400
    assert found["sources"][0]["source"] == "Cy"
    cy = found["sources"][0]
    assert (cy["answers"], cy["interval"][0] < 1 - RATES["Cy"] < cy["interval"][1]) == (100, True)
    assert cy["errs"][0].startswith("says ")
    assert found["noise_interval"][0] <= found["noise_rate"] <= found["noise_interval"][1]
    assert 0.5 < found["agreement"] < 0.9


def test_a_table_of_answers_without_features_gives_what_python_gives(only_answers, folder, call):
    _, table = only_answers
    found = result_of(
        call, "audit", "labels", "items.csv", "--answers", "said.csv", "--ask", "ask.csv", "--questions", 15
    )
    audit = audit_answers(None, Answers.from_table({name: np.where(c == "", None, c) for name, c in table.items()}))
    assert found["noise_rate"] == pytest.approx(audit.noise_rate)
    assert found["columns"] == found["models"] == {}
    plan = plan_answers(audit, 15)
    asked = rows_of(folder / "ask.csv")
    assert [one["item"] for one in asked] == [f"i{row}" for row in plan.rows]
    assert {one["source"] for one in asked} == {"Cy"}
    assert [one["id"] for one in found["ask"]] == [one["item"] for one in asked]


def test_the_columns_of_a_table_of_answers_are_found_by_name_or_by_order(only_answers, folder, call):
    expected = result_of(call, "audit", "labels", "items.csv", "--answers", "said.csv")["noise_rate"]
    said = rows_of(folder / "said.csv")
    moved = [("when", "answer", "item", "worker"), *(("now", r["answer"], r["item"], r["worker"]) for r in said)]
    bare = [("one", "two", "three"), *((r["item"], r["worker"], r["answer"]) for r in said)]
    for name, cells in (("moved.csv", moved), ("bare.csv", bare)):
        (folder / name).write_text("".join(",".join(row) + "\n" for row in cells))
        found = result_of(call, "audit", "labels", "items.csv", "--id", "item", "--answers", name)
        assert found["noise_rate"] == pytest.approx(expected)


def test_rows_are_named_by_their_number_where_no_column_names_them(only_answers, folder, call):
    expected = result_of(call, "audit", "labels", "items.csv", "--answers", "said.csv")["noise_rate"]
    (folder / "x.csv").write_text("x\n" + "1\n" * 150)
    said = [(int(r["item"][1:]), r["worker"], r["answer"]) for r in rows_of(folder / "said.csv")]
    for name, first in (("row", 0), ("line", 2)):
        text = f"{name},source,label\n" + "".join(f"{row + first},{a},{b}\n" for row, a, b in said)
        (folder / "numbered.csv").write_text(text)
        found = result_of(call, "audit", "labels", "x.csv", "--answers", "numbered.csv")
        assert found["noise_rate"] == pytest.approx(expected)
    (folder / "numbered.csv").write_text(text.replace("line", "task"))
    refused(call("audit", "labels", "x.csv", "--answers", "numbered.csv", "-q"), "count the rows in a column 'row'")


def test_the_loop_of_checks_with_the_consensus(mails, folder, call):
    ours = ("audit", "labels", "mails.csv", *COLUMNS)
    planned = result_of(call, *ours, "--checks", 30, "-o", "review.csv")
    review = rows_of(folder / "review.csv")
    assert len(review) == 150
    assert [one["id"] for one in planned["plan"]] == [one["id"] for one in review[:30]]
    assert {one["column"] for one in review} == {"consensus"}
    first = next(one for one in review if one["disagree"])
    assert re.fullmatch(r"((Ann|Bob|Cy): (ham|spam)(; |$))+", first["disagree"])
    for one in review[:30]:
        true = mails[int(one["row"])]
        one |= {"decision": "correct" if one["given"] == true else "wrong", "corrected": true}
    with (folder / "checked.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, review[0])
        writer.writeheader()
        writer.writerows(review)
    found = result_of(call, *ours, "--checked", "checked.csv", "--consensus", "labels.csv", "-o", "next.csv")
    wrong = np.mean([one["given"] != mails[int(one["row"])] for one in review])
    assert found["checked"] == found["guarantee"]["checked"] == 30
    assert found["guarantee"]["low"] <= wrong <= found["guarantee"]["high"]
    labels = rows_of(folder / "labels.csv")
    for row, one in enumerate(labels):
        assert float(one["chance"]) == pytest.approx(float(one[f"chance of {one['consensus']}"]))
        if one["checked"] == "yes":
            assert (one["consensus"], float(one["chance"])) == (mails[row], 1.0)
    assert sum(one["checked"] == "yes" for one in labels) == 30
    assert np.mean([one["consensus"] == mails[row] for row, one in enumerate(labels)]) > 0.9
    assert [one["decision"] for one in rows_of(folder / "next.csv")].count("skip") == 120
    refused(call("apply", "mails.csv", "checked.csv"), "--consensus FILE")


def labelled_by(folder, n=240, name="who"):
    """A file in which Cy's labels are wrong half of the time: what is true, what is given, and who gave it."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(n) < 0.5, "ham", "spam")
    who = np.array(["Ann", "Bob", "Cy"])[rng.integers(3, size=n)]
    wrong = (who == "Cy") & (rng.random(n) < 0.5)
    given = np.where(wrong, np.where(truth == "ham", "spam", "ham"), truth)
    X = rng.normal(size=(n, 2)) + 4 * (truth == "spam")[:, None]
    lines = [f"{X[i, 0]:.2f},{X[i, 1]:.2f},{who[i]},{given[i]}" for i in range(n)]
    (folder / "mails.csv").write_text(f"x,z,{name},kind\n" + "\n".join(lines) + "\n")
    return truth, given


def test_one_column_and_who_gave_each_label(folder, call):
    """The file of labels of single people is reviewed and applied as a file of labels is."""
    truth, given = labelled_by(folder)
    wrong = truth != given
    ours = ("audit", "labels", "mails.csv", "--label", "kind", "--annotator", "who")
    found = result_of(call, *ours, "-o", "review.csv")
    assert [one["column"] for one in found["data"]["columns"]] == ["x", "z"]
    assert found["slices"][0]["value"] == "Cy"
    assert "Cy gave" in found["slices"][0]["sentence"]
    suspects = rows_of(folder / "review.csv")[: found["worth_checking"]]
    assert {one["column"] for one in suspects} == {"kind"}
    assert np.mean([wrong[int(one["row"])] for one in suspects]) > 0.9
    (folder / "done.csv").write_text((folder / "review.csv").read_text("utf-8-sig").replace(",skip,0.0", ",wrong,0.0"))
    status, _, err = call("apply", "mails.csv", "done.csv", "-o", "fixed.csv")
    assert status == 0, err
    fixed = np.array([one["kind"] for one in rows_of(folder / "fixed.csv")])
    assert np.mean(fixed == truth) > np.mean(given == truth)
    status, out, _ = call(*ours, "-q")
    assert (status, out.splitlines()[0].endswith(")."), "given by" in out) == (0, True, True)


def test_a_column_that_says_who_gave_the_labels_is_found_by_its_name(folder, call):
    labelled_by(folder, name="labelled_by")
    ours = ("audit", "labels", "mails.csv", "--label", "kind")
    found = result_of(call, *ours)
    named = result_of(call, *ours, "--annotator", "labelled_by")
    assert found["sources"] == named["sources"]
    assert "the column 'labelled_by' says who gave each label" in found["notes"][0]
    as_feature = result_of(call, *ours, "--kind", "labelled_by=categorical")
    assert "sources" not in as_feature
    assert "labelled_by" in {one["column"] for one in as_feature["data"]["columns"]}


def test_a_classifier_does_not_learn_who_gave_the_labels(folder, call):
    labelled_by(folder, name="labelled_by")
    status, out, err = call("classify", "mails.csv", "--label", "kind", "--model", "mails.skops", "-q", "--json")
    assert status == 0, err
    assert {one["column"] for one in json.loads(out)["card"]["data"]["columns"]} == {"x", "z"}
    assert "'labelled_by' says who gave the label" in err
    status, out, err = call("predict", "mails.skops", "mails.csv", "-q", "--json")
    assert status == 0, err


def test_rows_of_a_group_share_their_errors(folder, call):
    """Each mail stands six times in the file, nearly the same: no copy speaks for another."""
    truth, given = labelled_by(folder, n=60)
    rng = np.random.default_rng(1)
    cells = [line.split(",") for line in (folder / "mails.csv").read_text().splitlines()[1:]]
    copies = [
        f"{float(x) + 0.02 * rng.normal():.4f},{float(z) + 0.02 * rng.normal():.4f},g{row},{kind}"
        for row, (x, z, _, kind) in enumerate(cells)
        for _ in range(6)
    ]
    (folder / "copies.csv").write_text("x,z,mail,kind\n" + "\n".join(copies) + "\n")
    wrong, found = np.repeat(truth != given, 6), {}
    for name, options in {"with": ("--group", "mail"), "without": ("--ignore", "mail")}.items():
        ours = ("audit", "labels", "copies.csv", "--label", "kind", *options, "-o", f"{name}.csv")
        assert {one["column"] for one in result_of(call, *ours)["data"]["columns"]} >= {"x", "z"}
        suspects = rows_of(folder / f"{name}.csv")[: wrong.sum()]
        found[name] = np.mean([wrong[int(one["row"])] for one in suspects])
    assert found["with"] > 0.8
    assert found["with"] > found["without"] + 0.1


def test_a_file_with_a_line_for_every_answer(only_answers, folder, call):
    expected = result_of(call, "audit", "labels", "items.csv", "--answers", "said.csv")
    ours = ("audit", "labels", "said.csv", "--label", "answer", "--annotator", "worker")
    found = result_of(call, *ours, "--id", "item", "--consensus", "labels.csv")
    assert found["noise_rate"] == pytest.approx(expected["noise_rate"])
    assert len(rows_of(folder / "labels.csv")) == 150
    without = result_of(call, *ours)
    assert without["noise_rate"] == pytest.approx(expected["noise_rate"])
    assert any("The column 'item' has the same value" in note for note in without["notes"])
    text = (folder / "said.csv").read_text()
    (folder / "said.csv").write_text(text.replace("item", "thing", 1))  # the name does not say what it is
    _, out, _ = call(*ours, "-q")
    assert "add --id 'thing'" in out


def test_what_stands_for_no_answer_and_spellings(folder, call):
    truth, table = crowd()
    codes = {"ham": "0", "spam": "1", "": "-1"}
    (folder / "codes.csv").write_text(
        "a,b,c\n" + "".join(",".join(codes[table[name][row]] for name in RATES) + "\n" for row in range(len(truth)))
    )
    found = result_of(call, "audit", "labels", "codes.csv", "--label", "a", "--label", "b", "--label", "c")
    assert (found["classes"], found["n_answers"], found["unlabelled"]) == (["0", "1"], 400, {"-1": 50})
    assert "-1 (50 cells)" in found["notes"][0]
    table["Ann"][0] = table["Ann"][0].title()
    lines = ["Ann,Bob,Cy", *(",".join(table[name][row] for name in RATES) for row in range(len(truth)))]
    (folder / "spelled.csv").write_text("\n".join(lines) + "\n")
    found = result_of(call, "audit", "labels", "spelled.csv", *COLUMNS)
    assert found["classes"] == ["ham", "spam"]
    assert "(1 answer) is taken as" in found["notes"][0]


def test_what_is_printed_begins_with_the_consensus_and_fits_on_a_screen(mails, call):
    status, out, _ = call("audit", "labels", "mails.csv", *COLUMNS, "-q")
    lines = out.splitlines()
    assert status == 0
    assert re.match(r"mails.csv: (about|between) .* consensus labels are probably wrong", lines[0])
    assert lines[1].startswith("400 answers of 3 sources, 2 classes. Two answers to the same row agree in ")
    assert out.index("Cy  ") < min(out.index("Bob  "), out.index("Ann  "))
    assert "Ask first: " in out
    assert len(lines) < 35


def test_copies_and_a_column_that_repeats_the_answers_are_named(mails, folder, call):
    text = (folder / "mails.csv").read_text().splitlines()
    copied = [f"{line},{line.split(',')[2]},{line.split(',')[3]}" for line in text[1:]]
    (folder / "copied.csv").write_text("\n".join([f"{text[0]},Dan,gold", *copied]) + "\n")
    _, out, _ = call("audit", "labels", "copied.csv", *COLUMNS, "--label", "Dan", "-q")
    assert re.search(r"Ann and Dan agree as if one copied the other in \d+% of the rows", out)
    assert "The column 'gold' holds the same words as the answers" in out


def test_the_page_holds_who_said_what(mails, folder, call):
    status, _, err = call("audit", "labels", "mails.csv", *COLUMNS, "--report", "page.html", "-q")
    assert status == 0, err
    (stored,) = re.findall(r'id="report-data">(.*?)</script>', (folder / "page.html").read_text("utf-8"))
    page = json.loads(stored)
    assert page["label_name"] == "consensus"
    assert page["sources"]["names"][0] == "Cy"
    assert "consensus labels look wrong" in (folder / "page.html").read_text("utf-8")
    cells = {one["id"]: one for one in rows_of(folder / "mails.csv")}
    for name, said in zip(page["suspects"]["id"][:20], page["sources"]["said"], strict=False):
        pairs = {page["sources"]["names"][a]: page["values"][b] for a, b in zip(said[::2], said[1::2], strict=True)}
        assert pairs == {who: cells[name][who] for who in RATES if cells[name][who]}


BAD = [
    ([*COLUMNS[:2], "--label", "Bbo"], "has no column 'Bbo'; did you mean 'Bob'?"),
    ([*COLUMNS[:2], "--label", "Ann"], "--label Ann is given twice"),
    ([], "--label is missing"),
    (["--label", "Ann", "--annotator", "Ann"], "--annotator Ann is also the column of labels"),
    ([*COLUMNS, "--annotator", "x"], "there are 3 columns of labels"),
    (["--label", "Ann", "--annotator", "who"], "has no column 'who'"),
    (["--label", "Ann", "--ask", "ask.csv"], "--ask is for labels of several sources"),
    ([*COLUMNS, "--questions", "5"], "add --ask FILE"),
    ([*COLUMNS, "--source-kind", "Eve=person"], "--source-kind: there is no source 'Eve'"),
    ([*COLUMNS, "--source-kind", "Ann=human"], "'human' must be one of person, program, language model"),
    ([*COLUMNS, "--source-kind", "Ann"], "must be SOURCE=KIND"),
    ([*COLUMNS, "--cost", "Ann=free"], "'free' must be a number above zero"),
    ([*COLUMNS, "--cost", "Eve=2"], "--cost: there is no source 'Eve'"),
    ([*COLUMNS, "--id", "Ann"], "--id Ann is also named"),
    ([*COLUMNS, "--ignore", "Ann"], "--ignore Ann is also named"),
    ([*COLUMNS, "--ignore", "xx"], "has no column 'xx'"),
    ([*COLUMNS, "--group", "Ann"], "--group Ann is also a column of labels"),
    ([*COLUMNS, "--group", "grp"], "has no column 'grp'"),
    ([*COLUMNS, "--group", "site", *(part for name in "xz" for part in ("--ignore", name))], "no feature is left"),
    ([*COLUMNS[:4], "--label", "site"], "'site' says 'north', 'south', and no other source does"),
    (["--label", "Ann", "--label", "void"], "column 'void' holds no answer; leave --label void out"),
    (["--label", "x", "--label", "z"], "which look like amounts"),
    (["--answers", "none.csv"], "there is no file none.csv"),
    (["--answers", "unknown.csv"], "unknown.csv, line 3, column 'id': 'm999' is no row of the column 'id' of all.csv"),
    (["--answers", "nameless.csv"], "has no column for the id of every answer"),
    (["--answers", "empty.csv"], "holds no answer: all cells of labels are empty"),
    (["--answers", "single.csv"], "all answers are of one source, 'Ann'"),
    ([*COLUMNS, "--chunk-rows", "2000"], "a second --label needs the whole table in memory"),
    ([*COLUMNS, "--checked", "none.csv"], "there is no file none.csv"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[sentence[:30] for _, sentence in BAD])
def test_bad_input_is_refused_in_a_sentence(mails, folder, call, options, sentence):
    lines = (folder / "mails.csv").read_text().splitlines()
    more = [f"{line},{['north', 'south'][at % 2]},,{at * 1.37:.2f}" for at, line in enumerate(lines[1:])]
    (folder / "all.csv").write_text("\n".join([f"{lines[0]},site,void,z", *more]) + "\n")
    for name, text in {
        "unknown": "id,source,label\nm1,Ann,ham\nm999,Bob,spam\n",
        "nameless": "a,b,c,d\nm1,Ann,ham,1\n",
        "empty": "id,source,label\nm1,Ann,\n",
        "single": "id,source,label\nm1,Ann,ham\nm2,Ann,spam\n",
    }.items():
        (folder / f"{name}.csv").write_text(text)
    refused(call("audit", "labels", "all.csv", *options, "-q"), sentence)
    assert not (folder / "ask.csv").exists()


# ------------------------------------------------------------------------------------------- where the suspects are


def made_table(rng, n=1000):
    columns = [
        Column("year", "numeric", rng.integers(2000, 2010, size=n).astype(float)),
        Column("site", "categorical", np.array(["north", "south"], dtype=object)[rng.integers(2, size=n)]),
        Column("day", "date", np.array([f"{year}-05-01" for year in rng.integers(1990, 2000, size=n)], dtype=object)),
    ]
    return Table.of("a.csv", columns)


def made_answers(rng, n=1000):
    return Answers.from_column(rng.integers(2, size=n), np.array(["Ann", "Bob", "Cy", "Dan"])[rng.integers(4, size=n)])


def test_parts_with_many_suspects_are_found():
    rng = np.random.default_rng(0)
    table, answers = made_table(rng), made_answers(rng)
    suspects = (rng.random(1000) < 0.02) | ((table["year"].values == 2008) & (rng.random(1000) < 0.5))
    (found,) = slices_of(suspects, answers, table)
    assert (found.column, found.value) == ("year", "2008")
    assert found.inside == np.count_nonzero(suspects & (table["year"].values == 2008))
    assert f"{found.inside} of {np.count_nonzero(suspects)} suspects have year = 2008" in found.sentence(gave=True)
    suspects = (rng.random(1000) < 0.02) | ((answers.sources == "Cy") & (rng.random(1000) < 0.4))
    (found,) = slices_of(suspects, answers, table)
    assert (found.column, found.value) == (None, "Cy")


def test_noise_is_not_described():
    """Suspects at random: at most one table in a thousand names a part, so none of a hundred does but by a fault."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        assert not slices_of(rng.random(1000) < 0.05, made_answers(rng), made_table(rng))


def test_two_parts_with_the_same_suspects_are_named_once():
    rng = np.random.default_rng(2)
    table, answers = made_table(rng), made_answers(rng)
    twin = Column("twin", "categorical", np.array([f"y{year:.0f}" for year in table["year"].values], dtype=object))
    both = Table.of("a.csv", [*table.columns.values(), twin])
    assert len(slices_of((table["year"].values == 2008) & (rng.random(1000) < 0.5), answers, both)) == 1


def lines_of(folder, name, header, rows):
    (folder / name).write_text("".join(",".join(map(str, row)) + "\n" for row in (header, *rows)), encoding="utf-8")


@pytest.mark.parametrize("options", [["--id", "id"], []], ids=["named", "found"])
def test_lines_of_answers_with_a_column_of_annotators_that_is_found(folder, call, options):
    truth, table = crowd()
    x = np.random.default_rng(1).normal(size=len(truth)) + 2 * (truth == "spam")
    rows = [
        (f"m{i}", f"{x[i]:.3f}", 2000 + k, cells[i], who)
        for i in range(len(truth))
        for k, (who, cells) in enumerate(table.items())
        if cells[i]
    ]
    lines_of(folder, "lines.csv", ("id", "x", "when", "kind", "annotator"), rows)
    found = result_of(call, "audit", "labels", "lines.csv", "--label", "kind", *options)
    assert (found["data"]["rows"], found["n_answers"], len(found["sources"])) == (150, 400, 3)
    assert found["data"]["id"] == "id"
    assert any("The first line of every row counts" in note and note.endswith(": when.") for note in found["notes"])
    assert any("says who gave each label" in note for note in found["notes"])


def test_amounts_with_annotators_need_distinct_ids(folder, call):
    lines_of(
        folder, "n.csv", ("id", "x", "price", "annotator"), [(k // 2, k % 9, 1.37 * k, "AB"[k % 2]) for k in range(90)]
    )
    refused(call("audit", "labels", "n.csv", "--label", "price", "--id", "id"), "ids must be distinct")


def test_what_is_odd_in_a_table_of_answers_is_said(only_answers, folder, call):
    said = [tuple(one.values()) for one in rows_of(folder / "said.csv")]
    other = {"ham": "spam", "spam": "ham"}
    cases = {
        "20 answers are given more than once": said[:20],
        "7 times a source gives one row different labels ('Ann' does)": [(a, b, other[c]) for a, b, c in said[:7]],
        "'n/a' (1 cells) is taken for no answer": [("i0", "Dan", "n/a")],
        "The label 'not sure' (2 answers) is taken for a class": [("i0", "Dan", "not sure"), ("i1", "Dan", "not sure")],
        "The label 'eggs' stands in one answer of 401": [("i0", "Dan", "eggs")],
        "looks like 'spam' (": [("i0", "Dan", "spamm")],
    }
    for sentence, more in cases.items():
        lines_of(folder, "odd.csv", ("item", "worker", "answer"), [*said, *more])
        found = result_of(call, "audit", "labels", "items.csv", "--id", "item", "--answers", "odd.csv")
        assert any(sentence in note for note in found["notes"]), sentence
    assert found["classes"] == ["ham", "spam"]  # a typing error is no class


def test_sources_with_few_answers_are_not_judged(folder, call):
    truth, _ = crowd()
    lines_of(folder, "items.csv", ("item",), [(f"i{row}",) for row in range(150)])
    said = [(f"i{row}", f"w{row if k == 0 else row // 3}", truth[row]) for row in range(150) for k in range(2)]
    lines_of(folder, "said.csv", ("item", "worker", "answer"), said)
    arguments = ["audit", "labels", "items.csv", "--id", "item", "--answers", "said.csv"]
    _, out, _ = call(*arguments)
    assert "Sources: 150, each with fewer than 10 answers, too few to judge any of them." in out
    assert "right" not in out
    found = result_of(call, *arguments)
    assert not any(one["errs"] for one in found["sources"])
    lines_of(folder, "one.csv", ("x", "kind", "who"), [(k % 7, truth[k], f"w{k}") for k in range(150)])
    found = result_of(call, "audit", "labels", "one.csv", "--label", "kind", "--annotator", "who")
    assert any("If the column 'who' does not say who gave the labels" in note for note in found["notes"])


def test_a_column_that_gives_the_consensus_away_is_named(mails, folder, call):
    lines = (folder / "mails.csv").read_text().splitlines()
    codes = [3 if line.count("ham") > line.count("spam") else 8 for line in lines[1:]]
    text = "\n".join([f"{lines[0]},late", *(f"{line},{code}" for line, code in zip(lines[1:], codes, strict=True))])
    (folder / "late.csv").write_text(text + "\n")
    status, out, err = call("audit", "labels", "late.csv", *COLUMNS, "--json", "-q")
    assert status == 0
    assert [one["column"] for one in json.loads(out)["giveaways"]] == ["late"]
    assert err.count("gives the label away") == 1
    assert "--ignore 'late'" in err


def test_copies_of_texts_are_no_matter_of_several_answers(folder, call):
    truth, table = crowd()
    cells = list(table.values())
    rows = [(f"m{i}", f"a {truth[i]} mail number {i % 50}", *(one[i] for one in cells)) for i in range(150)]
    lines_of(folder, "texts.csv", ("id", "text", "Ann", "Bob", "Cy"), rows)
    status, _, err = call("audit", "labels", "texts.csv", *COLUMNS, "-q")
    assert status == 0
    assert "groups=" not in err
    assert "another row" not in err


def test_the_suspects_of_one_column_are_described_too(folder, call):
    rng = np.random.default_rng(0)
    truth, year = rng.integers(2, size=600), rng.integers(2001, 2011, size=600)
    x = truth[:, None] * 2 + rng.normal(size=(600, 3))
    wrong = (rng.random(600) < 0.02) | ((year == 2008) & (rng.random(600) < 0.6))
    label = np.array(["keep", "drop"])[np.where(wrong, 1 - truth, truth)]
    rows = [(f"r{i}", *x[i].round(3).tolist(), year[i], label[i]) for i in range(600)]
    lines_of(folder, "years.csv", ("id", "a", "b", "c", "year", "label"), rows)
    arguments = ["audit", "labels", "years.csv", "--label", "label", "--ignore", "year"]
    found = result_of(call, *arguments, "--report", "page.html")
    (part,) = found["slices"]
    assert (part["column"], part["value"]) == ("year", "2008")
    n_suspects = found["worth_checking"]
    assert part["sentence"].startswith(f"{part['suspects']} of {n_suspects} suspects have year = 2008, as ")
    assert part["sentence"] in (folder / "page.html").read_text(encoding="utf-8")
    _, out, _ = call(*arguments)
    assert f"Where the suspects are: {part['sentence']}" in out


def test_rows_of_a_group_share_their_errors_in_several_answers_too(folder, call):
    """Each mail stands four times in the file, nearly the same, and everybody gives all copies one answer."""
    truth, table = crowd(80)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 2)) + 1.5 * (truth == "spam")[:, None]
    rows = [
        (*(x[i] + 0.02 * rng.normal(size=2)).round(4).tolist(), f"g{i}", *(cells[i] for cells in table.values()))
        for i in range(80)
        for _ in range(4)
    ]
    lines_of(folder, "copies.csv", ("x", "z", "mail", "Ann", "Bob", "Cy"), rows)
    found = result_of(call, "audit", "labels", "copies.csv", *COLUMNS, "--group", "mail", "--ignore", "z")
    X = np.array([row[:1] for row in rows])
    given = {name: np.where(cells == "", None, cells).repeat(4) for name, cells in table.items()}
    audit = audit_answers(X, Answers.from_table(given), groups=np.arange(80).repeat(4), random_state=0)
    assert found["noise_rate"] == pytest.approx(audit.noise_rate)
    without = result_of(call, "audit", "labels", "copies.csv", *COLUMNS, "--ignore", "mail", "--ignore", "z")
    assert without["noise_rate"] != pytest.approx(audit.noise_rate)


def test_annotators_who_gave_different_labels_are_refused_with_the_remedy(folder, call):
    rows = [(k % 7, "ab"[k % 2] if k < 60 else "cd"[k % 2], "Ann" if k < 60 else "Bob") for k in range(120)]
    lines_of(folder, "parts.csv", ("x", "kind", "annotator"), rows)
    refused(
        call("audit", "labels", "parts.csv", "--label", "kind", "-q"),
        "leave the column of sources out: --ignore 'annotator'",
    )


def test_page_terminal_and_json_have_the_same_figures(mails, folder, call):
    arguments = ("audit", "labels", "mails.csv", *COLUMNS)
    found = result_of(call, *arguments, "--report", "page.html")
    _, out, _ = call(*arguments)
    text = (folder / "page.html").read_text(encoding="utf-8")
    page = json.loads(text.split('id="report-data">')[1].split("</script>")[0])
    shown = page["sources"]
    assert shown["names"] == [one["source"] for one in found["sources"]]
    assert (shown["n_answers"], len(found["sources"])) == (found["n_answers"], 3)
    for key in ("agreement", "alpha"):
        assert shown[key] == pytest.approx(found[key], abs=1e-4)
    for on_page, one in zip(shown["table"], found["sources"], strict=True):
        assert on_page["n"] == one["answers"]
        assert on_page["errs"] == one["errs"][:2]
        assert [on_page["accuracy"], *on_page["interval"]] == pytest.approx(
            [one["accuracy"], *one["interval"]], abs=1e-4
        )
        line = next(line for line in out.splitlines() if line.startswith(one["source"]))
        assert line.split()[1:3] == [str(one["answers"]), f"{one['accuracy']:.0%}"]
        assert "{:.0%} to {:.0%}".format(*one["interval"]) in line
    low, high = found["noise_interval"]
    assert f"({low:.1%} to {high:.1%})" in out
    fewest, most = page["summary"]["between"]
    assert f"between {fewest} and {most} of 150" in out or f"about {round(found['noise_rate'] * 150)} of 150" in out
    first = page["suspects"]["row"][0]
    assert found["suspects"][0]["row"] == first
    assert page["suspects"]["quality"][0] == pytest.approx(found["suspects"][0]["quality"], abs=1e-4)


def test_a_column_of_annotators_beside_columns_of_labels_is_no_feature(mails, folder, call):
    lines = (folder / "mails.csv").read_text().splitlines()
    text = "\n".join([f"{lines[0]},worker", *(f"{line},w{k % 5}" for k, line in enumerate(lines[1:]))])
    (folder / "who.csv").write_text(text + "\n")
    found = result_of(call, "audit", "labels", "who.csv", *COLUMNS)
    assert any("the column 'worker' says who gave labels too" in note for note in found["notes"])
    assert list(found["columns"]) == ["x"]
    as_feature = result_of(call, "audit", "labels", "who.csv", *COLUMNS, "--kind", "worker=categorical")
    assert "worker" in as_feature["columns"]


@pytest.mark.parametrize(("name", "options"), [("rule", ["--annotator", "rule"]), ("annotator", [])])
def test_sources_of_one_label_each_are_refused_with_the_remedy(folder, call, name, options):
    truth, _ = crowd()
    x = np.random.default_rng(1).normal(size=150) + 2 * (truth == "spam")
    rows = [(f"{x[k]:.3f}", truth[k], f"{truth[k]}-{k % 2}") for k in range(150)]
    lines_of(folder, "rules.csv", ("x", "kind", name), rows)
    ours = ("audit", "labels", "rules.csv", "--label", "kind", "-q")
    refused(call(*ours, *options), f"audit the labels without them: --ignore '{name}'")
    assert result_of(call, *ours[:-1], "--ignore", name)["classes"] == ["ham", "spam"]
