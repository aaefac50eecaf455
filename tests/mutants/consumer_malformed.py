"""Consumers that accept one malformed tensor, refuse or misread a legal one, or call its deleter
the wrong number of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, MUTANTS, breaks, consumer, fields, results
from mutants.consumer_results import (
    Handler,
    crash,
    misread,
    refuse,
    result_mutant,
    three_floats,
)
from mutants.producer_edge_cases import OnMetal
from refarray.conformance import Subject, _adversary
from refarray.conformance.harness.corpus import HANDLE

Fields = dict[str, Any]
When = Callable[[Fields], Any]
Change = Callable[[Fields], Fields]
DEFAULTS: Fields = {"dtype": (2, 32, 1), "device": (1, 0), "shape": (3,)}


def mutant(requirement: str, name: str, when: When, then: Handler) -> None:
    """A consumer that does `then` with tensors whose fields match `when`, unless a copy is asked
    for."""

    def selects(x: Any, _: Any, copy: Any) -> Any:
        return copy is None and hasattr(x, "fields") and when({**DEFAULTS, **x.fields})

    result_mutant(requirement, name, selects, then)


def has(**wanted: Any) -> When:
    """Selects tensors with these fields."""
    return lambda f: all(name in f and f[name] == value for name, value in wanted.items())


mutant("TENS-01", "ignores_byte_offset", has(byte_offset=8), misread(byte_offset=0))
mutant(
    "TENS-04",
    "refuses_empty",
    lambda f: isinstance(f["shape"], tuple) and 0 in f["shape"] and has(strides=(2**40, -5, 7))(f),
    refuse,
)
mutant("TENS-05", "accepts_null_data", has(data=None, shape=(3,)), three_floats)
mutant(
    "TENS-07",
    "refuses_null_strides",
    lambda f: has(strides=None, versioned=False, shape=(2, 3))(f) and not f.get("frozen"),
    refuse,
)
mutant("TENS-08", "refuses_scalars", has(shape=None, ndim=0), refuse)
mutant("TENS-08", "accepts_null_shape", has(shape=None, ndim=2), three_floats)
mutant("TENS-09", "accepts_negative_ndim", has(ndim=-1), three_floats)
mutant("TENS-09", "crashes_on_huge_ndim", has(ndim=2**31 - 1), crash)
mutant("TENS-10", "accepts_negative_extent", has(shape=(-1,)), three_floats)
mutant("TENS-10", "overflows_size", has(shape=(2**32, 2**32)), three_floats)
mutant("TENS-12", "ignores_stride_sign", has(strides=(-1,)), misread(strides=(1,)))
mutant("TENS-13", "ignores_zero_stride", has(strides=(0,), shape=(4,)), misread(strides=(1,)))
mutant("TENS-14", "refuses_unused_strides", has(strides=(12345, 1)), refuse)
mutant("TENS-20", "rounds_byte_offset", has(byte_offset=1), misread(byte_offset=0))
mutant(
    "ABI-04",
    "accepts_unknown_code",
    lambda f: f["dtype"][0] == 99 and "version" not in f and f.get("deleter", 1),
    three_floats,
)
mutant(
    "ABI-05",
    "scales_strides",
    lambda f: has(strides=(2,))(f) and not f.get("byte_offset"),
    misread(strides=(1,)),
)
mutant("VERS-02", "accepts_newer_major", lambda f: f.get("version", (1, 3))[0] == 2, three_floats)
mutant("VERS-02", "crashes_on_major_zero", lambda f: f.get("version", (1, 3))[0] == 0, crash)
mutant(
    "VERS-03",
    "accepts_unknown_code_of_newer_minor",
    lambda f: has(version=(1, 99))(f) and f["dtype"][0] == 99,
    three_floats,
)
mutant("VERS-11", "refuses_version_1_1", has(version=(1, 1)), refuse)
mutant("LIFE-02", "calls_null_deleter", has(deleter=None), crash)
mutant("LIFE-28", "refuses_null_manager_ctx", has(manager_ctx=False), refuse)
mutant("DTYPE-01", "accepts_packed_bool", has(dtype=(6, 1, 1)), three_floats)
mutant("DTYPE-07", "accepts_fp6_of_8_bits", has(dtype=(15, 8, 1)), three_floats)
mutant("DTYPE-08", "accepts_fp4_of_8_bits", has(dtype=(17, 8, 1)), three_floats)
mutant("DTYPE-12", "accepts_zero_lanes", has(dtype=(2, 32, 0)), three_floats)
mutant("DTYPE-12", "ignores_lanes", has(dtype=(2, 32, 2)), three_floats)
mutant("DTYPE-13", "accepts_float24", has(dtype=(2, 24, 1)), three_floats)
mutant("DTYPE-14", "accepts_opaque_handles", lambda f: f["dtype"][0] == 3, three_floats)
mutant("DEV-07", "accepts_unknown_device", lambda f: f["device"][0] in {9, 99}, three_floats)
mutant("DEV-07", "dereferences_rocm_memory", has(device=(10, 0)), crash)
mutant("DEV-10", "dereferences_device_handle", lambda f: f["device"][0] == 8, crash)


class Carried:
    """A tensor that is held as it came, and exported again with the fields that `change` gives."""

    def __init__(self, capsule: Any, change: Change) -> None:
        self.capsule = capsule
        self.change = change

    def __dlpack_device__(self) -> Any:
        return fields(self.capsule)["device"]

    def __dlpack__(self, *, max_version: Any = None, **_: Any) -> Any:
        held = fields(self.capsule)
        return _adversary.make(**{**held, **self.change(held)}).capsule()


def keep(_: Fields) -> Fields:
    """Changes nothing."""
    return {}


def add_offset(held: Fields) -> Fields:
    return {"data": held["data"] + held["byte_offset"], "byte_offset": 0}


def forget_offset(_: Fields) -> Fields:
    return {"byte_offset": 0}


def call_it_an_address(_: Fields) -> Fields:
    return {"device": (1, 0)}


def carry(change: Change) -> Handler:
    """Holds the tensor as it came, without a look at its data."""
    return lambda x, *_: Carried(x.__dlpack__(max_version=(1, 3)), change)


METAL = has(device=(8, 0), data=HANDLE)
mutant("DEV-10", "adds_offset_to_handle", METAL, carry(add_offset))
mutant("DEV-10", "takes_handle_for_address", METAL, carry(call_it_an_address))
mutant("TENS-01", "forgets_offset_of_handle", METAL, carry(forget_offset))


def carries_devices(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A correct consumer, which carries handles and memory of GPUs. Only an export of its arrays
    tells their device."""
    given = {**DEFAULTS, **getattr(x, "fields", {})}
    known = given["device"][0] in {2, 10} or given.get("data") == HANDLE
    known = known and (device, copy) == (None, None)
    return carry(keep)(x) if known else ra.from_dlpack(x, device=device, copy=copy)


carries_devices_ = consumer(carries_devices)


def own_on_metal(change: Change) -> Subject:
    """A consumer whose own arrays lie on Metal, and that exports them again with a change."""
    name = change.__name__
    taken = f"carry({name})(x) if isinstance(x, OnMetal) else ra.from_dlpack(x, **k)"
    imported = f"from {__name__} import carry, {name}; from {OnMetal.__module__} import OnMetal"
    return Subject(
        f"{__name__}:own_{name}",
        f"import refarray as ra; {imported}; take = lambda x, **k: {taken}",
        arrays={"offset": "OnMetal(ra.arange(6, dtype=ra.float32))[2:5]"},
        from_dlpack="take({})",
        array_api=False,
    )


own_keep = own_on_metal(keep)
own_add_offset, own_forget_offset = map(own_on_metal, (add_offset, forget_offset))
MUTANTS.update({own_add_offset.name: "DEV-10", own_forget_offset.name: "TENS-01"})
mutant("TENS-16", "reads_past_the_end", has(guarded=True, shape=(2, 3)), crash)
mutant("LIFE-19", "writes_strides", has(frozen=True), crash)


@breaks("LIFE-03")
def deletes_twice(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except BufferError:
        taken = getattr(x, "tensors", [])
        if taken and "dtype" in x.fields and x.fields.get("deleter", 1) and taken[-1].issued:
            taken[-1].delete()
        raise


@results("LIFE-03")
def never_deletes(taken: Any, x: Any, _: Any) -> Any:
    if getattr(x, "fields", {}).get("shape") == (2, 3):
        KEPT.append(taken)
    return taken
