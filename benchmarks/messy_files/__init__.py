"""Files as people have them: is each understood like its clean twin, or refused with one sentence?

``tables.py`` has the clean tables, ``cases.py`` makes messy files of them, and ``run.py`` gives both to the command
line and compares the first suspects. ``python -m benchmarks.messy_files table FILE`` writes the table of the
documentation.
"""

from .run import TITLE, run

__all__ = ["TITLE", "run"]
