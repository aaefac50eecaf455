"""The drawing of a memory layout: positions of elements, gaps, and abbreviation."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.processes import python
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray as ra
from refarray.__main__ import main
from refarray._inspect import Inspection
from refarray._layout_picture.elements import Drawing, Kind, draw, is_element
from refarray.conformance import give

pytestmark = pytest.mark.every_python

SVG = "{http://www.w3.org/2000/svg}"
FLOAT32 = (2, 32, 1)


def inspected(shape: Any, strides: Any, dtype: Any = FLOAT32, offset: int = 0) -> Inspection:
    return Inspection(
        "test", flags=0, dtype=dtype, shape=shape, strides=strides, byte_offset=offset
    )


def drawn(shape: Any, strides: Any, dtype: Any = FLOAT32, offset: int = 0) -> Drawing:
    out = draw(inspected(shape, strides, dtype, offset))
    assert out is not None
    return out


def texts(svg: str) -> list[str]:
    """The texts in an SVG."""
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_elements_are_drawn_at_their_strides() -> None:
    cells = drawn((2, 3), (1, 2)).cells
    assert [cell.elements for cell in cells] == [
        ((0, 0),),
        ((1, 0),),
        ((0, 1),),
        ((1, 1),),
        ((0, 2),),
        ((1, 2),),
    ]
    assert [cell.bit for cell in cells] == [0, 32, 64, 96, 128, 160]


def test_gaps_overlaps_and_order_are_drawn() -> None:
    backwards = drawn((3,), (-2,))
    assert [cell.elements for cell in backwards.cells] == [((2,),), (), ((1,),), (), ((0,),)]
    assert backwards.gaps and not backwards.overlap
    repeated = drawn((2, 2), (0, 1))
    assert [cell.elements for cell in repeated.cells] == [((0, 0), (1, 0)), ((0, 1), (1, 1))]
    assert repeated.overlap and not repeated.gaps
    assert drawn((2, 2), None).strides == (2, 1)


def test_packed_elements_are_measured_in_bits() -> None:
    narrow = drawn((3,), (1,), (17, 4, 1))
    assert [cell.bit for cell in narrow.cells] == [0, 4, 8] and narrow.span == 2
    padded = draw(
        Inspection("x", flags=4, dtype=(17, 4, 1), shape=(3,), strides=(1,), byte_offset=0)
    )
    assert padded is not None and padded.bits == 8
    assert drawn((2,), (1,), (2, 32, 4)).bits == 128


def test_large_arrays_are_abbreviated() -> None:
    big = drawn((1000, 700), (2100, 3))
    assert not big.whole and len(big.order) <= 15
    assert big.drawn_indices[0][-1] == 999 and big.drawn_indices[1][-1] == 699
    kinds = {cell.kind for cell in big.cells}
    assert kinds == {Kind.ELEMENT, Kind.GAP, Kind.OMITTED}
    text = " ".join(texts(ra.inspect(ra.zeros((1000, 700)))._repr_svg_()))
    assert "12 of 700,000 elements are drawn" in text and "not drawn" in text
    assert "gap" not in text  # row-major data has no gaps


def test_a_long_gap_is_one_cell() -> None:
    (_, gap, _) = drawn((2,), (100,)).cells
    assert gap.kind is Kind.GAP and not gap.scaled and gap.bits == 99 * 32


def test_byte_offset_is_drawn() -> None:
    first = drawn((3,), (1,), offset=8).cells[0]
    assert first.kind is Kind.OFFSET and (first.bit, first.bits) == (-64, 64)
    text = texts(ra.inspect(give(shape=(3,), byte_offset=8))._repr_svg_())
    assert "8 B byte_offset" in text
    assert {"0", "8", "12", "16", "20", "bytes from data"} <= set(text)


shapes = st.lists(st.integers(1, 5), min_size=0, max_size=3).map(tuple)


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes)
def test_every_element_is_drawn_in_its_place(data: Any, shape: tuple[int, ...]) -> None:
    strides = tuple(data.draw(st.integers(-9, 9)) for _ in shape)
    seen = drawn(shape, strides)
    positions = {index: cell for cell in seen.cells for index in cell.elements}
    assert set(positions) == set(seen.order)
    assert seen.whole == (math.prod(shape) <= 24) or len(seen.order) == seen.size
    for index, cell in positions.items():
        assert cell.bit == 32 * sum(i * step for i, step in zip(index, strides, strict=True))
    ends = [cell.bit + cell.bits for cell in seen.cells]
    assert [cell.bit for cell in seen.cells[1:]] == ends[:-1]


@settings(max_examples=200, deadline=None)
@given(st.data(), shapes)
def test_is_element_agrees_with_the_element_offsets(data: Any, shape: tuple[int, ...]) -> None:
    strides = tuple(data.draw(st.integers(-30, 30)) for _ in shape)
    steps = zip(shape, strides, strict=True)
    lowest = sum(min(0, (n - 1) * step) for n, step in steps)
    taken = {
        sum(i * step for i, step in zip(index, strides, strict=True)) - lowest
        for index in itertools.product(*map(range, shape))
    }
    for offset in range(max(taken) + 1):
        assert is_element(offset, shape, strides) in {None, offset in taken}


@pytest.mark.parametrize(
    "array",
    [
        ra.arange(6).reshape((2, 3)).T,
        ra.zeros((3, 5), dtype="float4_e2m1fn"),
        ra.zeros((2, 2, 2, 2)),
        ra.broadcast_to(ra.ones(1), (40, 30)),
        ra.asarray(1.0),
        ra.empty((0, 3)),
        ra.zeros((1, 1, 1)),
    ],
    ids=lambda array: str(array.shape),
)
def test_every_drawing_is_well_formed(array: ra.Array) -> None:
    found = ra.inspect(array)
    root = ElementTree.fromstring(found._repr_svg_())
    assert root.tag == f"{SVG}svg"
    width = float(root.attrib["viewBox"].split()[2])
    for each in root.iter(f"{SVG}rect"):
        assert 0 <= float(each.attrib["x"]) <= width - float(each.attrib["width"])
    assert "<script" not in found._repr_html_()


def test_drawing_without_elements_says_so() -> None:
    assert texts(ra.inspect(ra.empty(0))._repr_svg_()) == ["There are no elements to draw."]
    assert texts(Inspection("x")._repr_svg_()) == ["Nothing was exported."]


def test_inspect_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layout.html"
    assert main(["inspect", "refarray.zeros((2, 3))[:, ::2]", "--html", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert (
        page.startswith("<!doctype html>")
        and "<svg" in page
        and "://" not in page.replace("http://www.w3.org/2000/svg", "")
    )
    assert "refarray.zeros((2, 3))[:, ::2]" in page and "column" not in capsys.readouterr().err
    assert main(["inspect", "refarray.ones(1)", "--html", str(tmp_path)]) == 1
    assert "--html" in capsys.readouterr().err


def test_names_are_html_escaped() -> None:
    page = Inspection("<b>", flags=0, dtype=FLOAT32, shape=(1,), strides=(1,))._repr_html_()
    assert "<b>," not in page and "&lt;b&gt;" in page


def test_the_manuals_picture_is_up_to_date() -> None:
    script = Path(__file__).resolve().parents[2] / "tools" / "docs" / "pictures.py"
    done = python(script, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
