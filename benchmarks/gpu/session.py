"""The state that all rows share: the device, our stream, the driver and the partners."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import random
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "fakegpu"))

from fakegpu.driving import Cuda  # noqa: E402

OURS, DRIVER = "refarray", "driver"
DEVICE = "cuda:0"
PEERS = ("torch", "cupy")
FORMATS = {"uint8": "B", "uint16": "H", "float32": "f", "float64": "d"}
#: Random bytes, repeated to fill arrays; not a power of two, so that rows differ.
BLOCK = random.Random(20261121).randbytes(1_048_583)
Row = dict[str, Any]


class NotMeasured(Exception):
    """The reason why a row or a contender was not measured."""


class Session:
    """Shared state. On the simulated driver rows run with small arrays and are not timed."""

    def __init__(self, seconds: float, simulated: bool) -> None:
        self.simulated, self.seconds = simulated, seconds
        library = os.environ.get("REFARRAY_LIBCUDA") or "libcuda.so.1"
        if simulated:
            import fakegpu

            library = str(fakegpu.load(cuda=1, hip=0).cuda)
        self.ra: Any = importlib.import_module("refarray")
        self.native: Any = importlib.import_module("refarray._native")
        self.driver = Cuda(library)
        self.stream = self.ra.Stream(DEVICE)
        self.peers: dict[str, Any] = {}
        self.absent: dict[str, str] = {}
        for name in PEERS:
            self.admit(name)

    def admit(self, name: str) -> None:
        """Registers a peer that can import our arrays, or the reason why it cannot."""
        if self.simulated:
            self.absent[name] = "other libraries do not use the simulated driver"
            return
        try:
            module = importlib.import_module(name)
            module.from_dlpack(self.ra.zeros((2,), device=DEVICE))
        except Exception as error:
            text = (str(error).splitlines() or [""])[0]
            self.absent[name] = f"{type(error).__name__}: {text[:200]}"
        else:
            self.peers[name] = module

    def on_stream(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Returns a context in which the peer uses our stream."""
        cuda = self.peers[name].cuda
        if name == "torch":
            return cuda.stream(cuda.ExternalStream(self.stream.handle))  # type: ignore[no-any-return]
        return cuda.Stream.from_external(self.stream)  # type: ignore[no-any-return]

    def address(self, array: Any) -> int:
        keywords = {} if array.device.kind == "cpu" else {"stream": -1}
        capsule = array.__dlpack__(**keywords, max_version=(1, 3))
        return int(self.native._inspect_capsule(capsule)["data"])

    def numbers(self, shape: tuple[int, ...], dtype: str, device: str) -> Any:
        """An array of random bits, so that a wrong or missing copy is detected."""
        nbytes = self.ra.DType(dtype).itemsize
        for extent in shape:
            nbytes *= extent
        data = (BLOCK * (nbytes // len(BLOCK) + 1))[:nbytes]
        flat = self.ra.asarray(memoryview(data).cast(FORMATS[dtype]))
        return self.ra.asarray(flat.reshape(shape), device=device, copy=True)

    def facts(self) -> dict[str, Any]:
        """Name, memory and CUDA version of the device."""
        name, memory = ctypes.create_string_buffer(256), ctypes.c_uint64()
        self.driver("cuDeviceGetName", name, 256, 0)
        self.driver("cuDeviceTotalMem_v2", memory, 0)
        version = ctypes.c_int()
        self.driver("cuDriverGetVersion", version)
        return {
            "device": name.value.decode(),
            "memory_bytes": memory.value,
            "cuda_of_the_driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
        }
