"""How the documentation is built: ``make docs``."""

from datetime import date

import kernelwise

project = "kernelwise"
author = "The kernelwise developers"
copyright = f"{date.today().year}, {author}"
version = release = kernelwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
templates_path = ["_templates"]
suppress_warnings = ["toc.not_included"]  # tables of the reproduction pages, reached by links
html_theme = "furo"
html_title = "kernelwise"
html_static_path: list[str] = []

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 10_000,
}
