"""The column of a table that holds the paths of pictures."""

from pathlib import Path

from ..files.errors import FileError
from .inputs import Data

__all__ = ["links_of_pictures"]


def links_of_pictures(loaded: Data, column: str | None, *, page: Path | None, embed: bool) -> list[str | None] | None:
    """Links to the pictures of all rows for the review page; None if the table names no pictures.

    Without ``column``, the first column is taken in which every cell ends as the name of a picture does. Relative paths
    start at the folder of the data.
    """
    from ..report import image_links
    from ..report.images import MEDIA_TYPES, names_images

    if page is None:
        if column or embed:
            raise FileError(f"{'--image' if column else '--embed'} is for the review page; add --report review.html")
        return None
    table = loaded.table
    named = (name for name, one in table.columns.items() if one.values.dtype.kind == "O" and names_images(one.labels()))
    chosen = column or next(named, None)
    if chosen is None:
        if embed:
            raise FileError(f"--embed: {table.source} has no column of pictures; name it with --image COLUMN")
        return None
    cells = table[chosen].labels()
    if not names_images(cells):
        raise FileError(
            f"--image: column {chosen!r} of {table.source} does not hold paths of pictures, which end in "
            f"{', '.join(MEDIA_TYPES)}; name the column that does"
        )
    return image_links(cells, folder=Path(table.source).parent, page=page, embed=embed)
