"""The environment of a run: the importable partners with their versions, and the machine."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

DISTRIBUTIONS = {
    "numpy": "numpy",
    "tvm_ffi": "apache-tvm-ffi",
    "torch": "torch",
    "jax": "jax",
    "pyarrow": "pyarrow",
    "array_api_strict": "array-api-strict",
}
PARTNERS = tuple(DISTRIBUTIONS)


@dataclass
class Environment:
    """refarray, the imported partners, and the reasons why others are absent."""

    refarray: ModuleType
    native: ModuleType
    partners: dict[str, ModuleType] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        return all(name in self.partners for name in names)


def load(wanted: tuple[str, ...]) -> Environment:
    """Import refarray, which is required, and every selected partner that is installed."""
    environment = Environment(
        importlib.import_module("refarray"), importlib.import_module("refarray._native")
    )
    environment.versions["refarray"] = environment.refarray.__version__
    for name in PARTNERS:
        if name not in wanted:
            environment.absent[name] = "not asked for"
            continue
        try:
            environment.partners[name] = importlib.import_module(name)
        except ImportError as error:
            environment.absent[name] = f"{type(error).__name__}: {error}"
        else:
            environment.versions[name] = importlib.metadata.version(DISTRIBUTIONS[name])
    return environment


def machine() -> dict[str, object]:
    """Facts a reader needs to judge the figures; no host name and no path."""
    facts: dict[str, object] = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "system": platform.system(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "cpu": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
    }
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        facts["cpu"] = models[0] if models else facts["cpu"]
    return facts


def load_average() -> float:
    """One-minute load average; figures taken above 2.5 on two cores are unreliable."""
    return round(os.getloadavg()[0], 2)
