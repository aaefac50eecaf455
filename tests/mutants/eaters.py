"""Owns the consumers of the zoo that let in one malformed tensor, refuse a legal one, or lose count
of a deleter."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, breaks
from refarray.conformance import give
from refarray.conformance.harness.corpus import FLOATS

Fields = dict[str, Any]
GOOD: Fields = {"shape": (3,), "data": FLOATS}


def eater(
    requirement: str, name: str, when: Callable[[Fields], bool], then: Callable[[Fields], Any]
) -> None:
    """A consumer that does something else with tensors of some fields."""

    def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        fields = getattr(x, "fields", None)
        if fields is not None and when(
            {"dtype": (2, 32, 1), "device": (1, 0), "shape": (3,), **fields}
        ):
            return then(fields)
        return ra.from_dlpack(x, device=device, copy=copy)

    take.__name__ = name
    take.__module__ = __name__
    globals()[name] = take
    breaks(requirement)(take)


def swallow(changes: Fields) -> Callable[[Fields], Any]:
    """Imports something well-formed instead."""
    return lambda fields: ra.from_dlpack(give(**{**GOOD, **changes}))


def mend(**changes: Any) -> Callable[[Fields], Any]:
    """Imports the same with other fields, as one does who misreads it."""
    return lambda fields: ra.from_dlpack(give(**{**fields, **changes}))


def refuse(fields: Fields) -> Any:
    """Raises."""
    raise BufferError("not today")


def die(fields: Fields) -> Any:
    """Crashes."""
    os.kill(os.getpid(), signal.SIGSEGV)


eater("TENS-01", "ignores_offset", lambda f: f.get("byte_offset") == 8, mend(byte_offset=0))
eater(
    "TENS-04",
    "refuses_empty",
    lambda f: (
        isinstance(f["shape"], tuple) and 0 in f["shape"] and f.get("strides", 0) == (2**40, -5, 7)
    ),
    refuse,
)
eater("TENS-05", "eats_null", lambda f: f["data"] is None and f["shape"] == (3,), swallow({}))
eater(
    "TENS-07",
    "needs_strides",
    lambda f: (
        f.get("strides", 0) is None
        and f.get("versioned") is False
        and f["shape"] == (2, 3)
        and not f.get("frozen")
    ),
    refuse,
)
eater("TENS-08", "refuses_scalars", lambda f: f["shape"] is None and f["ndim"] == 0, refuse)
eater("TENS-08", "eats_no_shape", lambda f: f["shape"] is None and f["ndim"] == 2, swallow({}))
eater("TENS-09", "eats_negative_ndim", lambda f: f.get("ndim") == -1, swallow({}))
eater("TENS-09", "dies_of_ndim", lambda f: f.get("ndim") == 2**31 - 1, die)
eater("TENS-10", "eats_negative_extent", lambda f: f["shape"] == (-1,), swallow({}))
eater("TENS-10", "wraps_sizes", lambda f: f["shape"] == (2**32, 2**32), swallow({}))
eater("TENS-12", "forgets_signs", lambda f: f.get("strides") == (-1,), mend(strides=(1,)))
eater(
    "TENS-13",
    "walks_on",
    lambda f: f.get("strides") == (0,) and f["shape"] == (4,),
    mend(strides=(1,)),
)
eater("TENS-14", "believes_unit_strides", lambda f: f.get("strides") == (12345, 1), refuse)
eater("TENS-20", "aligns", lambda f: f.get("byte_offset") == 1, mend(byte_offset=0))
eater(
    "ABI-04",
    "guesses_codes",
    lambda f: f["dtype"][0] == 99 and "version" not in f and f.get("deleter", 1),
    swallow({}),
)
eater("ABI-05", "counts_bytes", lambda f: f.get("strides") == (2,), mend(strides=(1,)))
eater("VERS-02", "ignores_major", lambda f: f.get("version", (1, 3))[0] == 2, swallow({}))
eater("VERS-02", "reads_on", lambda f: f.get("version", (1, 3))[0] == 0, die)
eater(
    "VERS-03",
    "eats_the_future",
    lambda f: f.get("version") == (1, 99) and f["dtype"][0] == 99,
    swallow({}),
)
eater("VERS-11", "needs_strides_always", lambda f: f.get("version") == (1, 1), refuse)
eater("LIFE-02", "calls_null", lambda f: f.get("deleter", 1) is None, die)
eater("LIFE-28", "wants_context", lambda f: f.get("manager_ctx") is False, refuse)
eater("DTYPE-01", "eats_bits", lambda f: f["dtype"] == (6, 1, 1), swallow({}))
eater("DTYPE-07", "eats_wide_six", lambda f: f["dtype"] == (15, 8, 1), swallow({}))
eater("DTYPE-08", "eats_wide_four", lambda f: f["dtype"] == (17, 8, 1), swallow({}))
eater("DTYPE-12", "eats_no_lanes", lambda f: f["dtype"] == (2, 32, 0), swallow({}))
eater("DTYPE-12", "forgets_lanes", lambda f: f["dtype"] == (2, 32, 2), swallow({}))
eater("DTYPE-13", "guesses_by_size", lambda f: f["dtype"] == (2, 24, 1), swallow({}))
eater("DTYPE-14", "eats_handles", lambda f: f["dtype"][0] == 3, swallow({}))
eater(
    "DEV-07", "eats_any_device", lambda f: f["device"][0] == 99 or f["device"][0] == 9, swallow({})
)
eater("DEV-10", "touches_handles", lambda f: f["device"][0] == 8, die)
eater(
    "TENS-16", "reads_past_the_end", lambda f: bool(f.get("guarded")) and f["shape"] == (2, 3), die
)
eater("LIFE-19", "writes_strides", lambda f: bool(f.get("frozen")), die)


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
