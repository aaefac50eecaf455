"""Buffer requests with every value of the flags on every layout, compared with _testbuffer,
CPython's own test exporter; and imports from that exporter."""

from __future__ import annotations

import array
import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.cases import run_each
from test_buffer import get_buffer

import refarray

_testbuffer = pytest.importorskip("_testbuffer", reason="this CPython lacks its test modules")

pytestmark = pytest.mark.req("LIFE-18", "FLAG-07")

# All defined flags are below this; some of the values have no name, but are answered.
ALL_FLAGS = range(0x200)
PLAIN_MASK = 0x08  # PyBUF_ND: without it a buffer is plain bytes
ITEMS = list(range(24))
ROWS = refarray.from_buffer(array.array("i", ITEMS)).reshape((4, 6))


def repeated() -> refarray.Array:
    """The second row three times, writable (a result of broadcast_to is read-only)."""
    address = ROWS[1].__array_interface__["data"]
    interface = {
        "version": 3,
        "shape": (3, 6),
        "typestr": "<i4",
        "data": address,
        "strides": (0, 4),
    }
    return refarray.from_array_interface(SimpleNamespace(__array_interface__=interface))


# name: refarray's array, and for CPython's exporter: shape, strides in bytes, offset in bytes
LAYOUTS: dict[str, tuple[refarray.Array, list[int], list[int], int]] = {
    "rows": (ROWS, [4, 6], [24, 4], 0),
    "columns": (ROWS.T, [6, 4], [4, 24], 0),
    "stepped": (ROWS[:, ::2], [4, 3], [24, 8], 0),
    "some rows": (ROWS[1:3], [2, 6], [24, 4], 24),
    "reversed": (ROWS[::-1], [4, 6], [-24, 4], 72),
    "both reversed": (ROWS[::-1, ::-1], [4, 6], [-24, -4], 92),
    "one column": (ROWS[:, 1:2], [4, 1], [24, 4], 4),
    "one row": (ROWS[1:2], [1, 6], [24, 4], 24),
    "no rows": (ROWS[:0, ::-1], [0, 6], [24, -4], 20),
    "one element": (ROWS[1:2, 1:2], [1, 1], [24, 4], 28),
    "repeated": (repeated(), [3, 6], [0, 4], 24),
    "row": (ROWS[2], [6], [4], 48),
    "column": (ROWS[:, 3], [4], [24], 12),
    "number": (ROWS[2, 3], [], [], 60),
    "cube": (refarray.reshape(ROWS, (2, 3, 4)), [2, 3, 4], [48, 16, 4], 0),
    "turned cube": (
        refarray.permute_dims(refarray.reshape(ROWS, (2, 3, 4)), (2, 1, 0)),
        [4, 3, 2],
        [4, 16, 48],
        0,
    ),
}


def answer(exporter: Any, flags: int) -> dict[str, Any] | type[BaseException]:
    """The buffer's fields, with the first element for its address, or the class of the
    exception."""
    try:
        seen = get_buffer(exporter, flags)
    except Exception as error:
        return type(error)
    seen["buf"] = ctypes.string_at(seen["buf"], 4) if seen["len"] else None
    if seen["strides"] is not None:  # unspecified for axes of extent 1 and arrays without elements
        pairs = zip(seen["shape"], seen["strides"], strict=True)
        seen["strides"] = [stride for extent, stride in pairs if extent > 1 and seen["len"]]
    return seen


@run_each("readonly", [False, True])
@run_each("layout", LAYOUTS)
def test_every_request_is_answered_like_cpythons_exporter(layout: str, readonly: bool) -> None:
    ours, shape, strides, offset = LAYOUTS[layout]
    theirs = _testbuffer.ndarray(
        ITEMS if shape else [15],
        shape=shape,
        strides=strides,
        offset=offset if shape else 0,
        format="i",
        flags=0 if readonly else _testbuffer.ND_WRITABLE,
    )
    ours = ours.as_readonly() if readonly else ours
    different = {
        hex(flags): (answer(ours, flags), answer(theirs, flags))
        for flags in ALL_FLAGS
        if answer(ours, flags) != answer(theirs, flags)
    }
    assert different == {}


def test_requests_include_refused_and_answered_ones() -> None:
    """Otherwise an exporter that refuses everything, or nothing, would pass."""
    answers = [answer(array, flags) for array, *_ in LAYOUTS.values() for flags in ALL_FLAGS]
    assert answers.count(BufferError) > 1000
    assert sum(isinstance(one, dict) for one in answers) > 1000
    assert {one for one in answers if not isinstance(one, dict)} <= {BufferError, SystemError}


INTEGERS = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q"]


@run_each(
    ("mode", "code"),
    [*((mode, code) for mode in ("", "@", "=", "<") for code in INTEGERS), ("", "n"), ("@", "N")],
)
def test_integer_formats_of_cpythons_exporter(mode: str, code: str) -> None:
    theirs = _testbuffer.ndarray([1, 0, 1], shape=[3], format=mode + code)
    x = refarray.from_buffer(theirs)
    assert x.tolist() == [1, 0, 1]
    assert x.itemsize == memoryview(theirs).itemsize
    assert x.dtype.kind == ("bool" if code == "?" else "int" if code.islower() else "uint")
    assert x.readonly


@run_each("count", ["1", "01", "0001"])
@run_each(("mode", "code"), [("", "i"), ("<", "q"), ("=", "H"), ("@", "n"), (">", "?")])
def test_a_repeat_count_of_1_means_none(mode: str, code: str, count: str) -> None:
    theirs = _testbuffer.ndarray([1, 0, 1], shape=[3], format=mode + count + code)
    assert refarray.from_buffer(theirs).tolist() == [1, 0, 1]
    assert (
        refarray.from_buffer(theirs).dtype
        == refarray.from_buffer(_testbuffer.ndarray([1, 0, 1], shape=[3], format=mode + code)).dtype
    )


@run_each("code", ["e", "f", "d", "<f", "=d", "@e"])
def test_float_formats_of_cpythons_exporter(code: str) -> None:
    x = refarray.from_buffer(_testbuffer.ndarray([1.5, -2.0], shape=[2], format=code))
    assert x.dtype.kind == "float"
    assert x.tolist() == [1.5, -2.0]


@run_each(
    ("items", "code"),
    [
        ([1], ">i"),
        ([1], "!q"),
        ([(1, 2)], "ii"),
        ([(1, 2.0)], "bf"),
        ([(1, 2)], "2i"),
        ([(1,) * 11], "11i"),
        ([(1,) * 10], "10i"),
        ([b"a"], "1s"),
        ([1], ">1i"),
        ([(1, 2)], "1i1i"),
        ([b"abc"], "3s"),
        ([b"a"], "s"),
        ([b"ab"], "3p"),
        ([1], "P"),
        ([1], "xi"),
        ([1], ">h"),
        ([1.0], ">d"),
    ],
)
def test_other_formats_are_refused(items: list[Any], code: str) -> None:
    theirs = _testbuffer.ndarray(items, shape=[1], format=code)
    for take in (refarray.from_buffer, refarray.asarray):
        if take is refarray.asarray and code in (">i", "!q", ">1i", ">h", ">d"):
            assert take(theirs).tolist() == items  # one number in the other order: copied
            continue
        with pytest.raises(BufferError, match="is not a single number in native byte order"):
            take(theirs)
    raw = refarray.from_buffer(theirs, dtype="uint8")
    assert bytes(raw) == theirs.tobytes()


def test_suboffsets_are_refused() -> None:
    theirs = _testbuffer.ndarray(list(range(6)), shape=[2, 3], format="i", flags=_testbuffer.ND_PIL)
    assert theirs.suboffsets == (0, -1)
    for take in (refarray.from_buffer, refarray.asarray):
        with pytest.raises(BufferError, match=r"suboffsets\[0\] is 0"):
            take(theirs)


def test_layouts_of_cpythons_exporter() -> None:
    for name, (ours, shape, strides, offset) in LAYOUTS.items():
        if not shape:
            continue
        theirs = _testbuffer.ndarray(
            ITEMS, shape=shape, strides=strides, offset=offset, format="i",
            flags=_testbuffer.ND_WRITABLE,
        )  # fmt: skip
        x = refarray.from_buffer(theirs)
        assert (x.shape, x.tolist(), x.readonly) == (ours.shape, ours.tolist(), False), name
        assert x.tolist() == theirs.tolist(), name


def test_exception_of_getbuffer_propagates() -> None:
    theirs = _testbuffer.ndarray([1], shape=[1], format="i", flags=_testbuffer.ND_GETBUF_FAIL)
    for take in (refarray.from_buffer, refarray.asarray):
        with pytest.raises(BufferError, match="forced test exception"):
            take(theirs)


@pytest.mark.parametrize("request_", ["PyBUF_SIMPLE", "PyBUF_ND", "PyBUF_STRIDES"])
def test_re_exporter_of_a_plain_buffer(request_: str) -> None:
    """Bytes need no format; whether the re-exporter provides a format depends on CPython."""
    theirs = _testbuffer.ndarray(b"\1\2\3", getbuf=getattr(_testbuffer, request_))
    assert refarray.from_buffer(theirs, dtype="uint8").tolist() == [1, 2, 3]
    try:
        expected = memoryview(theirs).tolist()
    except BufferError:
        with pytest.raises(BufferError, match="re-exporter does not provide"):
            refarray.from_buffer(theirs)
    else:
        assert refarray.from_buffer(theirs).tolist() == expected


@pytest.mark.parametrize("request_", ["PyBUF_SIMPLE", "PyBUF_ND", "PyBUF_STRIDES", "PyBUF_FULL_RO"])
def test_cpythons_exporter_re_exports_an_array(request_: str) -> None:
    x = refarray.asarray([[1, 2, 3], [4, 5, 6]], dtype="int32")
    flags = getattr(_testbuffer, request_)
    copy = _testbuffer.ndarray(x, getbuf=flags)
    assert copy.tobytes() == bytes(memoryview(x))
    if flags & PLAIN_MASK:
        assert copy.shape == (2, 3)
    if flags == _testbuffer.PyBUF_FULL_RO:
        assert copy.tolist() == x.tolist()
