"""Promotion: the standard's tables, Python scalars, and what has no common dtype."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import ALL, COMPLEX, INTEGERS, KINDS, REAL_FLOATS, STANDARD, limits
from oracles.functions import BINARY, COMPARING, OPERATORS
from oracles.promotion import PROMOTION, UNDEFINED, scalar_result

import refarray

xp: Any = refarray
SCALARS: dict[type, Any] = {bool: True, int: 2, float: 1.5, complex: 1 + 2j}


def of(dtype: str) -> Any:
    return getattr(refarray, dtype)


@run_each("left", ALL)
def test_result_type_follows_the_tables(left: str) -> None:
    for right in ALL:
        x, y = xp.ones((2, 3), dtype=left), xp.ones((), dtype=right)
        if (left, right) in PROMOTION:
            for given in ((of(left), of(right)), (x, y), (x, of(right)), (of(left), y)):
                assert str(xp.result_type(*given)) == PROMOTION[left, right]
            continue
        with pytest.raises(TypeError) as caught:
            xp.result_type(of(left), of(right))
        assert left in str(caught.value) and right in str(caught.value)


def outcome(*names: str) -> str:
    try:
        return str(xp.result_type(*map(of, names)))
    except TypeError:
        return "TypeError"


def test_result_type_of_many_is_independent_of_the_order() -> None:
    groups = [
        (("int8", "uint8", "int16", "uint16"), "int32"),
        (("uint8", "uint8", "int8"), "int16"),
        (("int8", "uint32", "int16"), "int64"),
        (("float32", "complex64", "float64"), "complex128"),
        (("float16", "float32", "float16"), "float32"),
        (("uint16", "uint64", "uint8"), "uint64"),
    ]
    for names, result in groups:
        for turn in range(len(names)):
            turned = [of(name) for name in names[turn:] + names[:turn]]
            assert str(xp.result_type(*turned)) == result
            assert str(xp.result_type(*turned[::-1])) == result
    assert str(xp.result_type(of("int8"))) == "int8"
    wide = ("float16", "float32", "bfloat16")  # all orders agree, also where one pair is undefined
    assert len({outcome(*(wide[i:] + wide[:i])) for i in range(3)}) == 1
    with pytest.raises(TypeError):
        xp.result_type()


def test_result_type_takes_python_scalars() -> None:
    x = xp.ones(3, dtype="float32")
    assert str(xp.result_type(x, 1, 2.5)) == "float32"
    assert str(xp.result_type(1j, x)) == "complex64"
    assert str(xp.result_type(of("int8"), 1)) == "int8"
    assert str(xp.result_type(True, of("bool"))) == "bool"
    for bad in ((of("int8"), 1.5), (of("bool"), 1), (of("float32"), True), (of("int8"), 1j)):
        with pytest.raises(TypeError):
            xp.result_type(*bad)


@run_each("name", BINARY)
def test_functions_refuse_what_has_no_common_dtype(name: str) -> None:
    for left, right in UNDEFINED:
        x, y = xp.ones(3, dtype=left), xp.ones(3, dtype=right)
        with pytest.raises(TypeError) as caught:
            getattr(refarray, name)(x, y)
        if left in BINARY[name].dtypes and right in BINARY[name].dtypes:
            assert left in str(caught.value) and right in str(caught.value), (left, right)


def test_where_concat_and_stack_refuse_what_has_no_common_dtype() -> None:
    mask = xp.asarray([True, False, True])
    for left, right in UNDEFINED:
        x, y = xp.ones(3, dtype=left), xp.ones(3, dtype=right)
        work: Callable[..., Any]
        for work in (
            lambda x, y: xp.where(mask, x, y),
            lambda x, y: xp.concat([x, y]),
            lambda x, y: xp.stack([x, y]),
        ):
            with pytest.raises(TypeError) as caught:
                work(x, y)
            assert left in str(caught.value) and right in str(caught.value)
    for (left, right), result in PROMOTION.items():
        x, y = xp.ones(3, dtype=left), xp.ones(3, dtype=right)
        for out in (xp.where(mask, x, y), xp.concat([x, y]), xp.stack([x, y])):
            assert str(out.dtype) == result, (left, right)


def takes(name: str, dtype: str) -> bool:
    return dtype in BINARY[name].dtypes


@run_each("kind", SCALARS)
@pytest.mark.parametrize("name", [*OPERATORS, *COMPARING])
def test_operators_with_python_scalars(name: str, kind: type) -> None:
    function = OPERATORS.get(name) or COMPARING[name]
    work, scalar = getattr(operator, name), SCALARS[kind]
    for dtype in ALL:
        x = xp.ones(3, dtype=dtype)
        result = scalar_result(dtype, kind)
        if result is None or not takes(function, dtype) or not takes(function, result):
            if name in ("eq", "ne"):
                continue  # may also compare unequal: see test_operators_in_place.py
            for given in ((x, scalar), (scalar, x)):
                with pytest.raises(TypeError):
                    work(*given)
            continue
        y = xp.asarray(scalar, dtype=result)
        for mine, same in ((work(x, scalar), work(x, y)), (work(scalar, x), work(y, x))):
            assert str(mine.dtype) == BINARY[function].result_of(result), dtype
            assert mine.tolist() == same.tolist()


@run_each("name", BINARY)
def test_functions_with_python_scalars(name: str) -> None:
    """Standard since 2024.12: one of the operands may be a Python scalar."""
    work = getattr(refarray, name)
    for dtype in BINARY[name].dtypes:
        x = xp.ones(3, dtype=dtype)
        for kind, scalar in SCALARS.items():
            result = scalar_result(dtype, kind)
            if result is None or not takes(name, result):
                for given in ((x, scalar), (scalar, x)):
                    with pytest.raises(TypeError):
                        work(*given)
                continue
            y = xp.asarray(scalar, dtype=result)
            assert work(x, scalar).tolist() == work(x, y).tolist()
            assert work(scalar, x).tolist() == work(y, x).tolist()
            assert str(work(scalar, x).dtype) == BINARY[name].result_of(result)
    with pytest.raises(TypeError):
        work(1, 1)


@run_each("dtype", INTEGERS)
def test_integers_out_of_range_raise(dtype: str) -> None:
    low, high = limits(dtype)
    x = xp.ones(3, dtype=dtype)
    for number in (low, high):
        assert str((x * number).dtype) == dtype
        assert xp.multiply(number, x).tolist() == [number] * 3
    for number in (low - 1, high + 1, 10**30):
        work: Callable[..., Any]
        for work in (
            lambda x, n: x + n,
            lambda x, n: n + x,
            lambda x, n: xp.add(x, n),
            lambda x, n: xp.maximum(n, x),
            lambda x, n: xp.where(x > 0, x, n),
        ):
            with pytest.raises(OverflowError, match=str(number)):
                work(x, number)


def test_large_integers_with_floats_are_rounded() -> None:
    x = xp.zeros(2, dtype="float64")
    assert (x + (2**53 + 1)).tolist() == [float(2**53)] * 2
    assert (x + 10**300).tolist() == [1e300] * 2


#: can_cast for the pairs of one table; across kinds it is False.
def test_can_cast_follows_the_tables() -> None:
    for start in ALL:
        for end in ALL:
            expected = PROMOTION.get((start, end)) == end
            for given in (of(start), xp.ones(2, dtype=start)):
                got = xp.can_cast(given, of(end))
                assert type(got) is bool and got is expected, (start, end)


IS_KIND = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "integral": INTEGERS,
    "real floating": REAL_FLOATS,
    "complex floating": COMPLEX,
    "numeric": KINDS["numeric"],
}


@run_each("kind", IS_KIND)
def test_isdtype(kind: str) -> None:
    for dtype in ALL:
        expected = dtype in IS_KIND[kind]
        got = xp.isdtype(of(dtype), kind)
        assert type(got) is bool and got is expected, dtype
        assert xp.isdtype(of(dtype), (kind, of(dtype))) is True
        assert xp.isdtype(of(dtype), (kind, "bool")) is (expected or dtype == "bool")
        assert xp.isdtype(of(dtype), ()) is False


def test_isdtype_compares_dtypes_and_refuses_unknown_kinds() -> None:
    for first in STANDARD:
        for second in STANDARD:
            assert xp.isdtype(of(first), of(second)) is (first == second)
    for bad in ("float", "integer", "", "Bool"):
        with pytest.raises(ValueError, match=f"{bad!r}"):
            xp.isdtype(xp.float32, bad)
    wrong: Any
    for wrong in (None, 3, [1]):
        with pytest.raises(TypeError):
            xp.isdtype(xp.float32, wrong)
