"""How people write numbers, dates and truth values: what is read, and what is said about it."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwise.tables.columns import Column, habits_of
from kernelwise.tables.errors import TableError
from kernelwise.tables.frames import as_table
from kernelwise.tables.kinds import DateOrder, find_dates
from kernelwise.tables.notation import MARKS, Amounts, Habits, find_amounts
from kernelwise.tables.preparation import TableFeatures

cents = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20)


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("unit", ["{}", "{} €", "${}", "{} %", "{} kg"])
@given(values=cents)
def test_amounts_with_two_digits_come_back(marks, unit, values):
    decimal, thousands = marks
    cells = [
        unit.format(f"{value / 100:,.2f}".replace(".", "d").replace(",", thousands).replace("d", decimal))
        for value in values
    ]
    notation = find_amounts(cells, Habits())
    assert notation is not None
    np.testing.assert_allclose([notation.read(cell) for cell in cells], np.array(values) / 100, rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["39,1", "40"], "decimal comma"),
        (["1,200", "950"], "commas between thousands (every comma has three digits behind it; if it is a decimal"),
        (["1,200.5", "950"], "commas between thousands"),
        (["1.200 €", "950 €"], "points between thousands"),
        (["12 kg", "3.5 kg"], "in kg"),
        (["5 %", "7 %"], "percent"),
        (["($1,200)", "$300"], "commas between thousands"),
    ],
)
def test_what_is_said_about_numbers(cells, said):
    column = Column.of("x", cells)
    assert column.kind == "numeric"
    assert said in column.notation.said


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["A12", "A13", "A12"], "categorical"),
        (["12a", "13a", "12a"], "categorical"),
        (["1.2.3", "1.2.4", "1.2.3"], "categorical"),
        (["007", "012", "120"], "categorical"),  # codes
        (["0.5", "0.25", "1"], "numeric"),
        (["17:30", "9:05"], "numeric"),
        (["5:30 pm", "11:00 am"], "numeric"),
        (["ja", "nein", "JA"], "numeric"),
        (["yes", "no", "perhaps"], "categorical"),
        (["+", "-", "+"], "categorical"),
        (["1,5", "-", "\u2013"], "numeric"),  # dashes for nothing
        (["$5", "€7"], "categorical"),
        ([f"{20240501 + i}" for i in range(20)], "date"),
        ([f"Meyer{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10]}" for i in range(99)] + ["Meyeraa"], "name"),
    ],
)
def test_kinds_of_cells(cells, kind):
    assert Column.of("x", cells).kind == kind


@pytest.mark.parametrize(
    "form", ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%Y/%m/%d", "%d-%b-%Y"]
)
def test_dates_of_a_year_come_back(form):
    days = [datetime(2023, 1, 1, tzinfo=UTC) + pd.Timedelta(days=9 * k) for k in range(40)]
    order = find_dates([f"{day:{form}}" for day in days], Habits())
    assert order is not None
    assert not order.said
    assert [order.read(f"{day:{form}}") for day in days] == [day.timestamp() for day in days]


def test_an_order_that_cannot_be_told_is_said_and_other_columns_decide():
    cells = ["05/06/2024", "07/08/2024"]
    found = find_dates(cells, Habits())
    assert found.doubtful
    assert "may come first" in found.said
    assert find_dates(cells, Habits(day_first=True)) == DateOrder(True)
    assert find_dates(cells, Habits(day_first=False)) == DateOrder(False)
    table = as_table(pd.DataFrame({"a": cells, "b": ["31/12/2024", "01/02/2024"]}))
    assert table["a"].notation == DateOrder(True)


def test_decimal_commas_elsewhere_tell_that_points_stand_between_thousands():
    cells = {"price": ["1.234", "950"], "size": ["39,1", "40,5"]}
    assert habits_of(list(cells.values())).decimal_comma
    assert as_table(pd.DataFrame(cells))["price"].values.tolist() == [1234.0, 950.0]
    assert as_table(pd.DataFrame({"price": cells["price"]}))["price"].values.tolist() == [1.234, 950.0]


@pytest.mark.parametrize(
    ("odd", "message"), [("39.1", "(the decimal marks|is not a number)"), ("39,1 kg", "the unit: some have 'kg'")]
)
def test_several_notations_in_a_column_are_refused(odd, message):
    cells = [f"{i},5" for i in range(60)]
    assert Column.of("x", cells).kind == "numeric"
    with pytest.raises(TableError, match=f"column 'x'.*{message}"):
        as_table(pd.DataFrame({"x": [*cells, odd]})).numbers("x")


def test_a_date_that_does_not_exist_is_named():
    days = [f"{k % 28 + 1}.{k // 28 + 1}.2023" for k in range(80)]
    with pytest.raises(TableError, match=r"row 81, column 'day': '31\.2\.2023' is not a date"):
        TableFeatures().fit(pd.DataFrame({"day": [*days, "31.2.2023"]}))


def test_a_code_for_missing_numbers_is_said_and_kept_for_new_rows():
    features = TableFeatures().fit(pd.DataFrame({"x": [1.0, 3.0, -999.0, -999.0]}))
    assert features.describe()[0]["becomes"] == "scaled, -999 taken for missing, 2 missing filled with the median 2"
    assert (
        features.transform(pd.DataFrame({"x": [-999.0]}))[0, 0] == features.transform(pd.DataFrame({"x": [2.0]}))[0, 0]
    )


def test_new_rows_are_read_in_the_notation_of_the_model():
    features = TableFeatures().fit(pd.DataFrame({"x": ["1,5", "2,5", "3,25"]}))
    same = features.transform(pd.DataFrame({"x": [2.125]}))
    np.testing.assert_array_equal(features.transform(pd.DataFrame({"x": ["2,125"]})), same)
    np.testing.assert_array_equal(features.transform(pd.DataFrame({"x": ["2.125"]})), same)  # now with a point


def test_dates_have_cycles():
    days = pd.DataFrame({"day": pd.date_range("2023-01-02", periods=400).astype(str)})
    features = TableFeatures().fit(days)
    assert features.feature_names[1:] == [
        f"day: {name} ({part})" for name in ("day of week", "time of year") for part in ("sin", "cos")
    ]
    found = features.transform(days)
    np.testing.assert_allclose(found[:, 1:3], found[np.arange(400) % 7, 1:3], atol=1e-9)
    assert features.describe()[0]["becomes"] == "dates as time passed, scaled, day of week and time of year"


def test_spellings_of_a_category_are_one():
    features = TableFeatures().fit(pd.DataFrame({"x": ["red", "Red ", "blue", "RED", "red"]}))
    assert features.feature_names == ["x=blue", "x=red"]
    assert features.describe()[0]["becomes"] == "indicators of 2 categories, 2 other spellings joined to them"


def test_amounts_refuse_what_they_cannot_read():
    for cell in ("1,5", "5 kg", "five"):
        with pytest.raises(ValueError, match=cell):
            Amounts().read(cell)


def test_names_of_several_words_are_names_and_notes_are_text(rng):
    letters = np.array(list("abcdefghij"))
    people = [f"{rng.choice(['Anna', 'Otto'])} {''.join(rng.choice(letters, 7))}" for _ in range(80)]
    notes = [f"{rng.choice(['good', 'bad'])} item {i}" for i in range(80)]
    assert [Column.of("x", cells).kind for cells in (people, notes)] == ["name", "text"]


def test_numbers_without_a_unit_are_taken_in_the_unit_of_the_others():
    cells = [f"{3010 + i} g" if i % 3 else f"{3010 + i}" for i in range(80)]
    column = Column.of("weight", cells)
    assert column.kind == "numeric"
    assert column.values.tolist() == [3010.0 + i for i in range(80)]
    assert column.notation.said == "in g, also where no unit is written"
    assert column.notation.read("12") == column.notation.read("12 g") == 12.0
    assert Column.of("weight", [f"{3010 + i} g" for i in range(80)]).notation.said == "in g"


@pytest.mark.parametrize(("unit", "every"), [("%", 2), ("g", 40)])
def test_where_units_are_not_clear_it_is_said(unit, every):
    cells = [f"{30.5 + i} {unit}" if i % every == 0 else f"{30.5 + i}" for i in range(80)]
    message = f"differ in the unit: some have '{unit}' and others have none; write them all in one way"
    with pytest.raises(TableError, match=message):
        Column.of("weight", cells)
