"""Adapters of GPU libraries for the hardware tests: streams, arrays, imports and reads under common
names."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import struct
from collections.abc import Callable, Iterator
from typing import Any

import refarray as ra
from refarray.conformance import _adversary as adversary

DEVICE = "cuda:0"
COUNT = 4096  # elements of the arrays that are exchanged, float32
OLD, NEW = 1.25, 7.5  # the values before and after a write


def full(value: float, device: str = DEVICE) -> ra.Array:
    return ra.full((COUNT,), value, dtype="float32", device=device)


def data_of(capsule: object) -> int:
    return int(ra._native._inspect_capsule(capsule)["data"])


class Partner:
    """A library with device arrays. Its `protocols` decide which of these methods it needs:

    stream()               a new stream, not the default one
    handle(stream)         the driver's handle of the stream
    full(value, stream)    an array filled with the value
    fill(array, value, stream)   overwrites the array in the stream; does not wait
    take(array)            imports refarray's array by DLPack, for work in its current stream
    take_interface(array)  imports refarray's array by __cuda_array_interface__
    copied(array, stream)  a copy, made in the stream; does not wait
    values(array, stream)  the elements as the stream sees them; waits for that stream only
    """

    #: "dlpack" and "interface" stand for export and import; "import-…" for import only.
    protocols: frozenset[str] = frozenset({"dlpack", "interface"})
    module = ""
    #: Whether its work can be queued on a stream other than the default one.
    has_streams = True

    def __init__(self, driver: Any) -> None:
        """Imports the library. `driver` is for partners that have no functions of their own."""
        self.driver = driver
        self.library: Any = importlib.import_module(self.module) if self.module else None

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """Makes the stream current for the library's work in this thread."""
        yield


class Refarray(Partner):
    """No partner, for tests of refarray alone. An exchange of refarray with itself shares one
    storage, whose pending work it knows, and would prove nothing."""

    protocols = frozenset()


class Memory:
    """Driver memory with the stream of its last write, exported by both protocols."""

    def __init__(self, driver: Any, pointer: int, stream: int, kept: Any = None) -> None:
        self.driver, self.pointer, self.stream = driver, pointer, stream
        self.kept = [kept]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (COUNT,),
            "typestr": "<f4",
            "data": (self.pointer, False),
            "version": 3,
            "stream": self.stream,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int | None = None, **others: Any) -> object:
        """Makes the consumer's stream wait, not the host, as the standard requires."""
        if stream != -1:
            self.driver.after(1 if stream is None else stream, self.stream)
        tensor = adversary.make(
            device=(2, 0), data=self.pointer, shape=(COUNT,), dtype=(2, 32, 1), versioned=True
        )
        self.kept.append(tensor)
        return tensor.capsule()


class Driver(Partner):
    """The vendor's driver through ctypes: always available, and independent of refarray."""

    def __init__(self, driver: Any) -> None:
        super().__init__(driver)
        self.current = 1  # the legacy default stream

    def stream(self) -> Any:
        return self.driver.stream()

    def handle(self, stream: Any) -> int:
        return int(stream)

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, stream
        yield
        self.current = before

    def full(self, value: float, stream: Any) -> Any:
        array = Memory(self.driver, self.driver.memory(4 * COUNT), stream)
        self.fill(array, value, stream)
        return array

    def fill(self, array: Any, value: float, stream: Any) -> None:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        self.driver("cuMemsetD32Async", array.pointer, bits, COUNT, stream)

    def take(self, array: ra.Array) -> Any:
        capsule = array.__dlpack__(stream=self.current, max_version=(1, 3))
        return Memory(self.driver, data_of(capsule), 0, kept=capsule)

    def take_interface(self, array: ra.Array) -> Any:
        interface = array.__cuda_array_interface__
        return Memory(self.driver, interface["data"][0], interface["stream"] or 0, kept=array)

    def copied(self, array: Any, stream: Any) -> Any:
        self.follow(array, stream)
        copy = Memory(self.driver, self.driver.memory(4 * COUNT), stream)
        self.driver("cuMemcpyDtoDAsync_v2", copy.pointer, array.pointer, 4 * COUNT, stream)
        return copy

    def follow(self, array: Any, stream: Any) -> None:
        """Waits for the interface's stream, as its specification requires."""
        if array.stream not in (0, stream):
            self.driver.after(stream, array.stream)

    def values(self, array: Any, stream: Any) -> list[float]:
        self.follow(array, stream)
        into = (ctypes.c_float * COUNT)()
        to = ctypes.addressof(into)
        self.driver("cuMemcpyDtoHAsync_v2", to, array.pointer, 4 * COUNT, stream)
        self.driver.synchronize(stream)
        return list(into)


class CarelessMemory(Memory):
    """Exported without synchronization, as if it were ready."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**super().__cuda_array_interface__, "stream": None}

    def __dlpack__(self, *, stream: int | None = None, **others: Any) -> object:
        return super().__dlpack__(stream=-1, **others)


class Careless(Driver):
    """Neither waits nor makes consumers wait: the order tests must fail with it."""

    def full(self, value: float, stream: Any) -> Any:
        array = CarelessMemory(self.driver, self.driver.memory(4 * COUNT), stream)
        self.fill(array, value, stream)
        return array

    def take(self, array: ra.Array) -> Any:
        self.current = -1
        return super().take(array)

    def follow(self, array: Any, stream: Any) -> None:
        """Does not wait."""


class CudaCore(Driver):
    """NVIDIA's cuda.core: imports by both protocols for an explicit stream. Its exports name no
    stream and wait for none, so only imports are tested."""

    protocols = frozenset({"import-dlpack", "import-interface"})
    module = "cuda.core.utils"

    def imported(self, constructor: str, array: ra.Array) -> Memory:
        make = getattr(self.library.StridedMemoryView, constructor)
        view = make(array, stream_ptr=self.current)
        return Memory(self.driver, view.ptr, 0, kept=view)  # 0: the consumer's stream already waits

    def take(self, array: ra.Array) -> Any:
        return self.imported("from_dlpack", array)

    def take_interface(self, array: ra.Array) -> Any:
        return self.imported("from_cuda_array_interface", array)


class Torch(Partner):
    """PyTorch. Its array interface ignores streams, so only DLPack is tested."""

    protocols = frozenset({"dlpack"})
    module = "torch"

    def stream(self) -> Any:
        return self.library.cuda.Stream()

    def handle(self, stream: Any) -> int:
        return int(stream.cuda_stream)

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        with self.library.cuda.stream(stream):
            yield

    def full(self, value: float, stream: Any) -> Any:
        with self.on(stream):
            return self.library.full((COUNT,), value, dtype=self.library.float32, device=DEVICE)

    def fill(self, array: Any, value: float, stream: Any) -> None:
        with self.on(stream):
            array.fill_(value)

    def take(self, array: ra.Array) -> Any:
        return self.library.from_dlpack(array)

    def copied(self, array: Any, stream: Any) -> Any:
        with self.on(stream):
            return array.clone()

    def values(self, array: Any, stream: Any) -> list[float]:
        with self.on(stream):
            there = array.to("cpu", non_blocking=True)
        stream.synchronize()
        return list(there.tolist())


class CuPy(Partner):
    """CuPy supports both protocols; it synchronizes the interface's stream on the host."""

    module = "cupy"

    def stream(self) -> Any:
        return self.library.cuda.Stream(non_blocking=True)

    def handle(self, stream: Any) -> int:
        return int(stream.ptr)

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        with stream:
            yield

    def full(self, value: float, stream: Any) -> Any:
        with stream:
            return self.library.full((COUNT,), value, dtype="float32")

    def fill(self, array: Any, value: float, stream: Any) -> None:
        with stream:
            array.fill(value)

    def take(self, array: ra.Array) -> Any:
        return self.library.from_dlpack(array)

    def take_interface(self, array: ra.Array) -> Any:
        return self.library.asarray(array)

    def copied(self, array: Any, stream: Any) -> Any:
        with stream:
            return array.copy()

    def values(self, array: Any, stream: Any) -> list[float]:
        return list(self.library.asnumpy(array, stream=stream).tolist())


class Jax(Partner):
    """JAX schedules its work itself: no stream can be chosen and arrays are immutable."""

    protocols = frozenset({"dlpack"})
    module = "jax"
    has_streams = False

    def stream(self) -> Any:
        return None

    def handle(self, stream: Any) -> int:
        (device,) = self.library.devices("cuda")[:1]
        return int(device.get_stream_for_external_ready_events())

    def full(self, value: float, stream: Any) -> Any:
        return self.library.numpy.full((COUNT,), value, dtype="float32")

    def slowly(self, value: float) -> Any:
        """An array filled with `value` after seconds of work that no compiler can eliminate."""
        numpy = self.library.numpy

        def work(matrix: Any, wanted: Any) -> Any:
            step = lambda _, x: numpy.tanh(x @ x)  # noqa: E731
            end = self.library.lax.fori_loop(0, 200, step, matrix)
            return numpy.full((COUNT,), wanted) + 0 * numpy.nan_to_num(end[0, 0])

        matrix = self.library.random.normal(self.library.random.key(0), (4096, 4096))
        compiled = self.library.jit(work)
        compiled(matrix, 0.0).block_until_ready()
        return compiled(matrix, value)

    def take(self, array: ra.Array) -> Any:
        return self.library.dlpack.from_dlpack(array)

    def copied(self, array: Any, stream: Any) -> Any:
        return array + 0

    def values(self, array: Any, stream: Any) -> list[float]:
        return list(array.tolist())


class Numba(Partner):
    """Numba supports the interface only and synchronizes its stream on the host."""

    protocols = frozenset({"interface"})
    module = "numba.cuda"

    def stream(self) -> Any:
        return self.library.stream()

    def handle(self, stream: Any) -> int:
        return int(stream.__cuda_stream__()[1])

    def full(self, value: float, stream: Any) -> Any:
        array = self.library.device_array(COUNT, dtype="float32", stream=stream)
        self.fill(array, value, stream)
        return array

    def fill(self, array: Any, value: float, stream: Any) -> None:
        host = self.library.pinned_array(COUNT, dtype="float32")
        host.fill(value)
        self.kept = getattr(self, "kept", [])
        self.kept.append(host)  # the copy reads it later
        array.copy_to_device(host, stream=stream)

    def take_interface(self, array: ra.Array) -> Any:
        return self.library.as_cuda_array(array)

    def copied(self, array: Any, stream: Any) -> Any:
        copy = self.library.device_array(COUNT, dtype="float32", stream=stream)
        copy.copy_to_device(array, stream=stream)
        return copy

    def values(self, array: Any, stream: Any) -> list[float]:
        there = array.copy_to_host(stream=stream)
        stream.synchronize()
        return list(there.tolist())


class CuDf(Partner):
    """cuDF makes a column from the interface; it works in the default stream."""

    protocols = frozenset({"interface"})
    module = "cudf"
    has_streams = False

    def stream(self) -> Any:
        return None

    def handle(self, stream: Any) -> int:
        return 1

    def full(self, value: float, stream: Any) -> Any:
        return self.library.Series([value] * COUNT, dtype="float32")

    def take_interface(self, array: ra.Array) -> Any:
        return self.library.Series(array)

    def copied(self, array: Any, stream: Any) -> Any:
        return array.copy(deep=True)

    def values(self, array: Any, stream: Any) -> list[float]:
        return list(array.to_numpy().tolist())


PARTNERS: dict[str, Callable[[Any], Partner]] = {
    "refarray": Refarray,
    "driver": Driver,
    "careless": Careless,
    "cuda.core": CudaCore,
    "torch": Torch,
    "cupy": CuPy,
    "jax": Jax,
    "numba": Numba,
    "cudf": CuDf,
}
