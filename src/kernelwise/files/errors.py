"""Files that cannot be used, and how to say so."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..tables.errors import TableError, choices, place

__all__ = ["FileError", "choices", "explain", "place", "reading_a_table"]


class FileError(TableError):
    """A file that cannot be used; the message names the file, the place in it and the remedy.

    Examples
    --------
    >>> from kernelwise.files import FileError
    >>> raise FileError("a.csv is empty; give a file with a header and at least one row")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.csv is empty; give a file with a header and at least one row
    """


def explain(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def reading_a_table(where: str = "") -> Iterator[None]:
    """Turn the error of a table into the error of the file that holds the table; its message begins with ``where``."""
    try:
        yield
    except FileError:
        raise
    except TableError as error:
        raise FileError(f"{where}{error}") from error
