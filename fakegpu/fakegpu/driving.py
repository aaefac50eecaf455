"""Calls a CUDA or HIP driver through ctypes, for tests and examples."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

Number = ctypes.c_uint64
NON_BLOCKING = 1
DISABLE_TIMING = 2


#: Blocks of the grid, threads of a block, and bytes of dynamic shared memory of a launch.
Geometry = tuple[tuple[int, int, int], tuple[int, int, int], int]
ONE_BLOCK: Geometry = ((1, 1, 1), (1, 1, 1), 0)


def bundle(device: str = "gfx90a", *kernels: str) -> bytes:
    """A bundle with a code object for one AMD device that has the kernels' descriptors."""
    code = b"\x7fELF\0" + b"".join(f"{name}.kd\0".encode() for name in kernels)
    name = f"hipv4-amdgcn-amd-amdhsa--{device}".encode()
    begin = 24 + 8 + 24 + len(name)
    entry = b"".join(number.to_bytes(8, "little") for number in (1, begin, len(code), len(name)))
    return b"__CLANG_OFFLOAD_BUNDLE__" + entry + name + code


class DriverError(Exception):
    """A driver function failed."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} returned {code}")
        self.name, self.code = name, code


def _argument(value: Any) -> Any:
    if isinstance(value, int):
        return Number(value % 2**64)
    if isinstance(value, ctypes._SimpleCData):
        return ctypes.byref(value)  # an output parameter
    return value


class Driver:
    """Calls a library's functions by name; a status other than 0 raises DriverError.

    Integers are passed by value, `ctypes` numbers by address, everything else unchanged.
    """

    def __init__(self, library: Path | str, *, with_gil: bool = False) -> None:
        self.library = (ctypes.PyDLL if with_gil else ctypes.CDLL)(str(library))

    def code(self, name: str, *arguments: Any) -> int:
        function = getattr(self.library, name)
        return int(function(*(_argument(argument) for argument in arguments)))

    def __call__(self, name: str, *arguments: Any) -> None:
        if code := self.code(name, *arguments):
            raise DriverError(name, code)

    def made(self, name: str, *arguments: Any) -> int:
        """Calls a function and returns the handle that it writes to its first argument."""
        out = Number()
        self(name, out, *arguments)
        return out.value

    #: The beginning of the functions' names.
    prefix = ""
    #: An image without kernels: every module has the sample kernels of the simulation.
    image = b""

    def event(self, flags: int = DISABLE_TIMING) -> int:
        return self.made(
            "cuEventCreate" if self.prefix == "cu" else "hipEventCreateWithFlags", flags
        )

    def record(self, event: int, stream: int) -> None:
        self(f"{self.prefix}EventRecord", event, stream)

    def wait(self, stream: int, event: int) -> None:
        self(f"{self.prefix}StreamWaitEvent", stream, event, 0)

    def synchronize(self, stream: int) -> None:
        self(f"{self.prefix}StreamSynchronize", stream)

    def after(self, consumer: int, producer: int) -> None:
        """Orders the consumer's later work after the producer's work so far."""
        event = self.event()
        self.record(event, producer)
        self.wait(consumer, event)
        self(f"{self.prefix}EventDestroy" + ("_v2" if self.prefix == "cu" else ""), event)

    def destroy(self, stream: int) -> None:
        self(f"{self.prefix}StreamDestroy" + ("_v2" if self.prefix == "cu" else ""), stream)

    def free(self, pointer: int) -> None:
        self("cuMemFree_v2" if self.prefix == "cu" else "hipFree", pointer)

    def kernel(self, name: str, image: bytes = b"") -> int:
        module = self.made(f"{self.prefix}ModuleLoadData", image or self.image)
        return self.made(f"{self.prefix}ModuleGetFunction", module, name.encode())

    def launch_code(
        self, function: int, stream: int, parameters: list[bytes], geometry: Geometry = ONE_BLOCK
    ) -> int:
        """The status of launching a kernel."""
        values = [ctypes.create_string_buffer(value, len(value)) for value in parameters]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(one) for one in values))
        name = "cuLaunchKernel" if self.prefix == "cu" else "hipModuleLaunchKernel"
        grid, block, shared = geometry
        return self.code(name, function, *grid, *block, shared, stream, addresses, None)

    def launch(self, function: int, stream: int, *values: int) -> None:
        """Launches a kernel with one block; its parameters are 64-bit numbers."""
        parameters = [value.to_bytes(8, "little") for value in values]
        if code := self.launch_code(function, stream, parameters):
            raise DriverError("launch", code)


class Cuda(Driver):
    """The CUDA driver; device 0's primary context is current."""

    def __init__(self, library: Path | str, *, with_gil: bool = False) -> None:
        super().__init__(library, with_gil=with_gil)
        self("cuInit", 0)
        count = ctypes.c_int()
        self("cuDeviceGetCount", count)
        self.contexts = [self.made("cuDevicePrimaryCtxRetain", i) for i in range(count.value)]
        self("cuCtxPushCurrent_v2", self.contexts[0])

    prefix = "cu"
    image = b".version 6.0"

    def use(self, device: int) -> None:
        self("cuCtxSetCurrent", self.contexts[device])

    def stream(self, flags: int = NON_BLOCKING) -> int:
        return self.made("cuStreamCreate", flags)

    def memory(self, size: int = 256) -> int:
        return self.made("cuMemAlloc_v2", size)

    def pooled(self, stream: int, size: int = 256) -> int:
        return self.made("cuMemAllocAsync", size, stream)

    def pinned(self, size: int = 256) -> int:
        return self.made("cuMemHostAlloc", size, 1)

    def managed(self, size: int = 256) -> int:
        return self.made("cuMemAllocManaged", size, 1)

    def fill(self, pointer: int, stream: int, value: int = 7, size: int = 256) -> None:
        self("cuMemsetD8Async", pointer, value, size, stream)

    def copy(self, to: int, source: int, stream: int, size: int = 256) -> None:
        self("cuMemcpyAsync", to, source, size, stream)


class Hip(Driver):
    """The HIP runtime; device 0 is current."""

    prefix = "hip"
    image = bundle()

    def use(self, device: int) -> None:
        self("hipSetDevice", device)

    def pinned(self, size: int = 256) -> int:
        return self.made("hipHostMalloc", size, 1)

    def managed(self, size: int = 256) -> int:
        return self.made("hipMallocManaged", size, 1)

    def stream(self, flags: int = NON_BLOCKING) -> int:
        return self.made("hipStreamCreateWithFlags", flags)

    def memory(self, size: int = 256) -> int:
        return self.made("hipMalloc", size)

    def fill(self, pointer: int, stream: int, value: int = 7, size: int = 256) -> None:
        self("hipMemsetAsync", pointer, value, size, stream)

    def copy(self, to: int, source: int, stream: int, size: int = 256) -> None:
        self("hipMemcpyAsync", to, source, size, 4, stream)
