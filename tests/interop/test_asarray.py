"""asarray: nested sequences, numbers and exporters; sharing, copying and errors, compared with
NumPy."""

from __future__ import annotations

import array
import contextlib
import ctypes
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.cases import refusal, run_each
from helpers.leaks import blocks_left
from helpers.number_likes import OneEnum, Raises
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray


class Number:
    def __init__(self, method: str, value: Any) -> None:
        self.__class__ = type("Number", (Number,), {method: lambda self: value})


class Sequence:
    """A sequence by duck typing; a function makes its items."""

    def __init__(self, length: int, item: Callable[[int], Any]) -> None:
        self.length, self.item = length, item

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.item(index)


numbers = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.complex_numbers()
)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    @st.composite
    def make(draw: st.DrawFn) -> Any:
        shape = draw(st.lists(st.integers(0, 3), max_size=4))

        def level(extents: list[int]) -> Any:
            if not extents:
                return draw(leaves)
            kind = draw(st.sampled_from([list, tuple]))
            return kind(level(extents[1:]) for _ in range(extents[0]))

        return level(shape)

    return make()


@settings(deadline=None)
@given(nested(numbers))
def test_nested_sequences_convert_like_numpy(values: Any) -> None:
    theirs = np.asarray(values)
    ours = refarray.asarray(values)
    assert ours.shape == theirs.shape
    assert str(ours.dtype) == str(theirs.dtype)
    assert repr(ours.tolist()) == repr(theirs.tolist())
    assert not ours.readonly


@run_each(
    ("obj", "dtype", "values"),
    [
        ([], "float64", []),
        ([[], []], "float64", [[], []]),
        (range(4), "int64", [0, 1, 2, 3]),
        ([range(2), (5, 6)], "int64", [[0, 1], [5, 6]]),
        (Sequence(3, lambda i: i * i), "int64", [0, 1, 4]),
        (np.float64(1.5), "float64", 1.5),
        (np.float32(1.5), "float32", 1.5),
        ([np.float32(1.5), np.float32(2)], "float32", [1.5, 2.0]),
        ([np.float32(1.5), 2], "float64", [1.5, 2.0]),
        (OneEnum.ONE, "int64", 1),
        ([OneEnum.ONE, 2], "int64", [1, 2]),
        ([np.bool_(True), False], "bool", [True, False]),
        ([np.complex64(2j), 1], "complex128", [2j, 1]),
        ([np.int8(3), np.int16(4)], "int64", [3, 4]),
        ([np.arange(2, dtype="int8"), np.arange(2, dtype="int8")], "int8", [[0, 1], [0, 1]]),
        ([np.arange(2), [0.5, 1]], "float64", [[0, 1], [0.5, 1]]),
        ([np.zeros((0, 3), "int16")], "int16", [[]]),
        ([b"ab", bytearray(b"cd")], "uint8", [[97, 98], [99, 100]]),
        ([Number("__index__", 7), 1.5], "float64", [7, 1.5]),
        (b"\x00\xff", "uint8", [0, 255]),
        (array.array("h", [1, -2]), "int16", [1, -2]),
        (memoryview(b"abcd")[::2], "uint8", [97, 99]),
        ((ctypes.c_double * 2)(1.5, 2.5), "float64", [1.5, 2.5]),
        (np.array([[1, 2], [3, 4]], "uint16").T, "uint16", [[1, 3], [2, 4]]),
    ],
)
def test_asarray_values_and_dtype(obj: Any, dtype: str, values: Any) -> None:
    x = refarray.asarray(obj)
    assert x.dtype == dtype
    assert x.tolist() == values


def test_arrays_inside_sequences_keep_their_dtype() -> None:
    x = refarray.asarray([1.5, 2.5], dtype="bfloat16")
    assert refarray.asarray([x, x[::-1]]).dtype == "bfloat16"
    assert refarray.asarray([x[0], x[1]]).tolist() == [1.5, 2.5]
    assert refarray.asarray([x, [3, 4]]).dtype == "float64"
    v = refarray.asarray([[1, 2], [3, 4]], dtype="int8x2")
    assert refarray.asarray([v, v]).dtype == "int8x2"
    assert refarray.asarray([v, v]).tolist() == [[(1, 2), (3, 4)]] * 2


@pytest.mark.parametrize("copy", [None, False])
def test_asarray_shares_exported_memory(copy: bool | None) -> None:
    x = refarray.asarray([1, 2])
    assert refarray.asarray(x, copy=copy) is x
    for owner in (np.array([1, 2]), array.array("q", [1, 2]), bytearray(2)):
        y = refarray.asarray(owner, copy=copy)
        y[1] = 7
        assert owner[1] == 7
    assert refarray.asarray(b"ab", copy=copy).readonly


def test_copy_true_always_copies() -> None:
    x = refarray.asarray([1, 2])
    owner, memory = np.array([1, 2]), bytearray(b"\x01\x02")
    for source in (x, owner, memory, x.as_readonly(), b"\x01\x02"):
        for dtype in (None, "int32", "int64"):
            y = refarray.asarray(source, copy=True, dtype=dtype)
            y[0] = 9
            assert y.tolist() == [9, 2]
    assert x.tolist() == owner.tolist() == list(memory) == [1, 2]


@run_each("obj", [1, [1], (1.5,), range(3), Fraction(1, 2), Sequence(1, float)])
def test_copy_false_of_objects_without_memory_raises(obj: Any) -> None:
    with pytest.raises(refarray.NoCopyError, match="exports no memory"):
        refarray.asarray(obj, copy=False)


@pytest.mark.req("AAPI-05")
@pytest.mark.parametrize("obj", [refarray.asarray([1]), np.array([1]), array.array("q", [1])])
def test_copy_false_with_a_conversion_raises(obj: Any) -> None:
    with pytest.raises(refarray.NoCopyError, match="cannot become one of float32 on cpu") as caught:
        refarray.asarray(obj, dtype="float32", copy=False)
    assert isinstance(caught.value, ValueError)
    assert refarray.asarray(obj, dtype="int64", copy=False).tolist() == [1]
    assert refarray.asarray(obj, dtype="float32").tolist() == [1.0]


cyclic: list[Any] = []
cyclic.append(cyclic)
branching: list[Any] = []
branching += [branching, branching]
deep: list[Any] = [1]
for _ in range(64):
    deep = [deep]


INVALID: list[tuple[Any, type[Exception], str]] = [
    ([[1], [2, 3]], ValueError, "item [1] has length 2, but the first of its level has 1"),
    ([[1, [2]]], ValueError, "item [0][1] has length 1, but the first of its level is a number"),
    ([[1], 2], ValueError, "item [1] is a number, but the first of its level has length 1"),
    ([[], [[]]], ValueError, "item [1] has length 1"),
    ([[[]], []], ValueError, "item [1] has length 0"),
    ([np.zeros((2, 2)), np.zeros((2, 3))], ValueError, "has length 3"),
    ([np.zeros((0, 3)), []], ValueError, "ragged"),
    ([np.zeros(2), 1], ValueError, "item [1] is a number"),
    (cyclic, ValueError, "64"),
    (branching, ValueError, "64"),
    (deep, ValueError, "64"),
    ("text", TypeError, "str"),
    (["text"], TypeError, "item [0] is of type str"),
    (np.str_("text"), TypeError, "str"),
    (None, TypeError, "NoneType"),
    ([1, None], TypeError, "item [1] is of type NoneType"),
    ({1: 2}, TypeError, "dict"),
    ({1}, TypeError, "set"),
    (iter([1]), TypeError, "list_iterator"),
    (object(), TypeError, "object"),
    (int, TypeError, "type"),
    (2**63, OverflowError, "9223372036854775808 is out of range for int64"),
    ([0.5, 10**400], OverflowError, "float64"),
    (np.array(["a"]), BufferError, ""),
    (np.array([object()]), BufferError, ""),
    (Raises(), KeyError, "index"),
    ([Raises()], KeyError, "index"),
    (Number("__float__", 1.5), TypeError, "is of type Number"),
    (Number("__complex__", 1 + 2j), TypeError, "is of type Number"),
    (Fraction(1, 4), TypeError, "is of type Fraction"),
    ([1.0, Decimal("1.1")], TypeError, "item [1] is of type Decimal"),
    (Number("__index__", 1.5), TypeError, ""),
    (Sequence(2, {}.__getitem__), KeyError, "0"),
    (Sequence(-1, int), ValueError, ""),
    (Sequence(2**62, int), MemoryError, f"{2**62} numbers"),
    (Sequence(2**50, int), MemoryError, f"{2**50} numbers of shape ({2**50},)"),
    ([refarray.broadcast_to(refarray.zeros(()), (2**50,))], MemoryError, f"(1, {2**50})"),
    (range(10**25), OverflowError, ""),
    (ctypes.pointer(ctypes.c_int(1)), BufferError, "format"),
]


no_operator_new = pytest.mark.not_sanitized("operator new fails, which ends the process under ASAN")


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        pytest.param(*case, marks=no_operator_new if case[1] is MemoryError else ())
        for case in INVALID
    ],
)
def test_asarray_rejects_invalid_objects(obj: Any, error: type[Exception], message: str) -> None:
    with refusal(error, message):
        refarray.asarray(obj)


@pytest.mark.parametrize("change", [list.clear, lambda v: v.append(1), lambda v: v.pop()])
def test_list_that_changes_its_length_while_it_is_read_raises(
    change: Callable[[list[Any]], object],
) -> None:
    class Changer:
        def __index__(self) -> int:
            change(values)
            return 1

    values: list[Any] = [Changer(), 2.0, [3.0]]
    with pytest.raises(ValueError, match="changed its length from 3 to"):
        refarray.asarray(values)
    outer: list[Any] = [[Changer(), 2.0]]
    values = outer[0]
    with pytest.raises(ValueError, match=r"item \[0\]\[1\]|changed its length from 2"):
        refarray.asarray(outer)


def test_items_may_be_replaced_while_they_are_read() -> None:
    class Replacer:
        def __index__(self) -> int:
            values[:] = [8.0, 9.0]
            return 1

    values: list[Any] = [Replacer(), 2.0]
    assert refarray.asarray(values).tolist() == [1.0, 9.0]


@no_operator_new
def test_nothing_leaks() -> None:
    def work() -> None:
        for obj, error, _ in INVALID:
            with contextlib.suppress(error):
                refarray.asarray(obj)
        for take in (refarray.asarray, refarray.arange, lambda v: refarray.full(2, v)):
            for obj in ([[1], [2]], b"ab", np.float32(1), Fraction(1, 3), 2**63, "x", Raises()):
                with contextlib.suppress(TypeError, ValueError, OverflowError, KeyError):
                    take(obj)
        refarray.asarray([np.arange(3), range(3)]).tolist()

    assert blocks_left(work) < 25
