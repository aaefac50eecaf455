"""Owns subjects that are no libraries: they die, hang, print, leave or do not import."""

from __future__ import annotations

from typing import Any

from mutants.base import Array
from refarray.conformance import Subject


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


crashing = subject("crashing", "import refarray as ra; from mutants.odd import Crashing")


class Leaving(Array):
    """Leaves the process when it is asked for a copy, by the door that `how` names."""

    how = "sys.exit"

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if copy is True:
            import os
            import sys

            sys.exit(4) if self.how == "sys.exit" else os._exit(4)
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


class Vanishing(Leaving):
    how = "os._exit"


class Hanging(Leaving):
    """Does not answer when it is asked for a copy."""

    def __dlpack__(self, *, copy: Any = None, **keywords: Any) -> Any:
        while copy is True:
            import time

            time.sleep(1)
        return super().__dlpack__(**keywords)


class Stuck(Array):
    """Never answers."""

    def __dlpack__(self, **keywords: Any) -> Any:
        import time

        time.sleep(3600)


def one(name: str) -> Subject:
    """A subject whose arrays are of a class of ours."""
    return subject(
        name.lower(),
        f"import refarray as ra; from mutants.odd import {name}",
        f"{name}(ra.arange(6, dtype=ra.float32))",
    )


class Blocking(Array):
    """Keeps its process from ending once it has been exported."""

    def __dlpack__(self, **keywords: Any) -> Any:
        import atexit
        import time

        atexit.register(time.sleep, 3600)
        return super().__dlpack__(**keywords)


blocking = subject(
    "blocking",
    "import refarray as ra; from mutants.odd import Blocking",
    "Blocking(ra.arange(6, dtype=ra.float32))",
)
lingering = subject(
    "lingering",
    "import atexit, time; atexit.register(time.sleep, 3600); import refarray as ra",
    "ra.arange(6, dtype=ra.float32)",
)
missing = subject("missing", "import no_such_module_at_all")
stopping = subject("stopping", "raise SystemExit('not today')")
dying = subject("dying", "import os; os._exit(3)")
killed = subject("killed", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
sleeping = subject("sleeping", "import time; time.sleep(3600)")
empty = subject("empty", "pass", "object()")
wrong = subject("wrong", "this is no Python")
printing = Subject(
    "printing",
    "print('{\"held\": true}'); import os; os.write(1, b'{}\\n'); import refarray as ra",
    arrays={"plain": "print('plain') or ra.arange(6, dtype=ra.float32)"},
)
leaving, vanishing = one("Leaving"), one("Vanishing")
hanging, stuck = one("Hanging"), one("Stuck")
