"""Text representations of arrays: repr(), str() and printoptions().

Large arrays are summarized: only the elements at the edges of each axis are read and shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from refarray._display.numbers import column
from refarray._info import scalar_name
from refarray._native import Array, _note_read, empty

#: The kinds of devices whose memory the host reads.
HOST = ("cpu", "cuda_host", "rocm_host")


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """The print options of a context."""

    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 88
    precision: int = 8

    def __post_init__(self) -> None:
        for field in fields(self):
            value, minimum = getattr(self, field.name), 1 if field.name == "edgeitems" else 0
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name} must be an int, not {value!r}")
            if value < minimum:
                raise ValueError(f"{field.name} is {value}; it must be {minimum} or more")


_options: ContextVar[PrintOptions] = ContextVar("refarray.printoptions")


def current_options() -> PrintOptions:
    return _options.get(PrintOptions())


@contextmanager
def printoptions(
    *,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    precision: int | None = None,
) -> Iterator[PrintOptions]:
    """Context manager that changes how arrays are printed, in this thread or asyncio task only.

    threshold: arrays with more elements are summarized (default 1000).
    edgeitems: the number of elements shown at each end of a summarized axis (default 3).
    linewidth: columns per line (default 88).
    precision: the maximum number of digits after the decimal point (default 8). Fewer are printed
        if they identify the value.

    None keeps the current value of an option.
    """
    options = {
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "precision": precision,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    token = _options.set(replace(current_options(), **changes))
    try:
        yield _options.get()
    finally:
        _options.reset(token)


@dataclass(frozen=True, slots=True)
class Edge:
    """The elements of an axis that are shown: `head` at its start and `tail` at its end."""

    head: int
    tail: int
    whole: bool


def choose_edges(shape: tuple[int, ...], options: PrintOptions) -> list[Edge]:
    """Return the edges to show: all elements of a small array, otherwise a bounded number."""
    whole = [Edge(extent, 0, True) for extent in shape]
    if math.prod(shape) <= options.threshold:
        return whole
    edges = [
        Edge(options.edgeitems, options.edgeitems, False)
        if extent > 2 * options.edgeitems
        else all_of
        for extent, all_of in zip(shape, whole, strict=True)
    ]
    # The number of shown elements grows exponentially with the number of axes. Reduce axes to one
    # index each, from the outermost on, until no more is shown than for three axes.
    limit = (2 * options.edgeitems) ** 3
    for axis in range(len(edges)):
        if math.prod(edge.head + edge.tail for edge in edges) <= limit:
            break
        if shape[axis] > 1:
            edges[axis] = Edge(1, 0, False)
    return edges


def fetch(array: Array, edges: list[Edge]) -> Any:
    """Return the shown elements as nested lists, with `...` for omitted ones. Reads no others."""
    if all(edge.whole for edge in edges):
        return array.tolist()
    first, rest = edges[0], edges[1:]
    extent = array.shape[0]
    head = [fetch(array[i], rest) for i in range(first.head)]
    tail = [fetch(array[i], rest) for i in range(extent - first.tail, extent)]
    return head + tail if first.whole else [*head, ..., *tail]


def split_shown(edges: list[Edge], shape: tuple[int, ...]) -> Iterator[list[tuple[slice, slice]]]:
    """Yield the rectangular blocks of shown elements.

    A block has two slices for each axis: its place in the array, and in an array of shown elements.
    """
    if not edges:
        yield []
        return
    first, extent = edges[0], shape[0]
    shown = first.head + first.tail
    slices = [(slice(0, first.head), slice(0, first.head))]
    if first.tail:
        slices.append((slice(extent - first.tail, extent), slice(first.head, shown)))
    for pair in slices:
        for rest in split_shown(edges[1:], shape[1:]):
            yield [pair, *rest]


def count_shown(edges: list[Edge]) -> tuple[int, ...]:
    """Return the shape of the shown elements."""
    return tuple(edge.head + edge.tail for edge in edges)


def copy_shown_to_cpu(array: Array, edges: list[Edge]) -> Array:
    """Copy the shown elements of an array in device memory to the CPU."""
    out = empty(count_shown(edges), dtype=array.dtype)
    for block in split_shown(edges, array.shape):
        out[tuple(to for _, to in block)] = array[tuple(source for source, _ in block)]
    return out


@dataclass(frozen=True, slots=True)
class Subject:
    """The array to be shown, and what its namespace says of it."""

    array: Array  # one of the default namespace over the same elements
    owner: str = "refarray"  # the name of the array's namespace
    device: Any = None  # that of a namespace with devices; None is the array's own
    is_virtual: bool = False  # whether that is not the host

    @property
    def place(self) -> str:
        """The name of the device."""
        if self.device is None:
            return str(self.array.device)
        return str(getattr(self.device, "name", self.device))

    def read_shown(self) -> Any:
        """Return the shown elements as from `fetch`, or a text if they cannot be read."""
        edges = choose_edges(self.array.shape, current_options())
        if self.array.device == "cpu" and not self.is_virtual:
            return fetch(self.array, edges)
        try:
            return fetch(self.on_host(edges), edges)
        except (BufferError, MemoryError, RuntimeError) as error:
            return f"<data on {self.place}: {error}>"

    def on_host(self, edges: list[Edge]) -> Array:
        """Return an array with the shown elements that the host can read."""
        if self.is_virtual:
            _note_read(math.prod(count_shown(edges)) * self.array.itemsize)
        if self.array.device.kind in HOST:
            return self.array
        return copy_shown_to_cpu(self.array, edges)


def leaves(node: Any, depth: int) -> Iterator[Any]:
    """Yield the elements in order, without the `...` marks."""
    if node is ...:
        return
    if depth == 0:
        yield node
        return
    for child in node:
        yield from leaves(child, depth - 1)


def element_texts(array: Array, node: Any, precision: int) -> Iterator[str]:
    """Return the text of each shown element, aligned."""
    values = list(leaves(node, array.ndim))
    name = scalar_name(array.dtype, "dtype")
    lanes = array.dtype.lanes
    if lanes == 1:
        return iter(column(values, name, precision))
    texts = column(list(chain.from_iterable(values)), name, precision)
    return (f"({', '.join(texts[i : i + lanes])})" for i in range(0, len(texts), lanes))


def wrap(texts: list[str], indent: int, width: int) -> str:
    """Join texts with commas in lines of at most `width` columns."""
    lines, line = [], ""
    for i, item in enumerate(texts):
        text = item if i == len(texts) - 1 else item + ","
        if line and indent + len(line) + 1 + len(text) > width:
            lines.append(line)
            line = text
        else:
            line = f"{line} {text}" if line else text
    return ("\n" + " " * indent).join([*lines, line])


def lay_out(node: Any, depth: int, texts: Iterator[str], indent: int, width: int) -> str:
    """Format nested lists of `depth` levels; the first bracket is in column `indent`."""
    if node is ...:
        return "..."
    if depth == 0:
        return next(texts)
    if depth == 1:
        row = ["..." if child is ... else next(texts) for child in node]
        return f"[{wrap(row, indent + 1, width - depth)}]"
    separator = "," + "\n" * min(depth - 1, 2) + " " * (indent + 1)
    rows = (lay_out(child, depth - 1, texts, indent + 1, width - 1) for child in node)
    return f"[{separator.join(rows)}]"


def body(subject: Subject, indent: int) -> str:
    """Return the values as text that starts in column `indent`, or why they cannot be read."""
    array = subject.array
    if array.size == 0:
        return "[]"
    options = current_options()
    node = subject.read_shown()
    if isinstance(node, str):
        return node
    texts = element_texts(array, node, options.precision)
    return lay_out(node, array.ndim, texts, indent, options.linewidth)


def array_str(*subject: Any) -> str:
    """Implement str(array): the values. Takes the fields of Subject, as the other functions do."""
    return body(Subject(*subject), 0)


def array_repr(array: Array, *about: Any) -> str:
    """Implement repr(array): the values, shape, dtype and device, and whether it is read-only."""
    subject = Subject(array, *about)
    prefix = f"{subject.owner}.Array("
    text = prefix + body(subject, len(prefix))
    facts = f"shape={array.shape}, dtype={array.dtype}, device={subject.place!r}"
    facts += ", readonly=True)" if array.readonly else ")"
    last = len(text) - text.rfind("\n") - 1
    fits = last + 2 + len(facts) <= current_options().linewidth
    return text + ("," + (" " if fits else "\n" + " " * len(prefix))) + facts
