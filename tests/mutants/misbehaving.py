"""Subjects that disrupt their process: they crash, hang, exit, print or fail to import."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from typing import Any

from mutants.base import Array
from refarray.conformance import Subject


class Crashing(Array):
    """Crashes at every export with max_version=(1, 0), for which NumPy asks."""

    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["max_version"] == (1, 0):
            os.kill(os.getpid(), signal.SIGSEGV)
        print("this is no message")  # must not be mistaken for a message of the worker
        return super().export(keywords)


def subject(
    name: str, imports: str, plain: str = "Crashing(ra.arange(6, dtype=ra.float32))"
) -> Subject:
    """A subject with one plain array."""
    return Subject(name, imports, arrays={"plain": plain})


crashing = subject("crashing", "import refarray as ra; from mutants.misbehaving import Crashing")


class Leaving(Array):
    """Exits the process, by the function `how`, when it is asked for a copy."""

    how = "sys.exit"

    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True:
            sys.exit(4) if self.how == "sys.exit" else os._exit(4)
        return super().export(keywords)


class Vanishing(Leaving):
    how = "os._exit"


class Hanging(Leaving):
    """Never returns when it is asked for a copy."""

    def export(self, keywords: dict[str, Any]) -> Any:
        while keywords["copy"] is True:
            time.sleep(1)
        return Array.export(self, keywords)


class Stuck(Array):
    """Never returns from an export."""

    def __dlpack__(self, **keywords: Any) -> Any:
        time.sleep(3600)


def array_of(name: str) -> Subject:
    """A subject whose array is an instance of the class `name`."""
    return subject(
        name.lower(),
        f"import refarray as ra; from mutants.misbehaving import {name}",
        f"{name}(ra.arange(6, dtype=ra.float32))",
    )


class Blocking(Array):
    """After an export, blocks the exit of the process."""

    def __dlpack__(self, **keywords: Any) -> Any:
        atexit.register(time.sleep, 3600)
        return super().__dlpack__(**keywords)


blocking = array_of("Blocking")
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
leaving, vanishing = array_of("Leaving"), array_of("Vanishing")
hanging, stuck = array_of("Hanging"), array_of("Stuck")

# Subjects of which only some arrays crash or hang, for the matrix.


class HangsInDevice(Array):
    """Never returns from __dlpack_device__."""

    def __dlpack_device__(self) -> Any:
        time.sleep(3600)


IMPORTS = f"import refarray as ra; from {__name__} import Crashing, HangsInDevice"
SIX = "ra.arange(6, dtype=ra.float32)"
crashes_numpy = Subject(
    "crashes_numpy",
    IMPORTS,
    arrays={
        "plain": SIX,
        "strided": f"Crashing({SIX}[::2])",
        "reversed": f"{SIX}[::-1]",
        "scalar": "Crashing(ra.asarray(1.0))",
    },
)
hangs_in_device = Subject(
    "hangs_in_device", IMPORTS, arrays={"plain": f"HangsInDevice({SIX})", "strided": SIX}
)
