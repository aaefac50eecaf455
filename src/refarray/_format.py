"""Owns how arrays are written: repr, str and the notebook view, of at most the edge elements of
large arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from refarray._info import scalar_name
from refarray._native import Array, empty
from refarray._numbers import column

PREFIX = "refarray.Array("


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """How arrays are written in the current context."""

    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 88
    precision: int = 8

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 1 if field.name == "edgeitems" else 0
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name} must be an int, not {value!r}")
            if value < least:
                raise ValueError(f"{field.name} is {value}; it must be {least} or more")


_options: ContextVar[PrintOptions] = ContextVar("refarray.printoptions")


def current_options() -> PrintOptions:
    """The options in effect here."""
    return _options.get(PrintOptions())


@contextmanager
def printoptions(
    *,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    precision: int | None = None,
) -> Iterator[PrintOptions]:
    """Context manager: how arrays are written inside it, in this thread or asynchronous task only.

    threshold: arrays of more elements are written by their edges (1000 at first). edgeitems: how
    many elements of each edge are shown (3). linewidth: columns to a line (88). precision: the most
    digits after the point of a float (8); fewer are written where fewer tell it apart.
    """
    given = {
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "precision": precision,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    token = _options.set(replace(current_options(), **changes))
    try:
        yield _options.get()
    finally:
        _options.reset(token)


@dataclass(frozen=True, slots=True)
class Edge:
    """Which elements of an axis are shown: `head` from its start, `tail` from its end."""

    head: int
    tail: int
    whole: bool


def choose_edges(shape: tuple[int, ...], options: PrintOptions) -> list[Edge]:
    """The edges to show of each axis: all of a small array, a bounded number of elements of any
    other."""
    whole = [Edge(extent, 0, True) for extent in shape]
    if math.prod(shape) <= options.threshold:
        return whole
    edges = [
        Edge(options.edgeitems, options.edgeitems, False)
        if extent > 2 * options.edgeitems
        else all_of
        for extent, all_of in zip(shape, whole, strict=True)
    ]
    # Many axes make many edges: from the outermost on, show one index of an axis until no more is
    # shown than of three.
    limit = (2 * options.edgeitems) ** 3
    for axis in range(len(edges)):
        if math.prod(edge.head + edge.tail for edge in edges) <= limit:
            break
        if shape[axis] > 1:
            edges[axis] = Edge(1, 0, False)
    return edges


def fetch(array: Array, edges: list[Edge]) -> Any:
    """The elements shown as nested lists, `...` for what is left out; reads nothing else."""
    if all(edge.whole for edge in edges):
        return array.tolist()
    first, rest = edges[0], edges[1:]
    extent = array.shape[0]
    head = [fetch(array[i], rest) for i in range(first.head)]
    tail = [fetch(array[i], rest) for i in range(extent - first.tail, extent)]
    return head + tail if first.whole else [*head, ..., *tail]


def parts(edges: list[Edge], shape: tuple[int, ...]) -> Iterator[list[tuple[slice, slice]]]:
    """What is shown in pieces, each a slice of every axis: where it is, and where it stands among
    what is shown."""
    if not edges:
        yield []
        return
    first, extent = edges[0], shape[0]
    shown = first.head + first.tail
    here = [(slice(0, first.head), slice(0, first.head))]
    if first.tail:
        here.append((slice(extent - first.tail, extent), slice(first.head, shown)))
    for piece in here:
        for rest in parts(edges[1:], shape[1:]):
            yield [piece, *rest]


def near(array: Array, edges: list[Edge]) -> Array:
    """Those elements of an array on a device that are shown, where the CPU reads them."""
    out = empty(tuple(edge.head + edge.tail for edge in edges), dtype=array.dtype)
    for piece in parts(edges, array.shape):
        out[tuple(to for _, to in piece)] = array[tuple(where for where, _ in piece)]
    return out


def shown(array: Array) -> Any:
    """The elements to show, as `fetch` gives them; a text where a device does not give them."""
    edges = choose_edges(array.shape, current_options())
    if array.device == "cpu":
        return fetch(array, edges)
    try:
        return fetch(near(array, edges), edges)
    except (BufferError, MemoryError, RuntimeError) as error:
        return f"<data on {array.device}: {error}>"


def leaves(node: Any, depth: int) -> Iterator[Any]:
    """The elements in order, without the marks for what is left out."""
    if node is ...:
        return
    if depth == 0:
        yield node
        return
    for child in node:
        yield from leaves(child, depth - 1)


def element_texts(array: Array, node: Any, precision: int) -> Iterator[str]:
    """The text of each element shown, aligned."""
    values = list(leaves(node, array.ndim))
    name = scalar_name(array.dtype, "dtype")
    lanes = array.dtype.lanes
    if lanes == 1:
        return iter(column(values, name, precision))
    texts = column(list(chain.from_iterable(values)), name, precision)
    return (f"({', '.join(texts[i : i + lanes])})" for i in range(0, len(texts), lanes))


def wrap(words: list[str], indent: int, width: int) -> str:
    """Words with commas, broken so that no line passes `width`."""
    lines, line = [], ""
    for i, word in enumerate(words):
        text = word if i == len(words) - 1 else word + ","
        if line and indent + len(line) + 1 + len(text) > width:
            lines.append(line)
            line = text
        else:
            line = f"{line} {text}" if line else text
    return ("\n" + " " * indent).join([*lines, line])


def lay_out(node: Any, depth: int, texts: Iterator[str], indent: int, width: int) -> str:
    """Nested lists as text; `depth` axes are left, `indent` columns stand before the first
    bracket."""
    if node is ...:
        return "..."
    if depth == 0:
        return next(texts)
    if depth == 1:
        words = ["..." if child is ... else next(texts) for child in node]
        return f"[{wrap(words, indent + 1, width - depth)}]"
    separator = "," + "\n" * min(depth - 1, 2) + " " * (indent + 1)
    rows = (lay_out(child, depth - 1, texts, indent + 1, width - 1) for child in node)
    return f"[{separator.join(rows)}]"


def body(array: Array, indent: int) -> str:
    """The values alone, for text that begins after `indent` columns; of a device that does not
    give them, why not."""
    if array.size == 0:
        return "[]"
    options = current_options()
    node = shown(array)
    if isinstance(node, str):
        return node
    texts = element_texts(array, node, options.precision)
    return lay_out(node, array.ndim, texts, indent, options.linewidth)


def array_str(array: Array) -> str:
    """What str(array) is: the values."""
    return body(array, 0)


def array_repr(array: Array) -> str:
    """What repr(array) is: the values, shape, dtype and device, and whether it is read-only."""
    text = PREFIX + body(array, len(PREFIX))
    facts = f"shape={array.shape}, dtype={array.dtype}, device={str(array.device)!r}"
    facts += ", readonly=True)" if array.readonly else ")"
    last = len(text) - text.rfind("\n") - 1
    fits = last + 2 + len(facts) <= current_options().linewidth
    return text + ("," + (" " if fits else "\n" + " " * len(PREFIX))) + facts


def array_html(array: Array) -> str:
    """What a notebook shows."""
    from refarray._html import card

    return card(array)
