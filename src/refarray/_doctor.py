"""doctor(): a report on this build, the interpreter, GPU drivers and partner libraries."""

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
    "REFARRAY_COPY_THREADS": "number of threads that share a large copy; the default is 1",
    "REFARRAY_CUDA_ALLOCATOR": "pool or plain: where the memory of CUDA arrays comes from",
    "REFARRAY_HOST_COMPUTATION": "0: functions raise for arrays on devices, and do not copy them",
    "REFARRAY_ISA": "instruction set of the copy kernels: avx512, avx2, sse4 or plain",
    "REFARRAY_LIBCUDA": "path of the CUDA driver library to load instead of the system's",
    "REFARRAY_LIBHIP": "path of the HIP driver library to load instead of the system's",
}


@dataclass(frozen=True, slots=True)
class Driver:
    """The state of a vendor's GPU driver."""

    name: str
    library: str
    found: bool
    devices: int | None  # None: the driver could not be queried
    detail: str  # why there is no device

    def __str__(self) -> str:
        if self.devices:
            return f"{self.devices} device{'s' * (self.devices > 1)}, {self.library}"
        return f"no device: {self.detail}"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of doctor(); str() and repr() give it as text."""

    build: dict[str, str | bool]
    interpreter: dict[str, str]
    drivers: tuple[Driver, ...]
    environment: dict[str, str]
    partners: tuple[Finding, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found. A missing GPU or partner library is not a problem."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types: dicts, lists, strings, numbers and None."""
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
            else ["", "no problems found"]
        )
        return "\n".join(lines)


def interpreter_facts() -> dict[str, str]:
    """Return facts about the running Python that matter for a native module."""
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
    """Return the REFARRAY_* variables that are set, and a problem for each unknown one."""
    variables = {
        name: value for name, value in sorted(os.environ.items()) if name.startswith("REFARRAY_")
    }
    known = ", ".join(VARIABLES)
    problems = [
        f"the environment variable {name} has no effect; refarray reads {known}"
        for name in variables
        if name not in VARIABLES
    ]
    return variables, problems


def self_check() -> list[str]:
    """Export an array to a capsule and import it again; return a problem if the values differ."""
    sent = _native.arange(6, dtype="int32")
    received = _native.from_capsule(_native.to_capsule(sent, max_version=(1, 0)))
    if received.tolist() == [0, 1, 2, 3, 4, 5]:
        return []
    return [f"an array imported from its own capsule has the wrong values: {received.tolist()}"]


def doctor(*, partners: bool = True) -> Report:
    """Report on this build, the interpreter, GPU drivers, environment variables and partners.

    partners: whether to import each installed partner library, to find out which version of DLPack
        it supports. Each is imported in a separate process, which is given up after 20 seconds
        without progress or 60 seconds of processor time; a busy machine only delays the report.
        False reports only the installed versions.

    The report prints as text; `to_dict()` returns it for JSON, and `ok` is True if there are no
    problems.
    """
    variables, problems = environment_facts()
    found = find_partners(measured=partners)
    problems += [f"{item.name}: {item.detail}" for item in found if item.failed]
    return Report(
        build=build_info(),
        interpreter=interpreter_facts(),
        drivers=tuple(Driver(**driver) for driver in _native._probe_drivers()),
        environment=variables,
        partners=tuple(found),
        problems=tuple(self_check() + problems),
    )
