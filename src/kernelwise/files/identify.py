"""What a file is, whatever its name says: for messages about files that were named by mistake."""

from pathlib import Path

#: The first bytes of some formats.
BEGINNINGS = (
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"FEA1", "a Feather table"),
    (b"\x93NUMPY", "an array of numpy (.npy)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x1f\x8b", "a file packed by gzip"),
    (b"\x80", "a pickle of Python, which can run code when it is loaded and is therefore never loaded"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\xd0\xcf\x11\xe0", "a workbook or document of an old office program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"RDX", "data of R"),
    (b"%%MatrixMarket", "a matrix in Matrix Market format"),
)
MODEL = "a model of kernelwise"
#: Names of members that tell what a zip archive is.
MEMBERS = (
    ("card.json", MODEL),
    ("schema.json", "a model of skops that was not made by kernelwise classify"),
    ("[Content_Types].xml", "a workbook or document of an office program"),
    ("mimetype", "a document of an office program"),
)


def what_is(path: Path) -> str:
    """What a file is, in a few words."""
    with path.open("rb") as stream:
        beginning = stream.read(4096)
    if not beginning:
        return "an empty file"
    for mark, what in BEGINNINGS:
        if beginning.startswith(mark):
            return what
    if beginning.startswith(b"PK"):
        return _archive(path)
    try:
        text = beginning.decode("utf-8-sig") if b"\0" not in beginning else None
    except UnicodeDecodeError as error:
        text = beginning[: error.start].decode("utf-8-sig") if error.start > len(beginning) - 4 else None
    if text is None:
        return "a binary file of a kind that is not known"
    first = text.lstrip().partition("\n")[0].strip()
    if first[:1] == "<":
        return "a page of HTML or XML"
    if first[:1] in "{[":
        return "a JSON document"
    shown = first if len(first) <= 60 else first[:60] + "..."
    return f"a text table whose first line is {shown!r}" if any(mark in first for mark in ",;\t|") else "a text file"


def _archive(path: Path) -> str:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return "a damaged zip archive"
    for name, what in MEMBERS:
        if name in names:
            return what
    return "an archive of arrays (.npz)" if names and all(name.endswith(".npy") for name in names) else "a zip archive"
