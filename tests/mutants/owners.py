"""Owns the producers of the zoo that get ownership wrong: deleters, memory, names, threads."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import threading
from typing import Any

import refarray as ra
from mutants.answers import Asked
from mutants.base import KEPT, breaks, fields, native
from refarray.conformance import _adversary
from refarray.conformance.suite.producer.lifetime import BIG

adversary = native()
PLAIN = ((6,), (1,))


def die() -> None:
    """Crashes."""
    os.kill(os.getpid(), signal.SIGSEGV)


class Owner(Asked):
    """Answers with a capsule of its own for versioned exports, without a copy, of one layout."""

    layout = PLAIN

    def answer(self, keywords: dict[str, Any]) -> Any:
        version = keywords["max_version"]
        plain = {**keywords, "max_version": None} == dict.fromkeys(keywords)
        if (
            version != (1, 3)
            or not plain
            or (self.source.shape, self.source.strides) != self.layout
        ):
            return super().answer(keywords)
        return super().answer(keywords) if self.source.readonly else self.own(version)

    def given(self, version: Any) -> Any:
        """What a right answer is."""
        return self.source.__dlpack__(max_version=version)

    def own(self, version: Any) -> Any:
        return self.given(version)

    def hooked(self, version: Any, hook: Any, **more: Any) -> Any:
        """A capsule of the same memory whose deleter calls `hook`."""
        capsule = self.given(version)
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "deleter": hook, **more}).capsule()


@breaks("LIFE-01")
class NeverGivesBack(Owner):
    layout = ((BIG,), (1,))

    def own(self, version: Any) -> Any:
        KEPT.append(self.source)
        return self.given(version)


@breaks("LIFE-08")
class ForgetsCapsules(Owner):
    layout = ((BIG + 16,), (1,))

    def own(self, version: Any) -> Any:
        KEPT.append(self.source)
        return self.given(version)


@breaks("LIFE-04")
class KnowsItsThreads(Owner):
    def own(self, version: Any) -> Any:
        def hook() -> None:
            if isinstance(threading.current_thread(), threading._DummyThread):
                die()

        return self.hooked(version, hook)


@breaks("LIFE-05")
class NeedsPython(Owner):
    layout = ((), ())

    def own(self, version: Any) -> Any:
        return self.hooked(version, lambda: None)


@breaks("LIFE-07")
class NamesOnTheHeap(Owner):
    def own(self, version: Any) -> Any:
        capsule = self.given(version)
        _adversary.rename(capsule, "dltensor_versioned")
        return capsule


@breaks("LIFE-09")
class TouchesForeign(Owner):
    def own(self, version: Any) -> Any:
        return adversary.set_destructor(self.given(version), "scribble")


@breaks("LIFE-11")
class NeedsItsDestructor(Owner):
    def own(self, version: Any) -> Any:
        held: list[Any] = []

        def hook() -> None:
            known = "dltensor" in str(_adversary.name_of(held[0]))
            if known and not _adversary.inspect(held[0])["destructor"]:
                die()

        held.append(self.hooked(version, hook))
        KEPT.append(held[0])
        return held[0]


@breaks("LIFE-14")
class ForgetsErrors(Owner):
    layout = ((3,), (2,))

    def own(self, version: Any) -> Any:
        return adversary.set_destructor(self.given(version), "forget")


@breaks("LIFE-15")
class DeletesWithAnError(Owner):
    layout = ((3, 2), (1, 3))

    def own(self, version: Any) -> Any:
        def hook() -> None:
            raise RuntimeError("left by the deleter")

        return self.hooked(version, hook, destructor=False)


GRAVES: list[int] = []  # addresses of memory whose owner has gone


@breaks("LIFE-16")
class DiesWithItsOwner(Owner):
    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        for address in GRAVES:
            ctypes.memset(address, 0xDD, 24)
        GRAVES.clear()
        self.lent = 0

    def own(self, version: Any) -> Any:
        capsule = self.given(version)
        KEPT.append(capsule)
        self.lent = int(fields(capsule)["data"])
        return self.given(version)

    def __del__(self) -> None:
        if self.lent:
            GRAVES.append(self.lent)


@breaks("LIFE-17")
class WritesBack(Owner):
    def own(self, version: Any) -> Any:
        self.source[...] = ra.arange(6, dtype=ra.float32)
        return self.given(version)


@breaks("LIFE-18")
class Resizes(Owner):
    def resize(self, shape: Any) -> None:
        self.source[:8] = ra.zeros(8, dtype=ra.float32)


@breaks("LIFE-20")
class Caches(Owner):
    def own(self, version: Any) -> Any:
        if not hasattr(self, "capsule"):
            self.capsule = self.given(version)
        return self.capsule


@breaks("LIFE-24")
class OneThread(Owner):
    def own(self, version: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return self.given(version)
        return self.hooked(version, lambda: None, byte_offset=4)


@breaks("LIFE-25")
class MainOnly(Owner):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        module = importlib.import_module(name)
        if module.get_current() != module.get_main():
            raise SystemError("not in the main interpreter")
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("ABI-02")
class NoDeleter(Owner):
    layout = ((1, 1), (1, 1))

    def own(self, version: Any) -> Any:
        capsule = self.given(version)
        KEPT.append(capsule)
        return adversary.break_deleter(_adversary.make(**fields(capsule)).capsule())


@breaks("ABI-01")
class TwoAxes(Owner):
    def own(self, version: Any) -> Any:
        return self.hooked(version, None, shape=(3, 2), strides=(2, 1), ndim=2)


@breaks("TENS-02")
class Unaligned(Owner):
    def answer(self, keywords: dict[str, Any]) -> Any:
        copy = None if keywords["copy"] is False else keywords["copy"]
        return super().answer({**keywords, "copy": copy})

    def own(self, version: Any) -> Any:
        if not hasattr(self, "bytes"):
            self.bytes = ctypes.create_string_buffer(1024)
            KEPT.append(self.bytes)
            start = ctypes.addressof(self.bytes)
            self.address = start + (64 - start) % 256
            data = self.source.__dlpack__()
            ctypes.memmove(self.address, int(fields(data)["data"]), 24)
        return self.hooked(version, None, data=self.address, byte_offset=0)
