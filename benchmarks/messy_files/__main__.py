"""``python -m benchmarks.messy_files table FILE``: write the table of all messy files, as Markdown, to a file."""

import argparse
from pathlib import Path

from .run import markdown, outcomes

parser = argparse.ArgumentParser(prog="python -m benchmarks.messy_files", description="What happens to messy files.")
parser.add_argument("command", choices=["table"], help="write the table of the documentation")
parser.add_argument("path", type=Path, metavar="FILE")
parser.parse_args().path.write_text(markdown(outcomes()), encoding="utf-8")
