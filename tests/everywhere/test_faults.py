"""Kills, full disks, company: files are whole at every moment, and whoever cannot write says so in a sentence.

``python -m benchmarks.reliability`` does the same at length; here it runs with few kills.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tiny_experiment
from command_line import names, refused, run_here
from kernelwise.files import FileError, write_file, write_files
from kernelwise.papers import RecordError, run
from kernelwise.whole_files import alone_in, whole_file, write_together, write_whole
from tiny_experiment import tiny

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and locks of POSIX systems")
pytestmark = posix


def python(*arguments, cwd=None, limit=None, **options):
    """Run Python; ``limit`` is the largest file, in units of 1024 bytes, that it may write."""
    command = [sys.executable, *map(str, arguments)]
    if limit is not None:
        command = ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "bash", *command]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(command, cwd=cwd, text=True, check=False, timeout=300, **options)


def outcome(done):
    return done.returncode, done.stdout, done.stderr


def reliability(*arguments):
    """A measurement of reliability with its verdict."""
    done = python("-m", "benchmarks.reliability", *arguments, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


# --- whole files


def left_behind(path, content=b"half"):
    """What a writer of ``path`` leaves who is killed before the end."""
    program = (
        "import os, signal, sys; from pathlib import Path; from kernelwise.whole_files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as stream:\n"
        "    stream.write(sys.argv[2].encode()); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert python("-c", program, path, content.decode()).returncode == -signal.SIGKILL


def test_what_a_killed_writer_leaves_is_removed_by_the_next_writer_of_the_same_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    left_behind(path)
    left_behind(tmp_path / "b.txt")
    assert path.read_bytes() == b"old"
    litter = {name for name in names(tmp_path) if name.endswith(".kernelwise-tmp")}
    assert len(litter) == 2
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [name for name in names(tmp_path) if name != "a.txt"] == [name for name in litter if "b.txt" in name]


def test_only_litter_is_removed(tmp_path):
    path = tmp_path / "a.txt"
    others = [".a.txt.tmp", ".a.txt.0123.kernelwise-tmp", ".ba.txt.0123456789abcdef.kernelwise-tmp", "a.txt.tmp"]
    for name in others:
        (tmp_path / name).touch()
    with whole_file(path) as slow:
        slow.write(b"slow")
        write_whole(path, b"quick")  # while the other one is writing
        assert path.read_bytes() == b"quick"
    assert path.read_bytes() == b"slow"
    assert names(tmp_path) == sorted([*others, "a.txt"])


@pytest.mark.parametrize("name", ["a" * 255, "ü" * 127, "😀" * 63])
def test_the_longest_names_can_be_written(tmp_path, name):
    write_whole(tmp_path / name, b"x")
    assert names(tmp_path) == [name]


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "private", tmp_path / "link"
    path.touch(mode=0o600)
    link.symlink_to(path)
    write_whole(link, b"secret")
    assert link.is_symlink()
    assert path.read_bytes() == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_replace_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.txt"

    def late():
        with whole_file(path, replace=False) as stream:
            stream.write(b"late")
            path.write_bytes(b"first")

    with pytest.raises(FileExistsError) as caught:
        late()
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["a.txt"]


def test_files_are_written_together_or_not_at_all(tmp_path):
    good, bad = tmp_path / "a", tmp_path / "nowhere" / "b"
    with pytest.raises(FileNotFoundError) as caught:
        write_together({good: b"1", bad: b"2"})
    assert caught.value.filename == str(bad)
    assert names(tmp_path) == []
    write_files({good: "1", tmp_path / "c": b"2"})
    assert names(tmp_path) == ["a", "c"]


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="pipe is a device or a pipe; name a file to write"):
        write_file(pipe, "x", force=True)
    assert pipe.is_fifo()


def test_a_folder_is_held_until_its_holder_is_killed(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from kernelwise.whole_files import alone_in\n"
        "with alone_in(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError), alone_in(tmp_path):
            pass
        holder.kill()
        holder.wait()
        with alone_in(tmp_path):
            pass
    assert names(tmp_path) == []


# --- full disks


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """The files that commands read."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.reliability.inputs import write_inputs

    write_inputs(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_command_that_cannot_write_says_so_and_leaves_what_was_there(inputs):
    out = inputs / "out.csv"
    out.write_text("old")
    found = names(inputs)
    arguments = ["-m", "kernelwise", "apply", "people.csv", "corrections.csv", "-o", "out.csv", "--force"]
    refused(
        outcome(python(*arguments, cwd=inputs, limit=1)), "out.csv could not be written (File too large); make room"
    )
    assert names(inputs) == found
    assert out.read_text() == "old"


def test_a_command_that_can_write_one_of_two_files_writes_none(inputs):
    found = names(inputs)
    arguments = ["audit", "pairs", "nodes.csv", "links.csv", "-o", "p.csv", "--report", "p.html", "-q"]
    done = python("-m", "kernelwise", *arguments, cwd=inputs, limit=16)
    refused(outcome(done), "p.html could not be written")
    assert names(inputs) == found


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["reproduce", "--list", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_one_sentence(arguments):
    with open("/dev/full", "w") as full:
        done = python("-m", "kernelwise", *arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("kernelwise: the output could not be written (")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_where_there_is_no_place_to_complain_the_status_remains():
    with open("/dev/full", "w") as full:
        assert python("-m", "kernelwise", "predict", "nothing", stderr=full).returncode == 2


def test_closed_streams_do_no_harm():
    command = ["bash", "-c", '"$0" -m kernelwise --version >&- 2>&-', sys.executable]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.slow
def test_records_on_a_full_disk_are_whole_and_the_run_continues(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from tiny_experiment import tiny\n"
        "from kernelwise.papers.__main__ import main\n"
        "sys.exit(main(['tiny', '--output', sys.argv[2]], {'tiny': tiny()}))"
    )
    done = python("-c", program, Path(tiny_experiment.__file__).parent, tmp_path, limit=1)
    assert done.returncode == 2
    complaint = done.stderr.splitlines()[-1]
    assert "records.jsonl" in complaint
    assert "finished cells are kept: make room and run again" in complaint
    path = tmp_path / "tiny" / "records.jsonl"
    lines = path.read_text().splitlines()
    assert 1 <= len(lines) < 12
    assert path.read_bytes().endswith(b"\n")
    finished = [json.loads(line)["cell"] for line in lines]
    records = run(tiny(), output=tmp_path)
    assert path.read_text().splitlines()[: len(lines)] == lines
    assert finished == [dict(record.cell) for record in records[: len(lines)]]
    expected = run(tiny(), output=tmp_path / "undisturbed")
    assert [record.results for record in records] == [record.results for record in expected]


@pytest.mark.slow
def test_every_command_on_full_and_read_only_disks(tmp_path):
    if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("needs the right to mount")
    reliability("disk", "--only", "apply", "predict", "audit pairs", "--output", tmp_path)


# --- company


@pytest.mark.parametrize("resume", [True, False])
def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(tmp_path, resume):
    run(tiny(), output=tmp_path, quick=True)
    before = (tmp_path / "tiny" / "records.jsonl").read_bytes()
    refusal = pytest.raises(RecordError, match=r"another run is writing to .*records\.jsonl; wait until")
    with alone_in(tmp_path / "tiny"), refusal:
        run(tiny(), output=tmp_path, resume=resume)
    assert names(tmp_path / "tiny") == ["records.jsonl"]
    assert (tmp_path / "tiny" / "records.jsonl").read_bytes() == before
    assert len(run(tiny(), output=tmp_path)) == 12


@pytest.mark.slow
def test_several_processes_at_one_file_folder_or_cache(tmp_path):
    reliability("company", "--rounds", "3", "--output", tmp_path)


# --- kills


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_command_with_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("kernelwise.papers.catalogue", lambda: {"tiny": tiny(tiny_experiment.dies)})
    status, out, err = run_here(capsys, "reproduce", "tiny", "--jobs", 2, "-o", tmp_path, "-q")
    assert (status, out) == (1, "")
    assert err.startswith("kernelwise: a worker process died")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_few_kills(tmp_path):
    kinds = ["corrections.csv", "experiment, 1 process"]
    reliability("kills", "--kills", "8", "--seed", "1", "--output", tmp_path, "--only", *kinds)
    found = json.loads((tmp_path / "kills.json").read_text())
    assert [victim["victim"] for victim in found["victims"]] == kinds
    assert found["kills"] >= 6


@pytest.mark.slow
def test_more_kills(tmp_path):
    kinds = [
        "review.html",
        "cache of a data set",
        "model.skops",
        "corrected.csv",
        "experiment, 2 processes",
        "kernelwise audit labels",
        "kernelwise reproduce",
    ]
    reliability("kills", "--kills", "35", "--seed", "2", "--output", tmp_path, "--only", *kinds)


# --- the verdicts of the long run


def test_the_verdict_on_a_long_run_sees_leaks(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.reliability.soak import Sample, judge

    def samples(**slopes):
        return [
            Sample(**{name: 100 + slopes.get(name, 0.0) * t for name in Sample.__dataclass_fields__} | {"seconds": t})
            for t in np.arange(1.0, 101.0)
        ]

    assert judge(samples())["met"]
    for leak in ({"rss_mb": 0.2}, {"rss_after_gc_mb": 0.2}, {"threads": 0.05}, {"open_files": 1.0}, {"children": 1.0}):
        assert not judge(samples(**leak))["met"], leak
