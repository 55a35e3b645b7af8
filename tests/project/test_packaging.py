"""What pyproject.toml promises, and the tools that check what is shipped."""

import importlib.util
import re
import tomllib
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelwise import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: What the others bring, in versions of their time.
BROUGHT = {"click", "distributed", "pyparsing"}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lower_bounds():
    extras = PROJECT["project"]["optional-dependencies"]
    pandas = [line for line in PROJECT["dependency-groups"]["test"] if str(line).startswith("pandas")]
    lines = [*PROJECT["project"]["dependencies"], *(line for name in extras if name != "all" for line in extras[name])]
    return dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups() for line in [*lines, *pandas])


def test_oldest_versions_are_the_lower_bounds():
    lines = read("tools/oldest.txt").splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    bounds = lower_bounds()
    assert oldest.keys() - BROUGHT == bounds.keys()
    assert oldest["distributed"] == oldest["dask"]
    for name in bounds:
        version = oldest[name]
        first = re.fullmatch(rf"{re.escape(bounds[name])}(\.0)*", version)
        assert first, f"{name}: {version} in tools/oldest.txt, {bounds[name]} in pyproject.toml"


def test_supported_pythons_are_those_that_are_tested():
    makefile = read("Makefile")
    tested = re.search(r"^PYTHONS \?= (.*)$", makefile, flags=re.MULTILINE)[1].split()
    prefix = "Programming Language :: Python :: 3."
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)]
    assert named == tested
    assert PROJECT["project"]["requires-python"] == f">={tested[0]}"
    assert f"OLDEST_PYTHON ?= {tested[0]}\nNEWEST_PYTHON ?= {tested[-1]}\n" in makefile


def test_the_workflow_tests_the_supported_pythons_by_targets_of_make():
    if not (ROOT / ".github").is_dir():
        pytest.skip("the sdist comes without the workflow")
    workflow, makefile = read(".github/workflows/ci.yml"), read("Makefile")
    matrix = re.search(r"python: \[(.*)\]", workflow)[1]
    assert re.findall(r"[\d.]+", matrix) == re.search(r"^PYTHONS \?= (.*)$", makefile, flags=re.MULTILINE)[1].split()
    by_version = workflow.replace("${{ matrix.python }}", "%")  # as make writes a rule for every version
    targets = [target for line in re.findall(r"run: make (.*)", by_version) for target in line.split()]
    assert {"lint", "test-python-%", "docs", "test-browser"} <= {*targets}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_version_has_a_release_in_the_changelog_and_in_the_citation():
    released = re.search(rf"^## {re.escape(__version__)} \((.*)\)$", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert released
    assert f"\nversion: {__version__}\ndate-released: {released[1]}\n" in read("CITATION.cff")


@pytest.mark.parametrize(
    ("fields", "licence", "permissive"),
    [
        ([("License-Expression", "BSD-3-Clause AND Zlib")], "BSD-3-Clause AND Zlib", True),
        ([("License-Expression", "MIT OR GPL-3.0-only")], "MIT OR GPL-3.0-only", True),
        ([("License-Expression", "MIT AND (ISC OR GPL-3.0-only)")], "MIT AND (ISC OR GPL-3.0-only)", True),
        ([("License-Expression", "MIT AND GPL-3.0-only")], "MIT AND GPL-3.0-only", False),
        ([("License-Expression", "(MIT")], "(MIT", False),
        ([("License-Expression", "MIT MIT")], "MIT MIT", False),
        ([("License-Expression", "GPL-3.0-only WITH GCC-exception-3.1")], "GPL-3.0-only WITH GCC-exception-3.1", True),
        (
            [("License-Expression", "GPL-3.0-only WITH Font-exception-2.0")],
            "GPL-3.0-only WITH Font-exception-2.0",
            False,
        ),
        ([("License", "long text"), ("Classifier", "License :: OSI Approved :: BSD License")], "BSD", True),
        (
            [("Classifier", "License :: OSI Approved :: GNU Affero General Public License v3")],
            "GNU Affero General Public License v3",
            False,
        ),
        ([("License", "MIT License\n\nCopyright")], "MIT", True),
        ([("License", "All rights reserved")], "All rights reserved", False),
        ([], "", False),
    ],
)
def test_licence_is_read_and_judged(fields, licence, permissive):
    metadata = Message()
    for name, value in fields:
        metadata[name] = value
    licences = tool("check_licences")
    assert licences.stated_licence(SimpleNamespace(name="something", metadata=metadata)) == licence
    assert licences.is_permissive(licence) is permissive


CLEAN = {"name": "numpy", "version": "2.0.0", "vulns": []}
FLAWED = {"name": "scipy", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}]}
SKIPPED = {"name": "typer", "skip_reason": "not found"}
OURSELVES = {"name": "kernelwise", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "status", "message"),
    [
        ([CLEAN, OURSELVES], 0, "1 distributions without a known vulnerability"),
        ([CLEAN, FLAWED, SKIPPED], 1, "scipy 1.0: CVE-1, fixed in 1.1"),
        ([CLEAN, SKIPPED], 2, "NOT CHECKED"),
        ([OURSELVES], 2, "NOT CHECKED"),
    ],
)
def test_what_was_not_checked_does_not_pass(dependencies, status, message, capsys):
    assert tool("check_vulnerabilities").report(dependencies) == status
    assert message in capsys.readouterr().out


def test_a_folder_that_is_no_environment_was_not_checked(tmp_path, capsys):
    assert tool("check_vulnerabilities").main([str(tmp_path)]) == 2
    assert "NOT CHECKED" in capsys.readouterr().out


def test_the_sdist_holds_what_is_included_and_not_excluded():
    distribution = tool("check_distribution")
    names = ["src/a.py", "src2/b.py", "bench/run.py", "bench/records/1.jsonl", "README.md", "notes.md"]
    settings = {"include": ["src", "bench", "README.md"], "exclude": ["bench/records"]}
    assert distribution.shipped(names, settings) == {"src/a.py", "bench/run.py", "README.md"}
    with pytest.raises(distribution.CheckError, match="'LICENSE'"):
        distribution.shipped(names, {"include": ["LICENSE"], "exclude": []})


def test_records_of_benchmarks_are_not_shipped():
    distribution = tool("check_distribution")
    names = [path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*") if path.is_file()]
    if not any("noise/records/" in name for name in names):
        pytest.skip("the sdist comes without the records")
    settings = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]
    shipped = distribution.shipped(names, {"include": ["benchmarks"], "exclude": settings["exclude"]})
    assert "benchmarks/noise/run.py" in shipped
    assert not [name for name in shipped if ".jsonl" in name and "noise" in name]


@pytest.mark.parametrize(
    "name", ["tests/test_pairs.py", "notes.txt", "datasets/files/raw.csv", "cli/__pycache__/app.cpython-311.pyc"]
)
def test_litter_is_no_part_of_a_package(name):
    assert not tool("check_distribution").PACKAGE_FILE.fullmatch(f"kernelwise/{name}")
