"""Consumers whose result, error, capsule handling or asarray is wrong."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, MUTANTS, Array, Relabelled, breaks, fields, named, results
from mutants.consumer_negotiation import Proxy, through
from refarray.conformance import Subject, _adversary, give
from refarray.conformance.harness.consumer import Given
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.subjects.libraries import REFARRAY

FP4 = (17, 4, 1)
Handler = Callable[[Any, Any, Any], Any]


def result_mutant(requirement: str, name: str, when: Handler, then: Handler) -> None:
    """A consumer that does `then` for the arguments (producer, device, copy) that match `when`."""

    def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        if when(x, device, copy):
            return then(x, device, copy)
        return ra.from_dlpack(x, device=device, copy=copy)

    breaks(requirement)(named(take, name, when.__module__))


def field(x: Any, name: str, otherwise: Any = None) -> Any:
    """A field of a producer of the kit; `otherwise` if it was left at its default."""
    return getattr(x, "fields", {}).get(name, otherwise)


def sent(**wanted: Any) -> Handler:
    """Selects the kit's producers with these fields."""
    return lambda x, *_: all(field(x, name) == value for name, value in wanted.items())


def misread(**changes: Any) -> Handler:
    """Imports the tensor with some fields changed, as if it had misread them."""
    return lambda x, *_: ra.from_dlpack(give(**{**x.fields, **changes}))


def is_plain_recorder(x: Any) -> bool:
    """Whether `x` is the kit's correct producer of three floats."""
    plain = type(x) is Recorder and x.answer is None and x.knows is None and x.raises is None
    return plain and set(x.fields) <= {"shape", "data"}


def is_own_array(x: Any) -> bool:
    """Whether `x` is the consumer's own array of kind "plain"."""
    return isinstance(x, ra.Array) and x.shape == (6,)


def crash(*_: Any) -> Any:
    """Ends the process by SIGSEGV."""
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(*_: Any) -> Any:
    """Raises BufferError."""
    raise BufferError("refused")


def three_floats(*_: Any) -> Any:
    """Imports three floats in place of the argument."""
    return ra.from_dlpack(give())


def three_zeros(*_: Any) -> Any:
    """Returns three zeros in place of the argument."""
    return ra.zeros(3, dtype=ra.float32)


def ignores_max_version(x: Any) -> bool:
    """Whether `x` is the kit's producer that always exports the versioned struct."""
    return isinstance(x, Given) and not isinstance(x, Recorder) and type(x) is not Given


def table_mutant(requirement: str, case: str, then: Handler) -> None:
    """A consumer that mishandles the kit's exchange table `case`."""
    result_mutant(
        requirement, f"table_{case}", lambda x, *_: type(x).__name__ == f"Table_{case}", then
    )


def bad_device(*_: Any) -> Any:
    raise ValueError("device is not supported")


def system_error(*_: Any) -> Any:
    raise SystemError("unexpected capsule")


table_mutant("CAPI-02", "int", refuse)
table_mutant("CAPI-05", "major2", crash)
table_mutant("CAPI-06", "cycle", refuse)
table_mutant("CAPI-08", "borrows", refuse)
table_mutant("CAPI-28", "works", three_zeros)
table_mutant("CAPI-30", "attached", crash)
result_mutant(
    "ABI-03",
    "accepts_negative_device_type",
    lambda x, *_: field(x, "device", (1, 0))[0] == -1,
    three_floats,
)
result_mutant(
    "DEV-12", "misreads_rocm_host", sent(device=(11, 0)), misread(device=(1, 0), byte_offset=4)
)
result_mutant("DTYPE-09", "reads_packed_fp4_as_padded", sent(dtype=FP4, flags=0), misread(flags=4))
result_mutant("FLAG-07", "reads_padded_fp4_as_packed", sent(dtype=FP4, flags=4), misread(flags=0))
result_mutant(
    "DTYPE-10",
    "high_nibble_first",
    lambda x, _, copy: sent(dtype=FP4, shape=(4,))(x, _, copy) and copy is True,
    misread(data=b"\x12\x34" + bytes(6)),
)
result_mutant("DTYPE-16", "reads_fp4_as_bytes", sent(dtype=FP4, shape=(3,)), crash)
result_mutant(
    "DTYPE-17", "confuses_float8_formats", sent(dtype=(8, 8, 1)), misread(dtype=(10, 8, 1))
)
result_mutant(
    "FLAG-07",
    "reads_padded_vectors_as_packed",
    sent(dtype=(17, 4, 2), flags=4),
    misread(flags=0),
)
result_mutant("FLAG-09", "refuses_read_only", sent(flags=1), refuse)
result_mutant(
    "COPY-03", "refuses_device_keyword", lambda x, device, _: device is not None, bad_device
)
result_mutant(
    "COPY-05",
    "shares_own_array_under_copy_true",
    lambda x, _, copy: is_own_array(x) and copy is True,
    lambda x, *_: ra.from_dlpack(x),
)
result_mutant(
    "COPY-06",
    "copies_under_copy_false",
    lambda x, _, copy: is_plain_recorder(x) and copy is False,
    lambda x, *_: ra.copy(ra.from_dlpack(x, copy=False)),
)
result_mutant(
    "COPY-11",
    "accepts_unknown_device",
    lambda x, device, _: device == "no such device",
    lambda x, _, copy: ra.from_dlpack(x, copy=copy),
)
result_mutant(
    "CONS-11",
    "accepts_bare_capsules",
    lambda x, *_: type(x).__name__ == "PyCapsule",
    lambda x, *_: ra.from_capsule(x),
)
result_mutant(
    "LIFE-27",
    "crashes_on_reentrant_deleter",
    lambda x, *_: callable(field(x, "deleter")) and field(x, "dtype") is None,
    crash,
)
result_mutant(
    "VERS-08",
    "raises_system_error_for_other_struct",
    lambda x, *_: ignores_max_version(x),
    system_error,
)
result_mutant(
    "TENS-19",
    "loses_transposition",
    lambda x, _, copy: isinstance(x, ra.Array) and x.shape == (3, 2) and copy is None,
    lambda x, *_: ra.zeros((2, 3), dtype=ra.float32),
)


@breaks("LIFE-24")
def imports_in_main_thread_only(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if threading.current_thread() is not threading.main_thread():
        return three_zeros()
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("COPY-10")
def trusts_announced_device(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if device is not None and field(x, "device") == (2, 0):
        x.__dlpack_device__()
        KEPT.append(x.__dlpack__(max_version=(1, 3)))
        return three_floats()
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("COPY-12")
def strict_by_default(
    x: Any, /, *, device: Any = None, copy: Any = None, strict: bool = True
) -> Any:
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("CONS-07")
def raises_runtime_error(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except BufferError as error:
        if field(x, "dtype") == (99, 32, 1):
            raise RuntimeError("no such dtype") from error
        raise


@through("DEV-08")
class hides_device_error(Proxy):
    def __dlpack_device__(self) -> Any:
        try:
            return super().__dlpack_device__()
        except BufferError as error:
            raise RuntimeError("no device") from error


def keep_capsule(x: Any) -> Any:
    """Exports a capsule as refarray's from_dlpack does; the producer keeps a reference to it."""
    x.__dlpack_device__()
    return x.__dlpack__(max_version=(1, 3))


@breaks("CONS-06")
def deletes_before_renaming(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if callable(field(x, "deleter")) and field(x, "dtype") == (99, 32, 1):
        capsule = keep_capsule(x)
        x.tensors[-1].delete()
        _adversary.rename(capsule, "used_dltensor_versioned")
        raise BufferError("no such dtype")
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("LIFE-13")
def renames_and_never_deletes(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    keeps = getattr(x, "keep", False) and field(x, "dtype") == (99, 32, 1)
    if keeps and not callable(field(x, "deleter")):
        _adversary.rename(keep_capsule(x), "used_dltensor_versioned")
        raise BufferError("no such dtype")
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("LIFE-10")
def never_renames(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if is_plain_recorder(x) and x.keep:
        KEPT.append(keep_capsule(x))
        return ra.from_dlpack(_adversary.make(**fields(KEPT[-1])))
    return ra.from_dlpack(x, device=device, copy=copy)


class CapsuleHolder(Array):
    """An array that exposes the imported capsule as an attribute."""

    def __init__(self, source: Any, capsule: Any) -> None:
        super().__init__(source)
        self.capsule = capsule


@results("LIFE-23")
def exposes_capsule(taken: Any, x: Any, copy: Any) -> Any:
    return CapsuleHolder(taken, x.capsule) if is_plain_recorder(x) and x.keep else taken


class LooseSlices(Array):
    """An array whose slices do not keep it alive."""

    def __getitem__(self, key: Any) -> Any:
        capsule = self.source[key].__dlpack__(max_version=(1, 3))
        held = fields(capsule)
        del capsule
        return Array(ra.from_dlpack(_adversary.make(**held)))


@results("CONS-12")
def slices_keep_nothing_alive(taken: Any, x: Any, copy: Any) -> Any:
    return LooseSlices(taken) if is_plain_recorder(x) and copy is None else taken


@results("COPY-02")
def imports_as_pinned(taken: Any, x: Any, copy: Any) -> Any:
    plain = is_plain_recorder(x) and copy is None and not x.keep
    return Relabelled(taken, device=(3, 0)) if plain else taken


@results("FLAG-08")
def passes_unknown_flags_on(taken: Any, x: Any, copy: Any) -> Any:
    return Relabelled(taken, flags=1 << 40) if field(x, "flags") == 1 << 40 else taken


class InCycle(Array):
    """An array that only the garbage collector frees; that ends the process."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.cycle = self

    def __del__(self) -> None:
        crash()


@results("LIFE-02")
def calls_null_when_collected(taken: Any, x: Any, copy: Any) -> Any:
    return InCycle(taken) if field(x, "deleter", True) is None else taken


@results("COPY-05")
def legacy_copy_is_read_only(taken: Any, x: Any, copy: Any) -> Any:
    plain = isinstance(x, Recorder) and field(x, "shape") == (6,) and field(x, "strides") == (1,)
    legacy = plain and field(x, "versioned") is False and copy is True
    return Relabelled(taken, flags=1, version=(1, 3), versioned=True) if legacy else taken


class OtherDevice(Array):
    """An array on another device."""

    device = "other"


@results("AAPI-06")
def imports_to_other_device(taken: Any, x: Any, copy: Any) -> Any:
    return OtherDevice(taken) if is_own_array(x) and copy is None else taken


class AsarrayIgnoresCopy:
    """A namespace whose asarray ignores copy."""

    @staticmethod
    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        return ra.from_dlpack(x, device=device, copy=copy)

    @staticmethod
    def asarray(x: Any, /, *, dtype: Any = None, copy: Any = None) -> Any:
        return ra.asarray(x, dtype=dtype)


class AsarrayWithoutBuffers(AsarrayIgnoresCopy):
    """A namespace whose asarray does not accept buffers."""

    @staticmethod
    def asarray(x: Any, /, *, dtype: Any = None, copy: Any = None) -> Any:
        if not isinstance(x, ra.Array):
            raise TypeError("no array")
        return ra.asarray(x, dtype=dtype, copy=copy)


for _kind in (AsarrayIgnoresCopy, AsarrayWithoutBuffers):
    _name = _kind.__name__
    globals()[_name.lower()] = Subject(
        f"{__name__}:{_name.lower()}",
        f"import refarray as ra; from {__name__} import {_name}",
        arrays=REFARRAY.arrays,
        dtype=REFARRAY.dtype,
        from_dlpack=f"{_name}.from_dlpack({{}})",
        array_api=True,
    )
    MUTANTS[f"{__name__}:{_name.lower()}"] = "AAPI-05"
