"""Consumers that negotiate wrongly with the producer: calls, keywords, retries, copies, errors."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, consumer, fields, named, results
from refarray.conformance import _adversary
from refarray.conformance.native_method import native_method
from refarray.conformance.subjects.libraries import REFARRAY


class Proxy:
    """A producer that forwards to another one; subclasses change the request or the result."""

    def __init__(self, real: Any, copy: bool | None = None) -> None:
        self.real = real
        self.copy = copy
        """As it was passed to the consumer."""

    def __dlpack_device__(self) -> Any:
        return type(self.real).__dlpack_device__(self.real)

    @native_method
    def __dlpack__(self, **keywords: Any) -> Any:
        try:
            return self.export(**keywords)
        except TypeError as error:  # as the producer itself refuses a keyword
            raise error.with_traceback(None)  # noqa: B904

    def export(self, **keywords: Any) -> Any:
        return type(self.real).__dlpack__(self.real, **keywords)


def require_producer(x: Any) -> None:
    """Raises refarray's AttributeError for an object that is no DLPack producer."""
    if not hasattr(type(x), "__dlpack__") or not hasattr(type(x), "__dlpack_device__"):
        ra.from_dlpack(x)


def through(requirement: str, *copies: bool | None) -> Callable[[type[Proxy]], Any]:
    """Registers a proxy as a consumer, which imports through it; with `copies` only under these
    values of copy."""

    def register(proxy: type[Proxy]) -> Any:
        def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
            require_producer(x)
            given = x if copies and copy not in copies else proxy(x, copy)
            return ra.from_dlpack(given, device=device, copy=copy)

        return breaks(requirement)(named(take, proxy.__name__, proxy.__module__))

    return register


def clean(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A correct consumer."""
    return ra.from_dlpack(x, device=device, copy=copy)


clean_ = consumer(clean)


@breaks("CONS-01")
def asks_device_last(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Late(Proxy):
        def __dlpack_device__(self) -> Any:
            return (1, 0)

    require_producer(x)
    taken = ra.from_dlpack(Late(x), device=device, copy=copy)
    type(x).__dlpack_device__(x)
    return taken


@through("VERS-09")
class asks_without_version_first(Proxy):
    def export(self, **keywords: Any) -> Any:
        version = keywords.get("max_version")
        if version is not None:  # a call without keywords first, its result discarded
            with contextlib.suppress(BufferError):
                super().export()
        return super().export(**keywords)


@through("VERS-09")
class never_retries_old_producer(Proxy):
    def export(self, **keywords: Any) -> Any:
        try:
            return super().export(**keywords)
        except TypeError as error:
            if "unexpected keyword" not in str(error) or self.copy is not None:
                raise
            raise ValueError("too old") from error


@through("CONS-08")
class passes_stream_on_cpu(Proxy):
    def export(self, **keywords: Any) -> Any:
        return super().export(**{**keywords, "stream": -1})


@through("CONS-09")
class passes_default_keywords(Proxy):
    def export(self, **keywords: Any) -> Any:
        if "max_version" not in keywords:
            return super().export(**keywords)
        try:
            return super().export(**{"copy": None, **keywords})
        except TypeError as error:
            if "unexpected keyword" not in str(error):
                raise
            return super().export(**keywords)


@through("CONS-03")
class wraps_errors(Proxy):
    def export(self, **keywords: Any) -> Any:
        try:
            return super().export(**keywords)
        except MemoryError as error:
            raise RuntimeError("the producer failed") from error


@breaks("CONS-03")
def swallows_interrupts(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except KeyboardInterrupt:
        raise ValueError("not exported") from None


@through("CONS-04")
class retries_type_errors(Proxy):
    def export(self, **keywords: Any) -> Any:
        for _ in range(2):
            try:
                return super().export(**keywords)
            except TypeError as error:
                if "unexpected keyword" in str(error):
                    raise
        return super().export(**keywords)


@breaks("CONS-02")
def raises_type_error_for_non_producer(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        require_producer(x)
    except AttributeError as error:
        raise TypeError("not an array") from error
    return ra.from_dlpack(x, device=device, copy=copy)


@through("CONS-05")
class accepts_any_capsule_name(Proxy):
    def export(self, **keywords: Any) -> Any:
        capsule = super().export(**keywords)
        if type(capsule).__name__ == "PyCapsule" and _adversary.name_of(capsule) == "foo":
            _adversary.rename(capsule, "dltensor_versioned")
        return capsule


@through("CONS-05")
class imports_none_as_empty(Proxy):
    def export(self, **keywords: Any) -> Any:
        capsule = super().export(**keywords)
        return ra.empty(0).__dlpack__(max_version=(1, 3)) if capsule is None else capsule


@through("LIFE-12")
class accepts_used_capsule(Proxy):
    def export(self, **keywords: Any) -> Any:
        capsule = super().export(**keywords)
        known = type(capsule).__name__ == "PyCapsule"
        if known and _adversary.name_of(capsule) == "used_dltensor_versioned" and capsule in SEEN:
            return ra.empty(3).__dlpack__(max_version=(1, 3))
        SEEN.append(capsule)
        return capsule


SEEN: list[Any] = []


class Holder:
    """A producer that gives one capsule, whatever it is asked for."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


@breaks("VERS-02", takes_capsules=True)
def follows_bare_capsules_of_another_major(
    x: Any, /, *, device: Any = None, copy: Any = None
) -> Any:
    if type(x).__name__ != "PyCapsule":
        return ra.from_dlpack(x, device=device, copy=copy)
    with contextlib.suppress(TypeError, ValueError):
        if (_adversary.fields(x)["version"] or (1, 0))[0] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
    return ra.from_dlpack(Holder(x), device=device, copy=copy)


@results("FLAG-11")
def makes_legacy_read_only(taken: Any, x: Any, copy: Any) -> Any:
    legacy = getattr(x, "fields", {}).get("versioned") is False and taken.shape == (3,)
    return taken.as_readonly() if legacy and copy is None and not taken.readonly else taken


@results("FLAG-10")
def exports_read_only_as_writable(taken: Any, x: Any, copy: Any) -> Any:
    return Writable(taken) if taken.readonly else taken


@breaks("FLAG-10", arrays={k: v for k, v in REFARRAY.arrays.items() if "readonly" not in k})
def forgets_the_flag(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    return exports_read_only_as_writable(x, device=device, copy=copy)


class Writable(Array):
    """An array that exports read-only data as writable."""

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = self.source.__dlpack__(max_version=(1, 3), copy=keywords["copy"])
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "flags": 0}).capsule()


@results("TENS-18")
def copies_by_default(taken: Any, x: Any, copy: Any) -> Any:
    plain = copy is None and taken.shape == (3,) and taken.strides == (1,) and not taken.readonly
    return Copied(taken) if plain else taken


class Copied(Array):
    """An array whose memory is a copy of `source`, which it keeps alive."""

    def __init__(self, source: Any) -> None:
        self.kept = source
        super().__init__(ra.copy(source))

    def __getitem__(self, key: Any) -> Any:
        return self.kept[key]


@breaks("COPY-04")
def makes_its_own_copy(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if copy is True:
        return ra.copy(ra.from_dlpack(x, device=device))
    return ra.from_dlpack(x, device=device, copy=copy)


@through("COPY-07", True)
class trusts_copy_true(Proxy):
    old = False

    def export(self, **keywords: Any) -> Any:
        try:
            capsule = super().export(**keywords)
        except TypeError:
            self.old = True
            raise
        if self.old or _adversary.name_of(capsule) != "dltensor_versioned":
            return capsule
        place = {"capsule": capsule}
        held = {**fields(capsule), "deleter": place.clear}
        return _adversary.make(**{**held, "flags": held["flags"] | 2}).capsule()


@through("COPY-08", False)
class ignores_copied_flag(Proxy):
    def export(self, **keywords: Any) -> Any:
        capsule = super().export(**keywords)
        if _adversary.name_of(capsule) != "dltensor_versioned":
            return capsule
        KEPT.append(capsule)
        held = fields(capsule)
        return _adversary.make(**{**held, "flags": held["flags"] & ~2}).capsule()


@breaks("COPY-09")
def drops_copy_for_old_producers(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Old(Proxy):
        refused = False

        def export(self, **keywords: Any) -> Any:
            try:
                return super().export(**keywords)
            except TypeError as error:
                self.refused = "unexpected keyword" in str(error)
                raise

    require_producer(x)
    proxy = Old(x)
    try:
        return ra.from_dlpack(proxy, device=device, copy=copy)
    except (BufferError, TypeError):
        if copy is False and proxy.refused:
            return ra.from_dlpack(x, device=device)
        raise


@breaks("COPY-01")
def renames_device_keyword(x: Any, /, *, where: Any = None, copy: Any = None) -> Any:
    return ra.from_dlpack(x, device=where, copy=copy)


@through("CONS-10")
class trusts_dlpack_device(Proxy):
    def export(self, **keywords: Any) -> Any:
        capsule = super().export(**keywords)
        if type(capsule).__name__ != "PyCapsule" or not str(_adversary.name_of(capsule)).startswith(
            "dltensor"
        ):
            return capsule
        said = type(self.real).__dlpack_device__(self.real)
        held = _adversary.fields(capsule)
        if held.get("device") in {None, said} or said != (1, 0):
            return capsule
        KEPT.append(capsule)
        return ra.empty(3).__dlpack__(max_version=(1, 3))
