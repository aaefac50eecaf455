"""The example extensions (raw C API, nanobind, pybind11, Cython), built against the installed
package: values, errors, and what they release."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import shutil
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers import extensions
from helpers.leaks import blocks_left, heap_growth

import refarray
from refarray.conformance import check
from refarray.conformance.findings import Outcome

pytestmark = pytest.mark.repository

MATRIX = struct.pack("6f", *range(6))
VECTOR = struct.pack("3d", 1, 2, 3)
F64 = (2, 64, 1)


@pytest.fixture(scope="module", params=extensions.MODULES)
def example(request: pytest.FixtureRequest) -> Any:
    """One of the modules, built if needed."""
    return extensions.example_module(request.param)


def values(array: Any) -> list[float]:
    return refarray.from_dlpack(array).tolist()


def matrix(adv: Any, **fields: Any) -> Any:
    return adv.make(**{"shape": (2, 3), "data": MATRIX, **fields})


def vector(adv: Any, **fields: Any) -> Any:
    return adv.make(**{"shape": (3,), "dtype": F64, "data": VECTOR, **fields})


class Legacy:
    """A producer of before DLPack 1.0: it knows no max_version."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.tensor.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Failing:
    def __init__(self, result: Any) -> None:
        self.result = result

    def __dlpack__(self, **_: Any) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


# --- values


@pytest.mark.parametrize("versioned", [True, False])
def test_sums_of_rows(example: Any, adv: Any, versioned: bool) -> None:
    assert values(example.row_sums(matrix(adv, versioned=versioned))) == [3, 12]
    turned = matrix(adv, versioned=versioned, strides=(-3, 1), byte_offset=12)
    assert values(example.row_sums(turned)) == [12, 3]


def test_arrays_of_any_layout(example: Any) -> None:
    x = refarray.asarray([[0, 1, 2], [3, 4, 5]], dtype="float32")
    assert values(example.row_sums(x)) == [3, 12]
    assert values(example.row_sums(x.T)) == [3, 5, 7]
    assert values(example.row_sums(x[::-1, ::2])) == [8, 2]
    assert values(example.row_sums(x.as_readonly())) == [3, 12]
    assert values(example.row_sums(refarray.broadcast_to(x[0], (2, 3)))) == [3, 3]
    assert values(example.row_sums(refarray.zeros((0, 3), dtype="float32"))) == []
    assert values(example.row_sums(refarray.zeros((2, 0), dtype="float32"))) == [0, 0]


def test_legacy_producer_and_capsules(example: Any, adv: Any) -> None:
    assert values(example.row_sums(Legacy(matrix(adv, versioned=False)))) == [3, 12]
    assert values(example.row_sums(matrix(adv).capsule())) == [3, 12]
    assert values(example.row_sums(matrix(adv, versioned=False).capsule())) == [3, 12]


def test_scale_writes_in_place(example: Any) -> None:
    x = refarray.asarray([1.0, 2.0, 3.0, 4.0], dtype="float64")
    assert example.scale(x[::2], 10) is None
    assert x.tolist() == [10, 2, 30, 4]


# --- bad input: each is refused with a message that names the value, and released


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": F64, "data": bytes(48)}, "dtype is float64; it must be float32"),
        ({"dtype": (4, 16, 1)}, "dtype is bfloat16; it must be float32"),
        ({"dtype": (2, 32, 2), "data": bytes(48)}, "dtype is float32x2; it must be float32"),
        ({"shape": (6,)}, "ndim is 1; it must be 2"),
        ({"shape": (1, 2, 3)}, "ndim is 3; it must be 2"),
        ({"device": (2, 1)}, r"device is \(2, 1\); the CPU can access types 1, 3 and 11 only"),
        ({"shape": (2, 2), "byte_offset": 1}, "is not a multiple of 4, the alignment of float32"),
        ({"shape": (-2, 3)}, r"shape\[0\] is -2; extents are 0 or more"),
        ({"ndim": 65}, "ndim is 65; it must be 0 to 64"),
        ({"data": None}, "data is NULL although the tensor has elements"),
    ],
)
def test_bad_tensor_is_refused(
    example: Any, adv: Any, versioned: bool, fields: dict[str, Any], message: str
) -> None:
    tensor = matrix(adv, versioned=versioned, **fields)
    with pytest.raises(ValueError, match=message):
        example.row_sums(tensor)
    gc.collect()
    assert tensor.deleter_calls == 1


def test_another_major_version_is_refused(example: Any, adv: Any) -> None:
    tensor = matrix(adv, version=(2, 0), unmapped_body=True)
    with pytest.raises(ValueError, match="version: major is 2; it must be 1"):
        example.row_sums(tensor)
    assert tensor.deleter_calls == 1


def test_read_only_elements_are_not_written(example: Any, adv: Any) -> None:
    tensor = vector(adv, flags=1)
    with pytest.raises(ValueError, match="the elements are read-only"):
        example.scale(tensor, 2)
    assert tensor.deleter_calls == 1
    x = refarray.asarray([1.0, 2.0], dtype="float64")
    with pytest.raises(ValueError, match="the elements are read-only"):
        example.scale(x.as_readonly(), 2)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("versioned", [True, False])
def test_capsule_is_consumed_once(example: Any, adv: Any, versioned: bool) -> None:
    tensor = matrix(adv, versioned=versioned)
    capsule = tensor.capsule()
    example.row_sums(capsule)
    with pytest.raises(ValueError, match=r"name is \"used_dltensor.*consumed already"):
        example.row_sums(capsule)
    assert tensor.deleter_calls == 1


@pytest.mark.parametrize(("name", "text"), [("other", '"other"'), (None, "NULL")])
def test_capsule_of_another_kind(example: Any, adv: Any, name: str | None, text: str) -> None:
    tensor = matrix(adv, name=name)
    tensor.expect_deletes(0)
    with pytest.raises(ValueError, match=f"name is {text}; it is no DLPack capsule"):
        example.row_sums(tensor.capsule())


def test_objects_that_are_no_arrays(example: Any) -> None:
    with pytest.raises(TypeError, match=r"'list'> has no __dlpack__; an array or a DLPack capsule"):
        example.row_sums([[1.0]])
    with pytest.raises(TypeError, match="'int'> is not a DLPack capsule"):
        example.row_sums(Failing(3))
    with pytest.raises(TypeError):
        example.row_sums()


@pytest.mark.parametrize("error", [KeyError("why"), TypeError("why"), BufferError("why")])
def test_exception_of_the_producer(example: Any, error: Exception) -> None:
    with pytest.raises(type(error), match="why"):
        example.row_sums(Failing(error))


# --- the class that exports


def flags_of(capsule: Any) -> int:
    """The flags of the managed tensor in a versioned capsule."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_uint64.from_address(pointer(capsule, b"dltensor_versioned") + 24).value


def test_export_shares_memory_and_keeps_the_object(example: Any) -> None:
    samples = example.Samples(3)
    assert samples.__dlpack_device__() == (1, 0)
    array = refarray.from_dlpack(samples)
    del samples
    gc.collect()
    array[1] = 5.0
    again = refarray.from_dlpack(array)
    del array
    assert again.tolist() == [0, 5, 2]


def test_last_drop_in_another_thread(example: Any) -> None:
    arrays = [refarray.from_dlpack(example.Samples(1000)) for _ in range(20)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert arrays == []


def test_copy_is_marked_and_separate(example: Any) -> None:
    samples = example.Samples(2)
    copied = refarray.from_dlpack(samples, copy=True)
    copied[0] = 5.0
    assert copied.tolist() == [5, 1] and values(samples) == [0, 1]
    assert flags_of(samples.__dlpack__(max_version=(1, 0), copy=True)) == 2  # IS_COPIED
    assert flags_of(samples.__dlpack__(max_version=(1, 0))) == 0


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"stream": 1}, ValueError, "stream is 1; memory of the CPU has none"),
        (
            {"dl_device": (2, 0)},
            BufferError,
            r"dl_device is \(2, 0\); the elements are on \(1, 0\)",
        ),
        ({"dl_device": "cpu"}, TypeError, "dl_device must be a tuple of two integers, not 'cpu'"),
        ({"max_version": (1,)}, TypeError, r"max_version must be a tuple of two integers"),
        ({"max_version": (1.5, 0)}, TypeError, "integer"),
        ({"max_version": (2**70, 0)}, OverflowError, "too"),
        ({"copy": 1}, TypeError, "copy must be True, False or None, not 1"),
        ({"other": 1}, TypeError, "other"),
    ],
)
def test_bad_export_arguments(
    example: Any, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        example.Samples(1).__dlpack__(**keywords)


def test_names_of_the_capsules(example: Any) -> None:
    samples = example.Samples(1)
    assert '"dltensor"' in repr(samples.__dlpack__())
    assert '"dltensor"' in repr(samples.__dlpack__(max_version=(0, 8)))
    for version in [(1, 0), (1, 3), (2, 0)]:
        assert '"dltensor_versioned"' in repr(samples.__dlpack__(max_version=version))
    both = samples.__dlpack__(stream=None, max_version=(1, 3), dl_device=(1, 0), copy=False)
    assert refarray.from_capsule(both).tolist() == [0]


def test_conformance_kit_finds_nothing(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template's test and adapter: the whole protocol, in processes of its own."""
    adapter = f"test_of_{example.__name__}"
    folder = next(each for each, it in extensions.MODULES.items() if it[0] == example.__name__)
    shutil.copy(extensions.EXAMPLES / folder / "test_example.py", tmp_path / f"{adapter}.py")
    for folder in (tmp_path, Path(example.__file__).parent):
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setitem(sys.modules, example.__name__, example)  # it is not loaded twice
    importlib.import_module(adapter).test_rows_are_summed()
    report = check(f"{adapter}:SUBJECT", devices="none")
    assert [f for f in report.findings if f.outcome is Outcome.WARN] == []
    assert sum(f.outcome is Outcome.PASS for f in report.findings) > 20


# --- nothing is left behind


def test_repeated_use_leaves_no_memory(example: Any) -> None:
    x = refarray.ones((2, 3), dtype="float32")
    wrong = refarray.ones((2, 3), dtype="float64")
    capsule = x.__dlpack__()
    example.row_sums(capsule)

    def work() -> None:
        values(example.row_sums(x))
        example.Samples(100).__dlpack__()  # dropped unconsumed
        example.Samples(100).__dlpack__(max_version=(1, 0), copy=True)
        for bad in (wrong, capsule, [1], Failing(KeyError())):
            with pytest.raises((ValueError, TypeError, KeyError)):
                example.row_sums(bad)

    assert blocks_left(work) < 25
    assert heap_growth(work) < 64


def test_unconsumed_capsule_releases_its_owner(example: Any) -> None:
    samples = example.Samples(3)
    before = sys.getrefcount(samples)
    capsule = samples.__dlpack__()
    assert sys.getrefcount(samples) == before + 1
    del capsule
    assert sys.getrefcount(samples) == before
