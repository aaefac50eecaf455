"""Owns subjects that are no libraries: they die, hang, print, leave or do not import."""

from __future__ import annotations

from typing import Any

from refarray.conformance import Subject
from zoo.base import Array


class Crashing(Array):
    """Dies at every export for an older consumer."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if max_version == (1, 0):
            import os
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)
        print("this is no message")  # must not be taken for one
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


def subject(
    name: str, imports: str, plain: str = "Crashing(ra.arange(6, dtype=ra.float32))"
) -> Subject:
    return Subject(name, imports, arrays={"plain": plain})


crashing = subject("crashing", "import refarray as ra; from zoo.odd import Crashing")
missing = subject("missing", "import no_such_module_at_all")
leaving = subject("leaving", "raise SystemExit('not today')")
dying = subject("dying", "import os; os._exit(3)")
empty = subject("empty", "pass", "object()")
