"""Owns the notebook view of an array: one self-contained card, its values in a table where they fit
in one."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from refarray import _format
from refarray._native import Array

# Colours are the page's own: the card is right on light and on dark.
FRAME = (
    "display:inline-block;border:1px solid;border-radius:6px;padding:8px 12px;"
    "color:inherit;background:transparent;font-family:monospace;font-size:13px"
)
CELL = "border:1px solid;padding:1px 6px;text-align:right;white-space:pre;background:transparent"
FACT = "padding:0 10px 0 0;text-align:left;background:transparent"
GREY = "opacity:.65"


def cell(text: str, style: str = CELL) -> str:
    """A table cell of escaped text."""
    return f'<td style="{style}">{escape(text)}</td>'


def table(rows: Iterable[Iterable[str]], style: str = CELL) -> str:
    """A table of texts."""
    lines = "".join(f"<tr>{''.join(cell(text, style) for text in row)}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0 0 0">{lines}</table>'


def words(row: Any, texts: Iterable[str]) -> list[str]:
    """The texts of one row."""
    source = iter(texts)
    return ["…" if value is ... else next(source) for value in row]


def values(array: Array) -> str:
    """The elements shown: a table of up to two axes, the text of str(array) for more."""
    options = _format.current_options()
    drawable = array.size > 0 and array.ndim <= 2
    node = _format.shown(array) if drawable else ""
    if isinstance(node, str):
        text = node or _format.array_str(array)
        return f'<pre style="margin:6px 0 0 0;color:inherit">{escape(text)}</pre>'
    texts = _format.element_texts(array, node, options.precision)
    rows = [[[node]], [node], node][array.ndim]
    width = max(1 if row is ... else len(row) for row in rows)
    return table(["…"] * width if row is ... else words(row, texts) for row in rows)


def card(array: Array) -> str:
    """The whole view."""
    facts = [
        ("dtype", str(array.dtype)),
        ("shape", str(array.shape)),
        ("strides", f"{array.strides} elements"),
        ("device", str(array.device)),
        ("bytes", f"{array.nbytes:,}"),
        ("access", "read-only" if array.readonly else "writable"),
    ]
    head = (
        f'<div><b>refarray.Array</b> <span style="{GREY}">{escape(str(array.shape))}</span></div>'
    )
    return f'<div style="{FRAME}">{head}{values(array)}{table(facts, FACT)}</div>'
