"""A report as one HTML file that needs no network, no library and no server, with links to pictures or the pictures."""

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from ..files import FileError, check_output, write_file
from .page_data import SCHEMA

#: The parts of the script; each part uses parts before it.
SCRIPTS = (
    "dom", "model", "store", "csv", "figures", "graph", "evidence", "texts", "pairs", "sources", "card", "queue",
    "bulk", "charts", "guarantee", "main",
)  # fmt: skip
#: Where the page may load pictures from: its own data, and files beside it if it shows some.
PICTURES, PICTURES_BESIDE = "data:", "data: 'self' file:"
#: The pictures that all browsers show, by the ending of the file name.
MEDIA_TYPES = {f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "avif", "bmp")}
MEDIA_TYPES |= {".jpg": "image/jpeg", ".svg": "image/svg+xml"}
#: All embedded pictures together, in bytes: a larger page is slow to open.
MAX_EMBEDDED = 100_000_000


def render(report: dict[str, Any]) -> str:
    """The page of a report, as HTML.

    The page holds the data as JSON in which ``<``, ``>`` and ``&`` are escaped, and the script shows the data as text
    only. The content security policy admits only this script and this style, by their hashes.

    Parameters
    ----------
    report : dict
        From :func:`label_report` or :func:`pair_report`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import PairAudit, PairNoise, Pairs
    >>> from kernelwise.report import pair_report, render
    >>> pairs = Pairs([0, 0, 1], [1, 2, 2], [1, 1, -1], n_samples=3)
    >>> audit = PairAudit(pairs, np.array([0.9, 0.2, 0.8]), np.array([1, -1, -1]), PairNoise(0.4, 0.55, 0.8), {})
    >>> page = render(pair_report(audit, ids=["<b>", "&", "c"]))
    >>> "<b>" in page, "http://" in page.replace("http://www.w3.org/2000/svg", "")
    (False, False)
    """
    if report.get("schema") != SCHEMA:
        raise ValueError(f"report must come from label_report or pair_report of this version, got {list(report)[:5]}")
    style = _asset("style.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"
    headline, advice, basis = headlines(report)
    pictures = PICTURES_BESIDE if any(report["suspects"].get("image", [])) else PICTURES
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        f" img-src {pictures};"
        " base-uri 'none'; form-action 'none'",
        title=_html(report["title"]),
        headline=_html(headline),
        advice=_html(advice),
        basis=_html(basis),
        style=style,
        data=_json(report),
        script=script,
    )


def write_report(report: dict[str, Any], path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the page of a report to a file, whole or not at all.

    Parameters
    ----------
    report : dict
        From :func:`label_report` or :func:`pair_report`.
    path : path
    force : bool, default=False
        Whether to overwrite a file that exists; without ``force``, such a file is a :exc:`FileError`.

    Returns
    -------
    Path
    """
    return write_file(check_output(Path(path), force=force), render(report), force=force)


def headlines(report: dict[str, Any]) -> tuple[str, str, str]:
    """The finding of a report, what to do about it, and what the finding rests on, in a sentence or two each.

    Where explanations disagree, the finding is a range, and nothing is said of the number of errors among the suspects.
    """
    kind, summary = report["kind"], report["summary"]
    verdict = summary.get("verdict", {})
    reliable = verdict.get("reliable", True) or summary["between"] is None
    what = f"consensus {kind}" if report.get("sources", {}).get("consensus") else kind
    wrong = round(sum(rate["n"] * rate["rate"] for rate in summary["rates"]))
    if not reliable:
        low, high = summary["between"]
        found = f"Between {low:,} and {high:,} of {summary['n']:,} {what} look wrong"
    else:
        found = f"About {wrong:,} of {summary['n']:,} {what} look wrong" if wrong else f"The {what} look right"
    basis = [_sentence(rate, kind, reliable) for rate in summary["rates"]]
    if not reliable:
        basis = [*(basis if kind == "pairs" else []), verdict["reason"]]  # the reason holds the range of labels
    likely = round(summary["expected_wrong"])
    advice = "No label is more likely wrong than right."
    if kind == "pairs":
        advice = "No single pair is more likely wrong than right; the list begins with the most suspect."
    if summary["to_check"] == 1:
        advice = f"One of the {kind} is worth checking."
    elif summary["to_check"]:
        advice = f"{summary['to_check']:,} are worth checking"
        advice += f": about {likely:,} of these should be wrong." if reliable else "."
    return found, advice, " ".join([*basis, *([verdict["claim"]] if "claim" in verdict else [])])


def _sentence(rate: dict[str, Any], kind: str, reliable: bool) -> str:
    what = kind if kind == rate["name"] else f"{kind} given as {rate['name']}"
    low, high = rate["interval"]
    between = "" if low is None or high is None else f"between {_percent(low)} and {_percent(high)}"
    share = between if between and not reliable else f"{_percent(rate['rate'])}{between and f' ({between})'}"
    return f"Share of {what} that look wrong: {share}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "\xa0%"  # a line break never parts the number from its unit


def _html(text: str) -> str:
    """Text as HTML; halves of characters, which UTF-8 cannot hold, become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _json(report: dict[str, Any]) -> str:
    """JSON in ASCII without ``<``, ``>`` and ``&``, so that no text in it can end the script element around it."""
    plain = json.dumps(report, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")


def names_images(cells: Iterable[str]) -> bool:
    """Whether all cells of a column that are not empty name a picture."""
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
