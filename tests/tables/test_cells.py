"""How single cells and columns are read and encoded."""

import numpy as np
import pandas as pd

from kernelwise.tables.columns import habits_of
from kernelwise.tables.errors import choices, place
from kernelwise.tables.frames import as_table, is_table, native_frame
from kernelwise.tables.kinds import (
    DateOrder,
    _recurring,
    are_codes,
    are_compact_dates,
    as_numbers,
    as_words,
    find_dates,
    is_missing,
    is_number,
    is_word_for_missing,
    kind_of_numbers,
    kind_of_words,
    missing_code,
    shows_day_first,
)
from kernelwise.tables.notation import (
    Amounts,
    Habits,
    Times,
    TruthWords,
    _cut,
    find_amounts,
    find_truth,
    points_group_thousands,
    several_notations,
    shows_decimal_comma,
)
from kernelwise.tables.preparation import Categories, Dates, Names, Numbers, Words


def test_is_missing() -> None:
    assert is_missing(" NA ")
    assert not is_missing("0")


def test_is_number() -> None:
    assert is_number("1e-3")
    assert not is_number("1_000")
    assert not is_number("inf")


def test_is_word_for_missing() -> None:
    assert is_word_for_missing("None")
    assert not is_word_for_missing("?")


def test_as_words() -> None:
    assert as_words([" a", "NA", "?"]).tolist() == ["a", None, None]
    assert as_words(["NA", "?"], keep_words=True).tolist() == ["NA", None]


def test_as_numbers() -> None:
    np.testing.assert_allclose(as_numbers(["1", " 2.5", "?", "inf"]), [1.0, 2.5, np.nan, np.nan], atol=1e-6)
    assert as_numbers(["1", "red"]) is None


def test_are_codes() -> None:
    assert are_codes(["007", "12"])
    assert not are_codes(["0", "12"])
    assert not are_codes(["0.5"])


def test_are_compact_dates() -> None:
    assert are_compact_dates(np.array([20240531.0, np.nan] * 8))
    assert not are_compact_dates(np.array([20241531.0] * 8))


def test_missing_code() -> None:
    assert missing_code(np.array([3.0, -999.0, 17.5, -999.0])) == -999.0
    assert np.isnan(missing_code(np.array([3.0, -9.0, -2.0, -9.0])))


def test_kind_of_numbers() -> None:
    assert kind_of_numbers("size", np.arange(8.0)) == "id"
    assert kind_of_numbers("size", np.arange(8.0) ** 2) == "numeric"


def test_kind_of_words() -> None:
    assert kind_of_words(["red", "blue", "red"], 3) == "categorical"
    assert kind_of_words(["a b c d"], 1) == "text"


def test_recurring() -> None:
    assert round(_recurring(["good thing 1", "good thing 2"]), 2) == 0.67


def test_cut() -> None:
    assert _cut("− 1 200,5 kg") == (-1.0, "1 200,5", "kg")
    assert _cut("A12") is None


def test_find_amounts() -> None:
    assert (
        repr(find_amounts(["39,1", "40", "1.200,5"], Habits()))
        == "Amounts(decimal=',', thousands='.', unit='', doubtful=False)"
    )
    assert find_amounts(["12 kg", "300 g"], Habits()) is None
    assert find_amounts(["3010 g", "3020"], Habits()).said == "in g, also where no unit is written"


def test_several_notations() -> None:
    assert several_notations(["39,1", "38.5"]) == "the decimal marks '.' and ','"
    assert several_notations(["12 kg", "300 g"]) == "the units 'g' and 'kg'"
    assert several_notations(["1.2.3", "4.5"]) is None
    assert several_notations(["5 %", "0.05"]) == "the unit: some have '%' and others have none"


def test_points_group_thousands() -> None:
    assert points_group_thousands(["735", *(f"1.{i}" for i in range(101, 120))])
    assert not points_group_thousands(["1.065", "2.5"])


def test_shows_decimal_comma() -> None:
    assert shows_decimal_comma(["39,1", "40"])
    assert not shows_decimal_comma(["1,200.5"])
    assert shows_decimal_comma(["1,200"]) is None


def test_truthwords() -> None:
    assert TruthWords("nein", "ja").read("Ja") == 1.0


def test_find_truth() -> None:
    assert repr(find_truth(["Yes", "no", "YES"])) == "TruthWords(no='no', yes='yes')"
    assert find_truth(["yes", "no", "perhaps"]) is None


def test_times() -> None:
    assert Times().read("5:30 pm") == 17.5
    assert Times().read("0:45") == 0.75


def test_amounts() -> None:
    assert Amounts(",", ".", "€").read("-1.234,50 €") == -1234.5
    assert Amounts(".", ",", "$").read("($1,200)") == -1200.0
    assert Amounts(unit="%").read("5 %") == 5.0


def test_dateorder() -> None:
    assert DateOrder(day_first=True).read("02/01/1970") == 86400.0
    assert DateOrder(day_first=False).read("Jan 2, 1970 1:00 am") == 90000.0


def test_seconds_of_iso_dates() -> None:
    assert DateOrder().read("1970-01-02") == 86400.0
    assert DateOrder().read("1970-01-01T01:00:00.5+01:00") == 0.5


def test_find_dates() -> None:
    assert repr(find_dates(["05/06/2024", "31/05/2024"], Habits())) == "DateOrder(day_first=True, doubtful=False)"
    assert find_dates(["2024-02-30"], Habits()) is None


def test_shows_day_first() -> None:
    assert shows_day_first(["31/05/2024"])
    assert shows_day_first(["2024-05-31"]) is None


def test_place() -> None:
    assert place("a.csv", line=3, column="age") == "a.csv, line 3, column 'age'"


def test_choices() -> None:
    assert choices("lable", ["id", "label"]) == "did you mean 'label'?"
    assert choices("target", ["id", "label"]) == "it has 'id', 'label'"


def test_native_frame() -> None:
    assert native_frame("anything else") == "anything else"


def test_is_table() -> None:
    assert is_table(pd.DataFrame({"a": [1]}))
    assert is_table(np.array([["a", 1]], dtype=object))
    assert not is_table(np.ones((1, 1)))


def test_as_table() -> None:
    table = as_table(pd.DataFrame({"size": [1.5, None], "day": pd.to_datetime(["2024-05-31", None])}))
    assert {column.name: column.kind for column in table.columns.values()} == {"size": "numeric", "day": "date"}


def test_habits_of() -> None:
    assert (
        repr(habits_of([["39,1", "40"], ["1.234", "2.345"], ["red", "blue"]]))
        == "Habits(decimal_comma=True, day_first=None)"
    )


def test_numbers() -> None:
    ages = np.array([20.0, 40.0, np.nan])
    encoder = Numbers().learn(ages)
    np.testing.assert_allclose(encoder.encode(ages).T, [[-1.0, 1.0, 0.0]], atol=1e-6)
    assert encoder.becomes == "scaled, 1 missing filled with the median 30"


def test_dates() -> None:
    assert Dates().learn(np.arange(30) * 86400.0).feature_names("day") == [
        "day",
        "day: day of week (sin)",
        "day: day of week (cos)",
    ]


def test_categories() -> None:
    jobs = Categories().learn(["cook", "baker", "cook"])
    np.testing.assert_allclose(jobs.encode(["cook", "pilot"]), [[0.0, 1.0], [0.0, 0.0]], atol=1e-6)


def test_words() -> None:
    notes = Words().learn(["a good one", "a bad one"])
    assert notes.words.tolist() == ["a", "bad", "good", "one"]
    np.testing.assert_allclose(notes.encode(["bad"]).toarray(), [[0.0, 1.0, 0.0, 0.0]], atol=1e-6)


def test_names() -> None:
    names = Names().learn(["Meyer", "Meier"])
    assert round(float((names.encode(["Meyer"]) @ names.encode(["Meier"]).T)[0, 0]), 2) == 0.38
