"""One CSV, read by the command line and by pandas: the same kinds, features and audit, to the bit."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from command_line import run_here
from kernelwise import audit_labels
from kernelwise.cli.session import Reading, Session, load
from kernelwise.files import read_table
from kernelwise.tables.frames import as_table
from kernelwise.tables.preparation import TableFeatures

N_ROWS = 90
GOOD, BAD = ["good", "fine", "not bad", "very nice"], ["bad", "dull", "not good", "really poor"]
KINDS = {
    "row": "id",  # counts the rows
    "amount": "numeric",
    "count": "numeric",  # whole numbers with missing cells, which pandas reads as floats
    "mark": "numeric",  # pandas leaves it as text for the sake of "?"
    "limit": "numeric",  # with an infinite number
    "paid": "numeric",  # truth values
    "agreed": "numeric",  # truth values with missing cells
    "colour": "categorical",
    "code": "categorical",  # numbers and letters
    "street": "name",  # mostly distinct
    "answer": "categorical",  # a few phrases of many words
    "note": "text",
    "day": "date",
    "moment": "date",
    "key": "id",
    "version": "numeric",
    "empty": "numeric",
}


def mixed(rng):
    """A table with columns of all kinds, as cells, and labels of which a tenth is wrong."""
    true = rng.integers(0, 2, N_ROWS)
    label = np.where(rng.random(N_ROWS) < 0.1, 1 - true, true)

    def some(cells, missing="", share=0.1):
        return [missing if rng.random() < share else str(cell) for cell in cells]

    def words(k):
        return f"{rng.choice([GOOD, BAD][k])} and {rng.choice([GOOD, BAD][k])}, box {rng.integers(30)}"

    days = np.datetime64("2024-01-01") + rng.permutation(N_ROWS) + 60 * true
    moments = np.datetime64("2024-05-31T00:00:00.000", "ms") + rng.integers(0, 10**9, N_ROWS)
    cells = {
        "row": range(N_ROWS),
        "amount": some(np.round(true + rng.normal(size=N_ROWS), 9), "NA"),
        "count": some(rng.integers(0, 9, N_ROWS), " "),
        "mark": some(np.round(rng.normal(size=N_ROWS), 2), "?"),
        "limit": ["inf", *np.round(rng.gamma(2.0, size=N_ROWS - 1), 1)],
        "paid": np.where(true + rng.normal(size=N_ROWS) > 0.5, "TRUE", "False"),
        "agreed": some(rng.random(N_ROWS) < 0.5),
        "colour": some(np.where(true, "blue ", " red"), "None", 0.2),
        "code": some(rng.integers(1, 5, N_ROWS), "B"),
        "street": [f"street{i % 60}" for i in range(N_ROWS)],
        "answer": [f"I do {['agree', 'not agree', 'not know'][i % 3]} with all that" for i in range(N_ROWS)],
        "note": some(map(words, true), "n/a"),
        "day": some(days),
        "moment": moments,
        "key": [f"k{i:03d}" for i in range(N_ROWS)],
        "version": ["1.0"] * N_ROWS,
        "empty": [""] * N_ROWS,
        "label": np.array(["no", "yes"])[label],
    }
    return {name: [str(cell) for cell in column] for name, column in cells.items()}


@pytest.fixture(params=["all", "no text", "numbers"])
def path(request, tmp_path):
    """The table; the table without text, whose features are dense; and its numbers alone."""
    cells = mixed(np.random.default_rng(0))
    if request.param != "all":
        cells.pop("note"), cells.pop("street")
    if request.param == "numbers":
        cells = {name: column for name, column in cells.items() if name in ("row", "amount", "count", "label")}
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([cells.keys(), *zip(*cells.values(), strict=True)])
    path = tmp_path / "mixed.csv"
    path.write_text(stream.getvalue())
    return path


def by_pandas(path, **options):
    frame = pd.read_csv(path, **options)
    return frame.drop(columns="label"), frame["label"]


def as_array(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def test_the_features_are_the_same_to_the_bit(path):
    session = Session(quiet=True)
    of_file = load(session, path, Reading(), label="label")
    frame, _ = by_pandas(path)
    found = {name: column.kind for name, column in as_table(frame).columns.items()}
    assert found == {name: KINDS[name] for name in frame.columns}
    assert found == {name: of_file.table[name].kind for name in frame.columns}
    of_frame = TableFeatures(scaled=False).fit(frame)
    assert of_frame.feature_names == of_file.features.feature_names
    assert of_frame.describe() == of_file.features.describe()
    np.testing.assert_array_equal(as_array(of_frame.transform(frame)), as_array(of_file.matrix))


def test_the_audit_is_the_same_to_the_bit(path, tmp_path, capsys):
    X, y = by_pandas(path)
    audit = audit_labels(X, y, random_state=0)
    output = tmp_path / "suspects.csv"
    status, told, _ = run_here(capsys, "audit", "labels", path, "--label", "label", "-o", output, "--json", "--quiet")
    assert status == 0
    told, written = json.loads(told), pd.read_csv(output)
    assert told["noise_rate"] == audit.noise_rate
    assert tuple(told["noise_interval"]) == audit.noise_interval
    assert told["worth_checking"] == audit.worth_checking() > 0
    assert written["row"].tolist() == audit.order.tolist()
    assert written["corrected"].tolist() == audit.alternative[audit.order].tolist()
    assert written["quality"].tolist() == [float(f"{quality:.4f}") for quality in audit.quality[audit.order]]
    # The command line writes four digits of the qualities; all digits are the same too.
    table = read_table(path, as_written=["label"])
    features = TableFeatures(leave_out=["label"], scaled=False).fit(table)
    of_file = audit_labels(features.transform(table), np.array(table.required("label")), random_state=0)
    for name in ("quality", "suggested", "probabilities", "order", "noise_rate", "noise_interval", "transition"):
        np.testing.assert_array_equal(getattr(of_file, name), getattr(audit, name), err_msg=name)


def test_dates_that_pandas_has_parsed_are_the_same_dates(path):
    plain, _ = by_pandas(path)
    dates = [name for name in ("day", "moment") if name in plain]
    parsed, _ = by_pandas(path, parse_dates=dates)
    assert all(parsed[name].dtype.kind == "M" for name in dates)
    features = TableFeatures().fit(plain)
    np.testing.assert_array_equal(as_array(features.transform(parsed)), as_array(features.transform(plain)))
    assert TableFeatures().fit(parsed).describe() == features.describe()
