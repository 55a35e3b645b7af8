"""Command lines with something wrong in them: a file, a value, an option, or several of them."""

import random
from collections.abc import Sequence
from pathlib import Path

from .bad_files import damaged

#: Good command lines. {name} is a file that is read, [name] one that is written.
COMMANDS = (
    "audit labels {people.csv} --label label --id id",
    "audit labels {people.csv} --label label --output [suspects.csv] --report [page.html] --json",
    "audit labels {people.csv} --id id --answers {said.csv} --consensus [labels.csv] --ask [ask.csv] --json",
    "audit labels {people.csv} --label label --annotator kind --id id --output [suspects.csv] --report [page.html]",
    "audit labels {said.csv} --label label --annotator who --id id --output [suspects.csv]",
    "audit labels {people.npz} --label y",
    "audit labels {people.svm} --label label",
    "audit labels {people.parquet} --label flag --kind n=categorical",
    "audit pairs {people.csv} {links.csv} --id id --output [suspects.csv] --report [page.html]",
    "audit pairs {people.csv} {pairs.tsv} --id id --kind label=id",
    "audit pairs {people.csv} {judged.csv} --id id --annotator worker --report [page.html] --json",
    "audit pairs {people.mtx} {edges.edges}",
    "apply {people.csv} {corrections.csv} --output [fixed.csv]",
    "apply {people.csv} {corrections.csv} --label label",
    "apply {links.csv} {corrections.csv}",
    "apply {people.npz} {corrections.csv} --label y",
    "apply {people.parquet} {corrections.csv} --label flag",
    "classify {people.csv} --label label --id id --model [new.skops] --json",
    "classify {people.svm} --label label --model [new.skops]",
    "predict {model.skops} {people.csv} --id id --output [predictions.csv]",
    "predict {older.skops} {people.csv} --json",
    "predict {model.skops} {people.npz}",
    "cluster {people.csv} --clusters 2 --links {links.csv} --id id --output [clusters.csv]",
    "cluster {people.csv} -k 3 --links {pairs.tsv} --id id --json",
    "cluster {people.csv} -k 2 --id id --kind label=id",
    "complete {similarity.npy} {known.csv} --query {asked.csv} --components 3 --output [answers.csv]",
    "complete {similarity.csv} {known.csv} --query {asked.csv} --components 3 --json",
    "plan {similarity.npy} --classes 2 --components 2 --accuracy 0.9",
    "reproduce --list",
    "reproduce no-such-table --quick --output [results]",
    "demo --output {people.csv}",
    "--version",
)
#: Values of options, good for none of them or for some.
VALUES = [
    *("", " ", "0", "-1", "1", "2", "1e3", "0.5", "nan", "inf", "99999999999999999999", "0x10", "NaN", "None", "True"),
    *("label", "Label", "lable", "id", "x", "note", "kind", "y", "flag", "row", "=", "=text", "x=", "x=numeric"),
    *("id=id", "note=numeric", "label=text", "label=nonsense", "x=text", "a=b=c", "é", "\u202e", "\udcff", "[bold]"),
    *("--", "-", "-k", "--label", "--json", "*", "~", "$HOME", "../../x", "a" * 5000, "\n", "\0", "[/]", "{}", "%s"),
]
OPTIONS = [
    *("--force", "--quiet", "--json", "--seed", "--nonsense", "-z", "--labell", "--kind", "--resume", "--help", "-o"),
    *(
        "--report",
        "--id",
        "--jobs",
        "--version",
        "--list",
        "--annotator",
        "--answers",
        "--ask",
        "--consensus",
        "--group",
    ),
    *("--questions", "--source-kind", "--cost", "--checks"),
]
#: Places to write to that cannot be used, or only with care.
PLACES = [
    *("missing/out.csv", ".", "", "/proc/nothing/out.csv", "people.csv", "x" * 300, "out\0.csv", "pipe.csv"),
    *("\udcff.csv", "../out.csv", "out", "out.csv/"),
]
DEFECTS_EACH = (1, 1, 2, 3)


def bad_command_line(whole: dict[str, Path], folder: Path, rng: random.Random) -> list[str]:
    """A command line with one to three things wrong, whose damaged files lie in ``folder``."""
    words = rng.choice(COMMANDS).split()
    arguments = [_place(word, whole, folder) for word in words]
    defects = (_bad_file, _bad_value, _bad_option, _bad_output)
    for defect in rng.choices(defects, weights=(6, 2, 1, 1), k=rng.choice(DEFECTS_EACH)):
        arguments = defect(words, arguments, whole, folder, rng)
    # The tour takes a minute where nothing is wrong.
    return [*arguments, "--output", str(whole["people.csv"])] if "demo" in arguments else arguments


def _place(word: str, whole: dict[str, Path], folder: Path) -> str:
    if word.startswith("{"):
        return str(whole[word[1:-1]])
    return str(folder / word[1:-1]) if word.startswith("[") else word


def _slots(words: Sequence[str], arguments: Sequence[str], mark: str) -> list[int]:
    """Places of files in the good line that are still there in the bad one."""
    return [at for at, word in enumerate(words) if word.startswith(mark) and at < len(arguments)]


def _bad_file(
    words: list[str], arguments: list[str], whole: dict[str, Path], folder: Path, rng: random.Random
) -> list[str]:
    slots = _slots(words, arguments, "{")
    if not slots:
        return _bad_option(words, arguments, whole, folder, rng)
    at = rng.choice(slots)
    source = Path(arguments[at]) if arguments[at] in map(str, whole.values()) else whole[words[at][1:-1]]
    if rng.random() < 0.15:
        return [*arguments[:at], str(rng.choice(list(whole.values()))), *arguments[at + 1 :]]
    place = folder / f"{at}{rng.randrange(10**6)}"
    place.mkdir()
    return [*arguments[:at], str(damaged(source, place, rng)), *arguments[at + 1 :]]


def _bad_value(
    words: list[str], arguments: list[str], whole: dict[str, Path], folder: Path, rng: random.Random
) -> list[str]:
    slots = [at for at, word in enumerate(words) if at and at < len(arguments) and words[at - 1].startswith("-")]
    plain = [at for at in slots if not words[at].startswith(("-", "{", "["))]
    if not plain:
        return _bad_option(words, arguments, whole, folder, rng)
    at = rng.choice(plain)
    return [*arguments[:at], rng.choice(VALUES), *arguments[at + 1 :]]


def _bad_option(
    words: list[str], arguments: list[str], whole: dict[str, Path], folder: Path, rng: random.Random
) -> list[str]:
    at = rng.randrange(len(arguments) + 1)
    kind = rng.randrange(5)
    if kind == 0:
        return arguments[:at] + arguments[at + 1 :]
    if kind == 1:
        return [*arguments[:at], rng.choice(OPTIONS), *arguments[at:]]
    if kind == 2:
        return [*arguments, rng.choice(OPTIONS), rng.choice(VALUES)]
    if kind == 3:
        return [*arguments[:at], rng.choice(VALUES), *arguments[at:]]
    return arguments[:at]


def _bad_output(
    words: list[str], arguments: list[str], whole: dict[str, Path], folder: Path, rng: random.Random
) -> list[str]:
    slots = _slots(words, arguments, "[")
    if not slots:
        return [*arguments, "--output", str(folder / rng.choice(PLACES))]
    at, place = rng.choice(slots), rng.choice(PLACES)
    target = str(rng.choice(list(whole.values()))) if place == "people.csv" else str(folder / place)
    return [*arguments[:at], target, *arguments[at + 1 :]]
