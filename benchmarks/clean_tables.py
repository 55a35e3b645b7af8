"""Tables without leaks, many with one strong column: texts, categories, numbers, dates, answers of yes and no.

A strong column tells 80 to 93 % of the labels, beside columns that say little; in the last tables several columns tell
nearly all of them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as others

from kernelwise import datasets

MOST_ROWS, MADE_ROWS = 1000, 600
BUNDLED = ("heart", "ionosphere", "sonar", "australian", "breast_cancer", "splice")

Labels = NDArray[np.intp]
Draw = np.random.RandomState


#: Tables in which several columns tell nearly all of the label, each by itself.
SEVERAL = ("two numbers that say the same", "a text and a category", "two categories that say nearly all")


def clean_tables() -> Iterator[tuple[str, pd.DataFrame, Labels]]:
    """The name, the columns and the labels of every table."""
    for name in BUNDLED:
        data = getattr(datasets, f"load_{name}")()
        yield name, *_some(np.asarray(data.data, dtype=float), np.unique(data.target, return_inverse=True)[1])
    for name in ("iris", "wine", "breast_cancer", "digits"):
        data = getattr(others, f"load_{name}")()
        yield f"scikit-learn's {name}", *_some(data.data, data.target)
    diabetes = others.load_diabetes()
    yield "scikit-learn's diabetes", *_some(diabetes.data, np.digitize(diabetes.target, [90, 140, 210]))
    for name in ("cora", "citeseer"):
        data = getattr(datasets, f"load_{name}")()
        few = np.linspace(0, data.data.shape[0] - 1, MOST_ROWS).astype(np.intp)
        words = [" ".join(data.feature_names[j] for j in data.data[[row]].indices) for row in few]
        yield f"{name}, words as texts", pd.DataFrame({"words": words}), np.asarray(data.target)[few]
    for seed, (name, (n_classes, make)) in enumerate(MADE.items()):
        draw = Draw(seed)
        y = draw.randint(n_classes, size=MADE_ROWS)
        frame = pd.DataFrame(draw.randn(MADE_ROWS, 3) + 0.4 * y[:, None], columns=["length", "width", "height"])
        yield name, frame.assign(town=draw.choice(["Ulm", "Bern", "Graz", "Linz"], MADE_ROWS), **make(y, draw)), y


def _some(X: Any, y: Labels) -> tuple[pd.DataFrame, Labels]:
    few = np.linspace(0, len(y) - 1, min(MOST_ROWS, len(y))).astype(np.intp)
    return pd.DataFrame(X[few]).add_prefix("x"), np.asarray(y)[few]


def _mostly(y: Labels, right: float, draw: Draw) -> Labels:
    """The labels, of which this share is right and the others are any class."""
    n_classes = int(y.max()) + 1
    return np.where(draw.rand(len(y)) < right, y, draw.randint(n_classes, size=len(y)))


WORDS = {
    0: ["refund", "broken", "late", "damaged", "angry", "missing", "return", "waste"],
    1: ["thanks", "lovely", "great", "happy", "perfect", "quick", "friendly", "recommend"],
    2: ["when", "where", "which", "size", "colour", "warranty", "stock", "price"],
}
FILLING = ["the", "a", "my", "order", "box", "we", "it", "was", "and", "of", "shop", "again", "week", "card", "here"]


def _texts(y: Labels, draw: Draw, *, telling: int, right: float = 0.9, length: int = 12) -> list[str]:
    """Texts of filling words with some words of their class, or now and then of another one."""
    topics = _mostly(y, right, draw)
    return [
        " ".join(draw.permutation([*draw.choice(FILLING, length - telling), *draw.choice(WORDS[topic], telling)]))
        for topic in topics
    ]


def _word(y: Labels, draw: Draw) -> list[str]:
    """Texts in which one word stands in 85 % of the texts of one class, and in 8 % of the others."""
    has = draw.rand(len(y)) < np.where(y == 1, 0.85, 0.08)
    return [" ".join([*draw.choice(FILLING, 9), *(["invoice"] if one else [])]) for one in has]


def _counts(y: Labels, draw: Draw) -> Any:
    """Counts that are mostly zero for one class, and mostly above for the other."""
    return np.where(draw.rand(len(y)) < np.where(y == 1, 0.1, 0.9), 0, draw.poisson(4, len(y)) + 1)


def _days(y: Labels, draw: Draw, right: float) -> pd.Series:
    """Dates, on weekdays for one class and at weekends for the other."""
    weekend = _mostly(y, right, draw) == 1
    day = np.where(weekend, draw.choice([5, 6], len(y)), draw.randint(5, size=len(y)))  # 2024 began on a Monday
    return pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * draw.randint(52, size=len(y)) + day, unit="D"))


def _years(y: Labels, draw: Draw, right: float) -> pd.Series:
    """Dates of which the year says the class."""
    year = 2015 + 3 * _mostly(y, right, draw) + draw.randint(3, size=len(y))
    return pd.Series(pd.to_datetime({"year": year, "month": draw.randint(1, 13, len(y)), "day": 15}))


#: Made tables: how many classes, and their strong columns.
MADE: dict[str, tuple[int, Callable[[Labels, Draw], dict[str, Any]]]] = {
    "texts, two classes": (2, lambda y, draw: {"text": _texts(y, draw, telling=3)}),
    "texts, three classes": (3, lambda y, draw: {"text": _texts(y, draw, telling=2, right=0.95)}),
    "short texts": (2, lambda y, draw: {"title": _texts(y, draw, telling=2, length=4)}),
    "texts with one telling word": (2, lambda y, draw: {"text": _word(y, draw)}),
    "a category": (2, lambda y, draw: {"kind": np.array(["oak", "fir", "elm"])[_mostly(y, 0.85, draw)]}),
    "a category of three": (3, lambda y, draw: {"kind": np.array(["oak", "fir", "elm"])[_mostly(y, 0.85, draw)]}),
    "a category of ten": (10, lambda y, draw: {"kind": np.array(list("abcdefghij"))[_mostly(y, 0.8, draw)]}),
    "a category of many values": (
        2,
        lambda y, draw: {
            "code": np.char.add("c", (2 * draw.randint(15, size=len(y)) + _mostly(y, 0.8, draw)).astype(str))
        },
    ),
    "a category with blanks": (
        2,
        lambda y, draw: {
            "kind": np.where(draw.rand(len(y)) < 0.4, None, np.array(["oak", "fir"])[_mostly(y, 0.85, draw)])
        },
    ),
    "yes and no": (2, lambda y, draw: {"member": np.array(["no", "yes"])[_mostly(y, 0.85, draw)]}),
    "a number": (2, lambda y, draw: {"dose": 2.6 * y + draw.randn(len(y))}),
    "a number for three classes": (3, lambda y, draw: {"dose": 3.0 * y + draw.randn(len(y))}),
    "whole numbers": (2, lambda y, draw: {"stars": np.clip(np.round(3 + 4 * y + 1.6 * draw.randn(len(y))), 1, 10)}),
    "a number that is often zero": (2, lambda y, draw: {"claims": _counts(y, draw)}),
    "a number with blanks": (
        2,
        lambda y, draw: {"dose": np.where(draw.rand(len(y)) < 0.3, np.nan, 2.6 * y + draw.randn(len(y)))},
    ),
    "blanks that tell": (
        2,
        lambda y, draw: {"score": np.where(_mostly(y, 0.8, draw) == 1, np.nan, draw.randn(len(y)))},
    ),
    "days": (2, lambda y, draw: {"day": _days(y, draw, 0.8)}),
    "years": (3, lambda y, draw: {"day": _years(y, draw, 0.85)}),
    "two numbers that say the same": (
        2,
        lambda y, draw: {"age": 5 * y + draw.randn(len(y)), "years": 5 * y + draw.randn(len(y))},
    ),
    "a text and a category": (
        2,
        lambda y, draw: {
            "text": _texts(y, draw, telling=4, right=0.97),
            "kind": np.array(["oak", "fir"])[_mostly(y, 0.97, draw)],
        },
    ),
    "two categories that say nearly all": (
        3,
        lambda y, draw: {name: np.array(["oak", "fir", "elm"])[_mostly(y, 0.96, draw)] for name in ("kind", "wood")},
    ),
}
