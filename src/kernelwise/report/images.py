"""The pictures of rows on a review page: links beside the page, or the files themselves inside the page."""

import base64
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from ..files import FileError

#: The pictures that all browsers show, by the ending of the file name.
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
}
#: All embedded pictures together, in bytes: a larger page is slow to open.
MAX_EMBEDDED = 100_000_000


def names_images(cells: Iterable[str]) -> bool:
    """Whether all cells of a column that are not empty name a picture.

    >>> names_images(["cats/1.PNG", "", "file:///data/2.jpg"]), names_images(["1.png", "two"]), names_images([""])
    (True, False, False)
    """
    named = [cell for cell in cells if cell]
    return bool(named) and all(_media_type(cell) for cell in named)


def image_links(
    paths: Sequence[str | None],
    *,
    folder: str | os.PathLike[str] = ".",
    page: str | os.PathLike[str] = "review.html",
    embed: bool = False,
) -> list[str | None]:
    """Links with which a review page shows the pictures of rows.

    Parameters
    ----------
    paths : sequence of str or None
        One path or ``file:`` address for each row; empty or None for a row without a picture. Addresses of other
        computers are left out: the page loads nothing from a network.
    folder : path, default="."
        Where relative paths start; usually the folder of the data.
    page : path, default="review.html"
        Where the page will be written. Links are relative to its folder, so that the page and the pictures can be moved
        together.
    embed : bool, default=False
        Whether the page holds the pictures themselves, as they are on disk.

    Returns
    -------
    list of str or None
        For ``label_report(images=...)``.

    Examples
    --------
    >>> from kernelwise.report import image_links
    >>> image_links(["cat 1.png", "", "https://example.org/dog.png"], folder="data", page="pages/review.html")
    ['../data/cat%201.png', None, None]
    """
    if embed:
        return _embedded(paths, Path(folder))
    start = Path(page).parent
    return [None if file is None else _link(file, start) for file in (_local(path, Path(folder)) for path in paths)]


def _media_type(cell: str) -> str | None:
    return MEDIA_TYPES.get(Path(urlsplit(cell).path if "://" in cell else cell).suffix.lower())


def _local(path: str | None, folder: Path) -> Path | None:
    """The file that a cell names; None for no file and for a file of another computer."""
    if not path or not _media_type(path):
        return None
    if "://" not in path:
        return folder / path
    address = urlsplit(path)
    if address.scheme != "file" or address.netloc not in ("", "localhost"):
        return None
    return Path(url2pathname(unquote(address.path)) if os.name == "nt" else unquote(address.path))


def _link(file: Path, start: Path) -> str:
    try:
        relative = Path(os.path.relpath(file, start)).as_posix()
    except ValueError:  # another drive of Windows
        return file.resolve().as_uri()
    # A first part with a colon would be read as the scheme of an address.
    return quote(f"./{relative}" if ":" in relative.partition("/")[0] else relative)


def _embedded(paths: Sequence[str | None], folder: Path) -> list[str | None]:
    held: dict[Path, str] = {}
    links: list[str | None] = []
    size = 0
    for path in paths:
        file = _local(path, folder)
        if file is not None and file not in held:
            try:
                content = file.read_bytes()
            except OSError as error:
                raise FileError(f"the image {file} cannot be read ({error.strerror}); correct its path") from None
            size += len(content)
            if size > MAX_EMBEDDED:
                raise FileError(
                    f"the images to embed take more than {MAX_EMBEDDED // 1_000_000} MB; embed smaller copies, or leave"
                    " the images in files beside the page"
                )
            held[file] = f"data:{_media_type(file.name)};base64,{base64.b64encode(content).decode('ascii')}"
        links.append(None if file is None else held[file])
    return links
