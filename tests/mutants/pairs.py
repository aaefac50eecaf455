"""Owns producers that a matrix survives: some of their arrays kill or stop whoever imports them."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from mutants.base import Array
from refarray.conformance import Subject


class Deadly(Array):
    """NumPy asks for version 1.0, and dies of it."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("max_version") == (1, 0):
            os.kill(os.getpid(), signal.SIGSEGV)
        return self.source.__dlpack__(**keywords)


class Endless(Array):
    """Whoever asks it what device it is on waits."""

    def __dlpack_device__(self) -> Any:
        time.sleep(3600)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.source.__dlpack__(**keywords)


IMPORTS = "import refarray as ra; from mutants.pairs import Deadly, Endless"
FEW = "ra.arange(6, dtype=ra.float32)"
deadly = Subject(
    "deadly",
    IMPORTS,
    arrays={
        "plain": FEW,
        "strided": f"Deadly({FEW}[::2])",
        "reversed": f"{FEW}[::-1]",
        "scalar": "Deadly(ra.asarray(1.0))",
    },
)
endless = Subject("endless", IMPORTS, arrays={"plain": f"Endless({FEW})", "strided": FEW})
