"""``python -m benchmarks.messy_files FILE``: write the table of all messy files, as Markdown, to a file."""

import sys
from pathlib import Path

from .run import markdown, outcomes

Path(sys.argv[1]).write_text(markdown(outcomes()), encoding="utf-8")
