"""Refusals: each step of an export and an import refuses before its first side effect, leaves
nothing behind, and calls the deleter of a taken tensor exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.leaks import blocks_left, heap_growth
from native.corpus import FLOATS
from native.producers import Recorder

import refarray as ra

VERSIONED = {"max_version": (1, 3)}
#: Of 8-byte elements: no machine can allocate a copy, so copying it raises MemoryError.
HUGE = (2**50,)


def leaves_nothing(work: Callable[[], object]) -> None:
    assert blocks_left(work) < 25, "Python objects were left behind"
    assert heap_growth(work) < 64, "C heap blocks were left behind"


def wide(dtype: str = "float64") -> ra.Array:
    """A small array that nobody can copy: one element, broadcast."""
    return ra.broadcast_to(ra.zeros((1,), dtype=dtype), HUGE)


def packed() -> ra.Array:
    return ra.zeros((4, 4), dtype="float4_e2m1fn")


ODD = object()
#: name: (array, keywords, error). Copying a `wide` array would raise MemoryError, so its refusal
#: comes before the allocation.
EXPORTS: dict[str, tuple[Callable[[], ra.Array], dict[str, Any], type[Exception]]] = {
    "unknown keyword": (wide, {"copy": True, "colour": 1}, TypeError),
    "stream: type": (wide, {"copy": True, "stream": ODD}, TypeError),
    "stream: bool": (wide, {"copy": True, "stream": True}, TypeError),
    "stream: too large": (wide, {"copy": True, "stream": 2**70}, ValueError),
    "stream: on the CPU": (wide, {"copy": True, "stream": 1}, ValueError),
    "stream: -1 on the CPU": (wide, {"copy": True, "stream": -1}, ValueError),
    "stream: without a copy": (wide, {"stream": 1, **VERSIONED}, ValueError),
    "stream: with dl_device": (wide, {"copy": True, "dl_device": (1, 0), "stream": 2}, ValueError),
    "max_version: type": (wide, {"copy": True, "max_version": 1}, TypeError),
    "max_version: length": (wide, {"copy": True, "max_version": (1,)}, TypeError),
    "dl_device: type": (wide, {"copy": True, "dl_device": "cpu"}, TypeError),
    "dl_device: too large": (wide, {"copy": True, "dl_device": (2**40, 0)}, ValueError),
    "dl_device: unsupported": (wide, {"copy": True, "dl_device": (7, 0)}, BufferError),
    "dl_device: no such CPU": (wide, {"copy": True, "dl_device": (1, 1)}, BufferError),
    "dl_device: copy=False": (wide, {"copy": False, "dl_device": (2, 0)}, ra.NoCopyError),
    "copy: type": (wide, {"copy": 1}, TypeError),
    "legacy: read-only": (lambda: wide().as_readonly(), {}, BufferError),
    "legacy: padded": (lambda: wide("float4_e2m1fn_padded"), {"copy": True}, BufferError),
    "packed: bit offset": (lambda: packed()[:, 1:], VERSIONED, BufferError),
    "packed: stride": (lambda: packed()[:, ::2], VERSIONED, BufferError),
}


def test_copying_the_wide_array_needs_memory() -> None:
    """The control for the table above."""
    with pytest.raises(MemoryError):
        wide().__dlpack__(copy=True)


@pytest.mark.req("PROD-15", "STRM-14", "VERS-10", "PROD-06", "PROD-07")
@pytest.mark.parametrize("name", EXPORTS)
@run_each("entry", ["__dlpack__", "to_capsule"])
def test_export_is_refused_before_anything_is_allocated(name: str, entry: str) -> None:
    make, keywords, error = EXPORTS[name]
    x = make()

    def refused() -> None:
        with pytest.raises(error) as caught:
            x.__dlpack__(**keywords) if entry == "__dlpack__" else ra.to_capsule(x, **keywords)
        assert not isinstance(caught.value, MemoryError)
        caught.value.__traceback__ = None

    refused()
    leaves_nothing(refused)


#: name: (fields of the tensor, keywords of from_dlpack, error, is the tensor taken?)
IMPORTS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], bool]] = {
    "unknown keyword": ({}, {"colour": 1}, TypeError, False),
    "copy: type": ({}, {"copy": 0}, TypeError, False),
    "device: unknown": ({}, {"device": "moon"}, ValueError, False),
    "device: not here": ({}, {"device": "rocm:99"}, BufferError, False),
    "max_version: type": ({}, {"max_version": "1"}, TypeError, False),
    "announced device": ({"dunder_device": (7, 0)}, {}, BufferError, False),
    "announced device: no driver": ({"dunder_device": (10, 99)}, {}, BufferError, False),
    "major version": ({"version": (2, 0)}, {}, BufferError, True),
    "dtype": ({"dtype": (2, 33, 1)}, {}, BufferError, True),
    "lanes": ({"dtype": (2, 32, 0)}, {}, BufferError, True),
    "flags": ({"flags": 4}, {}, BufferError, True),
    "ndim": ({"ndim": 65}, {}, BufferError, True),
    "shape": ({"shape": (-1,)}, {}, BufferError, True),
    "strides": ({"shape": (2,), "strides": (2**62,)}, {}, BufferError, True),
    "byte_offset": ({"byte_offset": 2**63}, {}, BufferError, True),
    "data": ({"data": None}, {}, BufferError, True),
    "device": ({"device": (7, 0), "dunder_device": (1, 0)}, {}, BufferError, True),
    "copied": ({"flags": 2}, {"copy": False}, ra.NoCopyError, True),
}


@pytest.mark.req("LIFE-10", "CONS-11")
@run_each("name", IMPORTS)
def test_import_is_refused_with_one_deleter_call(adv: Any, name: str) -> None:
    """Before the tensor is taken the capsule keeps it; afterwards its deleter runs at once."""
    fields, keywords, error, taken = IMPORTS[name]
    fields = dict(fields)
    announced = fields.pop("dunder_device", (1, 0))
    tensor = adv.make(**{"shape": (3,), "data": FLOATS, **fields})
    capsules = [tensor.capsule()]
    producer = Recorder(lambda **_: capsules[0], device=announced)
    with pytest.raises(error):
        ra.from_dlpack(producer, **keywords)
    assert tensor.deleter_calls == int(taken)
    assert adv.name_of(capsules[0]).startswith("used_") == taken
    if not taken:
        assert producer.asked == [], "the producer was asked to export"
    capsules.clear()
    assert tensor.deleter_calls == 1
