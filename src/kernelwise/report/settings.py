"""What can be chosen about a page."""

from dataclasses import dataclass

from ..checks import check_count


@dataclass(frozen=True)
class PageSettings:
    """How a review page is called and how much it holds.

    Parameters
    ----------
    title : str
        Of the page; usually the name of the data.
    id_name, label_name : str
        What the identifiers and the labels are called in the user's own file. ``label_name`` is written into the
        exported corrections, so that they are applied to the right column.
    precision : float, default=0.5
        The page asks to check as many as it can while at least this fraction of them should be wrong.
    max_rows : int, default=100_000
        How many rows are listed, the most suspect first.
    max_details : int, default=1_000
        How many of them come with neighbours; the file grows by about a kilobyte for each.
    max_columns : int, default=40
        How many features are shown.

    Examples
    --------
    >>> from kernelwise.report import PageSettings
    >>> PageSettings(title="heart.csv", label_name="disease").max_rows
    100000
    """

    title: str = "Label review"
    id_name: str = "row"
    label_name: str = "label"
    precision: float = 0.5
    max_rows: int = 100_000
    max_details: int = 1_000
    max_columns: int = 40

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_details", "max_columns"):
            check_count(name, getattr(self, name), least=0)
        if not 0 < self.precision <= 1:
            raise ValueError(f"precision must be a number above 0 and at most 1, got {self.precision!r}")
