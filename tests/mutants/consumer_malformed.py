"""Consumers that accept one malformed tensor, refuse or misread a legal one, or call its deleter
the wrong number of times."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, breaks, named
from refarray.conformance import give
from refarray.conformance.harness.corpus import FLOATS

Fields = dict[str, Any]
GOOD: Fields = {"shape": (3,), "data": FLOATS}


def malformed_mutant(
    requirement: str, name: str, when: Callable[[Fields], bool], then: Callable[[Fields], Any]
) -> None:
    """A consumer that does `then` with tensors whose fields match `when`, unless a copy is asked
    for."""

    def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        fields = getattr(x, "fields", None)
        if (
            copy is None
            and fields is not None
            and when({"dtype": (2, 32, 1), "device": (1, 0), "shape": (3,), **fields})
        ):
            return then(fields)
        return ra.from_dlpack(x, device=device, copy=copy)

    breaks(requirement)(named(take, name, __name__))


def accept(changes: Fields) -> Callable[[Fields], Any]:
    """Accepts the tensor: imports a well-formed one in its place."""
    return lambda fields: ra.from_dlpack(give(**{**GOOD, **changes}))


def misread(**changes: Any) -> Callable[[Fields], Any]:
    """Imports the tensor with some fields changed, as if it had misread them."""
    return lambda fields: ra.from_dlpack(give(**{**fields, **changes}))


def refuse(fields: Fields) -> Any:
    """Raises BufferError."""
    raise BufferError("refused")


def crash(fields: Fields) -> Any:
    """Ends the process by SIGSEGV."""
    os.kill(os.getpid(), signal.SIGSEGV)


malformed_mutant(
    "TENS-01", "ignores_byte_offset", lambda f: f.get("byte_offset") == 8, misread(byte_offset=0)
)
malformed_mutant(
    "TENS-04",
    "refuses_empty",
    lambda f: (
        isinstance(f["shape"], tuple) and 0 in f["shape"] and f.get("strides", 0) == (2**40, -5, 7)
    ),
    refuse,
)
malformed_mutant(
    "TENS-05", "accepts_null_data", lambda f: f["data"] is None and f["shape"] == (3,), accept({})
)
malformed_mutant(
    "TENS-07",
    "refuses_null_strides",
    lambda f: (
        f.get("strides", 0) is None
        and f.get("versioned") is False
        and f["shape"] == (2, 3)
        and not f.get("frozen")
    ),
    refuse,
)
malformed_mutant(
    "TENS-08", "refuses_scalars", lambda f: f["shape"] is None and f["ndim"] == 0, refuse
)
malformed_mutant(
    "TENS-08", "accepts_null_shape", lambda f: f["shape"] is None and f["ndim"] == 2, accept({})
)
malformed_mutant("TENS-09", "accepts_negative_ndim", lambda f: f.get("ndim") == -1, accept({}))
malformed_mutant("TENS-09", "crashes_on_huge_ndim", lambda f: f.get("ndim") == 2**31 - 1, crash)
malformed_mutant("TENS-10", "accepts_negative_extent", lambda f: f["shape"] == (-1,), accept({}))
malformed_mutant("TENS-10", "overflows_size", lambda f: f["shape"] == (2**32, 2**32), accept({}))
malformed_mutant(
    "TENS-12", "ignores_stride_sign", lambda f: f.get("strides") == (-1,), misread(strides=(1,))
)
malformed_mutant(
    "TENS-13",
    "ignores_zero_stride",
    lambda f: f.get("strides") == (0,) and f["shape"] == (4,),
    misread(strides=(1,)),
)
malformed_mutant(
    "TENS-14", "refuses_unused_strides", lambda f: f.get("strides") == (12345, 1), refuse
)
malformed_mutant(
    "TENS-20", "rounds_byte_offset", lambda f: f.get("byte_offset") == 1, misread(byte_offset=0)
)
malformed_mutant(
    "ABI-04",
    "accepts_unknown_code",
    lambda f: f["dtype"][0] == 99 and "version" not in f and f.get("deleter", 1),
    accept({}),
)
malformed_mutant(
    "ABI-05",
    "scales_strides",
    lambda f: f.get("strides") == (2,) and not f.get("byte_offset"),
    misread(strides=(1,)),
)
malformed_mutant(
    "VERS-02", "accepts_newer_major", lambda f: f.get("version", (1, 3))[0] == 2, accept({})
)
malformed_mutant(
    "VERS-02", "crashes_on_major_zero", lambda f: f.get("version", (1, 3))[0] == 0, crash
)
malformed_mutant(
    "VERS-03",
    "accepts_unknown_code_of_newer_minor",
    lambda f: f.get("version") == (1, 99) and f["dtype"][0] == 99,
    accept({}),
)
malformed_mutant("VERS-11", "refuses_version_1_1", lambda f: f.get("version") == (1, 1), refuse)
malformed_mutant("LIFE-02", "calls_null_deleter", lambda f: f.get("deleter", 1) is None, crash)
malformed_mutant(
    "LIFE-28", "refuses_null_manager_ctx", lambda f: f.get("manager_ctx") is False, refuse
)
malformed_mutant("DTYPE-01", "accepts_packed_bool", lambda f: f["dtype"] == (6, 1, 1), accept({}))
malformed_mutant(
    "DTYPE-07", "accepts_fp6_of_8_bits", lambda f: f["dtype"] == (15, 8, 1), accept({})
)
malformed_mutant(
    "DTYPE-08", "accepts_fp4_of_8_bits", lambda f: f["dtype"] == (17, 8, 1), accept({})
)
malformed_mutant("DTYPE-12", "accepts_zero_lanes", lambda f: f["dtype"] == (2, 32, 0), accept({}))
malformed_mutant("DTYPE-12", "ignores_lanes", lambda f: f["dtype"] == (2, 32, 2), accept({}))
malformed_mutant("DTYPE-13", "accepts_float24", lambda f: f["dtype"] == (2, 24, 1), accept({}))
malformed_mutant("DTYPE-14", "accepts_opaque_handles", lambda f: f["dtype"][0] == 3, accept({}))
malformed_mutant(
    "DEV-07",
    "accepts_unknown_device",
    lambda f: f["device"][0] == 99 or f["device"][0] == 9,
    accept({}),
)
malformed_mutant("DEV-10", "dereferences_device_handle", lambda f: f["device"][0] == 8, crash)
malformed_mutant(
    "TENS-16",
    "reads_past_the_end",
    lambda f: bool(f.get("guarded")) and f["shape"] == (2, 3),
    crash,
)
malformed_mutant("LIFE-19", "writes_strides", lambda f: bool(f.get("frozen")), crash)


@breaks("LIFE-03")
def deletes_twice(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except BufferError:
        taken = getattr(x, "tensors", [])
        if taken and "dtype" in x.fields and x.fields.get("deleter", 1) and taken[-1].issued:
            taken[-1].delete()
        raise


@breaks("LIFE-03")
def never_deletes(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    if getattr(x, "fields", {}).get("shape") == (2, 3):
        KEPT.append(taken)
    return taken
