"""Messy files have the features and the labels of their clean twins, or are refused with one sentence."""

import numpy as np
import pytest

pytest.importorskip("openpyxl")
pytest.importorskip("pyarrow")

from benchmarks.messy_files.cases import CASES, text
from benchmarks.messy_files.run import audited, markdown
from benchmarks.messy_files.tables import LABEL, TABLES

from kernelwise.cli.session import Reading, Session, load, read_given


def prepared(path, options=()):
    """The features and the labels that the command line makes of a file."""
    chosen = dict(zip(options[::2], options[1::2], strict=False))
    kinds, ignore = ([chosen[name]] if name in chosen else [] for name in ("--kind", "--ignore"))
    reading = Reading(kind=kinds, ignore=ignore)
    loaded = load(Session(quiet=True), path, reading, label=LABEL)
    matrix = loaded.matrix.toarray() if hasattr(loaded.matrix, "toarray") else loaded.matrix
    return matrix, read_given(loaded, LABEL, reading.kinds).labels


@pytest.mark.parametrize("case", [case for case in CASES if not case.refused], ids=lambda case: case.name)
def test_the_features_are_those_of_the_clean_twin(tmp_path, case):
    cells = TABLES[case.table]()
    matrix, labels = prepared(case.write(tmp_path, case.change(cells)), case.options)
    twin, twin_labels = prepared(text(tmp_path, case.twin(cells), name="twin.csv"))
    np.testing.assert_allclose(matrix, twin, rtol=1e-6, atol=1e-9)
    kept = np.setdiff1d(np.arange(len(labels)), case.left_out)
    one, two = ([str(label) for label in given[kept]] for given in (labels, twin_labels))
    assert len({*zip(one, two, strict=True)}) == len({*one}) == len({*two})  # the same classes, by other names


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda case: case.name)
def test_the_others_are_refused_with_one_sentence(tmp_path, case):
    got = audited(case.write(tmp_path, case.change(TABLES[case.table]())), case.options)
    assert got.status == 2
    assert got.said.startswith("kernelwise: ")
    assert got.said.count("\n") == 0
    assert "refused" in markdown([(case, got, (0, 0))])
