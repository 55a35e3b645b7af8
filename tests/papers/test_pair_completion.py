"""The experiments of the completion paper: their trials, and a quick version of each from cells to figure."""

import numpy as np
import pytest

from kernelwise.papers import publish, run
from kernelwise.papers.tpcmc import figure1, figures2to4
from kernelwise.papers.tpcmc.figures2to4 import draw_known_pairs


def test_known_pairs_are_a_tenth_of_those_among_the_labelled_and_true():
    y = np.repeat(["a", "b", "c"], [100, 60, 40])
    pairs = draw_known_pairs(y, 0.5, seed=3)
    assert len(pairs) == round(0.1 * 100 * 99 / 2)
    assert len(np.unique(np.r_[pairs.rows, pairs.cols])) <= 100
    assert pairs.agreement(y) == 1.0
    assert pairs.n_duplicates == 0


def test_every_cell_of_the_paper_is_there_but_for_data_that_are_missing():
    cells = figures2to4.figure_cells(quick=False)
    present = [dataset for dataset in figures2to4.LOADERS if figures2to4.available(dataset)]
    assert {"splice", "citeseer"} <= set(present)
    assert len(cells) == len(present) * 8 * 10


@pytest.mark.slow
def test_quick_figures(tmp_path):
    records = run(figures2to4.EXPERIMENT, output=tmp_path, quick=True)
    assert all(record.ok for record in records)
    (result,) = [record.results for record in records]
    assert result["coherence"] == pytest.approx(2.22, abs=0.005)
    nmi = {method: result[method]["NMI"] for method in figures2to4.METHODS}
    assert nmi["direct, refined"] > nmi["TPCMC"] > max(nmi["SKL"], nmi["SC"])
    assert nmi["TPCMC"] > 0.34
    paths = publish(figures2to4.EXPERIMENT, records, tmp_path / "out")
    table = next(path for path in paths if path.name == "table.md").read_text(encoding="utf-8")
    assert "citeseer 2.22 (paper 2.22)" in table
    assert "gisette: no figures" in table


def test_quick_synthetic(tmp_path):
    records = run(figure1.EXPERIMENT, output=tmp_path, quick=True)
    (result,) = [record.results for record in records]
    for method in figure1.METHODS:
        # In some trials a few rows have too few pairs for the completion alone, but the basis makes up for it.
        assert result[method]["error_ratio"] <= (0.1 if method == "TPCMC" else 0.05)
        assert result[method]["wrong_pairs"] == 0.0
    assert result["coherence"]["20"] == pytest.approx(2.0, abs=0.5)
    assert {path.name for path in publish(figure1.EXPERIMENT, records, tmp_path / "out")} >= {
        "table.md",
        "figure.png",
    }
