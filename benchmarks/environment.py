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
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import records  # noqa: F401

DISTRIBUTIONS = {
    "numpy": "numpy",
    "tvm_ffi": "apache-tvm-ffi",
    "torch": "torch",
    "jax": "jax",
    "pyarrow": "pyarrow",
    "array_api_strict": "array-api-strict",
}
PARTNERS = tuple(DISTRIBUTIONS)
UNWANTED = "not asked for"


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
            environment.absent[name] = UNWANTED
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
        "libc": " ".join(platform.libc_ver()),
        "cpu": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
    }
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        facts["cpu"] = models[0] if models else facts["cpu"]
    return facts


def facts(environment: Environment) -> dict[str, Any]:
    """What a summary says of machine, build and versions."""
    build, found = environment.native._build_info(), machine()
    absent = {name: why for name, why in environment.absent.items() if why != UNWANTED}
    return {
        "cpu": found["cpu"],
        "cpus": found["cpus"],
        "libc": found["libc"],
        "python": f"{platform.python_implementation()} {found['python']}",
        "build": f"{build['abi']}, {build['compiler']}",
        "isa": build["isa"],
        "versions": [f"{name} {version}" for name, version in environment.versions.items()],
        "absent": [f"{name} ({why})" for name, why in absent.items()],
    }


def load_average() -> float:
    """One-minute load average; figures taken above 2.5 on two cores are unreliable."""
    return round(os.getloadavg()[0], 2)
