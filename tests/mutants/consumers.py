"""Owns the consumers of the zoo: each imports as refarray does, but for one thing."""

from __future__ import annotations

import contextlib
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, consumer, fields
from refarray import _native
from refarray.conformance import _adversary


class Proxy:
    """A producer that passes everything on; subclasses change what is asked or answered."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def __dlpack_device__(self) -> Any:
        return type(self.real).__dlpack_device__(self.real)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.answer(**keywords)

    def answer(self, **keywords: Any) -> Any:
        return type(self.real).__dlpack__(self.real, **keywords)


def complete(x: Any) -> None:
    """AttributeError for what is no producer, as refarray raises it."""
    if not hasattr(type(x), "__dlpack__") or not hasattr(type(x), "__dlpack_device__"):
        ra.from_dlpack(x)


def clean(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """Breaks nothing."""
    return ra.from_dlpack(x, device=device, copy=copy)


clean_ = consumer(clean)


@breaks("CONS-01")
def device_last(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Late(Proxy):
        asked = False

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def answer(self, **keywords: Any) -> Any:
            return super().answer(**keywords)

    complete(x)
    taken = ra.from_dlpack(Late(x), device=device, copy=copy)
    type(x).__dlpack_device__(x)
    return taken


@breaks("VERS-09")
def never_newest(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class First(Proxy):
        def answer(self, **keywords: Any) -> Any:
            version = keywords.get("max_version")
            if version is not None:  # a bare call first, thrown away
                with contextlib.suppress(BufferError):
                    super().answer()
            return super().answer(**keywords)

    complete(x)
    return ra.from_dlpack(First(x), device=device, copy=copy)


@breaks("VERS-09")
def never_asks_again(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Once(Proxy):
        def answer(self, **keywords: Any) -> Any:
            try:
                return super().answer(**keywords)
            except TypeError as error:
                if "unexpected keyword" not in str(error) or copy is not None:
                    raise
                raise ValueError("too old") from error

    complete(x)
    return ra.from_dlpack(Once(x), device=device, copy=copy)


@breaks("CONS-08")
def stream_on_cpu(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Streams(Proxy):
        def answer(self, **keywords: Any) -> Any:
            return super().answer(**{**keywords, "stream": -1})

    complete(x)
    return ra.from_dlpack(Streams(x), device=device, copy=copy)


@breaks("CONS-09")
def all_keywords(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Every(Proxy):
        def answer(self, **keywords: Any) -> Any:
            if "max_version" not in keywords:
                return super().answer(**keywords)
            try:
                return super().answer(**{"copy": None, **keywords})
            except TypeError as error:
                if "unexpected keyword" not in str(error):
                    raise
                return super().answer(**keywords)

    complete(x)
    return ra.from_dlpack(Every(x), device=device, copy=copy)


@breaks("CONS-03")
def wraps_errors(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Wraps(Proxy):
        def answer(self, **keywords: Any) -> Any:
            try:
                return super().answer(**keywords)
            except MemoryError as error:
                raise RuntimeError("the producer failed") from error

    complete(x)
    return ra.from_dlpack(Wraps(x), device=device, copy=copy)


@breaks("CONS-03")
def swallows_interrupts(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        return ra.from_dlpack(x, device=device, copy=copy)
    except KeyboardInterrupt:
        raise ValueError("not exported") from None


@breaks("CONS-04")
def asks_four_times(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Stubborn(Proxy):
        def answer(self, **keywords: Any) -> Any:
            for _ in range(2):
                try:
                    return super().answer(**keywords)
                except TypeError as error:
                    if "unexpected keyword" in str(error):
                        raise
            return super().answer(**keywords)

    complete(x)
    return ra.from_dlpack(Stubborn(x), device=device, copy=copy)


@breaks("CONS-02")
def type_error_for_nothing(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        complete(x)
    except AttributeError as error:
        raise TypeError("not an array") from error
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("CONS-05")
def any_name(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Renames(Proxy):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
            if type(capsule).__name__ == "PyCapsule" and _adversary.name_of(capsule) == "foo":
                _adversary.rename(capsule, "dltensor_versioned")
            return capsule

    complete(x)
    return ra.from_dlpack(Renames(x), device=device, copy=copy)


@breaks("CONS-05")
def none_is_empty(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Nothing(Proxy):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
            return ra.empty(0).__dlpack__(max_version=(1, 3)) if capsule is None else capsule

    complete(x)
    return ra.from_dlpack(Nothing(x), device=device, copy=copy)


@breaks("LIFE-12")
def takes_used(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Again(Proxy):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
            known = type(capsule).__name__ == "PyCapsule"
            if (
                known
                and _adversary.name_of(capsule) == "used_dltensor_versioned"
                and capsule in SEEN
            ):
                return ra.empty(3).__dlpack__(max_version=(1, 3))
            SEEN.append(capsule)
            return capsule

    complete(x)
    return ra.from_dlpack(Again(x), device=device, copy=copy)


SEEN: list[Any] = []


@breaks("FLAG-11")
def careful_with_legacy(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    legacy = getattr(x, "fields", {}).get("versioned") is False and taken.shape == (3,)
    return taken.as_readonly() if legacy and copy is None and not taken.readonly else taken


@breaks("FLAG-10")
def launders(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return Writable(taken) if taken.readonly else taken


class Writable(Array):
    """An array that exports what is read-only as writable."""

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
def always_copies(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    plain = copy is None and taken.shape == (3,) and taken.strides == (1,) and not taken.readonly
    return Copied(taken) if plain else taken


class Copied(Array):
    """An array whose memory is a copy, and that keeps what it was copied from."""

    def __init__(self, source: Any) -> None:
        self.kept = source
        super().__init__(ra.copy(source))

    def __getitem__(self, key: Any) -> Any:
        return self.kept[key]


@breaks("COPY-04")
def copies_itself(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if copy is True:
        return ra.copy(ra.from_dlpack(x, device=device))
    return ra.from_dlpack(x, device=device, copy=copy)


@breaks("COPY-07")
def believes_copy(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Believes(Proxy):
        old = False

        def answer(self, **keywords: Any) -> Any:
            try:
                return super().answer(**keywords)
            except TypeError:
                self.old = True
                raise

    complete(x)
    if copy is not True:
        return ra.from_dlpack(x, device=device, copy=copy)

    class Flagged(Believes):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
            if self.old or _adversary.name_of(capsule) != "dltensor_versioned":
                return capsule
            KEPT.append(capsule)
            held = fields(capsule)
            return _adversary.make(**{**held, "flags": held["flags"] | 2}).capsule()

    return ra.from_dlpack(Flagged(x), device=device, copy=True)


@breaks("COPY-08")
def no_matter_copied(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if copy is not False:
        return ra.from_dlpack(x, device=device, copy=copy)

    class Unflagged(Proxy):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
            if _adversary.name_of(capsule) != "dltensor_versioned":
                return capsule
            KEPT.append(capsule)
            held = fields(capsule)
            return _adversary.make(**{**held, "flags": held["flags"] & ~2}).capsule()

    return ra.from_dlpack(Unflagged(x), device=device, copy=False)


@breaks("COPY-09")
def forgets_copy_of_old(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Old(Proxy):
        refused = False

        def answer(self, **keywords: Any) -> Any:
            try:
                return super().answer(**keywords)
            except TypeError as error:
                self.refused = "unexpected keyword" in str(error)
                raise

    complete(x)
    proxy = Old(x)
    try:
        return ra.from_dlpack(proxy, device=device, copy=copy)
    except (BufferError, TypeError):
        if copy is False and proxy.refused:
            return ra.from_dlpack(x, device=device)
        raise


@breaks("COPY-01")
def other_names(x: Any, /, *, where: Any = None, copy: Any = None) -> Any:
    return ra.from_dlpack(x, device=where, copy=copy)


@breaks("CONS-10")
def dunder_wins(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    class Trusting(Proxy):
        def answer(self, **keywords: Any) -> Any:
            capsule = super().answer(**keywords)
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

    complete(x)
    return ra.from_dlpack(Trusting(x), device=device, copy=copy)
