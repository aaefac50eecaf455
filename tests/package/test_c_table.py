"""The C table refarray._C_API, used from C: its layout, every function, and bad arguments."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.extensions import load
from helpers.leaks import blocks_left, heap_growth
from native.build import compiler_environment, dlpack_include

import refarray

pytestmark = pytest.mark.every_python

HERE = Path(__file__).parent
FLOAT32 = (2, 32, 1)
CPU = (1, 0)


def headers() -> Path:
    """The installed headers, else those of the source tree, for builds without pip."""
    try:
        return Path(refarray.get_include())
    except FileNotFoundError:
        return HERE.parents[1] / "include"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = tmp_path_factory.mktemp("c") / f"c_table{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-std=c11", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    systems = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{dlpack_include()}"]
    command = [*os.environ.get("CC", "gcc").split(), *flags, f"-I{headers()}", *systems]
    source = HERE / "c_table" / "c_table.c"
    subprocess.run([*command, source, "-o", module], check=True, env=compiler_environment())
    return module


@pytest.fixture
def c(built: Path) -> Any:
    """The module in C, with the table loaded."""
    module = load(built.parent, "c_table")
    module.load()
    return module


def test_layout_never_changes(c: Any) -> None:
    """Members are only appended: modules that were compiled for version 1 depend on these."""
    assert c.layout() == (0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80)
    assert c.load() == (1, 80)


def fake_table(version: int, size: int) -> tuple[Any, Any]:
    table = ctypes.create_string_buffer(struct.pack("II", version, size) + bytes(88))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return new(ctypes.addressof(table), b"refarray._C_API", None), table


@pytest.mark.parametrize(("version", "size"), [(2, 80), (1, 56), (0, 0)])
def test_another_table_is_refused(
    c: Any, monkeypatch: pytest.MonkeyPatch, version: int, size: int
) -> None:
    capsule, _table = fake_table(version, size)
    monkeypatch.setattr(refarray, "_C_API", capsule)
    theirs = f"version {version} and {size} bytes"
    with pytest.raises(ImportError, match=f"{theirs}; .* compiled for version 1 and needs 80"):
        c.load()


def test_longer_table_is_accepted(c: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        capsule, _table = fake_table(1, 88)
        patched.setattr(refarray, "_C_API", capsule)
        assert c.load() == (1, 88)
    c.load()


def test_is_array(c: Any) -> None:
    assert c.is_array(refarray.zeros(1)) == 1
    assert c.is_array(refarray.namespace(strict=True).zeros(1)) == 1
    assert [c.is_array(each) for each in (None, 3, [1.0], refarray.float32)] == [0, 0, 0, 0]


def test_empty(c: Any) -> None:
    array = c.empty(*FLOAT32, *CPU, 2, 3, 4)
    assert type(array) is refarray.Array
    assert (array.shape, array.dtype, str(array.device)) == ((3, 4), refarray.float32, "cpu")
    array[:] = 1.0
    assert c.empty(*FLOAT32, *CPU, 0).shape == ()
    assert c.empty(4, 16, 1, *CPU, 1, 0).dtype == refarray.bfloat16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((99, 32, 1, *CPU, 1, 3), r"dtype: \(code 99, bits 32\) is not a type"),
        ((2, 32, 0, *CPU, 1, 3), "lanes is 0"),
        ((*FLOAT32, 77, 0, 1, 3), r"device: \(77, 0\)"),
        ((*FLOAT32, *CPU, -1, 3), "ndim is -1; it must be 0 to 64"),
        ((*FLOAT32, *CPU, 65, 3), "ndim is 65; it must be 0 to 64"),
        ((*FLOAT32, *CPU, 1), "shape is NULL although ndim is 1"),
        ((*FLOAT32, *CPU, 1, -3), r"shape\[0\] is -3; extents are 0 or more"),
        ((*FLOAT32, *CPU, 2, 2**62, 2**62), "shape"),
    ],
)
def test_empty_refuses(c: Any, arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(BufferError, match=message):
        c.empty(*arguments)


def test_from_tensor_takes_on_success_only(c: Any) -> None:
    first = c.deleter_calls()
    array = c.from_tensor(4, 1)
    assert array.tolist() == [1, 2, 3, 4]
    del array
    assert c.deleter_calls() == first + 1
    with pytest.raises(BufferError, match=r"shape\[0\] is -4"):
        c.from_tensor(-4, 1)
    with pytest.raises(BufferError, match="major version is 2"):
        c.from_tensor(4, 2)
    with pytest.raises(ValueError, match="from_tensor: tensor is NULL"):
        c.from_tensor(-99, 1)
    assert c.deleter_calls() == first + 1


def test_to_tensor(c: Any) -> None:
    assert c.to_tensor(refarray.zeros((3, 2))) == (2, 3, 0)
    assert c.to_tensor(refarray.zeros((3,)).as_readonly()) == (1, 3, 1)
    assert c.to_tensor(refarray.zeros(())) == (0, -1, 0)


def test_borrow(c: Any) -> None:
    array = refarray.arange(4, dtype="float32")
    ndim, bits, flags, address = c.borrow(array[1:])
    assert (ndim, bits, flags) == (1, 32, 0)
    assert address == array.__array_interface__["data"][0] + 4
    assert c.borrow(array.as_readonly())[2] == 1
    padded = refarray.from_dlpack(array).astype("float4_e2m1fn_padded")
    assert c.borrow(padded)[2] == 4


@pytest.mark.parametrize("wrong", [[1.0], 3, refarray.float32])
def test_other_objects_are_refused(c: Any, wrong: object) -> None:
    for function in (c.to_tensor, c.borrow):
        with pytest.raises(TypeError, match=r"refarray's C tables take a refarray.Array, not"):
            function(wrong)
    with pytest.raises(TypeError, match="not None"):
        c.to_tensor(None)  # NULL


@pytest.mark.parametrize(
    ("which", "message"),
    [(0, "borrow: out is NULL"), (1, "borrow: flags is NULL"), (2, "from_object: object is NULL")],
)
def test_null_arguments_are_refused(c: Any, which: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        c.null_arguments(which, refarray.zeros(1))


def test_packed_elements_that_begin_inside_a_byte_are_refused(c: Any) -> None:
    odd = refarray.zeros(4, dtype="float4_e2m1fn")[1:]
    for function in (c.to_tensor, c.borrow):
        with pytest.raises(BufferError):
            function(odd)


def test_from_object(c: Any, adv: Any) -> None:
    x = refarray.arange(3)
    shared = c.from_object(x)
    shared[0] = 7
    assert x.tolist() == [7, 1, 2]
    assert c.from_object(adv.make(shape=(2,), data=bytes(8))).tolist() == [0, 0]
    with pytest.raises(AttributeError, match="'list'> has no __dlpack__"):
        c.from_object([1.0])


class Counts:
    """What the allocator in C did since this object was made."""

    def __init__(self, c: Any) -> None:
        self.c, self.before = c, c.allocator_counts(0)

    def __call__(self, fault: int = 0) -> tuple[int, ...]:
        now = self.c.allocator_counts(fault)
        return tuple(a - b for a, b in zip(now, self.before, strict=True))


def test_memory_of_an_allocator_holds_elements_only(c: Any) -> None:
    counts = Counts(c)
    allocator = c.make_allocator(0)
    x = c.empty_from(allocator, 250, 32)
    assert counts() == (1, 0, 1000, 0)
    assert sys.getsizeof(x) > 1000
    x[:] = 1.0
    tensor = refarray.to_capsule(x[1:])  # shares it
    del x, allocator
    assert counts() == (1, 0, 1000, 0)
    assert float(refarray.from_capsule(tensor)[0]) == 1.0
    del tensor
    assert counts() == (1, 1, 0, 1)
    c.empty_from(c.make_allocator(0), 0, 32)
    assert counts() == (2, 2, 0, 2)  # 1 byte for an empty array


def test_allocator_of_a_thread(c: Any) -> None:
    counts = Counts(c)
    allocator = c.make_allocator(0)
    assert c.use_allocator(allocator) is None
    arrays = [refarray.zeros(3), refarray.asarray([1.0, 2.0]), refarray.ones((2, 2))[0]]
    assert [x.tolist() for x in arrays] == [[0, 0, 0], [1, 2], [1, 1]]
    with ThreadPoolExecutor(1) as other:
        other.submit(refarray.zeros, 3).result()  # another thread has its own
    made = counts()[0]
    assert made >= 3
    before = c.use_allocator(None)
    refarray.zeros(3)
    assert counts()[0] == made
    assert c.use_allocator(before) is None  # the capsule of the same allocator
    refarray.zeros(3)
    assert counts()[0] == made + 1
    c.use_allocator(None)
    del arrays, allocator, before
    assert counts() == (made + 1, made + 1, 0, 1)


def test_use_allocator_is_a_context(c: Any) -> None:
    counts = Counts(c)
    mine = refarray.use_allocator(c.make_allocator(0))
    with mine:
        with mine, refarray.use_allocator(None):
            refarray.zeros(3)
        assert counts()[0] == 0
        refarray.zeros(3)
    refarray.zeros(3)
    assert counts()[:3] == (1, 1, 0)
    with pytest.raises(TypeError, match="allocator must be None or a capsule .* not 'int'|not 3"):
        refarray.use_allocator(3).__enter__()  # type: ignore[arg-type]
    refarray.zeros(3)
    assert counts()[0] == 1


def test_allocators_that_fail(c: Any) -> None:
    counts = Counts(c)
    allocator = c.make_allocator(3)
    counts(fault=1)
    with pytest.raises(MemoryError, match="cannot allocate 12 bytes"):
        c.empty_from(allocator, 3, 32)
    counts(fault=2)
    with pytest.raises(MemoryError, match="the allocator's memory is not aligned to 256 bytes"):
        c.empty_from(allocator, 3, 32)
    assert counts() == (1, 1, 0, 0)
    with pytest.raises(BufferError, match="bits 33"):
        c.empty_from(allocator, 3, 33)
    with pytest.raises(TypeError, match="allocator must be None or a capsule of make_allocator"):
        c.empty_from(refarray._C_API, 3, 32)  # type: ignore[attr-defined]
    for missing, name in ((1, "allocate"), (2, "deallocate"), (4, "allocator")):
        with pytest.raises(ValueError, match=f"make_allocator: {name} is NULL"):
            c.make_allocator(missing)


def test_repeated_use_leaves_no_memory(c: Any) -> None:
    x = refarray.ones((2, 3))

    def work() -> None:
        c.empty(*FLOAT32, *CPU, 1, 3)
        c.from_tensor(4, 1)
        c.to_tensor(x)
        c.borrow(x)
        c.from_object(x)
        c.empty_from(c.make_allocator(0), 3, 32)
        c.use_allocator(c.use_allocator(c.make_allocator(0)))
        c.use_allocator(None)
        for call in (lambda: c.to_tensor(3), lambda: c.from_tensor(-4, 1)):
            with pytest.raises((TypeError, BufferError)):
                call()

    assert blocks_left(work) < 25
    assert heap_growth(work) < 64
