"""Producers that get ownership wrong: deleters, memory, capsule names and destructors, threads."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import threading
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, native, producer
from mutants.corrupting import Table
from refarray.conformance import _adversary
from refarray.conformance.suite.producer.lifetime import BIG, RESIZED

adversary = native()
rows = Table(__name__)
PLAIN = ((6,), (1,))


def die() -> None:
    """Ends the process by SIGSEGV."""
    os.kill(os.getpid(), signal.SIGSEGV)


class CapsuleMaker(Array):
    """A correct producer, except that arrays of one (shape, strides) `layout` are exported by
    `make_capsule` when the consumer passes only max_version=(1, 3)."""

    layout = PLAIN

    def export(self, keywords: dict[str, Any]) -> Any:
        version = keywords["max_version"]
        plain = {**keywords, "max_version": None} == dict.fromkeys(keywords)
        if (
            version != (1, 3)
            or not plain
            or (self.source.shape, self.source.strides) != self.layout
        ):
            return super().export(keywords)
        return super().export(keywords) if self.source.readonly else self.make_capsule(version)

    def correct_capsule(self, version: Any) -> Any:
        """What a correct producer returns."""
        return self.source.__dlpack__(max_version=version)

    def make_capsule(self, version: Any) -> Any:
        return self.correct_capsule(version)

    def with_deleter(self, version: Any, hook: Any, **more: Any) -> Any:
        """A capsule that shares the same memory and whose deleter calls `hook`."""
        capsule = self.correct_capsule(version)
        KEPT.append(capsule)
        return _adversary.make(**{**fields(capsule), "deleter": hook, **more}).capsule()


def makes(requirement: str, name: str, make_capsule: Any, layout: Any = PLAIN) -> None:
    """A CapsuleMaker with this method and layout."""
    rows.derive(requirement, name, CapsuleMaker, make_capsule=make_capsule, layout=layout)


def leak(self: CapsuleMaker, version: Any) -> Any:
    KEPT.append(self.source)
    return self.correct_capsule(version)


def allocate_name(self: CapsuleMaker, version: Any) -> Any:
    capsule = self.correct_capsule(version)
    _adversary.rename(capsule, "dltensor_versioned")
    return capsule


def break_deleter(self: CapsuleMaker, version: Any) -> Any:
    KEPT.append(self.correct_capsule(version))
    return adversary.break_deleter(_adversary.make(**fields(KEPT[-1])).capsule())


def end_with(destructor: str) -> Any:
    """A method whose capsule has this destructor."""
    return lambda self, version: adversary.set_destructor(self.correct_capsule(version), destructor)


makes("LIFE-01", "LeaksMemory", leak, ((BIG,), (1,)))
makes("LIFE-08", "LeaksUnconsumedCapsules", leak, ((BIG + 16,), (1,)))
makes("LIFE-07", "HeapAllocatedName", allocate_name)
makes("LIFE-09", "DestructorTouchesUsedCapsule", end_with("scribble"))
makes("LIFE-14", "DestructorClearsException", end_with("forget"), ((3,), (2,)))
makes("ABI-02", "InvalidDeleter", break_deleter, ((1, 1), (1, 1)))
makes(
    "LIFE-05",
    "DeleterNeedsInterpreter",
    lambda self, version: self.with_deleter(version, lambda: None),
    ((), ()),
)
makes(
    "ABI-01",
    "ReportsTwoAxes",
    lambda self, version: self.with_deleter(version, None, shape=(3, 2), strides=(2, 1), ndim=2),
)


@breaks("LIFE-04")
class DeleterCrashesInForeignThread(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        def hook() -> None:
            if isinstance(threading.current_thread(), threading._DummyThread):
                die()

        return self.with_deleter(version, hook)


@breaks("LIFE-11")
class DeleterNeedsDestructor(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        held: list[Any] = []

        def hook() -> None:
            known = "dltensor" in str(_adversary.name_of(held[0]))
            if known and not _adversary.inspect(held[0])["destructor"]:
                die()

        held.append(self.with_deleter(version, hook))
        KEPT.append(held[0])
        return held[0]


@breaks("LIFE-15")
class DeleterLeavesException(CapsuleMaker):
    layout = ((3, 2), (1, 3))

    def make_capsule(self, version: Any) -> Any:
        def hook() -> None:
            raise RuntimeError("left by the deleter")

        return self.with_deleter(version, hook, destructor=False)


FREED: list[int] = []  # addresses whose array has been destroyed


@breaks("LIFE-16")
class MemoryDiesWithArray(CapsuleMaker):
    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        for address in FREED:
            ctypes.memset(address, 0xDD, 24)
        FREED.clear()
        self.exported = 0

    def make_capsule(self, version: Any) -> Any:
        capsule = self.correct_capsule(version)
        KEPT.append(capsule)
        self.exported = int(fields(capsule)["data"])
        return self.correct_capsule(version)

    def __del__(self) -> None:
        if self.exported:
            FREED.append(self.exported)


@breaks("LIFE-16")
class BigMemoryDiesWithArray(Array):
    address = 0

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.source.shape == (RESIZED,):
            self.address = int(fields(capsule)["data"])
        return capsule

    def __del__(self) -> None:
        if self.address:
            ctypes.memset(self.address, 0xDD, 24)


@breaks("LIFE-17")
class ExportWritesData(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        self.source[...] = ra.arange(6, dtype=ra.float32)
        return self.correct_capsule(version)


@breaks("LIFE-18")
class ResizesWhileExported(CapsuleMaker):
    def resize(self, shape: Any) -> None:
        self.source[:8] = ra.zeros(8, dtype=ra.float32)


@breaks("LIFE-18")
class ReplacesWhileExported(CapsuleMaker):
    def set_(self) -> None:
        self.source[:8] = ra.zeros(8, dtype=ra.float32)


@breaks("LIFE-20")
class CachesCapsule(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        if not hasattr(self, "capsule"):
            self.capsule = self.correct_capsule(version)
        return self.capsule


@breaks("LIFE-24")
class WrongInOtherThreads(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return self.correct_capsule(version)
        return self.with_deleter(version, lambda: None, byte_offset=4)


@breaks("LIFE-25")
class MainInterpreterOnly(CapsuleMaker):
    def export(self, keywords: dict[str, Any]) -> Any:
        name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        module = importlib.import_module(name)
        if module.get_current() != module.get_main():
            raise SystemError("not in the main interpreter")
        return super().export(keywords)


@breaks("TENS-02")
class UnalignedData(CapsuleMaker):
    def export(self, keywords: dict[str, Any]) -> Any:
        copy = None if keywords["copy"] is False else keywords["copy"]
        return super().export({**keywords, "copy": copy})

    def make_capsule(self, version: Any) -> Any:
        if not hasattr(self, "bytes"):
            self.bytes = ctypes.create_string_buffer(1024)
            KEPT.append(self.bytes)
            start = ctypes.addressof(self.bytes)
            self.address = start + (64 - start) % 256
            data = self.source.__dlpack__()
            ctypes.memmove(self.address, int(fields(data)["data"]), 24)
            if self.source.shape == (6,) and str(self.source.dtype) == "float32":
                view = memoryview(self.bytes)[self.address - start :][:24]
                self.source = ra.from_buffer(view, dtype="float32")  # sees what is written there
        return self.with_deleter(version, None, data=self.address, byte_offset=0)


# --- memory that some exports never release, or release late


def keeps(requirement: str, name: str, size: int, copy: Any, legacy: bool) -> None:
    """A producer that keeps the memory of its exports of `size` elements under these keywords."""

    def export(self: Any, keywords: dict[str, Any]) -> Any:
        capsule = self.source.__dlpack__(**keywords)
        asked = (keywords["copy"], keywords["max_version"] is None)
        if self.source.shape == (size,) and asked == (copy, legacy):
            KEPT.append(self.source if copy is None else ra.copy(self.source))
        return capsule

    rows.derive(requirement, name, Array, export=export)


keeps("LIFE-01", "LeaksConsumedLegacy", BIG, None, legacy=True)
keeps("LIFE-01", "LeaksConsumedCopies", BIG, True, legacy=False)
keeps("LIFE-01", "LeaksConsumedLegacyCopies", BIG, True, legacy=True)
keeps("LIFE-08", "LeaksUnconsumedLegacy", BIG + 16, None, legacy=True)
keeps("LIFE-08", "LeaksUnconsumedCopies", BIG + 16, True, legacy=False)
keeps("LIFE-08", "LeaksUnconsumedLegacyCopies", BIG + 16, True, legacy=True)

LOCAL = threading.local()


class FreesAtThreadEnd(Array):
    """A correct producer that keeps the memory of exports until the thread ends."""

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.source.size >= BIG:
            LOCAL.__dict__.setdefault("kept", []).append(self.source)
        return super().export(keywords)


class FreesByCollection(Array):
    """A correct producer whose deleter leaves the array in a reference cycle."""

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.source.size >= BIG:
            cycle: list[Any] = [self.source]
            cycle.append(cycle)
        return capsule


freesatthreadend = producer(FreesAtThreadEnd)
freesbycollection = producer(FreesByCollection)
