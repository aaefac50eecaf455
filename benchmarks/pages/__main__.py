"""Command line of the page: writes docs/benchmarks.md and draws its plots."""

from __future__ import annotations

from . import IMAGES, PAGE, load, page, plots, sections
from .plots import save


def main() -> None:
    made = sections(load())
    PAGE.write_text(page(made), encoding="utf-8")
    print(f"written: {PAGE.name}")
    for name, plot in plots(made).items():
        save(plot, IMAGES / name)
        print(f"drawn: {name}")


main()
