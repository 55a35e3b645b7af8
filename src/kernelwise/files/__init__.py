"""Data, links and models in files: read with suspicion, written whole or not at all.

The names are loaded on first use, so that a command that needs none of them starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tables.columns import Column as Column
    from ..tables.columns import Table as Table
    from ..tables.kinds import Kind as Kind
    from ..tables.preparation import TableFeatures as TableFeatures
    from .corrected import corrected_file as corrected_file
    from .corrected import corrected_links as corrected_links
    from .errors import FileError as FileError
    from .models import SavedModel as SavedModel
    from .models import load_model as load_model
    from .models import make_card as make_card
    from .models import read_card as read_card
    from .models import save_model as save_model
    from .reading import existing as existing
    from .reading import file_hash as file_hash
    from .reading import read_links as read_links
    from .reading import read_similarity as read_similarity
    from .reading import read_table as read_table
    from .writing import check_output as check_output
    from .writing import write_file as write_file
    from .writing import write_files as write_files

_HOME = {
    "Column": ".tables.columns",
    "FileError": "errors",
    "Kind": ".tables.kinds",
    "SavedModel": "models",
    "Table": ".tables.columns",
    "TableFeatures": ".tables.preparation",
    "check_output": "writing",
    "corrected_file": "corrected",
    "corrected_links": "corrected",
    "existing": "reading",
    "file_hash": "reading",
    "load_model": "models",
    "make_card": "models",
    "read_card": "models",
    "read_links": "reading",
    "read_similarity": "reading",
    "read_table": "reading",
    "save_model": "models",
    "write_file": "writing",
    "write_files": "writing",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
