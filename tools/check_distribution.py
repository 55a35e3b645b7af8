"""Build the distributions as a stranger would, and see whether they are reproducible, complete, and work.

    python tools/check_distribution.py

1. Two clean copies of the sources, in different folders, with different times and permissions, give the same wheel and
   the same sdist, byte by byte, and the unpacked sdist gives that wheel again.
2. The wheel holds the files of the package and its metadata, the sdist the sources that pyproject.toml names; nothing
   else.
3. In an empty environment the wheel brings numpy, scipy, scikit-learn and what these need, and every public name loads;
   with the extras "cli" and "report", the tour runs and leaves its page.

A clean copy is what git tracks, with what it would track if asked to add everything.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What a package may consist of; a file of another kind was left there by mistake.
PACKAGE_FILE = re.compile(
    r"kernelwise/(?!(.*/)?(tests?/|test_|conftest))(py\.typed|(\w+/)*\w+\.py|(\w+/)*__init__\.pyi|datasets/files/(\w+\.npz|manifest\.json)|datasets/descr/\w+\.rst"
    r"|files/trusted_types\.txt|report/assets/\w+\.(js|css|html))"
)
#: Without any of these the package would be installed, and fail later.
NEEDED = {
    "kernelwise/py.typed",
    "kernelwise/__main__.py",
    "kernelwise/__init__.pyi",
    "kernelwise/files/__init__.pyi",
    "kernelwise/report/__init__.pyi",
    "kernelwise/review/__init__.pyi",
    "kernelwise/files/trusted_types.txt",
    "kernelwise/datasets/files/manifest.json",
    "kernelwise/datasets/files/cora.npz",
    "kernelwise/report/assets/page.html",
    "kernelwise/report/assets/style.css",
    "kernelwise/report/assets/main.js",
}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
#: What the build adds to the sources.
SDIST_EXTRAS = {"PKG-INFO", "pyproject.toml", ".gitignore"}
#: All that the core asks for; these bring what they need in turn.
CORE = {"numpy", "scipy", "scikit-learn"}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class CheckError(Exception):
    """What is wrong with a distribution, in a sentence."""


def require(condition: bool, complaint: str) -> None:
    """Raise what is wrong unless the condition holds."""
    if not condition:
        raise CheckError(complaint)


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    require(done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def sources() -> list[str]:
    """The files of a clean copy, relative to the root."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT).split("\0")
    return sorted(name for name in listed if name and (ROOT / name).is_file())


def copy_sources(names: list[str], origin: Path, folder: Path, *, time: int, mode: int) -> Path:
    """A copy whose files have other times and permissions than the originals."""
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(origin / name, target)
        target.chmod(mode)
        os.utime(target, (time, time))
    return folder


def build(folder: Path, kind: str, epoch: str, **environment: str) -> Path:
    """The one distribution that a build leaves in ``dist``."""
    output = folder / "dist" / kind
    run(
        *(sys.executable, "-m", "build", f"--{kind}", "--outdir", output, folder),
        folder=folder,
        SOURCE_DATE_EPOCH=epoch,
        **environment,
    )
    (made,) = output.iterdir()
    return made


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_same(first: Path, second: Path, what: str) -> None:
    """Compare the names and the bytes of two distributions."""
    require(first.name == second.name, f"{what}: {first.name} and {second.name}")
    require(digest(first) == digest(second), f"{what}: {first.name} differs: {digest(first)} and {digest(second)}")
    print(f"{what}: the same, {first.name}, {first.stat().st_size:,} bytes, sha256 {digest(first)}")


def check_names(found: set[str], expected: set[str], what: str) -> None:
    """Compare what a distribution holds with what it should hold."""
    require(not expected - found, f"{what} lacks {sorted(expected - found)}")
    require(not found - expected, f"{what} holds {sorted(found - expected)}, which should not be there")
    print(f"{what}: {len(found)} files, none missing, none too many")


def check_wheel(wheel: Path, names: list[str], copy: Path) -> None:
    """Compare the wheel with the package in the sources: the same files with the same bytes, and metadata."""
    package = {name.removeprefix("src/") for name in names if name.startswith("src/kernelwise/")}
    litter = sorted(name for name in package if not PACKAGE_FILE.fullmatch(name))
    require(not litter, f"src/kernelwise holds {litter}, which is no part of a package")
    require(package >= NEEDED, f"src/kernelwise lacks {sorted(NEEDED - package)}")
    information = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with zipfile.ZipFile(wheel) as archive:
        check_names({*archive.namelist()}, package | {f"{information}/{name}" for name in METADATA}, "the wheel")
        for name in package:
            require(archive.read(name) == (copy / "src" / name).read_bytes(), f"{name} differs in the wheel")


def shipped(names: list[str], settings: dict[str, list[str]]) -> set[str]:
    """The files that the sdist should hold; every path of the settings has to stand for a file."""

    def below(path: str) -> set[str]:
        found = {name for name in names if f"{name}/".startswith(f"{path}/")}
        require(bool(found), f"pyproject.toml names {path!r} for the sdist, which is not there")
        return found

    return set().union(*map(below, settings["include"])) - set().union(*map(below, settings["exclude"]))


def check_sdist(sdist: Path, names: list[str], copy: Path) -> None:
    """Compare the sdist with what pyproject.toml includes and excludes."""
    settings = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))
    expected = shipped(names, settings["tool"]["hatch"]["build"]["targets"]["sdist"])
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    check_names(found, expected | SDIST_EXTRAS, "the sdist")


def check_reproducible(names: list[str], folder: Path) -> tuple[Path, Path, Path]:
    """Build everything twice, and the wheel from the sdist; return the copy, its wheel and its sdist."""
    epoch = run("git", "log", "-1", "--format=%ct", folder=ROOT).strip()
    one = copy_sources(names, ROOT, folder / "one", time=1_500_000_000, mode=0o644)
    two = copy_sources(names, one, folder / "another" / "place", time=1_700_000_001, mode=0o600)
    first = {kind: build(one, kind, epoch, PYTHONHASHSEED="1", TZ="UTC") for kind in ("wheel", "sdist")}
    second = {kind: build(two, kind, epoch, PYTHONHASHSEED="2", TZ="Asia/Tokyo") for kind in ("wheel", "sdist")}
    for kind, made in first.items():
        check_same(made, second[kind], f"{kind} of two copies")
    with tarfile.open(first["sdist"]) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    check_same(first["wheel"], build(unpacked, "wheel", epoch), "wheel of the sources and of the sdist")
    return one, first["wheel"], first["sdist"]


def install(what: str, folder: Path) -> Path:
    """The interpreter of a new environment with nothing else in it."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", what, folder=folder)
    return python


def check_core(wheel: Path, folder: Path) -> None:
    """Install the wheel alone: it asks for the three and no more, and every public name loads without a warning."""
    python = install(str(wheel), folder / "core")
    ask = "from importlib.metadata import requires; print(*requires('kernelwise'), sep='\\n')"
    asked = run(python, "-c", ask, folder=folder).splitlines()
    core = {re.match(r"[\w-]+", line)[0] for line in asked if "extra ==" not in line}
    require(core == CORE, f"the core asks for {sorted(core)} instead of {sorted(CORE)}")
    listed = run(python, "-m", "pip", "list", "--format", "freeze", folder=folder).split()
    load = "import kernelwise; print(len([getattr(kernelwise, name) for name in kernelwise.__all__]))"
    count = run(python, "-W", "error", "-c", load, folder=folder, **ONE_THREAD).strip()
    print(f"the core alone: {count} public names load, with {', '.join(line for line in listed if '==' in line)}")


def check_tour(wheel: Path, folder: Path) -> None:
    """Install the wheel with the extras of the tour and take it."""
    python = install(f"{wheel}[cli,report]", folder / "extras")
    empty = folder / "empty"
    empty.mkdir()
    run(python, "-m", "kernelwise", "demo", "--output", "tour", folder=empty, **ONE_THREAD)
    check_names(
        {path.name for path in (empty / "tour").iterdir()}, {"review.html", "summary.json", "summary.txt"}, "the tour"
    )
    print((empty / "tour" / "summary.txt").read_text(encoding="utf-8").rstrip())


def main() -> int:
    """Run every check and return the exit status."""
    names = sources()
    with tempfile.TemporaryDirectory(prefix="kernelwise-") as temporary:
        folder = Path(temporary)
        try:
            copy, wheel, sdist = check_reproducible(names, folder)
            check_wheel(wheel, names, copy)
            check_sdist(sdist, names, copy)
            check_core(wheel, folder)
            check_tour(wheel, folder)
        except CheckError as error:
            print(f"FAILED: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
