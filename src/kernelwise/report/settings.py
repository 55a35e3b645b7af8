"""The settings of a review page."""

from dataclasses import dataclass

from ..checks import check_count


@dataclass(frozen=True)
class PageSettings:
    """The names on a review page, and how much the page holds.

    Parameters
    ----------
    title : str
        The title of the page; usually the name of the data.
    id_name, label_name : str
        The names of the columns of ids and of labels in the user's own file. The exported corrections hold
        ``label_name``, so that they are applied to the right column.
    chance : float, default=0.5
        The page asks the reader to check the suspects that are wrong with more than this chance.
    precision : float, default=None
        If it is given, the page asks for as many checks as possible of which at least this share should find an error.
    max_rows : int, default=100_000
        How many rows are listed, the most suspect first.
    max_details : int, default=1_000
        How many of the listed rows come with neighbours; each adds about a kilobyte to the file.
    max_columns : int, default=40
        How many features are shown: those that matter most.

    Examples
    --------
    >>> from kernelwise.report import PageSettings
    >>> PageSettings(title="heart.csv", label_name="disease").max_rows
    100000
    """

    title: str = "Label review"
    id_name: str = "row"
    label_name: str = "label"
    chance: float = 0.5
    precision: float | None = None
    max_rows: int = 100_000
    max_details: int = 1_000
    max_columns: int = 40

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_details", "max_columns"):
            check_count(name, getattr(self, name), least=0)
        if not 0 <= self.chance < 1:
            raise ValueError(f"chance must be a number of at least 0 and below 1, got {self.chance!r}")
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ValueError(f"precision must be a number above 0 and at most 1, got {self.precision!r}")
