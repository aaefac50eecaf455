"""The notebook representation of an array: an HTML card with its values and properties."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from refarray._display.text import Subject, body, current_options, element_texts

# Colours are inherited from the page, so that the card works on light and dark backgrounds.
FRAME = (
    "display:inline-block;border:1px solid;border-radius:6px;padding:8px 12px;"
    "color:inherit;background:transparent;font-family:monospace;font-size:13px"
)
CELL = "border:1px solid;padding:1px 6px;text-align:right;white-space:pre;background:transparent"
FACT = "padding:0 10px 0 0;text-align:left;background:transparent"
GREY = "opacity:.65"


def cell(text: str, style: str = CELL) -> str:
    """Return a table cell with escaped text."""
    return f'<td style="{style}">{escape(text)}</td>'


def table(rows: Iterable[Iterable[str]], style: str = CELL) -> str:
    lines = "".join(f"<tr>{''.join(cell(text, style) for text in row)}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0 0 0">{lines}</table>'


def row_texts(row: Any, texts: Iterable[str]) -> list[str]:
    """Return the cells of a row, taking the text of each value from `texts`."""
    source = iter(texts)
    return ["…" if value is ... else next(source) for value in row]


def values(subject: Subject) -> str:
    """Return a table of the values for ndim 0 to 2, and the text of str(array) otherwise."""
    array, options = subject.array, current_options()
    drawable = array.size > 0 and array.ndim <= 2
    node = subject.read_shown() if drawable else ""
    if isinstance(node, str):
        text = node or body(subject, 0)
        return f'<pre style="margin:6px 0 0 0;color:inherit">{escape(text)}</pre>'
    texts = element_texts(array, node, options.precision)
    rows = [[[node]], [node], node][array.ndim]
    width = max(1 if row is ... else len(row) for row in rows)
    return table(["…"] * width if row is ... else row_texts(row, texts) for row in rows)


def card(subject: Subject) -> str:
    array = subject.array
    facts = [
        ("dtype", str(array.dtype)),
        ("shape", str(array.shape)),
        ("strides", f"{array.strides} elements"),
        ("device", subject.place),
        ("bytes", f"{array.nbytes:,}"),
        ("access", "read-only" if array.readonly else "writable"),
    ]
    head = (
        f'<div><b>refarray.Array</b> <span style="{GREY}">{escape(str(array.shape))}</span></div>'
    )
    return f'<div style="{FRAME}">{head}{values(subject)}{table(facts, FACT)}</div>'


def array_html(*subject: Any) -> str:
    """Implement array._repr_html_(). Takes the fields of Subject."""
    return card(Subject(*subject))
