"""The command line, on real files: what it prints, what it writes, and how it refuses."""

import csv
import json
import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from rich.console import Console

from command_line import names, refused, run_here, spawn
from kernelwise import Pairs
from kernelwise.cli.show import print_suspects
from kernelwise.datasets import make_block_similarity
from waiting import PATIENCE, wait_until


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run a command in this process."""
    return partial(run_here, capsys)


def write_links(folder, rng):
    """Two groups that differ in one feature, linked within; ids are names."""
    group = np.arange(30) % 2
    values = rng.normal(size=(30, 3)) * 0.3
    values[:, 0] += 4 * group
    lines = ["id,a,b,c"] + [f"n{i}," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(values)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    pairs = Pairs.from_labels(group, n_pairs=60, random_state=0)
    same = pairs.positive
    (folder / "links.csv").write_text(
        "from,to\n" + "".join(f"n{a},n{b}\n" for a, b in zip(same.rows, same.cols, strict=True))
    )
    (folder / "constraints.csv").write_text(
        "".join(f"n{a},n{b},{s}\n" for a, b, s in zip(pairs.rows, pairs.cols, pairs.labels, strict=True))
    )
    return group


# ---------------------------------------------------------------------------------------------- the program itself


def test_every_command_has_help_with_an_example(call):
    status, out, _ = call("--help")
    assert status == 0
    for words in (
        ["audit", "labels"], ["audit", "pairs"], ["classify"], ["predict"], ["cluster"], ["complete"], ["plan"],
        ["apply"], ["merge"], ["demo"], ["reproduce"],
    ):  # fmt: skip
        assert words[0] in out
        status, text, _ = call(*words, "--help")
        assert status == 0
        assert f"kernelwise {' '.join(words)}" in " ".join(text.split("Example:")[1].split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "frobnicate"),
        (["cluster", "nodes.csv"], "-k"),
        (["cluster", "nodes.csv", "-k", "two"], "-k"),
        (["cluster", "nodes.csv", "-k", "2", "--colour", "red"], "--colour"),
        (["audit", "labels"], "--help"),
    ],
)
def test_wrong_use_is_one_sentence(folder, call, arguments, message):
    refused(call(*arguments), message)
    assert names(folder) == []


def test_version(call):
    status, out, _ = call("--version")
    assert (status, out.split()[0]) == (0, "kernelwise")


def test_without_typer_the_remedy_is_named():
    code = "import sys; sys.modules['typer'] = None\nfrom kernelwise.cli import main\nsys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "pip install kernelwise[cli]" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------------------------------------- cluster


def test_cluster_with_links(folder, call, rng):
    group = write_links(folder, rng)
    status, out, err = call("cluster", "nodes.csv", "--links", "links.csv", "-k", 2, "-o", "clusters.csv")
    assert status == 0, err
    assert "30 rows in 2 clusters of 15, 15" in out
    assert "links" in out.splitlines()[1]  # whether they help
    with open("clusters.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"n{i}" for i in range(30)]
    found = np.array([int(row["cluster"]) for row in rows])
    assert len(set(zip(found, group, strict=True))) == 2


def test_links_in_both_directions_count_once(folder, call, rng):
    write_links(folder, rng)
    status, once, err = call("audit", "pairs", "nodes.csv", "links.csv", "--json")
    assert status == 0, err
    header, *lines = (folder / "links.csv").read_text().splitlines()
    back = [",".join(reversed(line.split(","))) for line in lines]
    (folder / "links.csv").write_text("\n".join([header, *lines, *back]) + "\n")
    status, both, err = call("audit", "pairs", "nodes.csv", "links.csv", "--json")
    assert status == 0, err
    assert "links.csv lists every link in both directions; each link counts once" in err
    assert json.loads(both) == json.loads(once)


@pytest.mark.parametrize("more", [["--links", "constraints.csv"], []])
def test_cluster_as_json(folder, call, rng, more):
    group = write_links(folder, rng)
    status, out, err = call("cluster", "nodes.csv", "-k", 2, "--json", *more)
    assert status == 0, err
    result = json.loads(out)
    assert sum(result["sizes"]) == 30
    assert (result["links"] is None) == (not more)
    if more:
        found = list(result["clusters"].values())
        assert set(found) == {0, 1}
        assert len(set(zip(found, group, strict=True))) == 2


def test_a_column_that_is_not_used_need_not_be_distinct(folder, call, rng):
    write_links(folder, rng)
    status, out, err = call("cluster", "nodes.csv", "-k", 2, "--kind", "id=id", "--kind", "a=id", "--json")
    assert status == 0, err
    fates = {row["column"]: row["becomes"] for row in json.loads(out)["nodes"]["columns"]}
    assert fates["a"].startswith("not used")
    assert json.loads(out)["nodes"]["id"] == "id"


BAD_CLUSTER = {
    "no file": ([], ["cluster", "nodse.csv", "-k", "2"], "there is no file nodse.csv; did you mean 'nodes.csv'?"),
    "empty": (["empty.csv", b""], ["cluster", "empty.csv", "-k", "2"], "empty.csv is empty"),
    "header only": (["h.csv", b"a,b\n"], ["cluster", "h.csv", "-k", "2"], "has a header but no rows"),
    "ragged": (["r.csv", b"a,b\n1,2\n3\n"], ["cluster", "r.csv", "-k", "2"], "r.csv, line 3: 1 cell where"),
    "encoding": (["e.csv", b"a,b\n1,\xe9\n"], ["cluster", "e.csv", "-k", "2"], "e.csv, line 2: byte 0xe9 is not UTF-8"),
    "binary": (["b.csv", bytes(64)], ["cluster", "b.csv", "-k", "2"], "b.csv is a binary file"),
    "no id column": ([], ["cluster", "nodes.csv", "-k", "2", "--id", "ID"], "no column 'ID'; did you mean 'id'?"),
    "same id": (["d.csv", b"id,x\nu,1\nu,2\n"], ["cluster", "d.csv", "--id", "id", "-k", "2"], "'u' is also the id"),
    "unknown node": (
        ["l.csv", b"n1,n2\nn3,n99\n"],
        ["cluster", "nodes.csv", "--links", "l.csv", "-k", "2"],
        "l.csv, line 2: 'n99' is not an id of nodes.csv",
    ),
    "too many": ([], ["cluster", "nodes.csv", "-k", "31"], "-k 31 is more than the 30 rows of nodes.csv"),
    "kind": ([], ["cluster", "nodes.csv", "-k", "2", "--kind", "a"], "--kind 'a' must be COLUMN=KIND"),
    "exists": (["out.csv", b"old"], ["cluster", "nodes.csv", "-k", "2", "-o", "out.csv"], "out.csv exists"),
    "over itself": ([], ["cluster", "nodes.csv", "-k", "2", "-o", "nodes.csv", "--force"], "choose another name"),
    "no folder": ([], ["cluster", "nodes.csv", "-k", "2", "-o", "no/out.csv"], "there is no folder no"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CLUSTER)
def test_bad_input_is_refused_and_nothing_written(folder, call, rng, case):
    write_links(folder, rng)
    file, arguments, message = BAD_CLUSTER[case]
    if file:
        (folder / file[0]).write_bytes(file[1])
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    refused(call(*arguments), message)
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before


def test_cluster_as_a_process(folder, call, rng):
    write_links(folder, rng)
    status, out, err = spawn("cluster", "nodes.csv", "--links", "links.csv", "-k", "2", "--json", "--quiet")
    assert (status, err) == (0, "")
    assert json.loads(out)["sizes"] == [15, 15]
    refused(call("cluster", "nodes.csv", "--links", "nowhere.csv", "-k", "2"), "there is no file nowhere.csv")


# ---------------------------------------------------------------------------------------------- audit pairs


def test_audit_pairs_review_apply(folder, call, rng):
    """The whole way: find suspect links, decide about them in the CSV, write the corrected links."""
    write_links(folder, rng)
    links = (folder / "links.csv").read_text()
    (folder / "links.csv").write_text(links + "n0,n1\n")  # across the groups
    status, out, err = call("audit", "pairs", "nodes.csv", "links.csv", "-o", "review.csv", "--report", "review.html")
    assert status == 0, err
    assert "Given as same but wrong" in out
    with open("review.csv", newline="") as stream:
        review = list(csv.DictReader(stream))
    assert {review[0]["id"], review[0]["other_id"]} == {"n0", "n1"}
    assert "links.csv" in (folder / "review.html").read_text(encoding="utf-8")
    review[0] |= {"decision": "wrong", "corrected": "'-1"}
    with open("review.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, review[0])
        writer.writeheader()
        writer.writerows(review)
    status, _, err = call("apply", "links.csv", "review.csv", "-o", "fixed.csv")
    assert status == 0, err
    assert (folder / "fixed.csv").read_text() == links


@pytest.mark.parametrize("words", [("Yes", "No"), ("hit", "miss"), ("1", "0")])
def test_pairs_are_reviewed_in_the_words_of_the_file(folder, call, rng, words):
    write_links(folder, rng)
    signs = {"1": words[0], "-1": words[1]}
    lines = [line.split(",") for line in (folder / "constraints.csv").read_text().splitlines()]
    answers = "".join(f"{a},{b},{signs[sign]}\n" for a, b, sign in lines)
    (folder / "answers.csv").write_text(answers)
    asked = ["audit", "pairs", "nodes.csv", "answers.csv", "-q", "--same", words[0]]
    status, _, err = call(*asked, "-o", "review.csv", "--report", "review.html", "--checks", "5")
    assert status == 0, err
    assert json.dumps([words[1], words[0]], separators=(",", ":")) in (folder / "review.html").read_text("utf-8")
    review = rows_of("review.csv")
    assert {(row["given"], row["corrected"]) for row in review} == {words, words[::-1]}
    review[0]["decision"] = "wrong"
    write_rows("review.csv", review)
    status, _, err = call(*asked, "--checked", "review.csv", "-o", "again.csv")
    assert status == 0, err
    kept = rows_of("again.csv")[-1]
    assert [kept[name] for name in ("row", "given", "corrected", "decision")] == [
        *(review[0][name] for name in ("row", "given", "corrected")),
        "wrong",
    ]
    status, _, err = call("apply", "answers.csv", "review.csv", "-o", "fixed.csv")
    assert status == 0, err
    fixed, before = (folder / "fixed.csv").read_text().splitlines(), answers.splitlines()
    changed = [k for k in range(len(before)) if fixed[k] != before[k]]
    assert changed == [int(review[0]["row"])]
    assert fixed[changed[0]].endswith(f",{review[0]['corrected']}")


def rows_of(path):
    with open(path, newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_where_no_pair_is_likely_wrong_the_most_suspect_are_listed(capsys):
    print_suspects(Console(width=120), "pair", 0, ["id", "and"], [["n0", "n1"]])
    out = capsys.readouterr().out
    assert out.startswith("No pair is more likely wrong than right; the most suspect pairs come first in the list.\n")
    assert "id  and\nn0  n1" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"n1,n2\nn3,n99\n", "links.csv, line 2: 'n99' is not an id of nodes.csv; did you mean"),
        (b"n1,n2,0.5\n", "line 1: '0.5' must be 1 (same) or -1 (different)"),
        (b"n1,n1\n", "'n1' is linked to itself"),
        (b"", "links.csv is empty"),
        (b"n1,n2\nn3\n", "links.csv, line 2: a link has two ids"),
        (b"\xff\xfe\x00", "UTF-16"),
    ],
)
def test_bad_links_are_refused_and_nothing_written(folder, call, rng, content, message):
    write_links(folder, rng)
    (folder / "links.csv").write_bytes(content)
    before = names(folder)
    refused(call("audit", "pairs", "nodes.csv", "links.csv", "-o", "out.csv"), message)
    assert names(folder) == before


def test_audit_pairs_as_json(folder, call, rng):
    write_links(folder, rng)
    status, out, err = call("audit", "pairs", "nodes.csv", "constraints.csv", "--json", "-q")
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["nodes"]["rows"], result["pairs"]) == (30, 60)
    assert result["wrong"].keys() == {"same", "different"}


# ---------------------------------------------------------------------------------------------- complete


@pytest.fixture
def similarity(folder):
    matrix, y = make_block_similarity(60, 3, random_state=0)
    np.save("S.npy", matrix)
    known = Pairs.from_labels(np.where(np.arange(60) % 2 == 0, y, -1), n_pairs=200, random_state=0)
    (folder / "known.csv").write_text(
        "".join(f"{a},{b},{s}\n" for a, b, s in zip(known.rows, known.cols, known.labels, strict=True))
    )
    asked = Pairs.from_labels(y, n_pairs=50, random_state=1)
    (folder / "asked.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(asked.rows, asked.cols, strict=True)))
    return asked


def test_complete(folder, call, similarity):
    status, out, err = call("complete", "S.npy", "known.csv", "--query", "asked.csv", "-o", "answers.csv")
    assert status == 0, err
    assert "60 items, 200 known pairs" in out
    with open("answers.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["same"]) for row in rows] == similarity.labels.tolist()
    assert all((float(row["probability"]) > 0.5) == (row["same"] == "1") for row in rows)


@pytest.mark.slow
def test_plan(folder, call, similarity):
    status, out, err = call("plan", "S.npy", "-k", 3, "--components", 3, "--json")
    assert status == 0, err
    result = json.loads(out)
    assert (result["items"], result["components"]) == (60, 3)
    best = result["recommended"]
    assert best["n_pairs"] == min(row["n_pairs"] for row in result["rows"] if row["accuracy"] >= 0.95)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("S.csv", b"1,0\n0,1\n0,0\n", "S.csv is 3 x 2; a similarity matrix must be square"),
        ("S.csv", b"1,0.5\n0.4,1\n", "is not symmetric"),
        ("S.npz", b"PK", "is not a zip archive"),
    ],
)
def test_bad_similarity_is_refused(folder, call, similarity, name, content, message):
    (folder / name).write_bytes(content)
    before = names(folder)
    refused(call("complete", name, "known.csv", "--query", "asked.csv", "-o", "answers.csv"), message)
    assert names(folder) == before


def test_distances_in_place_of_similarities_are_refused(folder, call, similarity):
    S = np.load("S.npy")
    distances = S.max() - S
    np.fill_diagonal(distances, 0.0)
    np.save("D.npy", distances)
    refused(call("complete", "D.npy", "known.csv", "--query", "asked.csv", "-q"), "looks like a matrix of distances")


def test_complete_as_json_and_without_unpickling(folder, call, similarity):
    class Bomb:
        def __reduce__(self):
            return (open, ("unpickled", "w"))

    status, out, err = call("complete", "S.npy", "known.csv", "--query", "asked.csv", "--json")
    assert status == 0, err
    result = json.loads(out)
    assert result["asked"] == 50
    assert [one["same"] for one in result["answers"]] == similarity.labels.tolist()
    assert all((one["probability"] > 0.5) == (one["same"] == 1) for one in result["answers"])
    np.savez("pickled.npz", X=np.array([[Bomb()]], dtype=object))
    refused(call("complete", "pickled.npz", "known.csv", "--query", "asked.csv", "-q"), "'X' holds pickled objects")
    assert "unpickled" not in names(folder)


# ---------------------------------------------------------------------------------------------- apply


@pytest.fixture
def reviewed(folder):
    (folder / "data.csv").write_bytes(b"id;note;label\r\n1;x;ham\r\n2;'y;ham\r\n3;z;spam\r\n")
    (folder / "corrections.csv").write_text(
        "row,id,column,given,corrected,decision\n1,2,label,ham,'=spam,wrong\n0,1,label,ham,ham,correct\n"
        "2,3,label,spam,ham,skip\n"
    )
    return folder


def test_apply_changes_the_labels_that_are_wrong_and_nothing_else(reviewed, call):
    status, out, err = call("apply", "data.csv", "corrections.csv")
    assert status == 0, err
    assert "data-corrected.csv: 1 corrected, of 2 reviewed." in out
    assert (reviewed / "data-corrected.csv").read_bytes() == b"id;note;label\r\n1;x;ham\r\n2;'y;=spam\r\n3;z;spam\r\n"


def test_the_last_word_on_a_row_counts(reviewed, call):
    lines = ["row,column,given,corrected,decision", "1,label,ham,spam,wrong", "2,label,spam,ham,wrong"]
    lines += ["1,label,ham,ham,correct", "2,label,spam,,skip"]
    (reviewed / "corrections.csv").write_text("\n".join(lines) + "\n")
    assert call("apply", "data.csv", "corrections.csv")[0] == 0
    assert (reviewed / "data-corrected.csv").read_bytes().endswith(b"2;'y;ham\r\n3;z;ham\r\n")


def test_apply_takes_wrong_links_out(folder, call):
    (folder / "links.csv").write_text("from,to\na,b\nb,c\n")
    (folder / "corrections.csv").write_text("row,id,other_id,given,corrected,decision\n0,a,b,1,'-1,wrong\n")
    status, _, err = call("apply", "links.csv", "corrections.csv", "-o", "fixed.csv")
    assert status == 0, err
    assert (folder / "fixed.csv").read_text() == "from,to\nb,c\n"


PAIRS_DECIDED = "row,id,other_id,given,corrected,decision\n0,a,b,1,'-1,wrong\n1,b,c,1,'-1,skip\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,note,price\nx,a,3\ny,b,4\n", "data.csv has no pair a - b; these corrections are of other data"),
        ("id,name,note,price\na,x,b,3\nb,y,c,4\n", "data.csv has no pair a - b"),
        ("from,to\nb,a\nc,d\n", "data.csv has no pair b - c"),
        ("from,to\nb,c\n", "data.csv has no pair a - b"),  # applied already
        ("a,b,different\nb,c,same\n", "data.csv: the pair a - b is given as different, but the correction was made"),
        ("u,v,answer\na,b,same\nb,c,kept apart\n", "the pair b - c is given as different"),
    ],
)
def test_corrections_of_pairs_of_other_data_are_refused(folder, call, content, message):
    (folder / "data.csv").write_text(content)
    (folder / "corrections.csv").write_text(PAIRS_DECIDED)
    refused(call("apply", "data.csv", "corrections.csv"), message)
    assert names(folder) == ["corrections.csv", "data.csv"]


@pytest.mark.parametrize(
    ("content", "corrected"),
    [
        ("from,to\nb,a\na,b\nb,c\n", "from,to\nb,c\n"),  # a link in both directions
        ("a,b,Same\nb,c,same\nc,d,no\n", "a,b,no\nb,c,same\nc,d,no\n"),
        ("u,v,answer\na,b,hit\nb,c,hit\nc,d,miss\n", "u,v,answer\na,b,miss\nb,c,hit\nc,d,miss\n"),
        ("u,v,answer\na,b,same\nb,c,same\n", "u,v,answer\na,b,-1\nb,c,same\n"),  # "answer" is no answer
    ],
)
def test_pairs_that_are_said_to_be_corrected_are_corrected(folder, call, content, corrected):
    (folder / "data.csv").write_text(content)
    (folder / "corrections.csv").write_text(PAIRS_DECIDED)
    status, out, err = call("apply", "data.csv", "corrections.csv")
    assert status == 0, err
    assert "data-corrected.csv: 1 corrected, of 1 reviewed." in out
    assert (folder / "data-corrected.csv").read_text() == corrected


def test_a_pair_that_was_answered_twice_gets_the_right_answer_where_it_is_wrong(folder, call):
    (folder / "answers.csv").write_text('a,b,same\n"a",b,different\n')
    (folder / "corrections.csv").write_text(
        "row,id,other_id,given,corrected,decision\n0,a,b,1,'-1,wrong\n1,a,b,'-1,'-1,correct\n"
    )
    status, out, err = call("apply", "answers.csv", "corrections.csv")
    assert status == 0, err
    assert "1 corrected, of 2 reviewed." in out
    assert (folder / "answers-corrected.csv").read_text() == 'a,b,different\n"a",b,different\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("row,given,corrected,decision\n1,ham,spam,wrong\n", "does not name the column of the labels; use --label"),
        ("row,column,given,corrected,decision\n1,label,spam,ham,wrong\n", "the correction was made for 'spam'"),
        ("row,column,given,corrected,decision\n9,label,ham,spam,wrong\n", "data.csv has 3 rows"),
        ("row,column,given,corrected,decision\n1,lable,ham,spam,wrong\n", "did you mean 'label'?"),
        ("row,column,given,corrected,decision\n1,label,ham,spam,maybe\n", "decision must be one of"),
        ("a,b\n1,2\n", "has no column"),
        ("", "corrections.csv"),
    ],
)
def test_corrections_that_do_not_fit_are_refused(reviewed, call, content, message):
    (reviewed / "corrections.csv").write_text(content)
    refused(call("apply", "data.csv", "corrections.csv"), message)
    assert names(reviewed) == ["corrections.csv", "data.csv"]


def test_apply_as_json(reviewed, call):
    status, out, err = call("apply", "data.csv", "corrections.csv", "--json")
    assert status == 0, err
    assert json.loads(out) == {"file": "data-corrected.csv", "reviewed": 2, "changed": 1}
    refused(call("apply", "data.csv", "corrections.csv"), "data-corrected.csv exists; use --force")


# ---------------------------------------------------------------------------------------------- reproduce, demo


def test_reproduce_lists_and_suggests(folder, call):
    status, out, _ = call("reproduce", "--list")
    assert status == 0
    assert "lkcnpc-table2" in out
    refused(call("reproduce", "lkcnpc-table"), "did you mean lkcnpc-table2?")
    refused(call("reproduce"), "use --list")
    assert names(folder) == []


@pytest.mark.slow
def test_reproduce_and_demo_as_processes(folder):
    status, out, err = spawn("reproduce", "lkcnpc-table2", "--quick", "--json")
    assert status == 0, err
    written = json.loads(out)["files"]
    assert len(written) == 3
    assert all((folder / path).exists() for path in written)
    status, _, err = spawn("demo")
    assert status == 0, err
    assert names(folder / "demo-output") == ["review.html", "summary.json", "summary.txt"]


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")
def test_ctrl_c_ends_with_130_and_no_traceback(folder):
    command = [sys.executable, "-m", "kernelwise", "reproduce", "stpmkl-figure1-accuracy"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells have it ignored in the background
    )
    try:
        wait_until((folder / "results").exists, process=process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err
