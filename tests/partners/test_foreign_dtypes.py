"""Dtypes and devices of other libraries as arguments, in comparisons, and __numpy_dtype__."""

from __future__ import annotations

import gc
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.processes import printed, python

import refarray as ra

from .grid import DTYPES, NARROW

TVM_NAMES = [name for name in DTYPES if "complex" not in name]  # tvm-ffi has no name for those
NUMPY_REFUSES = ["float4_e2m1fn", "float6_e2m3fn", "int8x2"]


def assert_stands_for(dtype: Any, name: str) -> None:
    ours = ra.DType(name)
    assert ra.DType(dtype) == name
    assert ra.empty((1,), dtype=dtype).dtype == name
    assert ours == dtype and dtype == ours and (ours != dtype) is False
    assert ra.DType("uint64" if name != "uint64" else "int8") != dtype
    assert hash(ours) == hash(name)


def assert_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="refarray has no dtype for") as caught:
        ra.DType(dtype)
    assert repr(dtype)[:50] in str(caught.value) or isinstance(dtype, type)
    assert (ra.int8 == dtype) is False and (ra.int8 != dtype) is True


# --- NumPy and ml_dtypes


@pytest.mark.numpy
@run_each("name", DTYPES)
def test_dtypes_and_scalar_types_of_numpy(name: str) -> None:
    for dtype in (np.dtype(name), np.dtype(name).type):
        assert_stands_for(dtype, name)
    assert ra.DType(name).__numpy_dtype__ is np.dtype(name)
    assert ra.zeros((2,), dtype=name).__numpy_dtype__ is np.dtype(name)


@pytest.mark.numpy
@run_each(
    "dtype", [np.dtype(">f4"), np.dtype("M8[s]"), np.dtype("S3"), np.dtype("O"), np.dtype("i4,i4"),
              np.dtype("(2,)i4"), np.str_, np.longdouble, np.dtype("V2"), np.void],
)  # fmt: skip
def test_other_dtypes_of_numpy_are_refused(dtype: Any) -> None:
    assert_refused(dtype)


@pytest.mark.numpy
@run_each("thing", [np.floating, np.generic, np.ndarray, np.zeros(1), np.float32(1)])
def test_what_is_no_dtype_is_a_type_error(thing: Any) -> None:
    with pytest.raises(TypeError, match="dtype must be .*, not "):
        ra.DType(thing)


@pytest.mark.numpy
def test_numpy_reads_the_dtype_protocol() -> None:
    x = ra.arange(3, dtype="float32")
    assert np.zeros(2, dtype=ra.int16).dtype == "int16"
    assert np.dtype(ra.bool) == np.bool_ and np.dtype(x) == np.float32
    assert np.can_cast(ra.int8, ra.int16) and np.result_type(ra.float32, np.float64) == "float64"
    assert np.iinfo(ra.uint8).max == 255
    assert x.__array__(ra.float64).dtype == "float64"
    assert x.numpy().astype(ra.int8).tolist() == [0, 1, 2]


@pytest.mark.numpy
def test_objects_with_the_dtype_protocol_are_asked_each_time_and_not_kept() -> None:
    class Changing:
        def __init__(self) -> None:
            self.answers = ["float32", "int8", ">f4"]

        @property
        def __numpy_dtype__(self) -> Any:
            return np.dtype(self.answers.pop(0))

    thing = Changing()
    alive = weakref.ref(thing)
    assert [str(ra.DType(thing)), str(ra.DType(thing))] == ["float32", "int8"]
    with pytest.raises(ValueError, match="refarray has no dtype for dtype"):
        ra.DType(thing)
    del thing
    gc.collect()
    assert alive() is None


@pytest.mark.numpy
def test_more_dtypes_than_are_remembered() -> None:
    many = [np.dtype("f4", metadata={"number": number}) for number in range(600)]
    assert {str(ra.DType(dtype)) for dtype in many} == {"float32"}
    assert all(ra.float32 == dtype and ra.int8 != dtype for dtype in many)


@pytest.mark.numpy
@pytest.mark.parametrize("name", NUMPY_REFUSES)
def test_dtypes_that_numpy_lacks_have_no_protocol(name: str) -> None:
    for thing in (ra.DType(name), ra.zeros((2,), dtype=name)):
        assert not hasattr(thing, "__numpy_dtype__")
        with pytest.raises(AttributeError, match=f"{name} has no __numpy_dtype__"):
            thing.__numpy_dtype__  # noqa: B018


@pytest.mark.ml_dtypes
@run_each("name", NARROW)
def test_dtypes_of_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    kind = getattr(ml_dtypes, name, None)
    if name == "complex32" and kind is None:  # since ml_dtypes 0.6
        assert not hasattr(ra.DType(name), "__numpy_dtype__")
        return
    ours = f"{name}_padded" if ra.DType(name).bits < 8 else name
    for dtype in (kind, np.dtype(kind)):
        assert_stands_for(dtype, ours)
    assert ra.DType(ours).__numpy_dtype__ is np.dtype(kind) or (
        ra.DType(ours).__numpy_dtype__ == np.dtype(kind)
    )


@pytest.mark.ml_dtypes
def test_integers_of_ml_dtypes_are_refused(ml_dtypes: ModuleType) -> None:
    for dtype in (ml_dtypes.int4, np.dtype(ml_dtypes.uint2)):
        assert_refused(dtype)


REGISTERED = """
import ml_dtypes, numpy as np, refarray as ra
x = ra.asarray([1.5, -2.0], dtype="bfloat16")
try:
    np.from_dlpack(x)
except (BufferError, RuntimeError):
    pass
else:
    raise SystemExit("NumPy knew bfloat16 before")
names = ra.register_numpy_dtypes()
assert names == ra.register_numpy_dtypes() and "bfloat16" in names
for name in names:
    x = ra.asarray([1, 2, 4], dtype=name)
    y = np.from_dlpack(x)
    back = ra.from_dlpack(y)
    assert y.dtype == getattr(ml_dtypes, name) and back.dtype == name
    y.view(np.uint8)[0] ^= 1  # all three share the memory
    assert y.tobytes() == x.tobytes() == back.tobytes(), name
print(len(names))
"""


@pytest.mark.ml_dtypes
def test_numpy_takes_dtypes_of_ml_dtypes_once_they_are_registered() -> None:
    if not hasattr(np.dtypes, "register_dlpack_dtype"):
        with pytest.raises(RuntimeError, match=f"needs NumPy 2.5 or newer, not {np.__version__}"):
            ra.register_numpy_dtypes()
        return
    assert int(printed(REGISTERED)) >= 9  # registered for the rest of a process


# --- PyTorch


@pytest.mark.torch
def test_every_dtype_of_torch_is_known_or_refused(torch: ModuleType) -> None:
    found = [getattr(torch, name) for name in dir(torch)]
    known = set()
    for dtype in (item for item in found if type(item) is torch.dtype):
        name = str(dtype).removeprefix("torch.")
        if name == "float4_e2m1fn_x2":
            name = "float4_e2m1fnx2"
        if ("int" in name and name not in DTYPES) or "bits" in name or name == "bit":
            assert_refused(dtype)
        else:
            assert_stands_for(dtype, name)
            known.add(name)
    assert len(known) == 22


@pytest.mark.torch
def test_arguments_in_torchs_words(torch: ModuleType) -> None:
    cpu = torch.device("cpu")
    x = ra.asarray([1, 2], dtype=torch.bfloat16, device=cpu)
    assert (x.dtype, x.device) == (torch.bfloat16, cpu)
    assert x.astype(torch.float64).dtype == torch.tensor([1.0], dtype=torch.float64).dtype
    assert ra.from_dlpack(torch.zeros(2), device=cpu).device == cpu
    assert ra.finfo(torch.float32).bits == 32 and x.view(torch.int16).dtype == torch.int16


@pytest.mark.torch
def test_devices_of_torch(torch: ModuleType) -> None:
    for text, name in (("cpu", "cpu"), ("cpu:0", "cpu"), ("cuda:1", "cuda:1"), ("cuda", "cuda:0")):
        device = torch.device(text)
        assert ra.Device(device) == name
        assert ra.Device(name) == device and device == ra.Device(name)
        assert ra.Device("cuda:5") != device
    for text in ("mps", "meta", "xpu:1"):
        with pytest.raises(ValueError, match="refarray has no device for device"):
            ra.Device(torch.device(text))
        assert (ra.Device("cpu") == torch.device(text)) is False


@pytest.mark.torch
def test_cuda_devices_of_a_hip_build_are_rocm(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert ra.Device(torch.device("cuda:1")) == "rocm:1"


# --- JAX


@pytest.mark.jax
def test_dtypes_of_jax(jax: ModuleType) -> None:
    for name in (*DTYPES, *NARROW):
        dtype = getattr(jax.numpy, name, None)
        if dtype is not None:
            assert_stands_for(dtype, f"{name}_padded" if ra.DType(name).bits < 8 else name)
            assert_stands_for(np.dtype(dtype), str(ra.DType(dtype)))
    assert_refused(jax.numpy.int4)


@pytest.mark.jax
def test_jax_takes_our_dtypes_and_arrays(jax: ModuleType) -> None:
    x = ra.arange(4, dtype="float32")
    assert jax.numpy.asarray(x).tolist() == [0, 1, 2, 3]
    assert jax.numpy.zeros(2, dtype=ra.bfloat16).dtype == jax.numpy.bfloat16
    assert jax.numpy.asarray(x, dtype=x.dtype).dtype == ra.float32
    assert jax.dtypes.canonicalize_dtype(ra.int32) == np.int32


@pytest.mark.jax
def test_an_array_of_jax_is_no_dtype(jax: ModuleType) -> None:
    array = jax.numpy.zeros(1)  # has __numpy_dtype__, which warns
    with pytest.raises(TypeError, match="not ArrayImpl"):
        ra.DType(array)
    assert not isinstance(ra.float32.__eq__(array), bool)


@pytest.mark.jax
def test_devices_of_jax(jax: ModuleType) -> None:
    device = jax.devices()[0]
    assert device.platform == "cpu" and ra.Device(device) == "cpu" == ra.Device("cpu")
    assert ra.Device("cpu") == device and device == ra.Device("cpu")
    assert ra.zeros(1, device=device).device == device
    assert ra.from_dlpack(jax.numpy.zeros(2), device=device).device == "cpu"


@pytest.mark.jax
@pytest.mark.parametrize(
    ("platform", "version", "ordinal", "name"),
    [("gpu", "PJRT C API\ncuda 13000", 2, "cuda:2"), ("gpu", "rocm 60300", 0, "rocm:0"),
     ("gpu", "cuda 13000", None, None), ("gpu", "oneAPI", 0, None), ("tpu", "cuda", 0, None)],
)  # fmt: skip
def test_gpus_of_jax_by_the_names_that_jax_uses(
    jax: ModuleType, monkeypatch: pytest.MonkeyPatch, platform: str, version: str,
    ordinal: int | None, name: str | None,
) -> None:  # fmt: skip
    """A stand-in: no GPU plugin is installed. jax.Array.__dlpack_device__ reads the same fields."""

    class Device(SimpleNamespace):
        pass

    monkeypatch.setattr(jax, "Device", Device)
    device = Device(
        platform=platform,
        local_hardware_id=ordinal,
        client=SimpleNamespace(platform_version=version),
    )
    if name is None:
        with pytest.raises(ValueError, match="refarray has no device for"):
            ra.Device(device)
    else:
        assert ra.Device(device) == name


# --- tvm-ffi


@pytest.mark.tvm_ffi
def test_dtypes_and_devices_of_tvm_ffi(tvm_ffi: ModuleType) -> None:
    assert ra.DType(tvm_ffi.dtype("float32x4")) == "float32x4"
    for kind, index, name in (("cpu", 0, "cpu"), ("cuda", 1, "cuda:1"), ("rocm", 0, "rocm:0")):
        assert ra.Device(tvm_ffi.device(kind, index)) == name
    with pytest.raises(ValueError, match="refarray has no device for"):
        ra.Device(tvm_ffi.device("metal", 0))


@pytest.mark.tvm_ffi
@run_each("name", [*TVM_NAMES, "bfloat16", "float8_e4m3fn", "float4_e2m1fnx2", "float32x4"])
def test_tvm_ffi_reads_dlpacks_protocol_of_dtypes(tvm_ffi: ModuleType, name: str) -> None:
    same = tvm_ffi.get_global_func("testing.echo")
    assert ra.DType(same(ra.DType(name))) == name


# --- without the libraries

NO_IMPORTS = """
import sys
sys.modules["torch"] = sys.modules["jax"] = object()  # not modules
import refarray as ra
from importlib.util import find_spec, LazyLoader, module_from_spec
spec = find_spec("numpy")
spec.loader = LazyLoader(spec.loader)
lazy = sys.modules["numpy"] = module_from_spec(spec)
spec.loader.exec_module(lazy)
for x in ("f4", 1, object(), int):
    ra.float32 == x, ra.Device("cpu") == x
for make in (ra.DType, ra.Device):
    try:
        make(object())
    except TypeError:
        continue
    raise SystemExit(f"{make} took an object")
assert "numpy.linalg" not in sys.modules and "numpy._core" not in sys.modules
"""


@pytest.mark.numpy
def test_no_library_is_imported_to_recognise_an_object() -> None:
    done = python("-c", NO_IMPORTS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
