"""Sphinx configuration: builds the manual from the installed package."""

import sys
from pathlib import Path

import refarray

sys.path.append(str(Path(__file__).parent))  # for docstrings, entries and rendered
sys.path.append(str(Path(__file__).parents[1] / "tools" / "wheels"))  # for home
from docstrings import converted
from entries import Entries
from home import read_home
from rendered import fill

HOME = read_home()

project = "refarray"
author = "The refarray authors"
copyright = "2026, The refarray authors"
version = release = refarray.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinxext.opengraph",
]
autosummary_generate = False
napoleon_numpy_docstring = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "alphabetical"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_typehints = "none"
html_theme = "furo"
html_title = f"refarray {version}"
html_baseurl = HOME.manual
html_theme_options = {
    "source_repository": HOME.repository,
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [{"name": "Repository", "url": HOME.repository, "html": "Repository"}],
}
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor what a command prints
ogp_site_url = HOME.manual
ogp_social_cards = {"enable": False}  # they would need fonts from the network
html_static_path = ["_static"]
html_css_files = ["manual.css"]


def for_napoleon(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Convert docstrings, which are laid out for `help()`, before napoleon reads them."""
    lines[:] = converted(lines)


def with_figures(app, _name: str, source: list[str]) -> None:
    """Fill in what pages show of docs/records; a new record renews the page."""
    if "<!-- rendered: " in source[0]:
        for path in Path(app.srcdir, "records").glob("*/*.toml"):
            app.env.note_dependency(str(path))
    source[0] = fill(source[0], Path(app.srcdir, "_build", "images"))


def setup(app) -> None:
    app.add_directive("entries", Entries)
    app.connect("source-read", with_figures)
    app.connect("autodoc-process-docstring", for_napoleon, priority=400)
