"""Owns the consumers of the zoo that get results, names and manners wrong."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import ANIMALS, KEPT, Array, breaks, fields
from mutants.consumers import Proxy, complete
from refarray.conformance import Subject, _adversary, give
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.subjects.subject import REFARRAY

FP4 = (17, 4, 1)
Guest = Callable[[Any, Any, Any], Any]


def guest(requirement: str, name: str, when: Guest, then: Guest) -> None:
    """A consumer that does something else `when` it is given something with a device and a copy."""

    def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        if when(x, device, copy):
            return then(x, device, copy)
        return ra.from_dlpack(x, device=device, copy=copy)

    take.__name__ = name
    take.__module__ = __name__
    globals()[name] = take
    breaks(requirement)(take)


def told(x: Any, name: str, otherwise: Any = None) -> Any:
    """A field of what was given."""
    return getattr(x, "fields", {}).get(name, otherwise)


def recorded(x: Any) -> bool:
    """Whether it is the well-behaved producer of three floats."""
    plain = type(x) is Recorder and x.answer is None and x.knows is None and x.raises is None
    return plain and set(x.fields) <= {"shape", "data"}


def own(x: Any) -> bool:
    """Whether it is the consumer's own plain array."""
    return isinstance(x, ra.Array) and x.shape == (6,)


def die(*_: Any) -> Any:
    """Crashes."""
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(*_: Any) -> Any:
    """Raises."""
    raise BufferError("not today")


def three(*_: Any) -> Any:
    """Three floats, whatever was given."""
    return ra.from_dlpack(give())


def nothing(*_: Any) -> Any:
    """Three zeros, whatever was given."""
    return ra.zeros(3, dtype=ra.float32)


def table(requirement: str, case: str, then: Guest) -> None:
    """A consumer that meets one exchange table badly."""
    guest(requirement, f"table_{case}", lambda x, *_: type(x).__name__ == f"Table_{case}", then)


table("CAPI-02", "int", refuse)
table("CAPI-05", "major2", die)
table("CAPI-06", "cycle", refuse)
table("CAPI-08", "borrows", refuse)
table("CAPI-28", "works", nothing)
table("CAPI-30", "attached", die)
guest("ABI-03", "any_number", lambda x, *_: told(x, "device", (1, 0))[0] == -1, three)
guest(
    "DEV-12",
    "misreads_pinned",
    lambda x, *_: told(x, "device", (1, 0))[0] == 11,
    lambda x, *_: ra.from_dlpack(give(**{**x.fields, "device": (1, 0), "byte_offset": 4})),
)
guest(
    "DTYPE-09",
    "pads",
    lambda x, *_: told(x, "dtype") == FP4 and told(x, "flags") == 0,
    lambda x, *_: ra.from_dlpack(give(**{**x.fields, "flags": 4})),
)
guest(
    "FLAG-07",
    "packs",
    lambda x, *_: told(x, "dtype") == FP4 and told(x, "flags") == 4,
    lambda x, *_: ra.from_dlpack(give(**{**x.fields, "flags": 0})),
)
guest(
    "DTYPE-10",
    "high_nibble_first",
    lambda x, _, copy: told(x, "dtype") == FP4 and told(x, "shape") == (4,) and copy is True,
    lambda x, *_: ra.from_dlpack(give(**{**x.fields, "data": b"\x12\x34" + bytes(6)})),
)
guest(
    "DTYPE-16",
    "a_byte_each",
    lambda x, *_: told(x, "dtype") == FP4 and told(x, "shape") == (3,),
    die,
)
guest(
    "DTYPE-17",
    "one_small_float",
    lambda x, *_: told(x, "dtype") == (8, 8, 1),
    lambda x, *_: ra.from_dlpack(give(**{**x.fields, "dtype": (10, 8, 1)})),
)
guest(
    "FLAG-09",
    "refuses_read_only",
    lambda x, *_: told(x, "flags") == 1,
    refuse,
)
guest("COPY-03", "no_device", lambda x, device, _: device is not None, lambda *_: bad_device())
guest(
    "COPY-05",
    "shares_its_own",
    lambda x, _, copy: own(x) and copy is True,
    lambda x, *_: ra.from_dlpack(x),
)
guest(
    "COPY-06",
    "copies_under_false",
    lambda x, _, copy: recorded(x) and copy is False,
    lambda x, *_: ra.copy(ra.from_dlpack(x, copy=False)),
)
guest(
    "COPY-11",
    "any_device",
    lambda x, device, _: device == "no such device",
    lambda x, _, copy: ra.from_dlpack(x, copy=copy),
)
guest(
    "CONS-11",
    "takes_capsules",
    lambda x, *_: type(x).__name__ == "PyCapsule",
    three,
)
guest(
    "LIFE-27",
    "locks",
    lambda x, *_: callable(told(x, "deleter")) and told(x, "dtype") is None,
    die,
)
guest(
    "VERS-08",
    "needs_what_it_asked",
    lambda x, *_: type(x).__name__ == "Forced",
    lambda *_: system_error(),
)
guest(
    "TENS-19",
    "forgets_axes",
    lambda x, *_: isinstance(x, ra.Array) and x.shape == (3, 2),
    lambda x, *_: ra.zeros((2, 3), dtype=ra.float32),
)


def bad_device() -> Any:
    raise ValueError("a device cannot be asked for")


def system_error() -> Any:
    raise SystemError("a capsule that was not asked for")


@breaks("LIFE-24")
def one_thread(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if threading.current_thread() is not threading.main_thread():
        return nothing()
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("COPY-10")
def believes_device(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if device is not None and told(x, "device") == (2, 0):
        x.__dlpack_device__()
        KEPT.append(x.__dlpack__(max_version=(1, 3)))
        return three()
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("COPY-12")
def strict_by_default(
    x: Any, /, *, device: Any = None, copy: Any = None, strict: bool = True
) -> Any:
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("CONS-07")
def runtime_errors(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except BufferError as error:
        if told(x, "dtype") == (99, 32, 1):
            raise RuntimeError("no such dtype") from error
        raise


@breaks("DEV-08")
def hides_refusals(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Hides(Proxy):
        def __dlpack_device__(self) -> Any:
            try:
                return super().__dlpack_device__()
            except BufferError as error:
                raise RuntimeError("no device") from error

    complete(x)
    return ra.from_dlpack(Hides(x), device=device, copy=copy)


def kept(x: Any) -> Any:
    """The capsule of a producer that keeps it; the consumer asks as refarray does."""
    x.__dlpack_device__()
    return x.__dlpack__(max_version=(1, 3))


@breaks("CONS-06")
def deletes_then_renames(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if callable(told(x, "deleter")) and told(x, "dtype") == (99, 32, 1):
        capsule = kept(x)
        x.tensors[-1].delete()
        _adversary.rename(capsule, "used_dltensor_versioned")
        raise BufferError("no such dtype")
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("LIFE-13")
def renames_and_leaves(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    keeps = getattr(x, "keep", False) and told(x, "dtype") == (99, 32, 1)
    if keeps and not callable(told(x, "deleter")):
        _adversary.rename(kept(x), "used_dltensor_versioned")
        raise BufferError("no such dtype")
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("LIFE-10")
def never_renames(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if recorded(x) and x.keep:
        KEPT.append(kept(x))
        return ra.from_dlpack(_adversary.make(**fields(KEPT[-1])))
    return ra.from_dlpack(x, device=device, copy=copy)


class Shown(Array):
    """An array that shows a capsule."""

    def __init__(self, source: Any, capsule: Any) -> None:
        super().__init__(source)
        self.capsule = capsule


@breaks("LIFE-23")
def shows_its_capsule(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Shown(taken, x.capsule) if recorded(x) and x.keep else taken


class Loose(Array):
    """An array whose slices keep nothing alive."""

    def __getitem__(self, key: Any) -> Any:
        capsule = self.source[key].__dlpack__(max_version=(1, 3))
        held = fields(capsule)
        del capsule
        return Array(ra.from_dlpack(_adversary.make(**held)))


@breaks("CONS-12")
def loose_slices(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Loose(taken) if recorded(x) and copy is None else taken


class Moved(Array):
    """An array that says that it is in pinned memory."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.source.__dlpack__(**keywords)
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "device": (3, 0)}).capsule()


@breaks("COPY-02")
def pins(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Moved(taken) if recorded(x) and copy is None and not x.keep else taken


class Stray(Array):
    """An array that exports a flag that nobody knows."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.source.__dlpack__(**keywords)
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "flags": 1 << 40}).capsule()


@breaks("FLAG-08")
def passes_flags_on(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Stray(taken) if told(x, "flags") == 1 << 40 else taken


class Elsewhere(Array):
    """An array on a device of its own."""

    device = "elsewhere"


@breaks("AAPI-06")
def brings_elsewhere(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Elsewhere(taken) if own(x) and copy is None else taken


class Library:
    """A namespace whose asarray believes that no copy was needed."""

    @staticmethod
    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        return ra.from_dlpack(x, device=device, copy=copy)

    @staticmethod
    def asarray(x: Any, /, *, dtype: Any = None, copy: Any = None) -> Any:
        return ra.asarray(x, dtype=dtype)


class Bufferless(Library):
    """A namespace whose asarray knows no buffers."""

    @staticmethod
    def asarray(x: Any, /, *, dtype: Any = None, copy: Any = None) -> Any:
        if not isinstance(x, ra.Array):
            raise TypeError("no array")
        return ra.asarray(x, dtype=dtype, copy=copy)


for _kind in (Library, Bufferless):
    _name = _kind.__name__
    globals()[_name.lower()] = Subject(
        f"{__name__}:{_name.lower()}",
        f"import refarray as ra; from {__name__} import {_name}",
        arrays=REFARRAY.arrays,
        dtype=REFARRAY.dtype,
        from_dlpack=f"{_name}.from_dlpack({{}})",
    )
    ANIMALS[f"{__name__}:{_name.lower()}"] = "AAPI-05"
