"""__arrow_c_array__: the structs, who releases them, copies, and requested schemas (by ctypes)."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.leaks import blocks_left

import refarray


class Schema(ctypes.Structure):
    """ArrowSchema of the Arrow C data interface."""


class Array(ctypes.Structure):
    """ArrowArray of the Arrow C data interface."""


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def structs(capsules: tuple[Any, Any]) -> tuple[Schema, Array]:
    schema, array = capsules
    return (
        Schema.from_address(_pointer(schema, b"arrow_schema")),
        Array.from_address(_pointer(array, b"arrow_array")),
    )


def move(array: Array) -> Array:
    """What a consumer does: copy the struct and mark the original as released."""
    moved = Array()
    ctypes.memmove(ctypes.addressof(moved), ctypes.addressof(array), ctypes.sizeof(Array))
    array.release = None
    return moved


def release(array: Array) -> None:
    """Calls the release callback without the GIL."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(array.release)(ctypes.addressof(array))


def data_of(array: Array, nbytes: int) -> bytes:
    return ctypes.string_at(array.buffers[1], nbytes)


FORMATS = {
    "int8": b"c",
    "uint8": b"C",
    "int16": b"s",
    "uint16": b"S",
    "int32": b"i",
    "uint32": b"I",
    "int64": b"l",
    "uint64": b"L",
    "float16": b"e",
    "float32": b"f",
    "float64": b"g",
}


@run_each(("dtype", "code"), FORMATS.items())
def test_the_structs_describe_the_memory_of_the_array(dtype: str, code: bytes) -> None:
    x = refarray.arange(5, dtype=dtype)
    capsules = x.__arrow_c_array__()
    schema, array = structs(capsules)
    assert (schema.format, schema.name, schema.metadata, schema.flags) == (code, b"", None, 0)
    assert (schema.n_children, schema.children, schema.dictionary) == (0, None, None)
    assert (array.length, array.null_count, array.offset) == (5, 0, 0)
    assert (array.n_buffers, array.n_children, array.children) == (2, 0, None)
    assert array.dictionary is None and array.buffers[0] is None
    assert array.buffers[1] == x.__array_interface__["data"][0]


def test_views_are_shared_and_writes_seen() -> None:
    x = refarray.zeros(8, dtype="int32")
    capsules = x[2:5].as_readonly().__arrow_c_array__()
    array = structs(capsules)[1]
    assert (array.length, array.offset) == (3, 0)
    assert array.buffers[1] == x.__array_interface__["data"][0] + 8
    x[2] = 7
    assert data_of(array, 4) == b"\7\0\0\0"


def test_strided_and_unaligned_elements_are_copied() -> None:
    x = refarray.arange(6, dtype="int16")
    for view, values in ((x[::2], [0, 2, 4]), (refarray.flip(x), [5, 4, 3, 2, 1, 0])):
        array = structs(capsules := view.__arrow_c_array__())[1]
        assert data_of(array, 2 * len(values)) == refarray.asarray(values, dtype="int16").tobytes()
        del capsules
    odd = refarray.arange(9, dtype="uint8")[1:].view("int32")
    capsules = odd.__arrow_c_array__()
    array = structs(capsules)[1]
    assert data_of(array, 8) == bytes(range(1, 9)) and array.buffers[1] % 4 == 0


@run_each("count", [0, 1, 7, 8, 9, 1000, 100_003])
def test_bools_are_copied_into_bits(count: int) -> None:
    values = [i % 3 == 0 for i in range(count)]
    x = refarray.asarray(values, dtype="bool")
    for view, expected in ((x, values), (refarray.flip(x), values[::-1])):
        capsules = view.__arrow_c_array__()
        schema, array = structs(capsules)
        assert (schema.format, array.length) == (b"b", count)
        raw = int.from_bytes(data_of(array, (count + 7) // 8), "little")
        assert [bool(raw >> i & 1) for i in range(count)] == expected
        assert raw >> count == 0


def test_bytes_other_than_0_and_1_are_true() -> None:
    x = refarray.asarray([0, 2, 255], dtype="uint8").view("bool")
    capsules = x.__arrow_c_array__()
    assert data_of(structs(capsules)[1], 1) == b"\6"


@run_each(
    "make",
    [
        lambda: refarray.zeros(()),
        lambda: refarray.zeros((2, 2)),
        lambda: refarray.zeros(2, dtype="complex64"),
        lambda: refarray.zeros(2, dtype="bfloat16"),
        lambda: refarray.zeros(2, dtype="float4_e2m1fn"),
        lambda: refarray.zeros(2, dtype="int32x2"),
    ],
)
def test_other_arrays_have_no_such_attribute(make: Callable[[], refarray.Array]) -> None:
    x = make()
    assert not hasattr(x, "__arrow_c_array__")
    with pytest.raises(AttributeError, match=f"has ndim {x.ndim}, dtype {x.dtype}"):
        x.__arrow_c_array__  # noqa: B018


# --- ownership


class Memory(bytearray):
    """A bytearray that can be weakly referenced."""


def lent() -> tuple[refarray.Array, weakref.ref[Memory]]:
    memory = Memory(16)
    return refarray.from_buffer(memory, dtype="int32"), weakref.ref(memory)


def test_a_capsule_that_nobody_consumes_releases_the_memory() -> None:
    x, alive = lent()
    capsules = x.__arrow_c_array__()
    del x
    gc.collect()
    assert alive() is not None
    del capsules
    gc.collect()
    assert alive() is None


def test_a_moved_array_outlives_its_capsule_and_is_released_on_any_thread() -> None:
    x, alive = lent()
    x[0] = 5
    capsules = x.__arrow_c_array__()
    moved = move(structs(capsules)[1])
    del capsules, x
    gc.collect()
    assert alive() is not None and data_of(moved, 4) == b"\5\0\0\0"
    thread = threading.Thread(target=release, args=(moved,))
    thread.start()
    thread.join()
    assert moved.release is None and moved.private_data is None
    assert alive() is None


def test_a_pending_exception_survives_the_capsule() -> None:
    class Loud(Memory):
        def __del__(self) -> None:
            raise AssertionError("must not replace the KeyError")

    def work() -> None:
        capsules = refarray.from_buffer(Memory(8), dtype="int32").__arrow_c_array__()
        raise KeyError(len(capsules))

    with pytest.raises(KeyError, match="2"):
        work()


def test_a_released_struct_stays_released() -> None:
    x = refarray.zeros(4)
    capsules = x.__arrow_c_array__()
    schema, array = structs(capsules)
    release(array)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(schema.release)(ctypes.addressof(schema))
    assert array.release is None and schema.release is None
    del capsules  # the destructors must not release again
    assert x.tolist() == [0.0] * 4


def test_a_capsule_with_another_name_is_left_alone() -> None:
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_void_p]
    destructor = ctypes.pythonapi.PyCapsule_GetDestructor
    destructor.argtypes, destructor.restype = [ctypes.py_object], ctypes.c_void_p
    own_name = ctypes.pythonapi.PyCapsule_GetName
    own_name.argtypes, own_name.restype = [ctypes.py_object], ctypes.c_void_p
    other = ctypes.create_string_buffer(b"mine")
    capsules = refarray.zeros(1).__arrow_c_array__()
    array = structs(capsules)[1]
    for capsule in capsules:
        name = own_name(capsule)
        rename(capsule, ctypes.addressof(other))
        ctypes.PYFUNCTYPE(None, ctypes.py_object)(destructor(capsule))(capsule)
        rename(capsule, name)  # so that its own destructor frees the struct
    assert array.release is not None
    assert data_of(array, 8) == bytes(8)


@pytest.mark.parametrize(
    "made",
    [
        "refarray.zeros(4)",
        pytest.param(
            "refarray.from_buffer(bytearray(32))",
            marks=pytest.mark.not_sanitized("a buffer is leaked when its interpreter has ended"),
        ),
    ],
)
def test_release_after_the_interpreter_has_ended(isolated: Any, made: str) -> None:
    assert isolated("arrow_at_exit.py", made).split() == ["registered", "released"]


def test_nothing_leaks() -> None:
    def work() -> None:
        for x in (refarray.zeros(3), refarray.zeros(3)[::2], refarray.zeros(3, dtype="bool")):
            x.__arrow_c_array__()
            capsules = x.__arrow_c_array__()
            release(move(structs(capsules)[1]))

    assert blocks_left(work, repeats=20) < 10


# --- requested schemas


def request(code: bytes | None, **fields: Any) -> tuple[Any, Schema]:
    schema = Schema(format=code, name=b"", release=1, **fields)
    return _capsule(ctypes.addressof(schema), b"arrow_schema", None), schema


@run_each(
    ("dtype", "code", "given"),
    [
        ("int32", b"i", b"i"),
        ("int32", b"l", b"l"),
        ("int32", b"g", b"g"),
        ("uint8", b"s", b"s"),
        ("uint16", b"L", b"L"),
        ("uint16", b"f", b"f"),
        ("int8", b"e", b"e"),
        ("float16", b"g", b"g"),
        ("bool", b"b", b"b"),
        # A narrower type that has these values.
        ("int32", b"s", b"s"),
        ("int32", b"I", b"I"),
        ("uint8", b"c", b"c"),
        ("uint64", b"l", b"l"),
        ("float64", b"f", b"f"),
        ("float64", b"e", b"e"),
        # Another kind, in which not every value of the type is exact: the array's own type.
        ("int32", b"f", b"i"),
        ("int64", b"g", b"l"),
        ("float64", b"l", b"g"),
        ("bool", b"i", b"b"),
        ("int32", b"b", b"i"),
    ],
)
def test_a_requested_type_is_served_if_it_keeps_every_value(
    dtype: str, code: bytes, given: bytes
) -> None:
    x = refarray.asarray([True, False, True]).astype(dtype)
    capsule, schema = request(code)
    capsules = x.__arrow_c_array__(requested_schema=capsule)
    assert structs(capsules)[0].format == given
    if given != b"b":
        wanted = {value: key for key, value in FORMATS.items()}[given]
        expected = x.astype(wanted).tobytes()
        assert data_of(structs(capsules)[1], len(expected)) == expected
    assert schema.release == 1  # the request stays the caller's


@run_each(
    ("dtype", "code", "fits", "does_not"),
    [
        ("int64", b"i", [-(2**31), 2**31 - 1], [-(2**31) - 1, 2**31]),
        ("int64", b"I", [0, 2**32 - 1], [-1, 2**32]),
        ("int64", b"L", [0, 2**63 - 1], [-1, -(2**63)]),
        ("uint64", b"l", [0, 2**63 - 1], [2**63, 2**64 - 1]),
        ("uint64", b"C", [0, 255], [256, 2**63]),
        ("int8", b"C", [0, 127], [-1, -128]),
        ("int16", b"c", [-128, 127], [-129, 128]),
        ("float64", b"f", [0.5, -0.0, float("inf"), float("nan"), 2.0**-149], [0.1, 1e300, 1e-320]),
        ("float32", b"e", [65504.0, 2.0**-24], [65505.0, 2.0**-25]),
    ],
)
def test_a_narrower_type_is_served_if_it_has_the_values(
    dtype: str, code: bytes, fits: list[Any], does_not: list[Any]
) -> None:
    own = FORMATS[dtype]
    for values, given in [(fits, code), *(([*fits, each], own) for each in does_not)]:
        for x in (
            refarray.asarray(values, dtype=dtype),
            refarray.asarray([v for v in values for _ in "ab"], dtype=dtype)[::2],
        ):
            capsule, _schema = request(code)
            capsules = x.__arrow_c_array__(requested_schema=capsule)
            assert structs(capsules)[0].format == given
            wanted = {value: key for key, value in FORMATS.items()}[given]
            expected = x.astype(wanted).tobytes()
            assert data_of(structs(capsules)[1], len(expected)) == expected


def test_a_requested_dictionary_of_numbers_is_another_encoding() -> None:
    """The indices' type is not taken for that of the values."""
    for values, allowed in ((b"l", True), (b"u", False)):
        _, values_schema = request(values)
        capsule, _schema = request(b"c", dictionary=ctypes.addressof(values_schema))
        x = refarray.asarray([1, 2], dtype="int32")
        if allowed:
            capsules = x.__arrow_c_array__(capsule)
            assert structs(capsules)[0].format == b"i"
        else:
            with pytest.raises(ValueError, match="has the format 'u'"):
                x.__arrow_c_array__(capsule)


@run_each(
    ("code", "fields", "message"),
    [
        (b"u", {}, "requested_schema has the format 'u'; an array of int32 has the format 'i'"),
        (b"+s", {"n_children": 2}, r"has the format '\+s'"),
        (b"i", {"n_children": 1}, "has the format 'i'"),
        (b"tdD", {}, "has the format 'tdD'"),
        (b"x" * 1000, {}, "has the format 'x{60}'"),
        (b"", {}, "has the format ''"),
        (None, {}, "requested_schema has been released"),
    ],
)
def test_a_request_that_numbers_cannot_meet_raises(
    code: bytes | None, fields: dict[str, Any], message: str
) -> None:
    capsule, _schema = request(code, **fields)
    with pytest.raises(ValueError, match=message):
        refarray.zeros(2, dtype="int32").__arrow_c_array__(capsule)


def test_a_request_that_is_no_schema_raises() -> None:
    x = refarray.zeros(2)
    capsule, schema = request(b"i")
    schema.release = None
    with pytest.raises(ValueError, match="has been released"):
        x.__arrow_c_array__(capsule)
    with pytest.raises(TypeError, match='a capsule named "arrow_schema" or None, not str'):
        x.__arrow_c_array__("i")
    with pytest.raises(ValueError, match="incorrect name"):
        x.__arrow_c_array__(x.__dlpack__())
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.__arrow_c_array__(schema=None)
