"""Models on disk in the format of skops, with a card. Loading a model never runs code that came with it."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from ..experiments.records import plain, versions
from .arrays import arrays_in, check_array, sparse_from
from .errors import FileError, explain
from .features import TableFeatures
from .limits import open_archive, unpacking
from .native_checks import check_native_parts
from .reading import existing
from .writing import write_file

__all__ = ["SavedModel", "load_model", "make_card", "read_card", "save_model"]

CARD = "card.json"
FORMAT = "kernelwise-model/1"
SKOPS_MISSING = "saving and loading models needs skops: pip install kernelwise[cli]"

#: How the parts of a model may be put together. Functions, methods and constructors with arguments are not among them.
LOADERS = frozenset(
    {
        "DictNode",
        "JsonNode",
        "ListNode",
        "NdArrayNode",
        "ObjectNode",
        "SparseMatrixNode",
        "TreeNode",
        "TupleNode",
        "TypeNode",
    }
)
#: The types a model may consist of. A type that is not here is not loaded, whoever made the file.
TRUSTED = frozenset(
    {
        "builtins.bool",
        "builtins.dict",
        "builtins.float",
        "builtins.int",
        "builtins.list",
        "builtins.str",
        "builtins.tuple",
        "numpy.bool",
        "numpy.bool_",
        "numpy.float32",
        "numpy.float64",
        "numpy.int32",
        "numpy.int64",
        "numpy.ndarray",
        "numpy.str_",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.svm._classes.SVC",
        "sklearn.tree._tree.Tree",
        "kernelwise.estimators._samples.FeatureScaler",
        "kernelwise.estimators.mkl.RobustMKLClassifier",
        "kernelwise.estimators.mkl.SimpleMKLClassifier",
        "kernelwise.estimators.mkl_cv.RobustMKLClassifierCV",
        "kernelwise.estimators.mkl_cv.SimpleMKLClassifierCV",
        "kernelwise.estimators.noisy_label.NoisyLabelClassifier",
        "kernelwise.estimators.noisy_label._Standardiser",
        "kernelwise.estimators.noisy_label_forest.SettledForest",
        "kernelwise.estimators.noisy_label_kernels.Interactions",
        "kernelwise.estimators.noisy_label_kernels.Laplace",
        "kernelwise.estimators.noisy_label_margins.MarginScorer",
        "kernelwise.estimators.noisy_label_scores.KernelScorer",
        "kernelwise.estimators.noisy_label_scores.ScorePool",
        "kernelwise.estimators.noisy_label_scores.View",
        "kernelwise.files.features.CategoricalColumn",
        "kernelwise.files.features.MatrixBlock",
        "kernelwise.files.features.NumericColumn",
        "kernelwise.files.features.TableFeatures",
        "kernelwise.files.features.TextColumn",
        "kernelwise.kernels.expansion.KernelExpansion",
        "kernelwise.kernels.expansion.Term",
        "kernelwise.kernels.landmarks.LandmarkMap",
        "kernelwise.kernels.specs.Gaussian",
        "kernelwise.kernels.specs.Linear",
        "kernelwise.optim.result.HistoryRow",
        "kernelwise.problems.label_noise.NoisePosterior",
    }
)


@dataclass(frozen=True)
class SavedModel:
    """A model, what makes its features, and what is known about it.

    Parameters
    ----------
    estimator : classifier
    features : TableFeatures
    card : dict
        What :func:`make_card` returns.
    """

    estimator: Any
    features: TableFeatures
    card: dict[str, Any]


def make_card(**facts: Any) -> dict[str, Any]:
    """What a user should know about a model: the facts given, with the time and the versions.

    Examples
    --------
    >>> from kernelwise.files.models import make_card
    >>> card = make_card(label="approved", noise_rate=0.1)
    >>> card["format"], card["label"], sorted(card["versions"])
    ('kernelwise-model/1', 'approved', ['kernelwise', 'numpy', 'python', 'scipy', 'sklearn'])
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"format": FORMAT, "created": created, "versions": versions(), **plain(facts)}


def save_model(path: str | Path, model: SavedModel, *, force: bool = False) -> Path:
    """Write a model whole or not at all.

    Parameters
    ----------
    path : path
    model : SavedModel
        Of types that :func:`load_model` will load; others are refused here already.
    force : bool
        Overwrite a file that exists.
    """
    skops_io = _skops()
    content = BytesIO(skops_io.dumps({"estimator": model.estimator, "features": model.features}))
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
        If the file is damaged, or holds a type that is not on the list of trusted ones, which the message names.
    """
    path = existing(path)
    skops_io = _skops()
    card = read_card(path)
    with open_archive(path) as archive:
        _check_types(f"{path} holds", _json(path, archive, "schema.json"))
        for member in archive.infolist():
            _check_member(path, archive, member)
    try:
        content = skops_io.load(path, trusted=sorted(TRUSTED))
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, zipfile.BadZipFile) as error:
        raise FileError(f"{path} cannot be loaded ({explain(error)}); make the model again") from error
    if not isinstance(content, dict) or not isinstance(content.get("features"), TableFeatures):
        raise FileError(f"{path} holds no model of kernelwise; make one with kernelwise classify")
    check_native_parts(path, content, n_features=getattr(content.get("estimator"), "n_features_in_", 0))
    return SavedModel(content.get("estimator"), content["features"], card)


def read_card(path: str | Path) -> dict[str, Any]:
    """The card of a model, without loading the model."""
    path = existing(path)
    with open_archive(path) as archive:
        card = _json(path, archive, CARD)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise FileError(f"{path} is not a model of this version of kernelwise; make it again with kernelwise classify")
    return card


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(SKOPS_MISSING) from error
    return skops.io


def _json(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    with unpacking(f"{path} is not a model of kernelwise, or is damaged"):
        return json.loads(archive.read(name))


def _check_types(holder: str, schema: Any) -> None:
    """Refuse types that are not trusted and ways of making them that are not needed."""
    for loader, name in _types(schema):
        if name not in TRUSTED or loader not in LOADERS:
            raise FileError(
                f"{holder} an object of type {name!r} ({loader}), which is not on the list of types that are loaded;"
                " a file of unknown origin with such a type may be harmful"
            )


def _types(schema: Any) -> Iterator[tuple[str, str]]:
    """Every loader and type in a schema, without recursion since nesting is the sender's choice."""
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            if "__loader__" in node or "__class__" in node:
                yield str(node.get("__loader__")), f"{node.get('__module__')}.{node.get('__class__')}"
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _check_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse arrays that claim more than is there, and sparse matrices whose indices lead outside."""
    with unpacking(f"{path}: {member.filename} is damaged"):
        if member.filename.endswith(".npy"):
            with archive.open(member) as stream:
                check_array(path, stream, member.file_size, member.filename, records=True)
        elif member.filename.endswith(".npz"):
            sparse_from(path, arrays_in(path, BytesIO(archive.read(member))))
