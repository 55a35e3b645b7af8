"""Pictures on the page: links beside it, or the files inside it; nothing from a network."""

import base64

import pytest

from kernelwise.files import FileError
from kernelwise.report import image_links, label_report, render
from kernelwise.report.page import names_images
from made_audits import label_audit


def test_links_are_relative_to_the_page(tmp_path):
    page, data = tmp_path / "pages" / "review.html", tmp_path / "data"
    assert image_links(["a/1.png", "b #2?.JPG", None, ""], folder=data, page=page) == [
        "../data/a/1.png", "../data/b%20%232%3F.JPG", None, None,
    ]  # fmt: skip
    absolute = (data / "1.png").as_posix()
    assert image_links([absolute, f"file://{absolute}"], folder="elsewhere", page=page) == 2 * ["../data/1.png"]
    assert image_links(["c:1.png"], folder=".", page="review.html") == ["./c%3A1.png"]


@pytest.mark.parametrize(
    "path", ["https://example.org/1.png", "file://server/1.png", "//example.org/x", "javascript:alert(1)", "notes.txt"]
)
def test_nothing_comes_from_elsewhere(path):
    assert image_links([path]) == [None]


def test_embedded_pictures_are_the_files(tmp_path):
    (tmp_path / "1.png").write_bytes(b"picture")
    first, second, none = image_links(["1.png", "1.png", ""], folder=tmp_path, embed=True)
    assert first == second == f"data:image/png;base64,{base64.b64encode(b'picture').decode()}"
    assert none is None
    with pytest.raises(FileError, match=r"2\.png cannot be read"):
        image_links(["2.png"], folder=tmp_path, embed=True)


def test_too_many_embedded_pictures_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelwise.report.page.MAX_EMBEDDED", 10)
    (tmp_path / "1.png").write_bytes(b"x" * 11)
    with pytest.raises(FileError, match="leave the images in files"):
        image_links(["1.png"], folder=tmp_path, embed=True)


def test_the_page_may_load_files_only_if_it_shows_pictures(rng):
    audit = label_audit(rng)
    links = [f"{row}.png" if row % 2 else None for row in range(60)]
    report = label_report(audit, X=rng.normal(size=(60, 2)), images=links)
    assert report["suspects"]["image"] == [links[row] for row in report["suspects"]["row"]]
    for near in report["details"][0]["near"]:
        assert near.get("image") == links[near["row"]]
    assert "img-src data: 'self' file:;" in render(report)
    assert "img-src data:;" in render(label_report(audit))
    with pytest.raises(ValueError, match="images has 1 links for 60 rows"):
        label_report(audit, images=["1.png"])


def test_which_columns_name_pictures():
    assert names_images(["1.png", "x/2.SVG"])
    assert not names_images(["1.png", "2"])
