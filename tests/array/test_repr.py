"""repr, str and the HTML card of arrays: alignment, shortest digits, abbreviation of large
arrays."""

from __future__ import annotations

import math
import threading
from html.parser import HTMLParser
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.cases import run_each
from helpers.dtype_names import SMALL

import refarray as ra
from refarray._display import numbers

FLOATS = [name for name in SMALL if name != "float8_e8m0fnu"]


def values_of(text: str) -> Any:
    """Evaluate the str() of an array."""
    return eval(text, {"nan": math.nan, "inf": math.inf})


# --- plain text


def test_rows_are_aligned() -> None:
    x = ra.reshape(ra.arange(6, dtype="float32"), (2, 3))
    assert repr(x) == (
        "refarray.Array([[0., 1., 2.],\n"
        "                [3., 4., 5.]], shape=(2, 3), dtype=float32, device='cpu')"
    )
    assert str(x) == "[[0., 1., 2.],\n [3., 4., 5.]]"


@run_each(
    ("values", "dtype", "text"),
    [
        ([1, -20, 300], "int16", "[  1, -20, 300]"),
        ([2**64 - 1, 0], "uint64", "[18446744073709551615,                    0]"),
        ([True, False], "bool", "[ True, False]"),
        ([1.5, 0.25, -3.0], "float64", "[ 1.5 ,  0.25, -3.  ]"),
        ([0.1, 0.2], "float32", "[0.1, 0.2]"),
        ([0.1, 0.2], "float64", "[0.1, 0.2]"),
        ([0.1, 3.0], "bfloat16", "[0.1, 3. ]"),
        ([448.0, -0.0], "float8_e4m3fn", "[450.,  -0.]"),
        ([1.0, math.nan, -math.inf], "float64", "[  1.,  nan, -inf]"),
        ([math.nan], "float16", "[nan]"),
        ([1e10, -2.5, 0.0], "float64", "[ 1.0e+10, -2.5e+00,  0.0e+00]"),
        ([1e-7, 1e300], "float64", "[1.e-007, 1.e+300]"),
        ([1 / 3], "float64", "[0.33333333]"),
        ([1 + 2j, -3 - 0.5j], "complex128", "[ 1.+2.j , -3.-0.5j]"),
        ([complex(0, math.nan)], "complex64", "[0.+nanj]"),
        ([6.0, -0.5, 1.5], "float4_e2m1fn", "[ 6. , -0.5,  1.5]"),
    ],
)
def test_str_of_one_row(values: list[Any], dtype: str, text: str) -> None:
    assert str(ra.asarray(values, dtype=dtype)) == text


@run_each(
    ("value", "text"),
    [(3, "3"), (2.5, "2.5"), (True, "True"), (1j, "0.+1.j"), (math.inf, "inf")],
)
def test_repr_of_a_0d_array(value: Any, text: str) -> None:
    x = ra.asarray(value)
    assert str(x) == text
    assert repr(x) == f"refarray.Array({text}, shape=(), dtype={x.dtype}, device='cpu')"


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (3, 0, 10**6)])
def test_repr_of_an_empty_array(shape: tuple[int, ...]) -> None:
    x = ra.zeros(shape, dtype="int8")
    assert str(x) == "[]"
    assert repr(x) == f"refarray.Array([], shape={shape}, dtype=int8, device='cpu')"


def test_matrices_are_separated_by_blank_lines() -> None:
    x = ra.reshape(ra.arange(8), (2, 2, 2))
    assert str(x) == "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"


def test_repr_shows_read_only() -> None:
    assert repr(ra.zeros(1).as_readonly()).endswith("device='cpu', readonly=True)")
    assert "readonly" not in repr(ra.zeros(1))


def test_vector_elements_print_as_tuples() -> None:
    x = ra.zeros(2, dtype=ra.DType("int8x3"))
    assert str(x) == "[(0, 0, 0), (0, 0, 0)]"
    assert "dtype=int8x3" in repr(x)


def test_repr_does_not_depend_on_strides() -> None:
    x = ra.reshape(ra.arange(6), (2, 3))
    assert str(x.T) == str(ra.copy(x.T)) == "[[0, 3],\n [1, 4],\n [2, 5]]"
    assert str(ra.flip(x)) == "[[5, 4, 3],\n [2, 1, 0]]"


# --- numbers: as short as the dtype allows, and exact


@run_each("name", FLOATS)
def test_every_value_of_a_small_float_dtype_round_trips(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    bits = ml_dtypes.finfo(dtype).bits
    codes = np.arange(2**bits, dtype="uint16" if bits == 16 else "uint8")
    values = [float(x) for x in codes.view(dtype) if math.isfinite(x)]
    format = numbers.FORMATS[name]
    texts = [numbers.shortest(value, format) for value in values]
    largest = ra.finfo(name).max
    read = [math.copysign(min(abs(float(text)), largest), text) for text in texts]
    assert ra.asarray(read, dtype=name).tolist() == values
    assert max(len(text.as_tuple().digits) for text in texts) <= 5


def test_float32_is_at_most_as_long_as_in_numpy() -> None:
    rng = np.random.default_rng(20261120)
    values = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    for value in values[np.isfinite(values)]:
        text = numbers.shortest(float(value), numbers.FORMATS["float32"])
        assert np.float32(str(text)) == value
        theirs = np.format_float_scientific(value, trim="-").partition("e")[0]
        assert len(text.as_tuple().digits) <= sum(char.isdigit() for char in theirs)


def test_float64_round_trips_at_full_precision() -> None:
    values = [0.1, 2 / 3, 1e22, 5e-324, 1.7976931348623157e308]
    for value in values:
        with ra.printoptions(precision=17):
            assert values_of(str(ra.asarray([value]))) == [value]


@run_each("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex128"])
@run_each("shape", [(), (3,), (2, 3), (2, 1, 3)])
def test_str_evaluates_to_the_values(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.resize(np.array([0, 1, 2.5, 100, 0.125, 7]).astype(dtype), shape)
    assert values_of(str(ra.from_dlpack(values))) == values.tolist()


# --- large arrays


def test_a_large_array_shows_its_edges() -> None:
    x = ra.reshape(ra.arange(10_000), (100, 100))
    lines = str(x).split("\n")
    assert len(lines) == 7
    assert lines[0] == "[[   0,    1,    2, ...,   97,   98,   99],"
    assert lines[3] == " ...,"
    assert lines[6] == " [9900, 9901, 9902, ..., 9997, 9998, 9999]]"


def test_the_threshold_counts_elements() -> None:
    assert "..." not in str(ra.zeros(1000))
    assert str(ra.zeros(1001)) == "[0., 0., 0., ..., 0., 0., 0.]"


def test_only_the_shown_elements_are_read() -> None:
    x = ra.broadcast_to(ra.asarray(7, dtype="int8"), (10**6, 10**6, 10**5))  # 10^17 elements
    assert str(x).count("7") == 6**3


@run_each("shape", [(2,) * 20, (1,) * 60 + (2000,), (3,) * 12, (30,) * 5, (10**6, 1, 2, 1)])
def test_output_is_bounded_for_many_axes(shape: tuple[int, ...]) -> None:
    text = str(ra.broadcast_to(ra.asarray(1, dtype="int8"), shape))
    assert text.count("1") <= 6**3
    assert text.count("\n") < 600
    assert text.count("[") == text.count("]")


def test_lines_break_at_the_line_width() -> None:
    text = repr(ra.arange(900))
    assert max(map(len, text.split("\n"))) <= 88
    assert values_of(str(ra.arange(900))) == list(range(900))


# --- options


def test_printoptions_apply_inside_the_with_block() -> None:
    x = ra.asarray([1 / 3, 2 / 3, 1.0])
    with ra.printoptions(precision=2, threshold=2, edgeitems=1) as options:
        assert options.precision == 2
        assert str(x) == "[0.33, ..., 1.  ]"
        with ra.printoptions(precision=1):
            assert str(x) == "[0.3, ..., 1. ]"
        assert str(x) == "[0.33, ..., 1.  ]"
    assert str(x) == "[0.33333333, 0.66666667, 1.        ]"


def test_linewidth_option() -> None:
    with ra.printoptions(linewidth=20):
        assert str(ra.arange(8)) == "[0, 1, 2, 3, 4, 5,\n 6, 7]"


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_facts_stay_on_the_last_line_while_they_fit(shape: tuple[int, ...]) -> None:
    text = repr(ra.ones(shape))
    last = text[text.rfind("\n") + 1 :]
    with ra.printoptions(linewidth=len(last)):
        assert repr(ra.ones(shape)) == text
    with ra.printoptions(linewidth=len(last) - 1):
        assert repr(ra.ones(shape)).splitlines()[-1].lstrip() == last[last.index("shape=") :]


def test_options_may_be_zero() -> None:
    with ra.printoptions(precision=0, threshold=0, edgeitems=1):
        assert str(ra.asarray([1.5, 2.5, 3.5])) == "[2., ..., 4.]"


def test_printoptions_are_per_thread() -> None:
    seen = []
    with ra.printoptions(precision=1):
        thread = threading.Thread(target=lambda: seen.append(str(ra.asarray([0.25]))))
        thread.start()
        thread.join()
    assert seen == ["[0.25]"]


@pytest.mark.parametrize("wrong", [{"edgeitems": 0}, {"precision": -1}, {"threshold": -5}])
def test_out_of_range_options_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))), ra.printoptions(**wrong):
        pass


def test_options_must_be_ints() -> None:
    wrong: Any = "many"
    with pytest.raises(TypeError, match="precision"), ra.printoptions(precision=wrong):
        pass


# --- notebooks


class CellReader(HTMLParser):
    """Collects the text of cells; fails on unbalanced tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "pre"):
            self.cells.append(self.text)


def html(array: Any) -> CellReader:
    return CellReader(array._repr_html_())


def test_html_shows_values_and_attributes() -> None:
    cells = html(ra.reshape(ra.arange(6, dtype="uint8"), (2, 3)).as_readonly().T).cells
    assert cells[:6] == ["0", "3", "1", "4", "2", "5"]
    facts = dict(zip(cells[6::2], cells[7::2], strict=True))
    assert facts == {
        "dtype": "uint8",
        "shape": "(3, 2)",
        "strides": "(1, 3) elements",
        "device": "cpu",
        "bytes": "6",
        "access": "read-only",
    }


def test_html_of_more_axes_is_the_text() -> None:
    x = ra.reshape(ra.arange(8), (2, 2, 2))
    assert html(x).cells[0] == str(x)


def test_html_abbreviates_large_arrays() -> None:
    cells = html(ra.zeros((2000, 2000), dtype="int8")).cells
    assert cells[:7] == ["0", "0", "0", "…", "0", "0", "0"]
    assert cells[21:28] == ["…"] * 7
    assert len(cells) == 7 * 7 + 12


@run_each("shape", [(), (0,), (3,), (2, 0), (2, 2, 2), (4000,), (0, 0, 0)])
def test_html_is_well_formed_for_any_shape(shape: tuple[int, ...]) -> None:
    assert "refarray.Array" in ra.ones(shape)._repr_html_()
    assert html(ra.ones(shape)).cells[-1] == "writable"


def test_html_sets_no_colours_and_loads_nothing() -> None:
    text = ra.zeros(3)._repr_html_()
    assert "#" not in text
    assert "http" not in text
    assert "<script" not in text
