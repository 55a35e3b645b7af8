"""Data, links and models in files: read with suspicion, written whole or not at all.

Each name is loaded on its first use, so that a command that needs no files starts quickly.
"""

from typing import TYPE_CHECKING

from ..first_use import loaders

if TYPE_CHECKING:
    from ..tables.columns import Column as Column
    from ..tables.columns import Table as Table
    from ..tables.kinds import Kind as Kind
    from ..tables.preparation import TableFeatures as TableFeatures
    from .chunks import data_files as data_files
    from .chunks import is_large as is_large
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
    from .two_records import TwoRecords as TwoRecords
    from .two_records import read_two_records as read_two_records
    from .two_tables import TwoTables as TwoTables
    from .two_tables import join_tables as join_tables
    from .writing import check_output as check_output
    from .writing import write_file as write_file
    from .writing import write_files as write_files

_HOME = {
    name: home
    for home, names in {
        ".tables.columns": ["Column", "Table"],
        ".tables.kinds": ["Kind"],
        ".tables.preparation": ["TableFeatures"],
        "chunks": ["data_files", "is_large"],
        "corrected": ["corrected_file", "corrected_links"],
        "errors": ["FileError"],
        "models": ["SavedModel", "load_model", "make_card", "read_card", "save_model"],
        "reading": ["existing", "file_hash", "read_links", "read_similarity", "read_table"],
        "two_records": ["TwoRecords", "read_two_records"],
        "two_tables": ["TwoTables", "join_tables"],
        "writing": ["check_output", "write_file", "write_files"],
    }.items()
    for name in names
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = loaders(__name__, _HOME)
