"""Sphinx configuration: builds the manual from the installed package."""

import sys
from pathlib import Path

import refarray

sys.path.insert(0, str(Path(__file__).parent))  # for docstrings
from docstrings import converted

project = "refarray"
author = "The refarray authors"
copyright = "2026, The refarray authors"
version = release = refarray.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
]
autosummary_generate = False
napoleon_numpy_docstring = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
html_theme = "furo"
html_title = "refarray"
html_static_path = ["_static"]
html_css_files = ["manual.css"]


def for_napoleon(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Convert docstrings, which are laid out for `help()`, before napoleon reads them."""
    lines[:] = converted(lines)


def setup(app) -> None:
    app.connect("autodoc-process-docstring", for_napoleon, priority=400)
