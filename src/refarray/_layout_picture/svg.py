"""The memory layout picture as SVG: the array by index above, the elements in memory below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from refarray._layout_picture.elements import Axis, Cell, Drawing, Index, Kind, draw

if TYPE_CHECKING:
    from refarray._inspect import Inspection

# Lengths are in SVG user units (pixels at 100 %).
WIDTH = 960
LEFT = 24
CELL_HEIGHT = 34
LINE_HEIGHT = CELL_HEIGHT + 34
FONT = "ui-monospace, 'DejaVu Sans Mono', monospace"
AXIS_COLOURS = ("#ea580c", "#3b82f6", "#16a34a", "#a855f7", "#ef4444", "#14b8a6")


def colour(drawn: Drawing, index: Index) -> str:
    """Return the colour of an element: from blue for the first to orange for the last."""
    position = drawn.order[index] / max(1, len(drawn.order) - 1)
    return f"hsl({210 - 180 * position:.0f} 75% 78%)"


def index_text(index: Index) -> str:
    """Return "0,1" for (0, 1)."""
    return ",".join(map(str, index)) or "()"


def text(x: float, y: float, label: str, size: float = 12, **attributes: object) -> str:
    more = attributes_text({"fill": "currentColor", **attributes})
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}"{more}>{escape(label)}</text>'


def fit_text(x: float, y: float, width: float, label: str, **attributes: object) -> str:
    """Return text centred in a cell, at the largest font size that fits."""
    size = max(6.0, min(12.0, (width - 4) / (0.62 * len(label))))
    return text(x + width / 2, y, label, size, text_anchor="middle", **attributes)


def attributes_text(attributes: dict[str, object]) -> str:
    """Return XML attributes; underscores in names become hyphens."""
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())


def box(x: float, y: float, width: float, fill: str, title: str = "", **attributes: object) -> str:
    """Return a cell; `title` is its tooltip."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    style = attributes_text({"fill": fill, "stroke": "currentColor", **attributes})
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{CELL_HEIGHT}"'
    return f"<rect {place}{style}>{inside}</rect>"


# --- The array by index


def with_ellipses(indices: tuple[int, ...]) -> list[int | None]:
    """Return the drawn indices of an axis, with None where some are omitted."""
    out: list[int | None] = []
    for index in indices:
        if out and out[-1] is not None and index != out[-1] + 1:
            out.append(None)
        out.append(index)
    return out


def grid(drawn: Drawing, y: float) -> tuple[list[str], float]:
    """Return the elements in rows and columns, and the y of the lower edge.

    A row is one index of all axes but the last.
    """
    rows: list[Index | None] = [()]
    for axis in drawn.drawn_indices[:-1]:
        rows = [
            None if row is None or i is None else (*row, i)
            for row in rows
            for i in with_ellipses(axis)
        ]
    merged = [row for n, row in enumerate(rows) if row is not None or rows[n - 1] is not None]
    columns = with_ellipses(drawn.drawn_indices[-1]) if drawn.drawn_indices else []
    width = min(54.0, max(34.0, 9.0 * len(index_text(max(drawn.order, key=lambda i: len(str(i)))))))
    out = []
    for number, row in enumerate(merged):
        top = y + number * (CELL_HEIGHT + 2)
        for place, column in enumerate(columns or [0]):
            x = LEFT + place * (width + 2)
            if row is None or column is None:
                out.append(text(x + width / 2, top + 21, "…", text_anchor="middle"))
                continue
            index = (*row, column) if drawn.shape else ()
            out.append(box(x, top, width, colour(drawn, index), f"element [{index_text(index)}]"))
            out.append(fit_text(x, top + 21, width, index_text(index), fill="#111"))
    return out, y + len(merged) * (CELL_HEIGHT + 2)


# --- The elements in memory


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell and its position in the picture."""

    cell: Cell
    x: float
    y: float
    width: float


class MemoryStrip:
    """The memory from left to right, wrapped into lines."""

    def __init__(self, drawn: Drawing, y: float) -> None:
        self.drawn = drawn
        self.y = y
        widest = max(len(index_text(index)) for index in drawn.order)
        self.width = min(96.0, max(48.0, 7.6 * widest + 10))
        self.cells: list[Placed] = []
        x = float(LEFT)
        for cell in drawn.cells:
            width = self.width if cell.scaled else max(self.width, 7.2 * len(between_text(cell)))
            if x + width > WIDTH and x > LEFT:
                x, y = float(LEFT), y + LINE_HEIGHT
            self.cells.append(Placed(cell, x, y, width))
            x += width
        self.end = y + CELL_HEIGHT

    def of(self, index: Index) -> Placed:
        """Return the cell of an element."""
        return next(placed for placed in self.cells if index in placed.cell.elements)

    def bytes_text(self, cell: Cell) -> str:
        """Return the range of a cell, relative to the data pointer."""
        first = self.drawn.byte_offset * 8 + cell.bit
        last = first + cell.bits - 1
        if self.drawn.bits % 8:
            return f"bits {first} to {last} from data"
        return f"bytes {first // 8} to {last // 8} from data"

    def boxes(self) -> Iterator[str]:
        """Draw all cells."""
        for placed in self.cells:
            if placed.cell.kind is Kind.ELEMENT:
                yield from self.element_boxes(placed)
                continue
            label = between_text(placed.cell)
            is_gap = placed.cell.kind is Kind.GAP
            title = f"{label}, {self.bytes_text(placed.cell)}"
            fill = "url(#ra-gap)" if is_gap else "transparent"
            dashes = "none" if is_gap else "3 3"
            yield box(placed.x, placed.y, placed.width, fill, title, stroke_dasharray=dashes)
            if not placed.cell.scaled:
                yield fit_text(placed.x, placed.y + 21, placed.width, label)

    def element_boxes(self, placed: Placed) -> Iterator[str]:
        """Draw a cell of one element, or of several as bands in their colours."""
        names = [f"[{index_text(index)}]" for index in placed.cell.elements]
        where = self.bytes_text(placed.cell)
        title = f"{' '.join(names[:8])}{' …' if names[8:] else ''}: {where}"
        shown = placed.cell.elements[:4]
        for number, index in enumerate(shown):
            width = placed.width / len(shown)
            x = placed.x + number * width
            fill = colour(self.drawn, index)
            stroke = "none" if shown[1:] else "currentColor"
            yield box(x, placed.y, width, fill, title, stroke=stroke)
        if not names[1:]:
            yield fit_text(placed.x, placed.y + 21, placed.width, names[0][1:-1], fill="#111")
            return
        yield box(placed.x, placed.y, placed.width, "none")
        more = names[1][1:-1] if len(names) == 2 else f"+{len(names) - 1} more"
        yield fit_text(placed.x, placed.y + 15, placed.width, names[0][1:-1], fill="#111")
        yield fit_text(placed.x, placed.y + 29, placed.width, more, fill="#111")

    def ruler(self) -> Iterator[str]:
        """Draw ticks at the cell edges, labelled with byte offsets where there is room."""
        last, line = -100.0, -1.0
        edges = [(placed.cell.bit, placed.x, placed.y) for placed in self.cells]
        for placed, after in zip(self.cells, [*self.cells[1:], None], strict=True):
            if after is None or after.y != placed.y:
                end = placed.cell.bit + placed.cell.bits
                edges.append((end, placed.x + placed.width, placed.y))
        for bit, x, y in sorted(edges, key=lambda edge: (edge[2], edge[1])):
            last = last if y == line else -100.0
            line = y
            if bit % 8:
                continue
            label = f"{self.drawn.byte_offset + bit // 8:,}"
            tick = f'y1="{y + CELL_HEIGHT}" y2="{y + CELL_HEIGHT + 5}" stroke="currentColor"'
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" {tick}/>'
            if x - last >= 7 * len(label) + 6:
                anchor = "start" if x == LEFT and len(label) > 6 else "middle"
                yield text(x, y + CELL_HEIGHT + 17, label, 10.5, text_anchor=anchor, opacity=".8")
                last = x
        tail = self.cells[-1].x + self.cells[-1].width
        x = tail + 4 * len(f"{self.drawn.byte_offset + self.drawn.cells[-1].bit // 8:,}") + 10
        yield text(x, self.end + 17, "bytes from data", 10.5, opacity=".8")

    def steps(self) -> Iterator[str]:
        """Draw an arrow for each axis, from the first element to its neighbour along the axis."""
        shown = self.drawn.axes[: len(AXIS_COLOURS)]
        arrows = [self.arrow(level, axis) for level, axis in enumerate(shown)]
        right = max((x for _, x in arrows), default=0.0) + 14
        left = min(self.of((0,) * len(self.drawn.shape)).x, right)
        for level, ((path, _), axis) in enumerate(zip(arrows, shown, strict=True)):
            label = f"axis {axis.number}: {step_text(axis.stride, self.drawn.bits)}"
            fits_right = right + 6.7 * len(label) < WIDTH + 120
            x, anchor = (right, "start") if fits_right else (left, "end")
            y = self.y - 8 - 22 * level
            bold = "font-weight:600"
            yield path
            yield text(x, y, label, 11, fill=AXIS_COLOURS[level], style=bold, text_anchor=anchor)

    def arrow(self, level: int, axis: Axis) -> tuple[str, float]:
        """Return the path of an arrow and its rightmost x."""
        origin = (0,) * len(self.drawn.shape)
        first = self.of(origin)
        next_one = self.of((*origin[: axis.number], 1, *origin[axis.number + 1 :]))
        y = first.y - 12 - 22 * level
        a = first.x + first.width / 2 + 5 * (level - (len(self.drawn.axes) - 1) / 2)
        b = next_one.x + next_one.width / 2
        if first is next_one:
            a, b = first.x + first.width / 2 - 8, first.x + first.width / 2 + 8
        end = f"H{b:.1f} V{first.y - 3}"
        if next_one.y != first.y:  # the neighbour is on another line: end at the margin
            b = WIDTH
            end = f"H{b - 2:.1f}"
        style = f'fill="none" stroke="{AXIS_COLOURS[level]}" stroke-width="1.8"'
        path = f"M{a:.1f} {first.y} V{y} {end}"
        return f'<path d="{path}" {style} marker-end="url(#ra-tip{level})"/>', max(a, b)


def between_text(cell: Cell) -> str:
    """Return the label of a cell that is not an element."""
    names = {Kind.GAP: "gap", Kind.OFFSET: "byte_offset"}
    return f"{size_text(cell.bits)} {names.get(cell.kind, 'not drawn')}"


def size_text(bits: int) -> str:
    return f"{bits // 8:,} B" if bits % 8 == 0 else f"{bits:,} bits"


def step_text(stride: int, bits: int) -> str:
    """Return a stride in elements and bytes."""
    if stride == 0:
        return "stride 0, the same address"
    size = stride * bits
    length = f"{size // 8:+,} bytes" if size % 8 == 0 else f"{size:+,} bits"
    return f"stride {stride}, {length}"


def notes(drawn: Drawing, found: Inspection) -> list[str]:
    """Return the notes below the picture."""
    bits = drawn.bits
    item = f"{bits // 8} byte{'s' if bits > 8 else ''}" if bits % 8 == 0 else f"{bits} bits"
    origin = f"[{index_text((0,) * len(drawn.shape))}]"
    place = f"{drawn.byte_offset:,} bytes (byte_offset) after" if drawn.byte_offset else "at"
    out = [
        f"Each element occupies {item} and has the same colour above and below.",
        f"The thick frame is element {origin}, which is {place} the data pointer.",
    ]
    if not drawn.whole:
        out.append(
            f"{len(drawn.order)} of {drawn.size:,} elements are drawn: the first ones and the last "
            f"of each axis. All elements together span {drawn.span:,} bytes."
        )
    if any(axis.stride < 0 for axis in drawn.axes):
        out.append("A negative stride points to lower addresses.")
    if drawn.overlap:
        out.append("Some elements have the same address: writing one writes the others.")
    if drawn.gaps:
        out.append("Hatched memory belongs to no element of this array.")
    if found.strides is None and drawn.shape:
        out.append("The strides are NULL, which means row-major order.")
    return out


DEFINITIONS = (
    '<defs><pattern id="ra-gap" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" stroke="currentColor" '
    'stroke-opacity=".35" stroke-width="2"/></pattern>{tips}</defs>'
)


def definitions() -> str:
    """Return the SVG definitions: the gap pattern, and an arrow tip for each axis colour."""
    tips = "".join(
        f'<marker id="ra-tip{n}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{tint}"/></marker>'
        for n, tint in enumerate(AXIS_COLOURS)
    )
    return DEFINITIONS.format(tips=tips)


def title_of(found: Inspection) -> str:
    """Return a one-line description of the array."""
    parts = [found.subject, found.dtype_name or "", f"shape {found.shape}"]
    parts.append("strides NULL" if found.strides is None else f"strides {found.strides} elements")
    return ", ".join(part for part in parts if part)


def svg(found: Inspection) -> str:
    drawn = draw(found)
    if drawn is None:
        label = (
            "There are no elements to draw." if found.shape is not None else "Nothing was exported."
        )
        body = [text(LEFT, 30, label)]
        height = 50.0
    else:
        body, height = panels(drawn, found)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 120} {height:.0f}" '
        f'width="{WIDTH + 120}" role="img" style="max-width:100%;height:auto" '
        f'font-family="{FONT}" color="inherit"><title>{escape(title_of(found))}</title>'
        f"{definitions()}{''.join(body)}</svg>"
    )


def panels(drawn: Drawing, found: Inspection) -> tuple[list[str], float]:
    """Return both views and the notes, and the height."""
    bold = {"style": "font-weight:600"}
    out = [text(LEFT, 20, "The array, by index", 13, **bold)]
    cells, y = grid(drawn, 32)
    out += cells
    y += 30
    out.append(text(LEFT, y, "The same elements in memory, from low to high addresses", 13, **bold))
    y += 26 + 22 * len(drawn.axes[: len(AXIS_COLOURS)])
    strip = MemoryStrip(drawn, y)
    out += strip.steps()
    out += strip.boxes()
    out += strip.ruler()
    y = strip.end + 46
    first = strip.of((0,) * len(drawn.shape))
    out.append(box(first.x, first.y, first.width, "none", stroke_width=3))
    for line in notes(drawn, found):
        out.append(text(LEFT, y, line, 12, opacity=".85"))
        y += 18
    return out, y
