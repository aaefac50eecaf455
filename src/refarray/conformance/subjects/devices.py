"""Owns what the kit knows of a library on devices with streams, as Python text, and where the
drivers come from: the machine's, or the simulated ones of refarray-fakegpu."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType

CHOICES = "auto, none, real, simulated or simulated:FOLDER"
COUNT = 256
"""Elements of an array on a device: float32."""


@dataclass(frozen=True)
class OnDevice:
    """A library's arrays and streams on one vendor's devices: expressions, with `{}` for the number
    of a device, a stream or an array."""

    array: str
    """COUNT elements that are written when it returns, or soon after."""
    there: str = "True"
    """Whether a device may be there, asked without starting its driver."""
    stream: str = ""
    """A stream of a device."""
    handle: str = "{}.handle"
    """Its number."""
    use: str = ""
    """A context manager: the calling thread works on that stream."""
    write: str = ""
    """A statement: copies an array's elements, `{1}`, over another's, `{0}`, in that stream."""
    read: str = ""
    """A copy of an array, made in that stream."""
    pinned: str = ""
    """COUNT elements of pinned host memory."""
    managed: str = ""
    """COUNT elements of managed memory."""
    move: str = ""
    """An array, `{0}`, on another device, `{1}`, copied on a stream, `{2}`."""
    simulated: bool = False
    """Whether it opens the driver that REFARRAY_LIBCUDA or REFARRAY_LIBHIP names."""


def of_refarray(vendor: str) -> OnDevice:
    """refarray's own."""
    return OnDevice(
        array=f"ra.ones({COUNT}, dtype=ra.float32, device='{vendor}:{{}}')",
        stream=f"ra.Stream('{vendor}:{{}}')",
        use="ra.use_stream({})",
        write="{0}[...] = {1}",
        read="{}.copy()",
        pinned=f"ra.ones({COUNT}, dtype=ra.float32, device='{vendor}_host')",
        managed=f"ra.ones({COUNT}, dtype=ra.float32, device='cuda_managed:0')"
        if vendor == "cuda"
        else "",
        move=f"{{0}}.to_device('{vendor}:{{1}}', stream={{2}})",
        simulated=True,
    )


def of_torch(version: str) -> OnDevice:
    """PyTorch's, whose names are the same with CUDA and ROCm; torch.version tells which it is."""
    return OnDevice(
        array=f"torch.ones({COUNT}, dtype=torch.float32, device='cuda:{{}}')",
        there=f"torch.version.{version} is not None and torch.cuda.device_count() > 0",
        stream="torch.cuda.Stream({})",
        handle="{}.cuda_stream",
        use="torch.cuda.stream({})",
        write="{0}.copy_({1})",
        read="{}.clone()",
        pinned=f"torch.ones({COUNT}, dtype=torch.float32).pin_memory()",
    )


def of_cupy(rocm: str) -> OnDevice:
    """CuPy's. It makes arrays and streams on the current device, so that is set first."""
    return OnDevice(
        array=f"(cp.cuda.Device({{}}).use(), cp.ones({COUNT}, dtype=cp.float32))[1]",
        there=f"{rocm}cp.cuda.runtime.is_hip and cp.cuda.is_available()",
        stream="(cp.cuda.Device({}).use(), cp.cuda.Stream(non_blocking=True))[1]",
        handle="{}.ptr",
        use="{}",
        write="{0}[...] = {1}",
        read="{}.copy()",
    )


REFARRAY = MappingProxyType({vendor: of_refarray(vendor) for vendor in ("cuda", "rocm")})
TORCH = MappingProxyType({"cuda": of_torch("cuda"), "rocm": of_torch("hip")})
CUPY = MappingProxyType({"cuda": of_cupy("not "), "rocm": of_cupy("")})

_simulation: list[ModuleType] = []  # the simulated drivers, once this process runs on them


def simulation() -> ModuleType | None:
    """fakegpu, in a process that runs on the simulated drivers."""
    return _simulation[0] if _simulation else None


def chosen(where: str) -> str:
    """The same choice. ValueError for what is none, or not there."""
    kind, _, folder = where.partition(":")
    if kind not in {"auto", "none", "real", "simulated"} or (folder and kind != "simulated"):
        raise ValueError(f"{where!r} is no choice of devices: write {CHOICES}")
    if folder and not (Path(folder) / "fakegpu" / "__init__.py").is_file():
        raise ValueError(f"{folder} holds no package fakegpu")
    if kind == "simulated" and not folder and find_spec("fakegpu") is None:
        raise ValueError("the simulated drivers are not installed: pip install refarray-fakegpu")
    return where


def resolved(where: str, devices: Mapping[str, OnDevice]) -> str:
    """What "auto" stands for: the simulated drivers, which judge the order of all work, where they
    are installed and a library can use them; else the machine's."""
    if where != "auto":
        return where
    simulated = any(on.simulated for on in devices.values()) and find_spec("fakegpu") is not None
    return "simulated" if simulated else "real"


def prepare(where: str) -> None:
    """Lets fakegpu compile its drivers, as it does out of a source tree: that takes longer than the
    import of a subject may."""
    kind, _, folder = where.partition(":")
    if kind == "simulated" or (kind == "auto" and find_spec("fakegpu") is not None):
        path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
        script = "import fakegpu; fakegpu.Drivers.here()"
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONPATH": path}
        # What is wrong with them the subject's process tells.
        subprocess.run(command, env=environment, check=False, capture_output=True)


def start(where: str) -> None:
    """Puts the simulated drivers, two devices of each vendor, in place of the machine's, if that is
    what was chosen. Before the subject is imported."""
    kind, _, folder = where.partition(":")
    if kind == "simulated":
        sys.path[:0] = [folder] if folder else []
        fakegpu = importlib.import_module("fakegpu")
        fakegpu.load(cuda=2, hip=2)
        _simulation.append(fakegpu)
