"""Array.__setitem__: numbers, arrays, broadcasting, overlap, dtype conversion, and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from hypothesis import strategies as st
from test_indexing import PACKED, indices, pair, shapes

import refarray

KINDS = {
    "bool": ["bool"],
    "uint": ["uint8", "uint16", "uint32", "uint64"],
    "int": ["int8", "int16", "int32", "int64"],
    "float": ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float4_e2m1fn"],
    "complex": ["complex32", "complex64", "complex128"],
}
ORDER = list(KINDS)
DTYPES = [(kind, dtype) for kind, dtypes in KINDS.items() for dtype in dtypes]


@settings(deadline=None)
@given(st.data(), shapes)
def test_assigning_a_number_matches_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    _, memory = pair(shape)
    ours, theirs = refarray.from_dlpack(memory.copy()), memory.copy()
    index = data.draw(indices(shape))
    ours[index] = -7
    theirs[index] = -7
    assert ours.tolist() == theirs.tolist()


@settings(deadline=None)
@given(st.data(), shapes)
def test_assigning_an_array_broadcasts_like_numpy(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    _, memory = pair(shape, "float64")
    ours, theirs = refarray.from_dlpack(memory.copy()), memory.copy()
    index = data.draw(indices(shape))
    target = theirs[index].shape
    source = tuple(1 if data.draw(st.booleans()) else extent for extent in target)
    source = source[data.draw(st.integers(0, len(source))) :]
    values = np.arange(-int(np.prod(source)), 0, dtype=np.float32).reshape(source)
    theirs[index] = values
    as_lists = values.tolist() if values.size else values  # a list loses extents after a 0
    for value in (refarray.from_dlpack(values), values, as_lists):
        ours[...] = refarray.from_dlpack(memory)
        ours[index] = value
        assert ours.tolist() == theirs.tolist()


@settings(deadline=None, max_examples=2 * settings().max_examples)
@given(st.data())
def test_overlapping_assignment_reads_the_source_before_writing(data: st.DataObject) -> None:
    _, memory = pair((4, 5))
    ours, theirs = refarray.from_dlpack(memory.copy()), memory.copy()
    target = data.draw(indices((4, 5)))
    source = data.draw(indices((4, 5)))
    try:
        expected = np.broadcast_to(theirs[source], theirs[target].shape).copy()
    except ValueError:
        with pytest.raises(ValueError, match="does not broadcast"):
            ours[target] = ours[source]
        return
    theirs[target] = expected
    ours[target] = ours[source]
    assert ours.tolist() == theirs.tolist()


@run_each("dtype", ["uint8", "int64", "complex128", "float4_e2m1fn", "float6_e2m3fn"])
@run_each("shift", [1, 2, 3, 7])
def test_overlapping_shifts_and_reversal(dtype: str, shift: int) -> None:
    values = [[0, 1, 2, 3, 4, 6][i % 6] for i in range(40)]
    for target, source in (
        (slice(shift, None), slice(None, -shift)),
        (slice(None, -shift), slice(shift, None)),
        (slice(None), slice(None, None, -1)),
    ):
        ours = refarray.asarray(values, dtype=dtype)
        expected = list(values)
        expected[target] = expected[source]
        ours[target] = ours[source]
        assert ours.tolist() == expected


@run_each("dtype", PACKED)
def test_writing_a_packed_element_keeps_its_neighbours(dtype: str) -> None:
    values = PACKED[dtype]
    for at, new in itertools.product(range(len(values)), (values[1], values[-1])):
        ours = refarray.asarray(values, dtype=dtype)
        ours[at] = new
        expected = list(values)
        expected[at] = new
        assert ours.tolist() == expected
        ours[1:-1][::2] = ours[2:][::2][: len(ours[1:-1][::2])]
        expected[1:-1:2] = expected[2::2][: len(expected[1:-1:2])]
        assert ours.tolist() == expected


# --- Which kinds of dtype convert into which ---


@run_each(("kind", "dtype"), DTYPES)
def test_arrays_convert_to_the_same_or_a_higher_kind(kind: str, dtype: str) -> None:
    for from_kind, from_dtype in DTYPES:
        target = refarray.zeros((3,), dtype=dtype)
        source = refarray.ones((3,), dtype=from_dtype)
        if ORDER.index(from_kind) <= ORDER.index(kind):
            target[...] = source
            assert target.tolist() == refarray.ones((3,), dtype=dtype).tolist()
        else:
            with pytest.raises(
                TypeError, match=f"cannot assign {from_dtype} to elements of {dtype}"
            ):
                target[...] = source
            with pytest.raises(TypeError, match="cannot assign"):
                target[0] = source[0]
            assert target.tolist() == refarray.zeros((3,), dtype=dtype).tolist()


NUMBERS = [("bool", True), ("uint", 1), ("float", 1.0), ("complex", 1 + 0j)]


@run_each(("kind", "dtype"), DTYPES)
def test_numbers_convert_to_the_same_or_a_higher_kind(kind: str, dtype: str) -> None:
    for number_kind, number in NUMBERS:
        for value in (number, [number], (number,), [[number]] * 2, [number, number, number]):
            target = refarray.zeros((2, 3), dtype=dtype)
            if ORDER.index(number_kind) <= ORDER.index(kind):
                target[...] = value
                assert target.tolist() == refarray.ones((2, 3), dtype=dtype).tolist()
            else:
                with pytest.raises(TypeError):
                    target[...] = value
                assert target.tolist() == refarray.zeros((2, 3), dtype=dtype).tolist()


@run_each("dtype", [*KINDS["int"], *KINDS["uint"]])
def test_assigning_an_int_out_of_range_raises(dtype: str) -> None:
    info = np.iinfo(dtype)
    target = refarray.zeros((2,), dtype=dtype)
    target[0], target[1] = int(info.min), int(info.max)
    assert target.tolist() == [info.min, info.max]
    target[...] = [int(info.max), int(info.min)]
    assert target.tolist() == [info.max, info.min]
    for wrong in (int(info.min) - 1, int(info.max) + 1, 2**80, -(2**80), 10**5000):
        with pytest.raises(OverflowError, match=f"out of range for {dtype}"):
            target[0] = wrong
        with pytest.raises(OverflowError, match=f"out of range for {dtype}"):
            target[...] = [0, wrong]
    assert target.tolist() == [info.max, info.min]


def test_numbers_convert_as_astype_does() -> None:
    target = refarray.zeros((3,), dtype="float32")
    target[0], target[1], target[2] = 0.1, 1e300, float("nan")
    values = target.tolist()
    assert values[:2] == [np.float32(0.1), np.inf] and values[2] != values[2]
    small = refarray.zeros((2,), dtype="float8_e4m3fn")
    small[:] = refarray.asarray([0.3, 17.0])
    assert small.tolist() == refarray.asarray([0.3, 17.0]).astype("float8_e4m3fn").tolist()


@run_each(
    ("dtype", "value", "expected"),
    [
        ("uint8", range(3), [0, 1, 2]),
        ("float32", [], None),
        ("int8", [], None),
        ("uint8", b"\x01\x02\x03", [1, 2, 3]),
        ("int32", memoryview(bytearray(12)).cast("i"), [0, 0, 0]),
        ("float64", np.float32(1.5), [1.5] * 3),
        ("float64", np.float64(1.5), [1.5] * 3),
        ("bool", np.True_, [True] * 3),
        ("int64", np.arange(3)[::-1], [2, 1, 0]),
        ("float64", [np.float32(1), 2, True], [1.0, 2.0, 1.0]),
    ],
)
def test_assignment_accepts_what_asarray_accepts(
    dtype: str, value: Any, expected: list[Any] | None
) -> None:
    target = refarray.zeros((3,), dtype=dtype)
    if expected is None:
        target[3:] = value
        expected = target.tolist()
    else:
        target[:] = value
    assert target.tolist() == expected


def test_vector_elements() -> None:
    target = refarray.asarray([[1, 2], [3, 4], [5, 6]], dtype="int8x2")
    target[0] = target[2]
    assert target.tolist() == [(5, 6), (3, 4), (5, 6)]
    target[1:] = [[7, 8], [9, 10]]
    assert target.tolist() == [(5, 6), (7, 8), (9, 10)]
    with pytest.raises(TypeError, match="cannot assign int8 to elements of int8x2"):
        target[...] = refarray.asarray([1, 2, 3], dtype="int8")
    with pytest.raises(TypeError, match="cannot assign int8x2 to elements of int64"):
        refarray.zeros((3,), dtype="int64")[...] = target


# --- Assignments that fail must leave the array unchanged ---


@run_each(
    ("target", "value"),
    [
        ((2, 3), (2,)),
        ((2, 3), (3, 2)),
        ((3,), (2, 3)),
        ((3,), (1, 3)),
        ((3,), (0,)),
        ((), (1,)),
        ((0,), (2,)),
    ],
)
def test_assigning_a_shape_that_does_not_broadcast_raises(
    target: tuple[int, ...], value: tuple[int, ...]
) -> None:
    array = refarray.zeros(target)
    with pytest.raises(ValueError) as caught:
        array[...] = refarray.ones(value)
    assert str(caught.value) == f"shape {value} does not broadcast to {target}"
    assert array.tolist() == refarray.zeros(target).tolist()


def read_only_arrays() -> dict[str, Any]:
    base = refarray.zeros((2, 3))
    fixed = np.zeros((2, 3))
    fixed.flags.writeable = False
    return {
        "as_readonly": base.as_readonly(),
        "a view of one": base.as_readonly()[:, ::-1],
        "a transpose of one": base.as_readonly().T,
        "an alias of one": base.as_readonly().to_device("cpu"),
        "reshaped": base.as_readonly().reshape((3, 2)),
        "broadcast": refarray.broadcast_to(base, (2, 2, 3)),
        "broadcast to its own shape": refarray.broadcast_to(base, (2, 3)),
        "bytes": refarray.asarray(b"123456"),
        "a read-only producer": refarray.from_dlpack(fixed),
    }


@run_each("name", read_only_arrays())
def test_assigning_to_a_read_only_array_raises(name: str) -> None:
    array = read_only_arrays()[name]
    before = array.tolist()
    assert array.readonly is True
    for index in (0, ..., slice(None), (..., 0), (), slice(0, 0), "wrong"):
        for value in (1, array, "wrong"):
            with pytest.raises(ValueError, match="read-only"):
                array[index] = value
    assert array.tolist() == before


def test_elements_cannot_be_deleted() -> None:
    array = refarray.zeros((3,))
    for target in (array, array.as_readonly()):
        for index in (0, slice(None), ..., "wrong"):
            with pytest.raises(TypeError, match="cannot be deleted"):
                del target[index]


class RaisingProducer:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __dlpack_device__(self) -> tuple[int, int]:
        raise self.error

    def __dlpack__(self, **_: Any) -> Any:
        raise self.error


@run_each("value", ["1", None, object(), {}, {1}, [1, "2"], [[1], [2, 3]], ..., slice(1)])
def test_assigning_a_non_number_raises(value: Any) -> None:
    array = refarray.zeros((2,))
    with pytest.raises((TypeError, ValueError)):
        array[...] = value
    with pytest.raises((TypeError, ValueError)):
        array[0] = value
    assert array.tolist() == [0.0, 0.0]


def test_exceptions_of_the_value_propagate() -> None:
    array = refarray.zeros((2,))
    for error in (RuntimeError("mine"), KeyboardInterrupt("mine"), BufferError("mine")):
        with pytest.raises(type(error), match="mine"):
            array[...] = RaisingProducer(error)
    assert array.tolist() == [0.0, 0.0]


def test_large_assignment_writes_every_element() -> None:
    target = refarray.zeros((1 << 16, 3), dtype="float64")
    source = refarray.arange(3 << 16, dtype="int32").reshape((3, 1 << 16))
    target[...] = refarray.permute_dims(source, (1, 0))
    assert np.array_equal(np.asarray(target), np.asarray(source).T.astype(np.float64))
    target[::-1, 1] = 5
    assert np.all(np.asarray(target)[:, 1] == 5) and target[7, 2].item() == (2 << 16) + 7
