"""__array__, Array.numpy() and from_numpy() with NumPy and ml_dtypes: sharing, copies, errors, and
missing packages."""

from __future__ import annotations

import gc
import importlib
import re
import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.dtype_names import FLOAT8, NAMES, SUB_BYTE
from hypothesis import given, settings
from hypothesis import strategies as st

import refarray as ra

from .grid import DTYPES

pytestmark = [pytest.mark.numpy, pytest.mark.ml_dtypes]

NARROW = {
    **{name: name for name in ["bfloat16", *FLOAT8]},
    **{f"{name}_padded": name for name in ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")},
}
if hasattr(importlib.import_module("ml_dtypes"), "complex32"):  # from 0.6 on
    NARROW["complex32"] = "complex32"
UNSUPPORTED = ["float32x2", "int8x4", "float4_e2m1fn", "float6_e2m3fn", "bfloat16x2"]


def ones(dtype: str) -> ra.Array:
    return ra.astype(ra.asarray([[1, 0, 1], [0, 1, 1]]), dtype)


def values(x: Any) -> str:
    """The elements of either library's array, as text, so that NaNs compare equal."""
    return repr(x.astype("complex128").tolist())


def address(x: ra.Array) -> int:
    return int(np.asarray(x[..., :1]).view("u1").ctypes.data)


def numpy_name(dtype: str) -> str:
    return NARROW.get(dtype, dtype)


# --- to NumPy


@run_each("dtype", [*DTYPES, *NARROW])
def test_numpy_shares_every_dtype(dtype: str) -> None:
    x = ones(dtype)
    for theirs in (x.numpy(), x.__array__(), np.asarray(x), np.array(x, copy=False)):
        assert type(theirs) is np.ndarray
        assert theirs.dtype.name == numpy_name(dtype)
        assert values(theirs) == values(x)
        assert theirs.ctypes.data == address(x)
        assert theirs.flags.writeable
    x.numpy()[0, 1] = 1
    assert x[0, 1].item() == 1


@run_each("dtype", DTYPES)
def test_every_way_gives_the_same_type_number(dtype: str) -> None:
    """NumPy compares `long` and `long long` as equal; Zarr and others look types up by identity."""
    x = ones(dtype)
    numbers = {
        way.__name__: np.asarray(way(x)).dtype.num
        for way in (np.asarray, memoryview, np.from_dlpack)
    }
    assert numbers == dict.fromkeys(numbers, np.dtype(dtype).num)
    assert x.numpy().dtype.num == x.__array__().dtype.num == np.dtype(dtype).num


@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "float8_e5m2", "float4_e2m1fn_padded"])
def test_layouts_round_trip(dtype: str) -> None:
    x = ones(dtype)
    views = [x.T, x[::-1], x[:, ::-2], x[1], x[0, 2], x[:0], ra.broadcast_to(x[0], (4, 3))]
    for view in views:
        theirs = view.numpy()
        assert theirs.shape == view.shape
        assert values(theirs) == values(view)
        assert theirs.flags.writeable == (not view.readonly)
        again = ra.from_numpy(theirs)
        assert (again.dtype, again.shape, again.readonly) == (view.dtype, view.shape, view.readonly)
        assert again.tolist() == view.tolist()
        if view.size:
            assert again.numpy().ctypes.data == theirs.ctypes.data


@pytest.mark.parametrize("dtype", ["int32", "bfloat16"])
def test_read_only_round_trips(dtype: str) -> None:
    x = ones(dtype).as_readonly()
    for theirs in (x.numpy(), np.asarray(x), x.__array__(copy=False)):
        assert not theirs.flags.writeable
        assert ra.from_numpy(theirs).readonly
    assert x.__array__(copy=True).flags.writeable
    assert np.array(x).flags.writeable


@run_each("dtype", ["int32", "bfloat16"])
@run_each("copy", [None, True, False])
def test_copy_keyword_of_array(dtype: str, copy: bool | None) -> None:
    x = ones(dtype)
    same = x.__array__(copy=copy)
    assert (same.ctypes.data == address(x)) == (copy is not True)
    assert x.__array__(same.dtype, copy=copy).dtype == same.dtype
    assert np.array(x, copy=copy).tolist() == same.tolist()
    if copy is False:
        with pytest.raises(ra.NoCopyError, match="cannot become float64 without a copy") as caught:
            x.__array__("float64", copy=False)
        assert isinstance(caught.value, ValueError)
        with pytest.raises(ValueError):
            np.array(x, dtype="float64", copy=False)
        return
    other = x.__array__(np.float64, copy)
    assert (other.dtype, other.tolist()) == (np.float64, x.astype("float64").tolist())
    assert np.array(x, dtype="float64", copy=copy).tolist() == other.tolist()


def test_a_copy_keeps_the_order() -> None:
    assert ones("int32").T.__array__(copy=True).flags.f_contiguous


@run_each("dtype", UNSUPPORTED)
def test_dtypes_that_numpy_lacks(dtype: str) -> None:
    x = ra.zeros(4, dtype=dtype)
    for convert in (x.numpy, x.__array__, lambda: x.__array__(copy=True)):
        with pytest.raises(
            TypeError, match=f"NumPy has no dtype for elements of {dtype}"
        ) as caught:
            convert()
        assert ("_padded" in str(caught.value)) == (dtype in ("float4_e2m1fn", "float6_e2m3fn"))
    with pytest.raises(TypeError, match="NumPy has no dtype"):
        np.asarray(x)


@pytest.mark.parametrize("name", NAMES)
@run_each("suffix", ["", "_padded", "x2", "x4"])
def test_numpy_never_misreads_a_dtype(name: str, suffix: str) -> None:
    """Either the elements are NumPy's, or our own error says why not."""
    if suffix == "_padded" and name not in SUB_BYTE:
        return
    x = ra.ones(4, dtype=name + suffix)
    for convert in (np.asarray, np.array, lambda x: np.asarray(memoryview(x))):
        try:
            converted = convert(x)
        except (TypeError, BufferError) as error:
            ours = re.match("NumPy has no dtype|PEP 3118 has no|ml_dtypes .* has no", str(error))
            if ours is None:
                raise
            continue
        assert converted.shape == (4,) and converted.dtype.name == name
        assert converted.astype("complex128").tolist() == [1] * 4


def test_without_a_format_ml_dtypes_is_used() -> None:
    x = ra.asarray([1 + 2j, 3], dtype="complex32")
    if "complex32" in NARROW:
        assert np.asarray(x).dtype.name == "complex32"
        assert np.asarray(x, dtype="complex64").tolist() == [1 + 2j, 3]
        assert np.asarray(x).ctypes.data == ra.from_numpy(np.asarray(x)).numpy().ctypes.data
    else:
        with pytest.raises(TypeError, match="ml_dtypes .* has no complex32"):
            np.asarray(x)


@run_each(
    ("arguments", "keywords", "error"),
    [
        ((), {"copy": 1}, TypeError),
        ((), {"copy": "no"}, TypeError),
        (("no such dtype",), {}, TypeError),
        ((object(),), {}, TypeError),
        ((None, None, None), {}, TypeError),
        ((), {"order": "C"}, TypeError),
        (("float32",), {"dtype": "float32"}, TypeError),
    ],
)
def test_invalid_arguments_of_array(
    arguments: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ra.zeros(2).__array__(*arguments, **keywords)


def test_array_converts_to_other_dtypes() -> None:
    x = ra.asarray([1, 2], dtype="int32")
    assert x.__array__(">i4").tolist() == [1, 2]
    assert x.__array__(complex).tolist() == [1, 2]
    assert x.__array__(dtype="U1").tolist() == ["1", "2"]


def test_the_ndarray_keeps_the_memory() -> None:
    class Memory(bytearray):
        pass

    for dtype in ("uint16", "bfloat16"):
        memory = Memory(8)
        alive = weakref.ref(memory)
        theirs = ra.from_buffer(memory, dtype=dtype)[1:].numpy()[1:]
        del memory
        gc.collect()
        assert alive() is not None
        assert theirs.shape == (2,)
        del theirs
        gc.collect()
        assert alive() is None


def test_numpy_functions_accept_refarray_arrays(ml_dtypes: ModuleType) -> None:
    x = ra.asarray([1.5, 2.5], dtype="bfloat16")
    assert (np.asarray([1.0, 1.0]) + np.asarray(x, dtype="float64")).tolist() == [2.5, 3.5]
    assert np.concatenate([x, x]).dtype == ml_dtypes.bfloat16
    assert np.add(x, x).tolist() == [3.0, 5.0]


# --- from NumPy


@run_each("dtype", [*DTYPES, *NARROW])
def test_from_numpy_shares_every_dtype(ml_dtypes: ModuleType, dtype: str) -> None:
    theirs = np.array([[1, 0, 1], [0, 1, 1]]).astype(
        getattr(ml_dtypes, numpy_name(dtype)) if dtype in NARROW else dtype
    )
    x = ra.from_numpy(theirs)
    assert (x.dtype, x.shape, x.readonly) == (dtype, (2, 3), False)
    assert x.numpy().ctypes.data == theirs.ctypes.data
    theirs[0, 1] = 1
    assert x[0, 1].item() == 1
    y = ra.asarray(theirs)
    assert (y.dtype, values(y)) == (dtype, values(x))
    one = dtype == "bool" or 1
    y[1, 0] = one
    assert theirs[1, 0] == 1
    z = ra.asarray(theirs, copy=True)
    theirs[1, 1] = 0
    assert z[1, 1].item() == 1


patterns = st.lists(st.integers(0, 255), min_size=2, max_size=8)


@settings(deadline=None, max_examples=30)
@given(patterns, st.sampled_from(sorted(set(NARROW) - {"complex32"})))
def test_bit_patterns_round_trip(values: list[int], dtype: str) -> None:
    bits = {"bfloat16": 8, "float6_e2m3fn_padded": 6, "float6_e3m2fn_padded": 6}
    width = 4 if dtype.startswith("float4") else bits.get(dtype, 8)
    raw = bytes(value % 2**width for value in values[: len(values) // 2 * 2])
    x = ra.from_buffer(raw, dtype=dtype)
    assert x.numpy().tobytes() == raw
    assert np.asarray(ra.from_numpy(x.numpy())).tobytes() == raw


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (np.zeros(2, ">i4"), BufferError, "no dtype for elements of dtype('>i4')"),
    (np.zeros(2, "S3"), BufferError, "dtype('S3')"),
    (np.zeros(2, "M8[s]"), BufferError, "M8[s]"),
    (np.zeros(2, object), BufferError, "dtype('O')"),
    (np.zeros(2, "longdouble"), BufferError, "no dtype"),
    (np.zeros(2, [("a", "i4")]), BufferError, "dtype([('a', '<i4')])"),
    (np.zeros(4, [("a", "u1"), ("b", "<u2")])["b"], BufferError, "multiple of itemsize"),
    (np.ma.masked_array([1, 2], [0, 1]), BufferError, "mask of a masked array would be lost"),
    (np.float32(1), TypeError, "takes a numpy.ndarray, not float32"),
    ([1, 2], TypeError, "not list"),
    (ra.zeros(1), TypeError, "not Array"),
    (None, TypeError, "not NoneType"),
    (memoryview(b"a"), TypeError, "not memoryview"),
]


@run_each(("x", "error", "message"), REFUSED)
def test_from_numpy_refuses(x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        ra.from_numpy(x)
    assert type(caught.value) is error
    assert message in str(caught.value)


def test_int4_of_ml_dtypes_is_refused(ml_dtypes: ModuleType) -> None:
    theirs = np.zeros(2, ml_dtypes.int4)
    for take in (ra.from_numpy, ra.asarray):
        with pytest.raises(BufferError):
            take(theirs)
    with pytest.raises(BufferError):  # of NumPy, which exports none of these dtypes by DLPack
        ra.from_dlpack(np.zeros(2, ml_dtypes.bfloat16))


def test_subclasses_are_taken_as_plain_arrays() -> None:
    class Derived(np.ndarray):
        def __dlpack__(self, **_: Any) -> Any:
            raise AssertionError("__dlpack__ must not be called")

    theirs = np.arange(3).view(Derived)
    assert ra.from_numpy(theirs).tolist() == [0, 1, 2]


def test_scalars_of_ml_dtypes(ml_dtypes: ModuleType) -> None:
    x = ra.asarray(ml_dtypes.bfloat16(1.5))
    assert (x.dtype, x.shape, x.item()) == ("bfloat16", (), 1.5)
    y = ra.asarray([ml_dtypes.float8_e5m2(1.5), ml_dtypes.float8_e5m2(2)])
    assert (y.dtype, y.tolist()) == ("float8_e5m2", [1.5, 2.0])


# --- without NumPy or ml_dtypes


def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    for convert in (ra.zeros(1).numpy, ra.zeros(1).__array__):
        with pytest.raises(ImportError, match="conversion to NumPy needs numpy") as caught:
            convert()
        assert caught.value.name == "numpy"
    with pytest.raises(TypeError, match=r"from_numpy\(\) takes a numpy.ndarray"):
        ra.from_numpy(np.zeros(1))


def test_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ra.zeros(1, dtype="bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="conversion of bfloat16 to NumPy needs ml_dtypes"):
        x.numpy()
    with pytest.raises(ImportError, match="ml_dtypes"):
        np.asarray(x)
    assert ra.zeros(1).numpy().tolist() == [0.0]


def test_with_an_older_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    older = SimpleNamespace(__version__="0.1")
    monkeypatch.setitem(sys.modules, "ml_dtypes", older)
    with pytest.raises(TypeError, match=r"ml_dtypes 0\.1 has no bfloat16"):
        ra.zeros(1, dtype="bfloat16").numpy()


def test_an_import_error_inside_numpy_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "numpy.py").write_text("import no_such_module_of_numpys\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numpy")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_numpys"):
        ra.zeros(1).numpy()
