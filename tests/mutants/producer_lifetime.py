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
from mutants.base import KEPT, Array, breaks, fields, native
from refarray.conformance import _adversary
from refarray.conformance.suite.producer.lifetime import BIG

adversary = native()
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


@breaks("LIFE-01")
class LeaksMemory(CapsuleMaker):
    layout = ((BIG,), (1,))

    def make_capsule(self, version: Any) -> Any:
        KEPT.append(self.source)
        return self.correct_capsule(version)


@breaks("LIFE-08")
class LeaksUnconsumedCapsules(CapsuleMaker):
    layout = ((BIG + 16,), (1,))

    def make_capsule(self, version: Any) -> Any:
        KEPT.append(self.source)
        return self.correct_capsule(version)


@breaks("LIFE-04")
class DeleterCrashesInForeignThread(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        def hook() -> None:
            if isinstance(threading.current_thread(), threading._DummyThread):
                die()

        return self.with_deleter(version, hook)


@breaks("LIFE-05")
class DeleterNeedsInterpreter(CapsuleMaker):
    layout = ((), ())

    def make_capsule(self, version: Any) -> Any:
        return self.with_deleter(version, lambda: None)


@breaks("LIFE-07")
class HeapAllocatedName(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        capsule = self.correct_capsule(version)
        _adversary.rename(capsule, "dltensor_versioned")
        return capsule


@breaks("LIFE-09")
class DestructorTouchesUsedCapsule(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        return adversary.set_destructor(self.correct_capsule(version), "scribble")


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


@breaks("LIFE-14")
class DestructorClearsException(CapsuleMaker):
    layout = ((3,), (2,))

    def make_capsule(self, version: Any) -> Any:
        return adversary.set_destructor(self.correct_capsule(version), "forget")


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


@breaks("LIFE-17")
class ExportWritesData(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        self.source[...] = ra.arange(6, dtype=ra.float32)
        return self.correct_capsule(version)


@breaks("LIFE-18")
class ResizesWhileExported(CapsuleMaker):
    def resize(self, shape: Any) -> None:
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


@breaks("ABI-02")
class InvalidDeleter(CapsuleMaker):
    layout = ((1, 1), (1, 1))

    def make_capsule(self, version: Any) -> Any:
        capsule = self.correct_capsule(version)
        KEPT.append(capsule)
        return adversary.break_deleter(_adversary.make(**fields(capsule)).capsule())


@breaks("ABI-01")
class ReportsTwoAxes(CapsuleMaker):
    def make_capsule(self, version: Any) -> Any:
        return self.with_deleter(version, None, shape=(3, 2), strides=(2, 1), ndim=2)


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
