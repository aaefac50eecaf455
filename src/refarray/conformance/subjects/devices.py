"""OnDevice: expressions for a library's arrays and streams on CUDA and ROCm devices; and the choice
between the machine's drivers and the simulated ones of refarray-fakegpu."""

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
"""Number of float32 elements of an array on a device."""


@dataclass(frozen=True)
class OnDevice:
    """Expressions for a library's arrays and streams on one vendor's devices; `{}` stands for a
    device id, a stream or an array."""

    array: str
    """An array of COUNT initialized elements; the work may still be enqueued."""
    there: str = "True"
    """Whether there may be a device; must not initialize the driver."""
    stream: str = ""
    """A stream on a device."""
    handle: str = "{}.handle"
    """The handle of a stream, as an int."""
    use: str = ""
    """A context manager that makes a stream the current one of the calling thread. Empty: the
    library has none."""
    write: str = ""
    """A statement that copies array `{1}` into array `{0}` on stream `{2}`, the current one."""
    read: str = ""
    """A copy of an array, made on the current stream."""
    pinned: str = ""
    """An array of COUNT elements in pinned host memory."""
    managed: str = ""
    """An array of COUNT elements in managed memory."""
    move: str = ""
    """A copy of array `{0}` on device `{1}`, made on stream `{2}`."""
    simulated: bool = False
    """Whether the library can run on the simulated drivers: it opens the driver that
    REFARRAY_LIBCUDA or REFARRAY_LIBHIP names."""


def of_refarray(vendor: str) -> OnDevice:
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
    """PyTorch's arrays. Its names are the same for CUDA and ROCm; torch.version tells the builds
    apart."""
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
    """CuPy's arrays. It allocates on the current device, so the expressions set it first."""
    return OnDevice(
        array=f"(cp.cuda.Device({{}}).use(), cp.ones({COUNT}, dtype=cp.float32))[1]",
        there=f"{rocm}cp.cuda.runtime.is_hip and cp.cuda.is_available()",
        stream="(cp.cuda.Device({}).use(), cp.cuda.Stream(non_blocking=True))[1]",
        handle="{}.ptr",
        use="{}",
        write="{0}[...] = {1}",
        read="{}.copy()",
    )


def of_cuda_core() -> OnDevice:
    """Views of cuda.core's memory. It has no current stream: each call names its stream."""
    nbytes = 4 * COUNT

    def of(memory: str) -> str:
        return (
            f"(dev := cc.Device({{}}), dev.set_current(), work := dev.create_stream(), "
            f"mem := {memory}.allocate({nbytes}, stream=work), "
            "mem.fill(bytes.fromhex('0000803f'), stream=work), work.sync(), "
            f"View.from_buffer(mem, ({COUNT},), dtype=np.dtype('f4')))[6]"
        )

    return OnDevice(
        array=of("dev"),
        there="cc.Device(0)",
        stream="(dev := cc.Device({}), dev.set_current(), dev.create_stream())[2]",
        handle="int({}.handle)",
        write="{0}.exporting_obj.copy_from({1}.exporting_obj, stream={2})",
        managed=of("cc.ManagedMemoryResource()").format(0),
        simulated=True,
    )


REFARRAY = MappingProxyType({vendor: of_refarray(vendor) for vendor in ("cuda", "rocm")})
TORCH = MappingProxyType({"cuda": of_torch("cuda"), "rocm": of_torch("hip")})
CUPY = MappingProxyType({"cuda": of_cupy("not "), "rocm": of_cupy("")})
CUDA_CORE = MappingProxyType({"cuda": of_cuda_core()})

_simulation: list[ModuleType] = []  # fakegpu, once this process has loaded its drivers


def simulation() -> ModuleType | None:
    """The module fakegpu if this process runs on simulated drivers, else None."""
    return _simulation[0] if _simulation else None


def _is_installed() -> bool:
    """Whether fakegpu can be imported. A folder of this name on the path is not it."""
    found = find_spec("fakegpu")
    return found is not None and found.origin is not None


def check_choice(where: str) -> str:
    """Returns `where`. ValueError if it is no valid choice or its drivers are missing."""
    kind, _, folder = where.partition(":")
    if kind not in {"auto", "none", "real", "simulated"} or (folder and kind != "simulated"):
        raise ValueError(f"{where!r} is no choice of devices: expected {CHOICES}")
    if folder and not (Path(folder) / "fakegpu" / "__init__.py").is_file():
        raise ValueError(f"{folder} contains no package fakegpu")
    if kind == "simulated" and not folder and not _is_installed():
        raise ValueError("the simulated drivers are not installed: pip install refarray-fakegpu")
    return where


def resolve(where: str, devices: Mapping[str, OnDevice]) -> str:
    """Resolves "auto": the simulated drivers, which detect races, if they are installed and the
    library supports them; else the machine's drivers."""
    if where != "auto":
        return where
    simulated = any(on.simulated for on in devices.values()) and _is_installed()
    return "simulated" if simulated else "real"


def prepare(where: str) -> None:
    """Makes fakegpu compile its drivers, if it runs from a source tree: compiling them during the
    import of a subject would exceed the import timeout."""
    kind, _, folder = where.partition(":")
    if kind == "simulated" or (kind == "auto" and _is_installed()):
        path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
        script = "import fakegpu; fakegpu.Drivers.here()"
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONPATH": path}
        # Errors are reported later, by the subject's process.
        subprocess.run(command, env=environment, check=False, capture_output=True)


def start(where: str) -> None:
    """Loads the simulated drivers, two devices of each vendor, if they were chosen. Must be called
    before the subject is imported."""
    kind, _, folder = where.partition(":")
    if kind == "simulated":
        sys.path[:0] = [folder] if folder else []
        fakegpu = importlib.import_module("fakegpu")
        fakegpu.load(cuda=2, hip=2)
        _simulation.append(fakegpu)
