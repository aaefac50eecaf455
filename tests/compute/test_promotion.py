"""Promotion: the standard's tables, what has no common dtype, and Python numbers beside arrays,
which count as arrays of the dtype of the other operand."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from oracles import formats
from oracles.checks import flat
from oracles.formats import ALL, INTEGERS, REAL_FLOATS, STANDARD, UNSIGNED, limits
from oracles.functions import BINARY, COMPARING, OPERATORS
from oracles.promotion import PROMOTION, UNDEFINED, scalar_result
from oracles.samples import samples
from properties.models.dtypes import KINDS

import refarray

pytestmark = pytest.mark.every_python

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
        with refusal(TypeError, left, right):
            xp.result_type(of(left), of(right))


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
            with refusal(TypeError, left, right):
                work(x, y)
    for (left, right), result in PROMOTION.items():
        x, y = xp.ones(3, dtype=left), xp.ones(3, dtype=right)
        for out in (xp.where(mask, x, y), xp.concat([x, y]), xp.stack([x, y])):
            assert str(out.dtype) == result, (left, right)


@run_each("name", BINARY)
def test_python_scalars(name: str) -> None:
    """Standard since 2024.12: one of the operands of a function, too, may be a Python scalar."""
    accepted = BINARY[name].dtypes
    for dtype, (kind, scalar) in itertools.product(ALL, SCALARS.items()):
        x, result = xp.ones(3, dtype=dtype), scalar_result(dtype, kind)
        if result in accepted and dtype in accepted:
            y = xp.asarray(scalar, dtype=result)
            for work in named(name):
                for mine, same in ((work(x, scalar), work(x, y)), (work(scalar, x), work(y, x))):
                    assert str(mine.dtype) == BINARY[name].result_of(result), dtype
                    assert mine.tolist() == same.tolist()
            continue
        # == and != may also compare unequal: see test_operators_in_place.py.
        for work in named(name)[: 1 if name in ("equal", "not_equal") else None]:
            for given in ((x, scalar), (scalar, x)):
                with pytest.raises(TypeError):
                    work(*given)


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


@run_each("kind", KINDS)
def test_isdtype(kind: str) -> None:
    for dtype in ALL:
        expected = dtype in KINDS[kind]
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


# --- Python numbers


NUMBERS: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "integer": (0, 1, 2, 3, 5, -1, -3, 100),
    "real floating": (0.0, -0.0, 1.5, -1.5, 3, -7, 0.7, float("inf"), float("nan")),
    "complex": (1, -1.5, 0.75 - 2j, 1j),
}


def numbers(dtype: str) -> list[Any]:
    (found,) = (NUMBERS[kind] for kind in NUMBERS if dtype in formats.KINDS[kind])
    if dtype not in INTEGERS:
        return list(found)
    low, high = limits(dtype)
    return [each for each in found if low <= each <= high]


def named(name: str) -> list[Any]:
    methods = [m for m, function in {**OPERATORS, **COMPARING}.items() if function == name]
    return [getattr(xp, name), *(getattr(operator, method) for method in methods)]


@run_each("name", BINARY)
def test_numbers_count_as_arrays(name: str) -> None:
    for dtype in BINARY[name].dtypes:
        x = xp.asarray(samples(dtype), dtype=dtype)
        for number in numbers(dtype):
            other = xp.full(x.shape, number, dtype=dtype)
            pairs = (((x, number), (x, other)), ((number, x), (other, x)), ((x, other), (x, other)))
            for operands, arrays in pairs:
                wanted = getattr(xp, name)(*arrays)
                for function in named(name):
                    got = function(*operands)
                    assert got.dtype == wanted.dtype
                    assert repr(got.tolist()) == repr(wanted.tolist()), (dtype, number)


def test_where_takes_numbers() -> None:
    condition = xp.asarray([True, False, True, False])
    for dtype in REAL_FLOATS:
        x = xp.asarray([0.25, -0.0, 3.5, 4.75], dtype=dtype)
        for number in (1.5, -2.75, 3, -0.0):
            wanted = [0.25, float(number), 3.5, float(number)]
            assert repr(flat(xp.where(condition, x, number))) == repr(wanted)
            assert repr(flat(xp.where(~condition, number, x))) == repr(wanted)
            assert xp.where(condition, x, number).dtype == x.dtype


@run_each("method", COMPARING)
def test_comparisons_of_different_integers_are_exact(method: str) -> None:
    compare = getattr(operator, method)
    for left in INTEGERS:
        for right in INTEGERS:
            if {left, right} & {"uint64"} and not {left, right} <= set(UNSIGNED):
                continue
            values = [(a, b) for a in limits(left) for b in (*limits(right), *limits(left))]
            low, high = limits(right)
            values = [(a, b) for a, b in values if low <= b <= high]
            x = xp.asarray([a for a, _ in values], dtype=left)
            y = xp.asarray([b for _, b in values], dtype=right)
            wanted = [compare(a, b) for a, b in values]
            assert compare(x, y).tolist() == wanted
            assert getattr(xp, COMPARING[method])(x, y).tolist() == wanted
