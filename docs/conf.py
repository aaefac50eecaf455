"""Sphinx configuration: builds the manual from the installed package."""

import refarray

project = "refarray"
author = "The refarray authors"
copyright = "2026, The refarray authors"
version = release = refarray.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
html_theme = "furo"
html_title = "refarray"


def show_as_written(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Show docstrings as literal text: they are laid out for `help()` and contain no markup."""
    lines[:] = ["::", "", *(f"   {line}" for line in lines), ""]


def setup(app) -> None:
    app.connect("autodoc-process-docstring", show_as_written)
