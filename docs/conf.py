"""Sphinx configuration: builds the manual from the installed package."""

import re
import sys
import tomllib
from pathlib import Path

import refarray

sys.path.append(str(Path(__file__).parent))  # for cards, docstrings, entries and rendered
sys.path.append(str(Path(__file__).parents[1] / "tools" / "wheels"))  # for home
from cards import draw
from docstrings import EXAMPLES_FILE, converted, example
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
    "sphinx.ext.intersphinx",
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
# The few names that docstrings use, in files, so that the build needs no network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", "inventories/python.txt"),
    "numpy": ("https://numpy.org/doc/stable/", "inventories/numpy.txt"),
}
SIGNATURES = Path(__file__).parents[1] / "tests" / "package" / "array_api_signatures.toml"
IN_STANDARD = tomllib.loads(SIGNATURES.read_text(encoding="utf-8"))["functions"]
STANDARD = f"https://data-apis.org/array-api/{refarray.__array_api_version__}/API_specification"
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor what a command prints
ogp_site_url = HOME.manual
CARD = draw(Path(__file__).parent / "_build" / "images" / "card.png")
CARD_PICTURE = CARD.relative_to(Path(__file__).parent).as_posix()
ogp_social_cards = {"image": CARD_PICTURE, "image_mini": CARD_PICTURE, "line_color": "#4a90d9"}
html_static_path = ["_static"]
html_css_files = ["manual.css"]


def for_napoleon(app, what: str, name: str, _object, _options, lines: list[str]) -> None:
    """Convert docstrings, which are laid out for `help()`, before napoleon reads them; functions of
    the array API standard get a link to its page, and public callables their example."""
    lines[:] = [*converted(lines), *example(name)]
    app.env.note_dependency(str(EXAMPLES_FILE))
    short = name.removeprefix("refarray.")
    if what == "function" and short in IN_STANDARD:
        link = f"`Array API standard <{STANDARD}/generated/array_api.{short}.html>`__"
        lines[:] = [re.sub("^Array API standard", link, line) for line in lines]


def with_figures(app, _name: str, source: list[str]) -> None:
    """Fill in what pages show of docs/records and of the notebook, whose changes renew the page."""
    if "<!-- rendered: " in source[0]:
        records = Path(app.srcdir, "records").glob("*/*.toml")
        for path in (*records, Path(app.srcdir).parent / "examples" / "gallery.ipynb"):
            app.env.note_dependency(str(path))
    source[0] = fill(source[0], Path(app.srcdir, "_build", "images"))


def setup(app) -> None:
    app.add_directive("entries", Entries)
    app.connect("source-read", with_figures)
    app.connect("autodoc-process-docstring", for_napoleon, priority=400)
