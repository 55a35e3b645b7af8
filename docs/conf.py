"""How the documentation is built: ``make docs``."""

import re
from datetime import date
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import kernelwise

project = "kernelwise"
author = "The kernelwise developers"
copyright = f"{date.today().year}, {author}"
version = release = kernelwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
templates_path = ["_templates"]
suppress_warnings = ["toc.not_included"]  # tables of the reproduction pages, reached by links
html_theme = "furo"
html_title = "kernelwise"
html_math_renderer = "mathml"  # below: formulas are part of the page, no script is fetched from elsewhere
html_static_path = ["_static"]
html_css_files = ["wide.css", "cards.css", "gallery.css"]

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
    "write_computation_times": False,
    "image_srcset": ["2x"],
}


#: What the translator of docutils does not know or takes for something else, and what to write instead.
REWRITTEN = {
    r"\\([bB]ig|textstyle)(?![a-z])": "",
    r"\\dots(?![a-z])": r"\\ldots",
    r"\\tag\{(\w+)\}": r"\\qquad (\1)",
    r"frac(\d)(\d)": r"frac{\1}{\2}",  # it would read 12 as one number
    r"(\\(?:hat|bar|tilde) ?(?:\\[a-zA-Z]+|[a-zA-Z]|\{[^{}]*\}))(?=[_^])": r"\1{}",  # an index beside, not below
}


def show_math(translator: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers draw by themselves."""
    formula = node.astext()
    for written, instead in REWRITTEN.items():
        formula = re.sub(written, instead, formula)
    try:
        translator.body.append(tex2mathml(formula, as_block=node.tagname == "math_block"))
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", formula, error, location=node)
    raise SkipNode


def setup(app: Any) -> None:
    """Tell Sphinx how formulas are shown."""
    app.add_html_math_renderer("mathml", inline_renderers=(show_math, None), block_renderers=(show_math, None))
