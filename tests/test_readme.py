"""What README shows is run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_are_examples():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_example_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)h][^)]*)\)", README.read_text(encoding="utf-8")))
def test_link_leads_somewhere(link):
    assert (README.parent / link).exists()
