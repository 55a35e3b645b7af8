"""Full and read-only disks: every command that writes says so in one sentence, and leaves what was there.

The disk is a small file system in memory, mounted in a mount namespace of our own, which ends with the process. That
takes ``unshare`` and the right to use it, which users have on most Linux systems.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import environment
from kernelwise.whole_files import write_whole

from .inputs import COMMANDS, Command, write_inputs, write_model

#: The situations, and the bytes that are left; None for a disk that cannot be written to at all.
SITUATIONS: dict[str, int | None] = {"full": 0, "nearly full": 12_288, "read-only": None}
OLD = b"old content\n"


def measure(output: Path, only: Sequence[str] = ()) -> dict[str, Any]:
    """Run every command on every disk, in a mount namespace, and write down what was found."""
    with tempfile.NamedTemporaryFile() as answer:
        command = [*namespace(), sys.executable, "-m", "benchmarks.reliability.disk", answer.name, *only]
        subprocess.run(command, check=True)
        cases = json.load(answer)
    found = {"met": not any(case["faults"] for case in cases), "cases": cases, "environment": environment()}
    write_whole(output / "disk.json", (json.dumps(found, indent=1) + "\n").encode())
    write_whole(output / "disk.md", table(cases).encode())
    return found


def table(cases: Sequence[dict[str, Any]]) -> str:
    """What every command said, in Markdown; files of those names were there before."""
    rows = [
        f"| {case['command']} | {case['disk']} | {case['status']} | {case['said'] or 'all was written'} "
        f"| {'; '.join(case['faults']) or 'none'} |"
        for case in cases
        if case["old_file"]
    ]
    return "\n".join(["| command | disk | status | what it said | faults |", "|---|---|---|---|---|", *rows, ""])


def namespace() -> list[str]:
    """The beginning of a command that may mount what it likes without anybody noticing."""
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def all_cases(only: Sequence[str]) -> list[dict[str, Any]]:
    """Every command in every situation with a file of that name there before, and on a full disk without."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder)
        write_inputs(inputs)
        write_model(inputs)
        cases = []
        for command in COMMANDS:
            for situation, there in [("full", False), *((situation, True) for situation in SITUATIONS)]:
                if not only or command.name in only:
                    cases.append(one_case(inputs, command, situation, there))
                    print(cases[-1], flush=True)
        return cases


def one_case(inputs: Path, command: Command, situation: str, there: bool) -> dict[str, Any]:
    """Run a command whose results go to the disk, and look at the disk before and after."""
    disk = inputs / "out"
    disk.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", disk)
    try:
        for name in command.writes if there else ():
            (disk / name).parent.mkdir(exist_ok=True)
            (disk / name).write_bytes(b"" if name.endswith(".jsonl") else OLD)
        _use_up(disk, SITUATIONS[situation])
        before = _contents(disk)
        done = _run(inputs, [*command.arguments, "-q", "--force"])
        after = _contents(disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    faults = _faults(command, done, before, after)
    words = done.stderr.strip()
    return {
        "command": command.name,
        "disk": situation,
        "old_file": there,
        "status": done.returncode,
        "said": words.replace(str(inputs), "."),
        "faults": faults,
    }


def _faults(command: Command, done: Any, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    if done.returncode == 0:
        return [f"{name} is missing" for name in command.writes if after.get(name, OLD) == OLD]
    faults = []
    if done.returncode != 2 or not done.stderr.startswith("kernelwise: ") or done.stderr.count("\n") != 1:
        faults.append("not one sentence and exit status 2")
    for name in before.keys() | after.keys():
        if name.endswith(".jsonl"):
            whole = all(json.loads(line) for line in after[name].splitlines())
            faults += [] if whole and after[name][-1:] in (b"", b"\n") else [f"{name} has a torn line"]
        elif name not in command.writes and before.get(name) != after.get(name):
            faults.append(f"{name} is litter")
        elif before.get(name) != after.get(name) and not command.keeps_what_is_finished:
            faults.append(f"{name} has changed")
        elif before.get(name) != after.get(name) and after.get(name, b"")[-1:] != b"\n":
            faults.append(f"{name} is cut off")
    return faults


def _run(folder: Path, arguments: list[str]) -> Any:
    command = [sys.executable, "-m", "kernelwise", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _use_up(disk: Path, left: int | None) -> None:
    """Fill the disk but for some bytes, or make it read-only."""
    if left is None:
        _mount("-o", "remount,ro", disk)
        return
    with (disk / "filler").open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            stream.truncate(max(0, stream.tell() - left))


def _contents(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*") if path.is_file()}


def _mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(all_cases(sys.argv[2:])))
