"""inspect(): reports every field of producers, capsules and exchange tables without consuming
them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.cases import run_each
from native.producers import Recorder, foreign, knowing

import refarray as ra
from refarray import _inspect

pytestmark = pytest.mark.every_python

OURS = tuple(int(part) for part in str(ra.build_info()["dlpack"]).split("."))


def address_of(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


# --- producers


def test_inspect_a_refarray_array() -> None:
    x = ra.reshape(ra.arange(6, dtype="float32"), (2, 3))
    found = ra.inspect(x)
    assert found.subject == "refarray.Array"
    assert found.capsule_name == "dltensor_versioned"
    assert (found.struct, found.version) == ("DLManagedTensorVersioned", OURS)
    assert (found.flags, found.flag_names) == (0, ())
    assert (found.device, found.device_name) == ((1, 0), "cpu")
    assert (found.dtype, found.dtype_name) == ((2, 32, 1), "float32")
    assert (found.ndim, found.shape, found.strides) == (2, (2, 3), (3, 1))
    assert (found.byte_offset, found.nbytes, found.layout) == (0, 24, "row-major")
    assert found.data == address_of(np.from_dlpack(x))
    assert found.deleter
    assert found.manager_ctx
    assert found.alignment is not None
    assert found.data is not None
    assert found.alignment >= 256
    assert (found.dlpack_device, found.dlpack_device_matches) == ((1, 0), True)
    assert found.exchange_api is not None
    assert found.exchange_api.version == OURS
    assert found.exchange_api.functions is not None
    assert all(found.exchange_api.functions.values())
    assert found.exchange_api.usable
    versioned, legacy = found.answers
    assert (versioned.struct, versioned.version, versioned.error) == (found.struct, OURS, None)
    assert (legacy.struct, legacy.version, legacy.error) == ("DLManagedTensor", None, None)


def test_inspect_a_numpy_view() -> None:
    x = np.arange(24, dtype="int16").reshape(4, 6)[1::2, ::-2]
    found = ra.inspect(x)
    assert found.subject == "numpy.ndarray"
    assert (found.shape, found.strides) == ((2, 3), (12, -2))
    assert (found.dtype_name, found.nbytes) == ("int16", 12)
    assert found.layout == "strided, backwards on some axis"
    assert found.data is not None
    assert found.data + (found.byte_offset or 0) == address_of(x)
    assert found.exchange_api is None


def test_refused_exports_are_reported() -> None:
    found = ra.inspect(ra.zeros(3).as_readonly())
    assert found.flag_names == ("READ_ONLY",)
    versioned, legacy = found.answers
    assert versioned.error is None
    assert legacy.struct is None
    assert legacy.error is not None
    assert legacy.error.startswith("BufferError: ")
    assert "read-only" in legacy.error


def test_inspect_a_legacy_producer() -> None:
    producer = Recorder(knowing("stream", lambda **_: ra.to_capsule(ra.ones(2))))
    found = ra.inspect(producer)
    assert (found.struct, found.version, found.flags) == ("DLManagedTensor", None, None)
    assert found.answers[0].error is not None
    assert found.answers[0].error.startswith("TypeError: ")
    assert found.shape == (2,)


def test_inspect_a_producer_that_raises() -> None:
    def refuse(**_: Any) -> Any:
        raise RuntimeError("no")

    found = ra.inspect(Recorder(refuse))
    assert found.struct is found.capsule_name is found.shape is None
    assert [answer.error for answer in found.answers] == ["RuntimeError: no"] * 2
    assert found.dlpack_device == (1, 0)
    assert found.dlpack_device_matches is None
    assert "nothing was exported" in repr(found)


@pytest.mark.parametrize("answer", [None, 3, "capsule", object()])
def test_inspect_a_producer_that_returns_no_capsule(answer: Any) -> None:
    found = ra.inspect(Recorder(lambda **_: answer))
    assert found.struct is None
    assert all(it.error is not None and "not a capsule" in it.error for it in found.answers)


def test_producer_is_called_with_and_without_max_version() -> None:
    producer = Recorder(lambda **keywords: ra.zeros(1).__dlpack__(**keywords))
    ra.inspect(producer)
    assert producer.asked == [{"max_version": OURS}, {}]


@pytest.mark.parametrize("answer", [(2, 0), (1, 5)])
def test_mismatching_device_is_reported(answer: tuple[int, int]) -> None:
    producer = Recorder(lambda **keywords: ra.zeros(1).__dlpack__(**keywords), device=answer)
    found = ra.inspect(producer)
    assert (found.dlpack_device, found.dlpack_device_matches) == (answer, False)
    assert f"__dlpack_device__ says {answer}" in repr(found)


def test_exception_of_dunder_dlpack_device_is_reported() -> None:
    found = ra.inspect(Recorder(lambda **_: ra.to_capsule(ra.zeros(1)), device=None))
    assert found.dlpack_device is None
    assert found.dlpack_device_error is not None
    assert found.dlpack_device_error.startswith("TypeError: ")
    assert "__dlpack_device__ raised" in repr(found)


# --- fields of the struct


@run_each(
    ("fields", "expected"),
    [
        ({"strides": None}, {"strides": None, "layout": "row-major"}),
        ({"flags": 1}, {"flag_names": ("READ_ONLY",)}),
        ({"flags": 7, "dtype": (17, 4, 1)}, {"dtype_name": "float4_e2m1fn_padded", "nbytes": 3}),
        ({"flags": 2**40 + 2}, {"flag_names": ("IS_COPIED", "unknown bit 0x10000000000")}),
        ({"dtype": (17, 4, 1)}, {"dtype_name": "float4_e2m1fn", "nbytes": 2}),
        ({"dtype": (2, 32, 4)}, {"dtype_name": "float32x4", "nbytes": 48}),
        ({"dtype": (0, 4, 1)}, {"dtype_name": "int4", "nbytes": 2}),
        ({"dtype": (3, 64, 1)}, {"dtype_name": "opaque_handle64"}),
        ({"dtype": (6, 1, 1)}, {"dtype_name": "bool of 1 bits"}),
        ({"dtype": (18, 32, 1)}, {"dtype_name": "bcomplex32 (unreleased)"}),
        ({"dtype": (18, 64, 2)}, {"dtype_name": "bcomplex64x2 (unreleased)"}),
        ({"dtype": (19, 8, 1)}, {"dtype_name": "unknown code 19 of 8 bits"}),
        ({"dtype": (200, 8, 1)}, {"dtype_name": "unknown code 200 of 8 bits"}),
        ({"device": (2, 1)}, {"device_name": "cuda:1"}),
        ({"device": (3, 0)}, {"device_name": "cuda_host"}),
        ({"device": (8, 2)}, {"device_name": "kDLMetal:2"}),
        ({"device": (18, 0)}, {"device_name": "kDLTrn:0"}),
        ({"device": (19, 1)}, {"device_name": "kDLTPU:1 (unreleased)"}),
        ({"device": (20, 0)}, {"device_name": "kDLTPUHost:0 (unreleased)"}),
        ({"device": (21, 2)}, {"device_name": "kDLAscend:2 (unreleased)"}),
        ({"device": (22, 0)}, {"device_name": "unknown type 22:0"}),
        ({"device": (99, 0)}, {"device_name": "unknown type 99:0"}),
        ({"shape": [2, 3], "strides": [1, 2]}, {"layout": "column-major"}),
        ({"shape": [2, 3], "strides": [0, 1]}, {"layout": "strided, elements repeated (stride 0)"}),
        ({"shape": [2, 3], "strides": [-3, 1]}, {"layout": "strided, backwards on some axis"}),
        ({"shape": [2, 3], "strides": [4, 1]}, {"layout": "strided"}),
        ({"shape": [1, 3], "strides": [77, 1]}, {"layout": "contiguous"}),
        ({"shape": [], "strides": []}, {"shape": (), "layout": "contiguous", "nbytes": 4}),
        ({"shape": [0, 3], "data": None}, {"layout": "empty", "nbytes": 0, "alignment": None}),
        ({"data": 0x7000, "byte_offset": 8}, {"data": 0x7000, "alignment": 8}),
        ({"data": 0x7000, "byte_offset": 1}, {"alignment": 1}),
        ({"data": 1 << 40}, {"alignment": 4096}),
        ({"shape": None, "ndim": 1}, {"shape": None, "layout": None}),
        ({"ndim": -1}, {"ndim": -1, "shape": None}),
        ({"ndim": 2**31 - 1}, {"ndim": 2**31 - 1, "shape": None, "strides": None}),
        ({"shape": [-3]}, {"shape": (-3,), "layout": None, "nbytes": None}),
        ({"deleter": None}, {"deleter": 0}),
        ({"manager_ctx": False}, {"manager_ctx": 0}),
        ({"version": (1, 99)}, {"version": (1, 99), "shape": (3,)}),
        ({"version": (2, 0)}, {"version": (2, 0), "shape": None, "device": None}),
        ({"versioned": False}, {"struct": "DLManagedTensor", "flags": None, "version": None}),
    ],
    ids=str,
)
def test_every_field_is_reported(
    adv: Any, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    defaults = {"versioned": True, "version": (1, 3), "dtype": (2, 32, 1)}
    tensor = adv.make(**(defaults | fields))
    found = ra.inspect(tensor.capsule())
    assert {name: getattr(found, name) for name in expected} == expected
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert repr(found).startswith("inspection of PyCapsule\n")


@run_each(
    "name", [str(getattr(ra, name)) for name in dir(ra) if isinstance(getattr(ra, name), ra.DType)]
)
def test_dtype_names_match_refarrays(name: str) -> None:
    assert ra.inspect(ra.empty(2, dtype=name)).dtype_name == name


@pytest.mark.parametrize("name", ["float4_e2m1fn_padded", "float6_e2m3fn_padded", "int8x4"])
def test_dtype_names_include_padding_and_lanes(name: str) -> None:
    found = ra.inspect(ra.zeros(2, dtype=name))
    assert found.dtype_name == name
    assert found.nbytes == ra.zeros(2, dtype=name).nbytes


def test_device_names_match_refarrays() -> None:
    for name in ("cpu", "cuda:1", "cuda_host", "rocm:0", "rocm_host", "cuda_managed:2"):
        assert _inspect.device_name(ra.Device(name).dlpack) == name


def test_unknown_major_version_is_not_read_further(adv: Any) -> None:
    tensor = adv.make(versioned=True, version=(2, 0), unmapped_body=True)
    found = ra.inspect(tensor.capsule())
    assert (found.version, found.data, found.dtype) == ((2, 0), None, None)
    assert "its major version is unknown" in repr(found)


# --- exchange tables


def test_inspect_a_foreign_exchange_table(adv: Any) -> None:
    table = adv.table()
    found = ra.inspect(foreign(adv, adv.make(), table))
    assert found.exchange_api is not None
    assert found.exchange_api.usable
    assert found.exchange_api.version == (1, 3)
    assert not found.exchange_api.prev_api


# --- nothing is consumed


def test_inspected_capsule_can_still_be_consumed() -> None:
    capsule = ra.to_capsule(ra.asarray([1, 2]))
    ra.inspect(capsule)
    ra.inspect(capsule)
    assert ra.from_capsule(capsule).tolist() == [1, 2]


def test_capsules_requested_for_the_inspection_are_deleted(adv: Any) -> None:
    tensors: list[Any] = []

    def answer(**keywords: Any) -> Any:
        tensors.append(adv.make(versioned="max_version" in keywords))
        return tensors[-1].capsule()

    ra.inspect(Recorder(answer))
    assert [tensor.deleter_calls for tensor in tensors] == [1, 1]


def test_inspected_capsule_is_not_deleted(adv: Any) -> None:
    tensor = adv.make()
    capsule = tensor.capsule()
    ra.inspect(capsule)
    assert tensor.deleter_calls == 0
    del capsule
    assert tensor.deleter_calls == 1


def test_inspection_keeps_no_reference_to_the_memory() -> None:
    x = np.zeros(4)
    found = ra.inspect(x)
    x.resize((8,))  # raises while the memory is referenced
    assert found.shape == (4,)


# --- invalid arguments


@run_each(
    ("wrong", "message"),
    [
        (3, "int has no __dlpack__ and no __dlpack_device__"),
        ([1.0], "list has no __dlpack__"),
        (b"abc", "it has the buffer protocol"),
        (np.ndarray, "is a class: pass one of its instances"),
        (ra.Array, "is a class"),
        (None, "NoneType has no __dlpack__"),
        (type("Half", (), {"__dlpack__": lambda self: None})(), "Half has no __dlpack_device__"),
        (SimpleNamespace(__dlpack__=len, __dlpack_device__=len), "has no __dlpack__"),
    ],
)
def test_non_producer_raises(wrong: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        ra.inspect(wrong)
    assert message in str(caught.value)


def test_other_capsules_raise(adv: Any) -> None:
    used = ra.to_capsule(ra.zeros(1))
    ra.from_capsule(used)
    with pytest.raises(ValueError, match="used_dltensor"):
        ra.inspect(used)
    for name in ("something", None):
        with pytest.raises(ValueError, match="no unconsumed DLPack tensor"):
            ra.inspect(adv.make(name=name, deleter=None).capsule())


def test_keyboard_interrupt_of_a_producer_propagates() -> None:
    def interrupt(**_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ra.inspect(Recorder(interrupt))


# --- text


def test_repr_of_an_inspection() -> None:
    x = ra.reshape(ra.arange(6, dtype=ra.bfloat16), (2, 3))
    lines = repr(ra.inspect(x.as_readonly())).split("\n")
    assert lines[0] == "inspection of refarray.Array"
    facts = {}
    for line in lines[1:]:
        name, _, text = line.strip().partition("  ")
        facts[name] = text.strip()
    version = ".".join(map(str, OURS))
    assert facts["capsule"] == f"'dltensor_versioned': DLManagedTensorVersioned {version}"
    assert facts["flags"] == "READ_ONLY (1)"
    assert facts["device"] == "cpu (1, 0); __dlpack_device__ says the same"
    assert facts["dtype"] == "bfloat16 (4, 16, 1) (code, bits, lanes)"
    assert facts["shape"] == "(2, 3)"
    assert facts["strides"] == "(3, 1) elements"
    assert facts["layout"] == "row-major, 12 bytes of elements"
    assert facts["exchange API"] == f"{version}, all 5 functions"
    assert facts["versioned"] == f"max_version={OURS}: DLManagedTensorVersioned {version}"
    assert facts["legacy"].startswith("no max_version: BufferError: ")


def test_numpy_does_not_export_ml_dtypes() -> None:
    found = ra.inspect(np.zeros(2, dtype=ml_dtypes.bfloat16))
    assert found.struct is None  # NumPy's __dlpack__ raises for these dtypes
    assert all(answer.error for answer in found.answers)
