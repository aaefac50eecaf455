"""empty, zeros, ones, full, their _like forms and arange, compared with Python, NumPy and the array
API standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from helpers.cases import refusal, run_each
from helpers.number_likes import Raises
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray

HUGE = 10**30


SHAPED: list[tuple[Callable[..., refarray.Array], tuple[Any, ...], Any]] = [
    (refarray.empty, (), None),
    (refarray.zeros, (), 0),
    (refarray.ones, (), 1),
    (refarray.full, (3,), 3),
]
LIKE: list[tuple[Callable[..., refarray.Array], tuple[Any, ...], Any]] = [
    (refarray.empty_like, (), None),
    (refarray.zeros_like, (), 0),
    (refarray.ones_like, (), 1),
    (refarray.full_like, (3,), 3),
]
DTYPES = ["bool", "int8", "uint64", "float16", "complex64", "float6_e3m2fn", "float4_e2m1fn_padded"]


def filled(shape: tuple[int, ...], value: Any) -> Any:
    return np.full(shape, value).tolist()


@run_each(("make", "fill", "value"), SHAPED)
@run_each("shape", [(), (3,), (2, 3), (0,), (2, 0, 3), (1,) * 64])
@run_each("dtype", [None, *DTYPES])
def test_creation_from_a_shape(
    make: Any, fill: tuple[Any, ...], value: Any, shape: tuple[int, ...], dtype: str | None
) -> None:
    if dtype == "bool" and fill:
        fill, value = (True,), True
    x = make(shape, *fill, dtype=dtype)
    assert x.shape == shape
    assert x.dtype == (dtype or ("int64" if fill else "float64"))
    assert (x.device, x.readonly, x.is_contiguous()) == ("cpu", False, True)
    assert value is None or x.tolist() == filled(shape, value)
    assert make(list(shape), *fill, dtype=dtype, device="cpu").shape == shape


@run_each(("make", "fill", "value"), LIKE)
@run_each("dtype", [None, "float32", "complex128"])
def test_creation_like_an_array(
    make: Any, fill: tuple[Any, ...], value: Any, dtype: str | None
) -> None:
    base = refarray.zeros((3, 2), dtype="int16").as_readonly()
    for like in (base, base.T, base[::-1, ::2], base[:0]):
        x = make(like, *fill, dtype=dtype)
        assert (x.shape, x.dtype) == (like.shape, dtype or "int16")
        assert (x.readonly, x.is_contiguous()) == (False, True)
        assert value is None or x.tolist() == filled(x.shape, value)
    with pytest.raises(TypeError, match="x must be a refarray.Array, not list"):
        make([1], *fill)


def test_zeros_of_a_dtype_without_zero_raises() -> None:
    assert refarray.ones(2, dtype="float8_e8m0fnu").tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="float8_e8m0fnu has no zero"):
        refarray.zeros(2, dtype="float8_e8m0fnu")
    with pytest.raises(ValueError, match="float8_e8m0fnu has no zero"):
        refarray.zeros_like(refarray.empty(2, dtype="float8_e8m0fnu"))


@run_each(
    ("value", "dtype"),
    [(True, "bool"), (1, "int64"), (1.5, "float64"), (1j, "complex128"), (np.int8(1), "int8")],
)
def test_full_infers_the_dtype(value: Any, dtype: str) -> None:
    x = refarray.full((2,), value)
    assert x.dtype == dtype
    assert x.tolist() == [value, value]
    assert refarray.full(2, refarray.asarray(value)).tolist() == [value, value]


@run_each(
    ("value", "dtype", "error", "message"),
    [
        (2**63, None, OverflowError, "int64"),
        (-1, "uint8", OverflowError, "-1 is out of range for uint8, which holds 0 to 255"),
        (1.5, "int8", TypeError, "1.5 (float) cannot become an element of dtype int8"),
        (math.nan, "int8", TypeError, "nan"),
        (1j, "float32", TypeError, "1j"),
        ([1, 2], None, TypeError, "one number, not an array of shape (2,)"),
        ("1", None, TypeError, "str"),
        (None, None, TypeError, "NoneType"),
        (Raises(), None, KeyError, "index"),
    ],
)
def test_full_rejects_invalid_values(
    value: Any, dtype: Any, error: type[Exception], message: str
) -> None:
    for call in (
        lambda: refarray.full(2, value, dtype=dtype),
        lambda: refarray.full_like(refarray.zeros(2, dtype=dtype or "int64"), value),
    ):
        with refusal(error, message):
            call()


@run_each(("make", "fill"), [(make, fill) for make, fill, _ in SHAPED])
@run_each(
    ("shape", "error", "message"),
    [
        (-1, ValueError, "-1"),
        ((2, -3), ValueError, "-3"),
        (1.5, TypeError, "float"),
        ((2, 1.5), TypeError, "float"),
        (math.nan, TypeError, "float"),
        ("2", TypeError, "str"),
        (None, TypeError, "NoneType"),
        (HUGE, OverflowError, str(HUGE)),
        ((2**40, 2**40), OverflowError, ""),
        ((2**63 - 1,), OverflowError, ""),
        ((2**53,), MemoryError, ""),
        ((1,) * 65, ValueError, "64"),
        (Raises(), KeyError, "index"),
    ],
)
def test_invalid_shapes_raise(
    make: Any, fill: Any, shape: Any, error: type[Exception], message: str
) -> None:
    with refusal(error, message):
        make(shape, *fill)


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (refarray.asarray, ([1],)),
    (refarray.arange, (3,)),
    *((make, ((2,), *fill)) for make, fill, _ in SHAPED),
    *((make, (refarray.zeros(2), *fill)) for make, fill, _ in LIKE),
]


@run_each(("make", "arguments"), CALLS)
@run_each(
    ("keywords", "error", "message"),
    [
        ({"dtype": "int31"}, ValueError, "int31"),
        ({"dtype": 3}, TypeError, "int"),
        ({"dtype": str}, TypeError, "str"),
        ({"device": "tape"}, ValueError, "tape"),
        ({"device": 0}, TypeError, "int"),
        ({"device": "cuda_managed:7"}, BufferError, "cuda_managed:7"),
        ({"order": "C"}, TypeError, "order"),
    ],
)
def test_invalid_keywords_raise(
    make: Any, arguments: Any, keywords: Any, error: type[Exception], message: str
) -> None:
    with refusal(error, message):
        make(*arguments, **keywords)


def lengths(start: Any, stop: Any, step: Any) -> int:
    return max(0, math.ceil((Fraction(stop) - Fraction(start)) / Fraction(step)))


@settings(deadline=None)
@given(
    st.integers(-(2**63), 2**63 - 1), st.integers(0, 40), st.integers(-(2**63), 2**63), st.data()
)
def test_arange_of_integers_is_exact(start: int, size: int, step: int, data: st.DataObject) -> None:
    step = step or 1
    stop = start + size * step - data.draw(st.integers(0, abs(step) - 1)) * (1 if step > 0 else -1)
    expected = list(range(start, stop, step))
    if expected and not -(2**63) <= expected[-1] < 2**63:
        with pytest.raises(OverflowError, match="int64"):
            refarray.arange(start, stop, step)
        return
    x = refarray.arange(start, stop, step)
    assert x.dtype == "int64"
    assert x.tolist() == expected
    with np.errstate(over="ignore"):
        single = [float(np.float32(v)) for v in expected]
    assert refarray.arange(start, stop, step, dtype="float64").tolist() == list(
        map(float, expected)
    )
    assert refarray.arange(start, stop, step, dtype="float32").tolist() == pytest.approx(
        single, rel=2**-23
    )


@settings(deadline=None)
@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6, allow_subnormal=False),  # NumPy deviates from the formula on underflow
    st.one_of(st.floats(1e-1, 1e6), st.floats(-1e6, -1e-1)).filter(bool),
)
def test_arange_of_floats_follows_the_formula(start: float, width: float, step: float) -> None:
    stop = start + math.fmod(width, 100 * step)
    x = refarray.arange(start, stop, step)
    expected = [start + i * step for i in range(max(0, math.ceil((stop - start) / step)))]
    assert x.dtype == "float64"
    assert x.tolist() == expected
    assert abs(x.size - lengths(start, stop, step)) <= 1
    assert x.size == len(np.arange(start, stop, step))


@run_each(
    ("arguments", "dtype", "values"),
    [
        ((3,), "int64", [0, 1, 2]),
        ((3.0,), "float64", [0.0, 1.0, 2.0]),
        ((1, 4), "int64", [1, 2, 3]),
        ((4, 1, -1), "int64", [4, 3, 2]),
        ((4, 1), "int64", []),
        ((True, 3), "int64", [1, 2]),
        ((0, 1, 1 / 3), "float64", [0, 1 / 3, 2 / 3]),
        ((1, 1.3, 0.1), "float64", [1, 1.1, 1.2, 1.3]),
        ((-(2**63), 2**63 - 1, 2**63 + 5), "int64", [-(2**63), 5]),
        ((2**53 + 1, 2**53 + 3), "int64", [2**53 + 1, 2**53 + 2]),
        ((10**30, 10**30), "int64", []),
        ((np.int64(1), refarray.asarray(2.5), np.float32(0.5)), "float64", [1, 1.5, 2]),
    ],
)
def test_arange_values_and_dtype(arguments: Any, dtype: str, values: list[Any]) -> None:
    x = refarray.arange(*arguments)
    assert x.dtype == dtype
    assert x.tolist() == values


@run_each(
    "arguments",
    [
        (2**53, 2**53 + 3, 1.0),
        (2**53 + 1, 2**53 + 4, 0.5),
        (2**53 + 3, 2**53 - 3, -0.75),
        (2**53 + 1, float(2**53 + 4), 1),
        (2**62, 2**62 + 10, 1.5),
        (2**63 - 5, 2**63 + 5, 2.5),
        (-(2**64) - 7, -(2**64) + 7, 3.0),
        (-(2**63), 2**64 - 1, 2.0**61),
        (0, 2**60 + 1, 2.0**50),
        (-1, 2.0**60, 2.0**50),
        (0.0, 3 * (2**53 + 1), 2**53 + 1),
        (2**60 + 1, 0, -(2.0**57)),
        (10**30, 10**30 + 100, 33.0),
        (0.5, 2**53 + 3, 2.0**51),
    ],
)
def test_arange_of_large_integers_and_floats_is_rounded_once(arguments: Any) -> None:
    start, _, step = map(Fraction, arguments)
    expected = [float(start + i * step) for i in range(lengths(*arguments))]
    x = refarray.arange(*arguments)
    assert x.dtype == "float64"
    assert x.tolist() == expected


def test_arange_whose_width_overflows_has_its_elements() -> None:
    x = refarray.arange(-1e308, 1e308, 1e307)
    assert x.tolist() == [-1e308 + i * 1e307 for i in range(20)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "complex32"])
def test_arange_of_complex_numbers(dtype: str) -> None:
    """The standard has no limit on dtype; the elements have no imaginary part."""
    assert refarray.arange(3, dtype=dtype).tolist() == [0, 1, 2]
    x = refarray.arange(0.5, 2, 0.5, dtype=dtype)
    assert x.dtype == dtype and x.tolist() == [0.5 + 0j, 1 + 0j, 1.5 + 0j]
    assert refarray.arange(0, dtype=dtype).shape == (0,)


def test_arange_with_dtype() -> None:
    assert refarray.arange(2**64 - 2, 2**64, dtype="uint64").tolist() == [2**64 - 2, 2**64 - 1]
    assert refarray.arange(3, 0, -1, dtype="uint64").tolist() == [3, 2, 1]
    assert refarray.arange(250, 256, dtype="uint8").tolist() == list(range(250, 256))
    assert refarray.arange(2**70, 2**70 + 2**61, 2**60, dtype=float).tolist() == [
        float(2**70),
        float(2**70 + 2**60),
    ]
    assert refarray.arange(5, dtype="float4_e2m1fn").tolist() == [0, 1, 2, 3, 4]
    assert refarray.arange(0.5, 3, dtype="bfloat16").tolist() == [0.5, 1.5, 2.5]
    assert refarray.arange(1, stop=3, step=2).tolist() == [1]


@run_each(
    ("arguments", "keywords", "error", "message"),
    [
        ((0, 1, 0), {}, ValueError, "step is 0"),
        ((0, 1, 0.0), {}, ValueError, "step is 0"),
        ((math.nan,), {}, ValueError, "start is nan; it must be finite"),
        ((0, math.inf), {}, ValueError, "stop is inf"),
        ((0, 1, -math.inf), {}, ValueError, "step is -inf"),
        ((1j,), {}, TypeError, "start must be an integer or a float, not complex"),
        (("3",), {}, TypeError, "start must be an integer or a float, not str"),
        ((None,), {}, TypeError, "NoneType"),
        ((0, 1, None), {}, TypeError, "step must be"),
        (([1],), {}, TypeError, "list"),
        ((np.zeros(1),), {}, TypeError, "ndarray"),
        ((np.complex64(1),), {}, TypeError, "complex64"),
        ((Raises(),), {}, KeyError, "index"),
        ((2**63,), {}, ValueError, "2**63 - 1"),
        ((HUGE,), {}, ValueError, "2**63 - 1"),
        ((1e300,), {}, ValueError, "2**63 - 1"),
        ((-1e308, 1e308), {}, ValueError, "2**63 - 1"),
        ((0.0, 1.0, 5e-324), {}, ValueError, "2**63 - 1"),
        ((2**62,), {}, OverflowError, ""),
        ((2**53,), {}, MemoryError, ""),
        ((2.0**53,), {}, MemoryError, ""),
        ((0.5, 10**400), {}, OverflowError, ""),
        ((HUGE, HUGE + 1), {}, OverflowError, "int64"),
        ((-1, 3), {"dtype": "uint8"}, OverflowError, "-1 is out of range for uint8"),
        ((100, 200), {"dtype": "int8"}, OverflowError, "199 is out of range for int8"),
        ((-3, 3), {"dtype": "uint64"}, OverflowError, "-3 is out of range for uint64"),
        ((2**64 - 2, 2**64 + 4), {"dtype": "uint64"}, OverflowError, "is out of range for uint64"),
        ((9,), {"dtype": "float4_e2m1fn"}, OverflowError, "8 is out of range"),
        ((1.5,), {"dtype": "int8"}, TypeError, "int8"),
        ((3,), {"dtype": bool}, TypeError, "bool"),
        ((3,), {"dtype": "int8x2"}, TypeError, "int8x2"),
        ((), {}, TypeError, "start"),
        ((), {"start": 3}, TypeError, "start"),
        ((1, 2, 3, 4), {}, TypeError, "at most 3"),
    ],
)
def test_arange_rejects_invalid_arguments(
    arguments: Any, keywords: Any, error: type[Exception], message: str
) -> None:
    with refusal(error, message):
        refarray.arange(*arguments, **keywords)


FUNCTIONS = [
    *("asarray", "empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like"),
    *("full_like", "arange", "from_buffer"),
]


@run_each("name", FUNCTIONS)
def test_missing_and_unknown_arguments_raise(name: str) -> None:
    function = getattr(refarray, name)
    assert "Raises" in function.__doc__ or "rrors" in function.__doc__
    with pytest.raises(TypeError, match=f"{name}\\(\\) missing required argument"):
        function()
    with pytest.raises(TypeError, match=f"{name}\\(\\) got an unexpected keyword argument 'y'"):
        function(1, y=1)


def test_shape_and_fill_value_are_also_keywords() -> None:
    assert refarray.full(fill_value=2, shape=(1,)).tolist() == [2]
    assert refarray.full_like(refarray.zeros(1), fill_value=2).tolist() == [2.0]
    assert refarray.zeros(shape=2).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="multiple values for argument 'shape'"):
        refarray.zeros(2, shape=2)


class ExportedThree:
    """An array of ndim 0 of another library."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return refarray.asarray(3.0).__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class SizedTwo:
    """A number by `__index__` that has a length, as no scalar has."""

    def __index__(self) -> int:
        return 2

    def __len__(self) -> int:
        return 1


def test_bounds_of_ranges_are_numbers_of_every_kind() -> None:
    assert refarray.arange(cast(Any, ExportedThree())).tolist() == [0.0, 1.0, 2.0]
    assert refarray.arange(cast(Any, SizedTwo())).tolist() == [0, 1]
    assert refarray.linspace(cast(Any, refarray.asarray(1j)), 2j, 2).tolist() == [1j, 2j]
