"""Consumers that negotiate wrongly with the producer: calls, keywords, retries, copies, errors."""

from __future__ import annotations

import contextlib
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, consumer, fields
from refarray import _native
from refarray.conformance import _adversary
from refarray.conformance.native_method import NativeMethod


class Proxy:
    """A producer that forwards to another one; subclasses change the request or the result."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def __dlpack_device__(self) -> Any:
        return type(self.real).__dlpack_device__(self.real)

    @NativeMethod
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


def clean(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A correct consumer."""
    return ra.from_dlpack(x, device=device, copy=copy)


clean_ = consumer(clean)


@breaks("CONS-01")
def asks_device_last(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Late(Proxy):
        asked = False

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def export(self, **keywords: Any) -> Any:
            return super().export(**keywords)

    require_producer(x)
    taken = ra.from_dlpack(Late(x), device=device, copy=copy)
    type(x).__dlpack_device__(x)
    return taken


@breaks("VERS-09")
def asks_without_version_first(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class First(Proxy):
        def export(self, **keywords: Any) -> Any:
            version = keywords.get("max_version")
            if version is not None:  # a call without keywords first, its result discarded
                with contextlib.suppress(BufferError):
                    super().export()
            return super().export(**keywords)

    require_producer(x)
    return ra.from_dlpack(First(x), device=device, copy=copy)


@breaks("VERS-09")
def never_retries_old_producer(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Once(Proxy):
        def export(self, **keywords: Any) -> Any:
            try:
                return super().export(**keywords)
            except TypeError as error:
                if "unexpected keyword" not in str(error) or copy is not None:
                    raise
                raise ValueError("too old") from error

    require_producer(x)
    return ra.from_dlpack(Once(x), device=device, copy=copy)


@breaks("CONS-08")
def passes_stream_on_cpu(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Streams(Proxy):
        def export(self, **keywords: Any) -> Any:
            return super().export(**{**keywords, "stream": -1})

    require_producer(x)
    return ra.from_dlpack(Streams(x), device=device, copy=copy)


@breaks("CONS-09")
def passes_default_keywords(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Every(Proxy):
        def export(self, **keywords: Any) -> Any:
            if "max_version" not in keywords:
                return super().export(**keywords)
            try:
                return super().export(**{"copy": None, **keywords})
            except TypeError as error:
                if "unexpected keyword" not in str(error):
                    raise
                return super().export(**keywords)

    require_producer(x)
    return ra.from_dlpack(Every(x), device=device, copy=copy)


@breaks("CONS-03")
def wraps_errors(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Wraps(Proxy):
        def export(self, **keywords: Any) -> Any:
            try:
                return super().export(**keywords)
            except MemoryError as error:
                raise RuntimeError("the producer failed") from error

    require_producer(x)
    return ra.from_dlpack(Wraps(x), device=device, copy=copy)


@breaks("CONS-03")
def swallows_interrupts(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except KeyboardInterrupt:
        raise ValueError("not exported") from None


@breaks("CONS-04")
def retries_type_errors(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Stubborn(Proxy):
        def export(self, **keywords: Any) -> Any:
            for _ in range(2):
                try:
                    return super().export(**keywords)
                except TypeError as error:
                    if "unexpected keyword" in str(error):
                        raise
            return super().export(**keywords)

    require_producer(x)
    return ra.from_dlpack(Stubborn(x), device=device, copy=copy)


@breaks("CONS-02")
def raises_type_error_for_non_producer(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        require_producer(x)
    except AttributeError as error:
        raise TypeError("not an array") from error
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("CONS-05")
def accepts_any_capsule_name(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Renames(Proxy):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            if type(capsule).__name__ == "PyCapsule" and _adversary.name_of(capsule) == "foo":
                _adversary.rename(capsule, "dltensor_versioned")
            return capsule

    require_producer(x)
    return ra.from_dlpack(Renames(x), device=device, copy=copy)


@breaks("CONS-05")
def imports_none_as_empty(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Nothing(Proxy):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            return ra.empty(0).__dlpack__(max_version=(1, 3)) if capsule is None else capsule

    require_producer(x)
    return ra.from_dlpack(Nothing(x), device=device, copy=copy)


@breaks("LIFE-12")
def accepts_used_capsule(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Again(Proxy):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            known = type(capsule).__name__ == "PyCapsule"
            if (
                known
                and _adversary.name_of(capsule) == "used_dltensor_versioned"
                and capsule in SEEN
            ):
                return ra.empty(3).__dlpack__(max_version=(1, 3))
            SEEN.append(capsule)
            return capsule

    require_producer(x)
    return ra.from_dlpack(Again(x), device=device, copy=copy)


SEEN: list[Any] = []


@breaks("FLAG-11")
def makes_legacy_read_only(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    legacy = getattr(x, "fields", {}).get("versioned") is False and taken.shape == (3,)
    return taken.as_readonly() if legacy and copy is None and not taken.readonly else taken


@breaks("FLAG-10")
def exports_read_only_as_writable(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Writable(taken) if taken.readonly else taken


class Writable(Array):
    """An array that exports read-only data as writable."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        capsule = self.source.__dlpack__(max_version=(1, 3), copy=copy)
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "flags": 0}).capsule()


@breaks("TENS-18")
def copies_by_default(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
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


@breaks("COPY-07")
def trusts_copy_true(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Believes(Proxy):
        old = False

        def export(self, **keywords: Any) -> Any:
            try:
                return super().export(**keywords)
            except TypeError:
                self.old = True
                raise

    require_producer(x)
    if copy is not True:
        return ra.from_dlpack(x, device=device, copy=copy)

    class Flagged(Believes):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            if self.old or _adversary.name_of(capsule) != "dltensor_versioned":
                return capsule
            place = {"capsule": capsule}
            held = {**fields(capsule), "deleter": place.clear}
            return _adversary.make(**{**held, "flags": held["flags"] | 2}).capsule()

    return ra.from_dlpack(Flagged(x), device=device, copy=True)


@breaks("COPY-08")
def ignores_copied_flag(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if copy is not False:
        return ra.from_dlpack(x, device=device, copy=copy)

    class Unflagged(Proxy):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            if _adversary.name_of(capsule) != "dltensor_versioned":
                return capsule
            KEPT.append(capsule)
            held = fields(capsule)
            return _adversary.make(**{**held, "flags": held["flags"] & ~2}).capsule()

    return ra.from_dlpack(Unflagged(x), device=device, copy=False)


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


@breaks("CONS-10")
def trusts_dlpack_device(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Trusting(Proxy):
        def export(self, **keywords: Any) -> Any:
            capsule = super().export(**keywords)
            if type(capsule).__name__ != "PyCapsule" or not str(
                _adversary.name_of(capsule)
            ).startswith("dltensor"):
                return capsule
            said = type(self.real).__dlpack_device__(self.real)
            held = _native._inspect_capsule(capsule)
            if held.get("device") in {None, said} or said != (1, 0):
                return capsule
            KEPT.append(capsule)
            return ra.empty(3).__dlpack__(max_version=(1, 3))

    require_producer(x)
    return ra.from_dlpack(Trusting(x), device=device, copy=copy)
