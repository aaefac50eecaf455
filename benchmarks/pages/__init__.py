"""docs/benchmarks.md, generated from the records by `make bench-docs`.

records.py   picks the newest record that answers a question
plots.py     what every plot has in common: size, colours, the digest of its data inside the SVG
exchange.py  group A in U · footprint.py  group E · abi.py  the stable ABI against the full one
copies.py    group B and the transposes of growing size · ops.py  group C · devices.py  group D
counts.py    instructions per call, out of budget.json · processors.py  rows of A to C by processor

A group is one module here with `section(records) -> Section`, listed in GROUPS in the order of the
page. `markdown` is its text; `plots` maps a file name in docs/images to the data and the function
that draws them. Text and plots depend on the records alone, so that a test can tell when the page
is older than they are.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from .plots import Plot
from .records import Record, Section, load

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
GROUPS = ("exchange", "counts", "copies", "ops", "processors", "devices", "abi", "footprint")
HEADER = """# Benchmarks

The cost of an exchange, measured side by side with other libraries. Each section is of one machine:
read the ratios, not the nanoseconds; [another processor](#by-processor) has other ratios too. Rows
where refarray misses its target or loses are kept.

This page is generated from the records in `benchmarks/results` by `make bench-docs`; `make bench`
measures, and `SAVE=1` records."""


def sections(records: list[Record]) -> list[Section]:
    modules = [importlib.import_module(f".{name}", __name__) for name in GROUPS]
    return [module.section(records) for module in modules]


def page(made: list[Section]) -> str:
    return "\n".join([f"{HEADER}\n", *(each.markdown for each in made if each.markdown)])


def plots(made: list[Section]) -> dict[str, Plot]:
    return {name: plot for section in made for name, plot in section.plots.items()}


__all__ = ["IMAGES", "PAGE", "load", "page", "plots", "sections"]
