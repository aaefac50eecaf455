"""pickle and copy: every protocol and dtype, out-of-band buffers, read-only arrays, forged
pickles."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each, words
from helpers.dtype_names import NAMES
from helpers.leaks import blocks_left
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray
from refarray import _native

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = words(
    "bool int8 uint64 float32 complex128 complex32 bfloat16 float8_e4m3fn float8_e8m0fnu"
    " float6_e2m3fn float4_e2m1fn float4_e2m1fn_padded float32x4 float4_e2m1fnx3"
)


def assert_same(ours: refarray.Array, theirs: refarray.Array) -> None:
    assert ours.tolist() == theirs.tolist()
    assert (ours.shape, ours.dtype, ours.device) == (theirs.shape, theirs.dtype, theirs.device)


@run_each("protocol", PROTOCOLS)
@run_each("dtype", DTYPES)
@run_each("shape", [(), (5,), (2, 3), (0, 3), (1, 0)])
def test_round_trip_keeps_all_but_strides(
    protocol: int, dtype: str, shape: tuple[int, ...]
) -> None:
    x = refarray.ones(shape, dtype=dtype)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert type(y) is refarray.Array
    assert_same(y, x)
    assert not y.readonly
    assert y.is_contiguous()
    if y.size:
        y[...] = x


@settings(deadline=None)
@given(
    st.sampled_from(PROTOCOLS),
    st.sampled_from(["int16", "float64", "float4_e2m1fn", "float6_e3m2fn"]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.data(),
)
def test_round_trip_of_any_layout(
    protocol: int, dtype: str, shape: list[int], data: st.DataObject
) -> None:
    values = np.arange(math.prod(shape)).reshape(shape) % 4
    x = refarray.asarray(values).astype(dtype)
    starts = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in shape]
    view = x[tuple(map(slice, starts, [None] * len(shape), steps))]
    view = refarray.permute_dims(view, tuple(data.draw(st.permutations(range(len(shape))))))
    assert_same(pickle.loads(pickle.dumps(view, protocol)), view)
    assert_same(copy.copy(view), view)


@run_each("protocol", PROTOCOLS)
def test_read_only_flag_survives_pickling(protocol: int) -> None:
    x = refarray.asarray([1, 2, 3]).as_readonly()
    for view in (x, x[::2]):
        y = pickle.loads(pickle.dumps(view, protocol))
        assert y.readonly
        assert y.tolist() == view.tolist()
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 5


def place(x: Any) -> tuple[int, int]:
    """Address and size of the bytes of anything with the buffer protocol."""
    found = np.from_dlpack(refarray.from_buffer(x, dtype="uint8"))
    return found.ctypes.data, found.nbytes


@run_each("dtype", (*NAMES, *DTYPES))
def test_out_of_band_buffers_of_every_dtype_are_the_memory_of_the_array(dtype: str) -> None:
    x = refarray.ones((1000,), dtype=dtype)
    buffers: list[pickle.PickleBuffer] = []
    with refarray.ledger(forbid=["copy", "allocation"]):
        text = pickle.dumps(x, 5, buffer_callback=buffers.append)
        y = pickle.loads(text, buffers=buffers)
    (buffer,) = buffers
    assert place(buffer) == place(y) == place(x)
    assert_same(y, x)


@pytest.mark.parametrize("dtype", ["int64", "bfloat16", "float4_e2m1fn"])
def test_out_of_band_buffers_are_not_copied(dtype: str) -> None:
    x = refarray.ones((1000,), dtype=dtype)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    assert len(text) < 300
    assert buffers[0].raw().nbytes == x.nbytes
    y = pickle.loads(text, buffers=buffers)
    y[0] = 2
    x[1] = 3
    assert x[:3].tolist() == y[:3].tolist() == [2, 3, 1]
    del x, buffers
    gc.collect()
    assert y[:3].tolist() == [2, 3, 1]


def test_read_only_out_of_band_buffer_gives_a_read_only_array() -> None:
    x = refarray.asarray([1, 2, 3])
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    raw = buffers[0].raw().tobytes()
    assert pickle.loads(text, buffers=[raw]).readonly
    assert pickle.loads(text, buffers=[raw]).tolist() == [1, 2, 3]
    memory = bytearray(raw)
    y = pickle.loads(text, buffers=[memory])
    assert not y.readonly
    y[0] = 9
    assert int.from_bytes(memory[:8], sys.byteorder) == 9


def test_strided_view_is_copied_once_out_of_band() -> None:
    x = refarray.asarray([1, 2, 3, 4])
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x[::2], 5, buffer_callback=buffers.append)
    assert buffers[0].raw().nbytes == 16
    y = pickle.loads(text, buffers=buffers)
    y[0] = 9
    assert (x.tolist(), y.tolist()) == ([1, 2, 3, 4], [9, 3])


def test_shared_references_stay_shared() -> None:
    x = refarray.asarray([1])
    a, b = pickle.loads(pickle.dumps([x, x]))
    assert a is b
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_unpickled_array_releases_the_buffer_with_its_last_view() -> None:
    class Memory(bytearray):
        pass

    text = pickle.dumps(refarray.arange(4), 5, buffer_callback=lambda _: None)
    memory = Memory(32)
    alive = weakref.ref(memory)
    view = pickle.loads(text, buffers=[memory])[1:]
    with pytest.raises(BufferError):
        memory.extend(b"x")
    del memory
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_independent_and_writable(copied: Any) -> None:
    x = refarray.asarray([[1, 2], [3, 4]])
    for source in (x, x.as_readonly(), x.T, x[:, ::-1]):
        y = copied(source)
        before = source.tolist()
        assert y.tolist() == before
        assert y.is_contiguous()
        y[...] = 0
        assert source.tolist() == before


REBUILD_ARGUMENTS: tuple[Any, ...] = (bytes(8), "int32", (2,), "cpu", False, sys.byteorder)


def test_rebuild_accepts_valid_arguments() -> None:
    assert _native._rebuild(*REBUILD_ARGUMENTS).tolist() == [0, 0]
    assert _native._rebuild(*REBUILD_ARGUMENTS).readonly
    assert not _native._rebuild(bytearray(8), *REBUILD_ARGUMENTS[1:]).readonly
    assert _native._rebuild(bytearray(8), *REBUILD_ARGUMENTS[1:4], True, sys.byteorder).readonly


OTHER_ORDER = {"little": "big", "big": "little"}[sys.byteorder]


@run_each("dtype", [*DTYPES, "int16", "complex64"])
@run_each("readonly", [False, True])
@run_each("shape", [(2, 3), (), (0, 3)])
def test_pickle_of_the_other_byte_order(dtype: str, readonly: bool, shape: tuple[int, ...]) -> None:
    bits = refarray.DType(dtype).bits // (2 if dtype.startswith("complex") else 1)
    x = refarray.ones(shape, dtype=dtype)
    x = x.as_readonly() if readonly else x
    rebuild, (memory, *rest, byteorder) = x.__reduce_ex__(2)
    assert byteorder == sys.byteorder
    width = max(bits // 8, 1)
    reverse = b"".join(memory[i : i + width][::-1] for i in range(0, len(memory), width))
    y = rebuild(reverse, *rest, OTHER_ORDER)
    assert_same(y, x)
    assert y.readonly == (
        readonly or width == 1 or x.size == 0
    )  # bytes are read-only, a copy of them is not


@run_each(
    ("position", "value", "error", "message"),
    [
        (0, "text", TypeError, "buffer protocol is needed, not str"),
        (0, None, TypeError, "NoneType"),
        (0, bytes(7), ValueError, "7 bytes; shape (2,) of int32 takes 8"),
        (0, bytes(9), ValueError, "9 bytes"),
        (0, memoryview(bytes(16))[::2], BufferError, ""),
        (1, "int31", ValueError, "int31"),
        (1, 32, TypeError, "int"),
        (2, (-2,), ValueError, "-2"),
        (2, (2**62, 2**62), OverflowError, ""),
        (2, (2**63,), OverflowError, "9223372036854775808"),
        (2, (0,) * 65, ValueError, "64"),
        (2, (3,), ValueError, "takes 12"),
        (2, "ab", TypeError, ""),
        (3, "cuda_managed:7", BufferError, "cuda_managed:7"),
        (3, "tape", ValueError, "tape"),
        (3, None, TypeError, "NoneType"),
        (4, 1, TypeError, "1"),
        (4, None, TypeError, "NoneType"),
        (5, "native", ValueError, "'little' or 'big', not 'native'"),
        (5, "little\0", ValueError, "'little' or 'big'"),
        (5, None, TypeError, "must be a str, not NoneType"),
    ],
)
def test_forged_pickle_raises(
    position: int, value: object, error: type[Exception], message: str
) -> None:
    arguments = list(REBUILD_ARGUMENTS)
    arguments[position] = value
    with pytest.raises(error) as caught:
        _native._rebuild(*arguments)
    assert type(caught.value) is error
    assert message in str(caught.value)


@pytest.mark.parametrize("count", [0, 5, 7])
def test_rebuild_checks_its_argument_count(count: int) -> None:
    with pytest.raises(TypeError, match=f"takes 6 arguments \\({count} given"):
        _native._rebuild(*(*REBUILD_ARGUMENTS, None)[:count])


@pytest.mark.parametrize("protocol", ["5", None, 2.0, 2**70])
def test_protocol_must_be_an_integer(protocol: Any) -> None:
    with pytest.raises((TypeError, OverflowError), match="protocol"):
        refarray.asarray(1).__reduce_ex__(protocol)


def test_nothing_leaks() -> None:
    x = refarray.arange(64)

    def work() -> None:
        for protocol in PROTOCOLS:
            pickle.loads(pickle.dumps(x[::2], protocol))
        copy.deepcopy(x)
        with pytest.raises(ValueError):
            _native._rebuild(bytearray(7), *REBUILD_ARGUMENTS[1:])

    assert blocks_left(work) < 25
