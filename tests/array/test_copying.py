"""Strided copies: every layout with every instruction set, overlap, threads, signals, fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.dtype_names import NAMES
from helpers.processes import printed, python
from helpers.signals import is_interrupted_when_long
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray
from refarray import _native

ISAS: tuple[str, ...] = _native._build_info()["isas"]
# NumPy dtypes: one for each element size, and one of each kind.
NUMPY_DTYPES = ("bool", "int8", "uint16", "int32", "float32", "uint64", "float64", "complex128")


@pytest.fixture(autouse=True)
def restore_settings() -> Iterator[None]:
    """Restores the instruction set and the number of copy threads."""
    isa, threads = _native._build_info()["isa"], refarray.get_copy_threads()
    yield
    _native._use_isa(isa)
    refarray.set_copy_threads(threads)


@dataclass(frozen=True)
class Layout:
    """Memory layout of an array: its axes from the outermost in, the step along each, and the
    number of bytes before the first element."""

    order: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int

    def array(self, shape: tuple[int, ...], dtype: str, codes: np.random.Generator) -> np.ndarray:
        """An array of this layout over new memory, whose bytes are random zeros and ones."""
        outer = [shape[axis] * abs(self.steps[axis]) for axis in self.order]
        nbytes = int(np.prod(outer, dtype=int)) * np.dtype(dtype).itemsize
        memory = codes.integers(0, 2, self.offset + nbytes, dtype="u1")
        block = memory[self.offset :].view(dtype).reshape(outer)
        return block.transpose(np.argsort(self.order).astype(int))[
            (..., *(slice(None, None, step) for step in self.steps))
        ]  # the Ellipsis keeps a 0-d result an array


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> Layout:
    steps = st.lists(st.sampled_from((1, 1, 1, -1, 2, -2, 3)), min_size=rank, max_size=rank)
    return Layout(
        tuple(draw(st.permutations(range(rank)))), tuple(draw(steps)), draw(st.integers(0, 63))
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Layout, Layout]:
    """A shape, the same shape with some axes of extent 1 to broadcast, and two layouts."""
    rank = draw(st.integers(0, 8))
    extents = st.integers(1, 3) if rank > 4 else st.integers(1, 6)
    shape = draw(st.lists(extents, min_size=rank, max_size=rank))
    for _ in range(min(rank, 2) if rank <= 4 else 1):
        shape[draw(st.integers(0, rank - 1))] = draw(st.integers(1, 70))
    kept = tuple(draw(st.sampled_from((n, n, n, n, 1))) for n in shape)
    return tuple(shape), kept, draw(layouts(rank)), draw(layouts(rank))


def memory_of(array: np.ndarray) -> bytes:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


@settings(deadline=None)
@given(pair=pairs(), dtype=st.sampled_from(NUMPY_DTYPES), seed=st.integers(0, 2**32 - 1))
def test_copies_of_any_layout_match_numpy(
    pair: tuple[tuple[int, ...], tuple[int, ...], Layout, Layout], dtype: str, seed: int
) -> None:
    shape, kept, dst_layout, src_layout = pair
    src = np.broadcast_to(src_layout.array(kept, dtype, np.random.default_rng(seed)), shape)
    expected = dst_layout.array(shape, dtype, np.random.default_rng(seed + 1))
    expected[...] = src
    for isa in ISAS:
        _native._use_isa(isa)
        seen = dst_layout.array(shape, dtype, np.random.default_rng(seed + 1))
        refarray.asarray(seen)[...] = refarray.asarray(src)
        assert memory_of(seen) == memory_of(expected), isa


@run_each("dtype", NAMES)
@run_each("isa", ISAS)
def test_copies_of_any_dtype_keep_values(dtype: str, isa: str) -> None:
    _native._use_isa(isa)
    codes = refarray.asarray(np.random.default_rng(1).integers(1, 3, (24, 36, 40), dtype="u1"))
    array = refarray.astype(codes, dtype)
    values = array.tolist()
    turned = refarray.copy(refarray.permute_dims(array, (2, 0, 1)))
    assert turned.tolist() == [
        [[values[j][k][i] for k in range(36)] for j in range(24)] for i in range(40)
    ]
    assert refarray.copy(array[::-1, ::2, ::-3]).tolist() == [
        [row[::-3] for row in plane[::2]] for plane in values[::-1]
    ]
    into = refarray.copy(array)
    into[:, ::2] = array[:, 1::2]
    assert into.tolist() == [[plane[j // 2 * 2 + 1] for j in range(36)] for plane in values]


OVERLAPS = {
    "shifted up": ((slice(1, None),), (slice(None, -1),)),
    "shifted down": ((slice(None, -1),), (slice(1, None),)),
    "reversed": ((slice(None),), (slice(None, None, -1),)),
    "reversed in part": ((slice(3, 40),), (slice(45, 8, -1),)),
    "every second one, spread": ((slice(0, 48, 2),), (slice(0, 24),)),
    "every second one, gathered": ((slice(0, 24),), (slice(0, 48, 2),)),
    "columns over rows": ((slice(None), slice(0, 8)), (slice(None), slice(4, 12))),
    "one row over all": ((slice(None),), (slice(5, 6),)),
    "one column over all": ((slice(None), slice(None)), (slice(None), slice(7, 8))),
}


@pytest.mark.parametrize("name", OVERLAPS)
@run_each("dtype", NUMPY_DTYPES)
def test_overlapping_copy_reads_the_source_before_writing(name: str, dtype: str) -> None:
    to, of = OVERLAPS[name]
    for isa in ISAS:
        _native._use_isa(isa)
        before = np.random.default_rng(2).integers(0, 2, (48, 48)).astype(dtype)
        expected = before.copy()
        expected[to] = before[of]
        seen = before.copy()
        array = refarray.asarray(seen)
        array[to] = array[of]
        assert np.array_equal(seen, expected)


@run_each("dtype", NUMPY_DTYPES)
def test_transposing_in_place(dtype: str) -> None:
    before = np.random.default_rng(3).integers(0, 2, (67, 67)).astype(dtype)
    seen = before.copy()
    array = refarray.asarray(seen)
    array[...] = array.T
    assert np.array_equal(seen, before.T)
    cube = np.random.default_rng(4).integers(0, 2, (20, 20, 20)).astype(dtype)
    seen = cube.copy()
    array = refarray.asarray(seen)
    array[...] = refarray.permute_dims(array, (2, 0, 1))[::-1]
    assert np.array_equal(seen, cube.transpose(2, 0, 1)[::-1])


@run_each("shift", [-9, -3, -1, 1, 2, 5, 8])
def test_partially_overlapping_elements(shift: int) -> None:
    """Two imported arrays over the same memory whose elements overlap in part."""
    before = np.random.default_rng(5).integers(0, 256, 4096, dtype="u1")
    for turned in (False, True):
        seen, expected = before.copy(), before.copy()
        first, second = 64, 64 + shift

        def view(memory: np.ndarray, start: int) -> np.ndarray:
            return memory[start : start + 20 * 20 * 8].view("f8").reshape(20, 20)

        source = view(before, second)
        view(expected, first)[...] = source.T if turned else source
        dst, src = (refarray.asarray(view(seen, start)) for start in (first, second))
        dst[...] = src.T if turned else src
        assert seen.tobytes() == expected.tobytes()


def large(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype="u4").reshape(shape)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_copies_by_threads(threads: int) -> None:
    refarray.set_copy_threads(threads)
    whole = large((2500, 2600))
    array = refarray.asarray(whole)
    assert np.array_equal(np.asarray(refarray.copy(array)), whole)
    assert np.array_equal(np.asarray(refarray.copy(array.T)), whole.T)
    assert np.array_equal(np.asarray(refarray.copy(array[::-1, ::2])), whole[::-1, ::2])
    assert np.array_equal(
        np.asarray(refarray.astype(array.T, "float64")), whole.T.astype("float64")
    )
    packed = refarray.reshape(array[:, :2592], (2500, 864, 3))
    turned = refarray.permute_dims(packed, (0, 2, 1))
    assert np.array_equal(
        np.asarray(refarray.copy(turned)),
        whole[:, :2592].reshape(2500, 864, 3).transpose(0, 2, 1),
    )
    seen = whole.copy()
    array = refarray.asarray(seen)
    array[1:] = array[:-1]
    assert np.array_equal(seen[1:], whole[:-1]) and np.array_equal(seen[0], whole[0])


def test_set_copy_threads_validates_its_argument() -> None:
    refarray.set_copy_threads(7)
    assert refarray.get_copy_threads() == 7
    for wrong in (0, -1, 257, 2**40):
        with pytest.raises(ValueError, match="1 to 256"):
            refarray.set_copy_threads(wrong)
    with pytest.raises(TypeError):
        refarray.set_copy_threads("two")  # type: ignore[arg-type]
    assert refarray.get_copy_threads() == 7


def test_settings_from_the_environment() -> None:
    code = (
        "import refarray; print(refarray.get_copy_threads(), refarray.get_host_computation(),"
        " refarray.build_info()['isa'], refarray.build_info()['isas'])"
    )
    for switch, host in (("0", "False"), ("1", "True"), ("", "True")):
        shown = printed(
            code,
            REFARRAY_COPY_THREADS="3",
            REFARRAY_ISA="plain",
            REFARRAY_HOST_COMPUTATION=switch,
        )
        assert shown.split() == ["3", host, "plain", *", ".join(ISAS).split()]
    for variable, value in (
        ("REFARRAY_ISA", "none such"),
        ("REFARRAY_COPY_THREADS", "0"),
        ("REFARRAY_COPY_THREADS", "many"),
        ("REFARRAY_HOST_COMPUTATION", "no"),
    ):
        result = python("-c", "import refarray", **{variable: value})
        assert result.returncode == 1 and f"ValueError: {variable} is" in result.stderr


def test_unknown_instruction_set_raises() -> None:
    with pytest.raises(ValueError, match="plain"):
        _native._use_isa("none such")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_threaded_copies_work_before_and_after_a_fork() -> None:
    code = """
import os, refarray
refarray.set_copy_threads(4)
array = refarray.broadcast_to(refarray.asarray(7, dtype="uint8"), (3000, 5000))
assert refarray.copy(array)[2999, 4999].item() == 7
child = os.fork()
if child == 0:
    os._exit(0 if refarray.copy(array)[2999, 4999].item() == 7 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert refarray.copy(array)[0, 0].item() == 7
print("done")
"""
    assert printed(code) == "done\n"


def plain_transpose(size: int) -> object:
    """Transpose size * 128 MiB with the plain instruction set."""
    _native._use_isa("plain")
    shape = (size << 15, 1 << 12)
    zeros = refarray.broadcast_to(refarray.zeros((1, 1 << 12), dtype="uint8"), shape)
    return refarray.copy(zeros.T)


def pack(size: int) -> object:
    """Pack size * 128 Mi elements."""
    zeros = refarray.broadcast_to(refarray.zeros((), dtype="uint8"), (size << 27,))
    return refarray.astype(zeros, "float4_e2m1fn")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("long_copy", [plain_transpose, pack])
def test_signal_handler_interrupts_a_copy(long_copy: Callable[[int], object], threads: int) -> None:
    refarray.set_copy_threads(threads)
    assert is_interrupted_when_long(long_copy)
    # The next copy works.
    assert refarray.copy(refarray.ones((2, 3))).tolist() == [[1.0] * 3] * 2


def test_other_threads_run_during_a_long_copy() -> None:
    """Other threads can only run if the copy, one call, releases the GIL."""
    ended = threading.Event()
    seen: list[float] = []

    def watch() -> None:
        while not ended.is_set():
            seen.append(time.perf_counter())

    array = refarray.broadcast_to(refarray.asarray(1, dtype="uint8"), (96, 1 << 20))
    thread = threading.Thread(target=watch)
    thread.start()
    while not seen:
        time.sleep(0.001)
    start = time.perf_counter()
    refarray.astype(array, "float4_e2m1fn")
    end = time.perf_counter()
    ended.set()
    thread.join()
    assert any(start < moment < end for moment in seen)


# --- the private functions that only the benchmarks call ---


def test_copy_into_converts_and_checks_arguments() -> None:
    x = refarray.reshape(refarray.arange(6), (2, 3))
    out = refarray.zeros((3, 2), dtype="int64")
    _native._copy_into(out, x.T)
    assert out.tolist() == x.T.tolist()
    with pytest.raises(ValueError, match="dst is read-only"):
        _native._copy_into(out.as_readonly(), x.T)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        _native._copy_into(out)


def test_memcpy_requires_equal_contiguous_arrays() -> None:
    x = refarray.arange(6)
    out = refarray.zeros((2, 3), dtype="int64")
    _native._memcpy(out, x)
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    for dst, src in ((out.as_readonly(), x), (out.T, x), (out, x[::-1]), (out, x[1:])):
        with pytest.raises(ValueError, match="row-major, of one size, and dst writable"):
            _native._memcpy(dst, src)
    with pytest.raises(TypeError, match="takes 2 arguments, not 3"):
        _native._memcpy(out, x, x)


def test_plan_copies_counts_axes() -> None:
    """_plan_copies returns the sum of the axes left in each plan."""
    x = refarray.reshape(refarray.arange(6), (2, 3))
    assert _native._plan_copies(refarray.empty((2, 3), dtype="int64"), x, 3) == 3
    assert _native._plan_copies(refarray.empty((3, 2), dtype="int64"), x.T, 1) == 2
    for dst in (refarray.empty((3, 2), dtype="int64"), refarray.empty((0,))):
        with pytest.raises(ValueError, match="at least one element, and convertible dtypes"):
            _native._plan_copies(dst, x, 1)
    with pytest.raises(TypeError, match="takes 3 arguments, not 2"):
        _native._plan_copies(x, x)


def test_noop_returns_its_argument() -> None:
    thing = object()
    assert _native._noop(thing) is thing
