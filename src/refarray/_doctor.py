"""Owns doctor: what a person needs to know about this build, this machine and the partners
installed."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refarray import _native
from refarray._build import build_info
from refarray._inspect import as_plain
from refarray._partners import Finding, find_partners

VARIABLES = {
    "REFARRAY_COPY_THREADS": "how many threads share a large copy; the default is 1",
    "REFARRAY_ISA": "the instruction set whose kernels copy: avx512, avx2, sse4 or plain",
    "REFARRAY_LIBCUDA": "the CUDA driver library to open instead of the system's",
    "REFARRAY_LIBHIP": "the HIP driver library to open instead of the system's",
}


@dataclass(frozen=True, slots=True)
class Driver:
    """A vendor's GPU driver: whether it is there, and why there is no device."""

    name: str
    library: str
    found: bool
    devices: int | None  # None: it could not be asked
    detail: str

    def __str__(self) -> str:
        if self.devices:
            return f"{self.devices} device{'s' * (self.devices > 1)}, by {self.library}"
        return f"no device: {self.detail}"


@dataclass(frozen=True, slots=True)
class Report:
    """What doctor found; prints as text."""

    build: dict[str, str | bool]
    interpreter: dict[str, str]
    drivers: tuple[Driver, ...]
    environment: dict[str, str]
    partners: tuple[Finding, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing needs attention. A missing GPU or partner is no problem."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists, strings, numbers and None: what JSON can carry."""
        return {**as_plain(asdict(self)), "ok": self.ok}

    def __repr__(self) -> str:
        installed = [(item.name, str(item)) for item in self.partners if item.version]
        missing = [item.name for item in self.partners if not item.version]
        sections = {
            "build": [(name, str(value)) for name, value in self.build.items()],
            "interpreter": list(self.interpreter.items()),
            "drivers": [(driver.name, str(driver)) for driver in self.drivers],
            "environment": list(self.environment.items()) or [("REFARRAY_*", "none set")],
            "partners": [*installed, ("not installed", ", ".join(missing) or "none")],
        }
        width = max(len(name) for rows in sections.values() for name, _ in rows)
        lines = [f"refarray {self.build['version']}"]
        for title, rows in sections.items():
            lines += ["", title, *(f"  {name:<{width}}  {text}" for name, text in rows)]
        lines += (
            ["", *(f"problem: {problem}" for problem in self.problems)]
            if self.problems
            else ["", "no problem found"]
        )
        return "\n".join(lines)


def interpreter_facts() -> dict[str, str]:
    """The Python that runs, as far as it matters for a native module."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    built = (
        "free-threaded build" if sysconfig.get_config_var("Py_GIL_DISABLED") else "build with a GIL"
    )
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "threads": f"{built}, GIL {'on' if gil else 'off'}",
        "executable": sys.executable,
        "platform": platform.platform(),
        "package": str(Path(_native.__file__).parent),
    }


def environment_facts() -> tuple[dict[str, str], list[str]]:
    """The variables of ours that are set, and a complaint about each that nothing reads."""
    ours = {
        name: value for name, value in sorted(os.environ.items()) if name.startswith("REFARRAY_")
    }
    known = ", ".join(VARIABLES)
    complaints = [
        f"{name} is set and nothing reads it; known are {known}"
        for name in ours
        if name not in VARIABLES
    ]
    return ours, complaints


def self_check() -> list[str]:
    """Whether an array survives the trip through a capsule and back."""
    sent = _native.arange(6, dtype="int32")
    received = _native.from_capsule(_native.to_capsule(sent, max_version=(1, 0)))
    if received.tolist() == [0, 1, 2, 3, 4, 5]:
        return []
    return [f"an array came back from its own capsule as {received.tolist()}"]


def doctor(*, partners: bool = True) -> Report:
    """A report on this build, the interpreter, GPU drivers, environment variables and partners.

    Each partner library installed is imported in a process of its own, for at most 20 seconds, to
    see which level of DLPack it speaks; with `partners=False` only its version is told.

    The report prints as text; `to_dict()` is ready for JSON, and `ok` says whether all is well.
    """
    variables, complaints = environment_facts()
    found = find_partners(measured=partners)
    complaints += [f"{item.name}: {item.detail}" for item in found if item.failed]
    return Report(
        build=build_info(),
        interpreter=interpreter_facts(),
        drivers=tuple(Driver(**driver) for driver in _native._probe_drivers()),
        environment=variables,
        partners=tuple(found),
        problems=tuple(self_check() + complaints),
    )
