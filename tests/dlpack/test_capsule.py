"""Capsules: names, consumption by exactly one consumer, from_capsule and to_capsule."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from helpers.cases import run_each, words
from native.corpus import FLOATS

import refarray
from refarray import _native

VALUES = [0.0, 1.0, 2.0]
USED = {"dltensor": "used_dltensor", "dltensor_versioned": "used_dltensor_versioned"}


@pytest.mark.req("CONS-11")
def test_from_dlpack_rejects_a_capsule(adv: Any) -> None:
    """A capsule is not a producer: the AttributeError points to from_capsule, and nothing is
    consumed."""
    tensor = adv.make(data=FLOATS)
    capsule = tensor.capsule()
    with pytest.raises(AttributeError, match="from_capsule"):
        refarray.from_dlpack(capsule)
    assert adv.name_of(capsule) == "dltensor_versioned"
    assert refarray.from_capsule(capsule).tolist() == VALUES


# --- our own capsules ---


@pytest.mark.req("LIFE-06", "LIFE-08", "LIFE-09", "LIFE-11")
@run_each("version", [None, (1, 3)])
@run_each("fate", ["dropped", "taken", "taken, destructor cleared", "destructor cleared"])
def test_exported_memory_is_released_once_whatever_the_consumer_does(
    adv: Any, version: Any, fate: str
) -> None:
    """A consumer may rename the capsule and may clear its destructor (LIFE-11)."""
    tensor = adv.make(data=FLOATS)
    x = refarray.from_dlpack(tensor)  # the tensor's deleter runs when the last export is gone
    capsule = x.__dlpack__(max_version=version)
    del x
    assert tensor.deleter_calls == 0
    owned = None
    if fate != "dropped":
        owned = adv.take(capsule, rename="taken" in fate, clear_destructor="cleared" in fate)
    del capsule
    assert tensor.deleter_calls == int(owned is None)
    if owned is not None:
        assert owned.read(12) == FLOATS[:12]
        owned.drop()
    assert tensor.deleter_calls == 1


@pytest.mark.req("LIFE-09")
@pytest.mark.parametrize("name", ["foo", "used_dltensor", "used_dltensor_versioned"])
def test_our_destructor_ignores_renamed_capsules(
    adv: Any, unraisable: list[Any], name: str
) -> None:
    """Whoever renamed the capsule owns the tensor: the destructor does nothing, silently (A-39)."""
    tensor = adv.make(data=FLOATS)
    capsule = refarray.from_dlpack(tensor).__dlpack__(max_version=(1, 3))
    managed = adv.inspect(capsule)["managed"]
    adv.rename(capsule, name)
    del capsule
    assert (tensor.deleter_calls, unraisable) == (0, [])
    adv.adopt(managed).drop()  # the new owner's duty
    assert tensor.deleter_calls == 1


@pytest.mark.req("CONS-11", "LIFE-06")
def test_to_capsule_matches_dunder_dlpack(adv: Any) -> None:
    """to_capsule() takes the same keywords and raises the same errors as `__dlpack__`."""
    x = refarray.arange(3, dtype=refarray.float32)
    assert adv.inspect(refarray.to_capsule(x))["name"] in USED
    assert adv.inspect(refarray.to_capsule(x, max_version=(1, 0)))["version"] == (1, 3)
    assert (
        adv.inspect(refarray.to_capsule(x, max_version=(1, 0), copy=True, dl_device=(1, 0)))[
            "flags"
        ]
        == 2
    )
    assert refarray.from_capsule(refarray.to_capsule(x)).tolist() == VALUES
    with pytest.raises(ValueError, match="stream"):
        refarray.to_capsule(x, stream=1)
    with pytest.raises(BufferError):
        refarray.to_capsule(x.as_readonly(), max_version=(0, 8))
    with pytest.raises(TypeError):
        refarray.to_capsule([1, 2, 3])


@pytest.mark.req("FLAG-11")
@pytest.mark.parametrize("versioned", [True, False])
def test_inspection_does_not_consume_the_capsule(adv: Any, versioned: bool) -> None:
    """_inspect_capsule reports the same fields as the adversary."""
    tensor = adv.make(shape=(2, 3), strides=None, data=FLOATS, versioned=versioned, byte_offset=4)
    capsule = tensor.capsule()
    expected, found = adv.inspect(capsule), _native._inspect_capsule(capsule)
    for key in words("name struct version flags data device ndim dtype shape strides byte_offset"):
        assert found[key] == expected[key], key
    assert bool(found["deleter"]) is True
    assert tensor.deleter_calls == 0
    del capsule
    assert tensor.deleter_calls == 1


@pytest.mark.req("ABI-02", "VERS-02")
def test_inspection_of_an_unknown_major_version_reads_the_header_only(
    adv: Any, forked: Any
) -> None:
    """Nothing after `flags` is read if the major version is unknown."""

    def body() -> None:
        found = _native._inspect_capsule(
            adv.make(version=(2, 0), unmapped_body=True, flags=5).capsule()
        )
        assert (found["version"], found["flags"]) == ((2, 0), 5)
        assert "shape" not in found

    forked(body)
    body()


@pytest.mark.req("LIFE-08")
@pytest.mark.parametrize("versioned", [True, False])
def test_capsule_destructor_deletes_a_replaced_tensor(adv: Any, versioned: bool) -> None:
    """Someone replaced the pointer in our capsule: that tensor's deleter is called, once, and a
    pending exception stays pending."""
    set_pointer = ctypes.pythonapi.PyCapsule_SetPointer
    set_pointer.argtypes, set_pointer.restype = [ctypes.py_object, ctypes.c_void_p], ctypes.c_int
    x = refarray.arange(3)
    capsule = x.__dlpack__(max_version=(1, 3) if versioned else None)
    ours = adv.inspect(capsule)["managed"]
    tensor = adv.make(data=FLOATS, versioned=versioned)
    theirs = tensor.capsule()
    assert set_pointer(capsule, adv.inspect(theirs)["managed"]) == 0
    adv.rename(theirs, "used_dltensor_versioned" if versioned else "used_dltensor")
    pending = KeyError("pending")
    capsules = [capsule]
    del capsule
    assert adv.drop_pending(capsules, pending) is pending
    assert tensor.deleter_calls == 1
    size = 8 if versioned else 48  # offset of manager_ctx; the deleter follows it
    deleter = ctypes.c_void_p.from_address(ours + size + 8).value
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(ours)
    assert x.tolist() == [0, 1, 2]
