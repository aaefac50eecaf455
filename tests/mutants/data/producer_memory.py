"""Producers that never release the memory of some exports, or release it late."""

from __future__ import annotations

import threading
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, producer
from mutants.corrupting import Table
from refarray.conformance.suite.producer.lifetime import BIG

rows = Table(__name__)


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
