"""Models on disk in the format of skops, with a card. Loading a model never runs code that is in the file."""

import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environment import versions
from ..json_values import plain
from ..progress import Tell, silent
from ..tables.columns import Table
from ..tables.preparation import TableFeatures
from .arrays import arrays_in, check_array, check_characters, sparse_from
from .errors import MODEL, FileError, check_size, open_archive, refusing, what_is
from .reading import existing
from .writing import write_file

CARD = "card.json"
#: Format 1 was written by development versions, whose classes stood in other modules.
FORMAT = "kernelwise-model/7"
#: The most bytes of the card of a model, or of the list of its parts.
MAX_JSON = 2**26
#: So many rows are predicted at once, before the progress is told.
AT_ONCE = 2_000
#: The remedy where the parts of a model do not fit together.
AGAIN = "make the model again"

#: How the parts of a model may be put together. Functions, methods and constructors with arguments are not among them.
LOADERS = frozenset(
    ("DictNode", "JsonNode", "ListNode", "NdArrayNode", "ObjectNode", "SparseMatrixNode")
    + ("TreeNode", "TupleNode", "TypeNode")
)
#: The types a model may consist of: a line of ``trusted_types.txt`` names a module and some of its types. A type that
#: is not there is not loaded, whoever made the file.
TRUSTED = frozenset(
    f"{module}.{name}"
    for line in Path(__file__).with_name("trusted_types.txt").read_text(encoding="ascii").splitlines()
    for module, names in [line.split(": ")]
    for name in names.split()
)


@dataclass(frozen=True)
class SavedModel:
    """A model, the preparation of its features, and its card, which says how the model was made.

    Parameters
    ----------
    estimator : classifier
    features : TableFeatures
    card : dict
        From :func:`make_card`.
    """

    estimator: Any
    features: TableFeatures
    card: dict[str, Any]

    def predict_proba(self, table: Table, tell: Tell = silent) -> NDArray[np.float64]:
        """Probabilities of the classes for the rows of a table; ``tell`` learns how many rows are done.

        Raises
        ------
        FileError
            If the parts of the model do not fit together, or if the table lacks a column that the model needs.
        """
        if getattr(self.estimator, "_columns", None) is not None:
            raise FileError(
                f"the model was made of data frames and does not take files such as {table.source}; use"
                " load_model(path).estimator.predict(frame), or make a model of files with kernelwise classify"
            )
        problem = f"{table.source} and the model do not go together"
        with refusing(problem, (Exception,), remedy=AGAIN):
            rows, parts = self.features.transform(table), []
            for first in range(0, max(table.n_rows, 1), AT_ONCE):
                some = self.estimator.predict_proba(rows[first : first + AT_ONCE])
                parts.append(np.asarray(some, dtype=np.float64))
                tell(min(first + AT_ONCE, table.n_rows), table.n_rows)
            chances = np.concatenate(parts)
            if chances.shape != (table.n_rows, len(self.estimator.classes_)):
                raise ValueError("the number of classes is not the number of probabilities")
            return chances


def make_card(**facts: Any) -> dict[str, Any]:
    """The card of a model: the given facts, the time, and the versions of Python and of the packages.

    Examples
    --------
    >>> from kernelwise.files.models import make_card
    >>> card = make_card(label="approved", noise_rate=0.1)
    >>> card["format"], card["label"], sorted(card["versions"])
    ('kernelwise-model/7', 'approved', ['kernelwise', 'numpy', 'python', 'scipy', 'sklearn'])
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"format": FORMAT, "created": created, "versions": versions(), **plain(facts)}


def save_model(path: str | Path, model: SavedModel, *, force: bool = False) -> Path:
    """Write a model whole or not at all.

    Parameters
    ----------
    path : path
    model : SavedModel
        A model of types that :func:`load_model` does not load is refused.
    force : bool
        Whether to overwrite a file that exists.
    """
    content = BytesIO(_skops().dumps({"estimator": model.estimator, "features": model.features}))
    with zipfile.ZipFile(content, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CARD, json.dumps(model.card, indent=2))
        _check_types(f"the model that {path} would hold has", json.loads(archive.read("schema.json")))
    return write_file(path, content.getvalue(), force=force)


def load_model(path: str | Path) -> SavedModel:
    """Read a model that consists of trusted types only.

    Parameters
    ----------
    path : path

    Raises
    ------
    FileError
        If the file is damaged, or if it holds a type that is not trusted; the message names the type.
    """
    path = existing(path)
    skops_io, card = _skops(), read_card(path)
    with open_archive(path) as archive:
        _check_types(f"{path} holds", _json(path, archive, "schema.json"))
        _check_members(path, archive)
    with refusing(f"{path} cannot be loaded", (Exception,), remedy=AGAIN):
        content = skops_io.load(path, trusted=sorted(TRUSTED))
        if not isinstance(content, dict) or not isinstance(content.get("features"), TableFeatures):
            raise FileError(f"{path} holds no model of kernelwise; make one with kernelwise classify")
        estimator = content.get("estimator")
        columns = getattr(estimator, "_columns", None)  # of a data frame
        if columns is not None and not isinstance(columns, TableFeatures):
            raise TypeError(f"a data frame is not prepared by {type(columns).__name__}")
        n_features = getattr(estimator, "n_features_in_", 0) if columns is None else columns.n_features
        check_native_parts(path, content, n_features=n_features)
    return SavedModel(estimator, content["features"], card)


def read_card(path: str | Path) -> dict[str, Any]:
    """The card of a model, without loading the model."""
    path = existing(path)
    if (what := what_is(path)) != MODEL:
        raise FileError(f"{path} is not a model: it is {what}. A model is a file that kernelwise classify has written")
    with open_archive(path) as archive:
        card = _json(path, archive, CARD)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise FileError(f"{path} is not a model of this version of kernelwise; make it again with kernelwise classify")
    return card


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("saving and loading models needs skops: pip install kernelwise[cli]") from error
    return skops.io


def _json(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    with refusing(f"{path} is not a model of kernelwise, or is damaged"):
        check_size(path, archive.getinfo(name).file_size, what=f"describes itself in {name} with", limit=MAX_JSON)
        return json.loads(archive.read(name))


def _check_types(holder: str, schema: Any) -> None:
    """Refuse types that are not trusted, and ways of loading that no model needs."""
    pending = [schema]
    while pending:  # no recursion: the sender of the file chooses how deep the schema is nested
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, Mapping):
            pending.extend(node.values())
            loader, name = node.get("__loader__"), f"{node.get('__module__')}.{node.get('__class__')}"
            if node.keys() & {"__loader__", "__class__"} and not (name in TRUSTED and str(loader) in LOADERS):
                raise FileError(
                    f"{holder} an object of type {name!r} ({loader}), which is not on the list of types that are"
                    " loaded; a file of unknown origin with such a type may be harmful"
                )


def _check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse arrays with false sizes or false text, and sparse matrices whose indices lead outside of the matrix."""
    unpacked = 0
    for member in archive.infolist():
        size = member.file_size
        with refusing(f"{path}: {member.filename} is damaged"):
            if member.filename.endswith(".npy"):
                with archive.open(member) as stream:
                    shape, _, dtype = check_array(path, stream, size, member.filename, records=True)
                    if dtype.kind == "U":
                        text = stream.read(math.prod(shape) * dtype.itemsize)
                        check_characters(f"{path}, {member.filename}", text, dtype)
            elif member.filename.endswith(".npz"):
                packed = BytesIO(archive.read(member))
                with open_archive(path, packed) as inner:
                    size = sum(part.file_size for part in inner.infolist())
                check_size(path, unpacked + size, what="unpacks to")
                sparse_from(path, arrays_in(path, packed))
            elif member.filename not in (CARD, "schema.json"):
                raise FileError(f"{path} holds {member.filename!r}, which is no part of a model; make it again")
        unpacked += size


LEAF = -1


def check_native_parts(path: Path, model: Any, n_features: int) -> None:
    """Refuse decision trees that would read outside of their own memory, or the data's."""
    from sklearn.tree._tree import Tree

    for part in _parts(model):
        if isinstance(part, Tree) and not (part.n_features <= n_features and _tree_is_whole(part)):
            raise FileError(f"{path} holds a damaged Tree; do not use the file unless you know who made it")


def _tree_is_whole(tree: Any) -> bool:
    """Whether every inner node has a feature that exists and two children that come after it."""
    if tree.node_count != tree.capacity or tree.node_count < 1:
        return False  # before the arrays are read: the file says how long they are
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    inner = left != LEAF
    nodes = np.arange(tree.node_count)
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([nodes[inner], nodes[inner]])
    features = np.asarray(tree.feature)[inner]
    return bool(
        (right[~inner] == LEAF).all()
        and (children > parents).all()
        and (children < tree.node_count).all()
        and (features >= 0).all()
        and (features < tree.n_features).all()
    )


def _parts(model: Any) -> Iterator[Any]:
    pending: list[Any] = [model]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part)
        elif isinstance(part, np.ndarray) and part.dtype == object:
            pending.extend(part.ravel().tolist())
        elif hasattr(part, "__dict__"):
            pending.extend(vars(part).values())
