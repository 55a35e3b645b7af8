"""What README and the documentation show is run, and what they link to is there."""

import ast
import re
import runpy
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"_build", "gallery", "generated"}  # by Sphinx
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not MADE & {*page.relative_to(ROOT / "docs").parts}),
    *(ROOT / f"{page}.md" for page in ("CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted((ROOT / "benchmarks").rglob("README.md")),
]
#: Pages that take more than some seconds to run.
SLOW = {"README.md", "docs/command-line.md", "docs/cluster.md", "docs/linked-documents.md"}
SLOW |= {
    f"docs/tutorials/{page}.md"
    for page in ("links", "known-pairs", "noisy-labels", "checks", "duplicates", "several-answers")
}
#: The page whose commands are run, beside its code, in the order of the page.
GUIDE = "docs/command-line.md"

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^ {4}(?:\$ )?(kernelwise .*)$", flags=re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(kernelwise .*)$", flags=re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(page):
    return page.relative_to(ROOT).as_posix()


def text(page):
    return page.read_text(encoding="utf-8")


def commands(block):
    """The commands of a shell block without their prompt; comments are the shell's."""
    return [shlex.split(line, comments=True)[1:] for line in COMMAND.findall(block)]


def all_commands(page):
    fenced = [line for language, block in FENCE.findall(text(page)) if language != "python" for line in commands(block)]
    return fenced + [shlex.split(line, comments=True)[1:] for line in INDENTED.findall(FENCE.sub("", text(page)))]


def steps(page):
    """Python blocks as text, and the commands of the guide as lists of words."""
    for language, block in FENCE.findall(text(page)):
        if language == "python":
            yield block
        elif name(page) == GUIDE:
            yield from commands(block)


def slug(heading):
    """The anchor that Sphinx and GitHub give to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


WITH_CODE = [
    pytest.param(page, id=name(page), marks=[pytest.mark.slow] if name(page) in SLOW else [])
    for page in PAGES
    if any(isinstance(step, str) for step in steps(page))
]
COMMANDS = [
    pytest.param(words, id=f"{name(page)}: {' '.join(words)}") for page in PAGES for words in all_commands(page)
]
LINKS = [
    pytest.param(page, target, id=f"{name(page)}: {target}")
    for page in PAGES
    for target in sorted({*LINK.findall(FENCE.sub("", text(page)))})
    if not target.startswith(("http://", "https://", "mailto:"))
]
BENCHMARKS = [
    pytest.param(module, benchmark, id=f"{name(page)}: {module} {benchmark}")
    for page in PAGES
    for module, benchmark in sorted({*re.findall(r"python -m (benchmarks[.\w]*)(?: ([a-z_]+))?", text(page))})
]


def named(pattern):
    """What the pages name in the group of the pattern, each once."""
    return sorted({found for page in PAGES for found in re.findall(pattern, text(page))})


NOISE_BENCHMARKS = named(r"python -m benchmarks\.noise ([^`#\n]+)")
TARGETS = named(r"(?:`| {4})make ([a-z-]+)")
MODULES = named(r"python -m (kernelwise[.\w]*)")
SOURCES = [
    pytest.param(path, id=f"{name(page)}: {path}")
    for page in PAGES
    for path in sorted({*re.findall(r"`((?:\w+/)+\w+\.py)`", text(page))})
]


def test_there_are_examples():
    assert len(WITH_CODE) >= 5
    assert len(COMMANDS) >= 10
    assert len(LINKS) >= 20
    assert len(BENCHMARKS) >= 20
    assert len(NOISE_BENCHMARKS) >= 5
    assert len(TARGETS) >= 10
    assert MODULES
    assert SOURCES


@pytest.mark.parametrize("page", WITH_CODE)
def test_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for step in steps(page):
        if isinstance(step, str):
            exec(compile(step, name(page), "exec"), namespace)
        else:
            from kernelwise.cli import main

            assert main(step) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def words_of(output):
    """Words without line ends; numbers, which differ a little between processors, are all the same."""
    return re.sub(r"\d+(\.\d+)?", "0", " ".join(output.split()))


@pytest.mark.slow
def test_journeys_of_the_readme_run(tmp_path, monkeypatch, capsys):
    """Every command, in order; before corrections are applied, the reviewer calls the first two suspects wrong."""
    from kernelwise.cli import main

    runpy.run_path(str(ROOT / "examples" / "make_files.py"))["main"](tmp_path)
    monkeypatch.chdir(tmp_path)
    journeys = [step for _, block in FENCE.findall(text(ROOT / "README.md")) for step in commands(block)]
    guide, applied = words_of(text(ROOT / GUIDE)), ""
    for command in journeys:
        if command[0] == "apply":
            suspects = Path(command[2])
            suspects.write_text(suspects.read_text(encoding="utf-8").replace("skip", "wrong", 2), encoding="utf-8")
        status = main(command)
        said, error = capsys.readouterr()
        assert status == 0, error
        applied = said if command[0] == "apply" else applied
        if command[:2] == ["audit", "pairs"]:
            told = words_of(said.partition("Most suspect")[0])
            assert told in words_of(text(ROOT / "README.md"))
            assert command[2] != "papers.csv" or told in guide
    assert [command[0] for command in journeys] == ["audit", "apply", "cluster", "audit", "audit"]
    assert "2 corrected, of 2 reviewed" in applied
    assert {"review.html", "links.html", "products.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_of_a_page_imports_what_exists(page):
    for step in steps(page):
        if isinstance(step, str):
            for node in ast.walk(ast.parse(step)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelwise"):
                    assert not [
                        alias.name for alias in node.names if not hasattr(import_module(node.module), alias.name)
                    ]


@pytest.mark.parametrize("words", COMMANDS)
def test_command_parses(words):
    typer = pytest.importorskip("typer")
    from kernelwise.cli.app import app

    command, context = typer.main.get_command(app), None
    while hasattr(command, "resolve_command"):
        context = command.make_context(command.name, words[:1], parent=context, resilient_parsing=True)
        _, command, words = command.resolve_command(context, words)
    parsed = command.make_context(command.name, words, parent=context)  # raises where an option is unknown
    if command.name == "reproduce" and parsed.params["name"]:
        from kernelwise.papers import catalogue

        assert parsed.params["name"] in catalogue()


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_link_leads_somewhere(page, target):
    path, _, anchor = target.partition("#")
    linked = page.parent / path if path else page
    assert linked.exists()
    if anchor:
        assert anchor in map(slug, re.findall(r"^#+ (.*)$", FENCE.sub("", text(linked)), flags=re.MULTILINE))


@pytest.mark.parametrize(("module", "benchmark"), BENCHMARKS)
def test_benchmarks_that_are_named_exist(module, benchmark):
    path = ROOT / module.replace(".", "/")
    assert path.is_dir() or path.with_suffix(".py").exists()
    if benchmark:
        program = (path / "__main__.py").read_text(encoding="utf-8")
        assert f'"{benchmark}"' in program  # which lists them, or has a command of that name


@pytest.mark.parametrize("line", NOISE_BENCHMARKS)
def test_command_of_the_noise_benchmark_parses(line, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import_module("benchmarks.noise.__main__").parser().parse_args(shlex.split(line))  # exits at an unknown option


@pytest.mark.parametrize("target", TARGETS)
def test_target_of_make_exists(target):
    assert re.search(rf"^{target}:", text(ROOT / "Makefile"), flags=re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_program_of_the_package_shows_its_help(module):
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    assert "usage" in done.stdout.lower()


@pytest.mark.parametrize("path", SOURCES)
def test_source_file_that_is_named_exists(path):
    """Paths begin at the root, at the sources or in the package."""
    assert any((start / path).is_file() for start in (ROOT, ROOT / "src", ROOT / "src" / "kernelwise"))


#: Modules whose names are all for users, and what is among them that no page can be made of.
PUBLIC = ["kernelwise", "kernelwise.kernels", "kernelwise.metrics", "kernelwise.datasets", "kernelwise.spectral"]
PUBLIC += ["kernelwise.report", "kernelwise.files"]
NO_PAGE = {"kernelwise": {"datasets", "kernels", "metrics"}, "kernelwise.files": {"Kind"}}


def names_in_the_reference():
    """The names that the page lists, by module."""
    listed, module = {}, None
    for line in text(ROOT / "docs" / "api.md").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r"   (\w+)", line):
            listed.setdefault(module, set()).add(found[1])
    return listed


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_lists_every_public_name(module):
    assert names_in_the_reference()[module] == {*import_module(module).__all__} - NO_PAGE.get(module, set())


def test_the_reference_lists_nothing_else():
    for module, listed in names_in_the_reference().items():
        assert not [name for name in sorted(listed) if not getattr(import_module(module), name).__doc__]
