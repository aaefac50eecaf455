"""The libraries that exchange arrays of device memory with ours: how each makes a stream, writes,
takes an array and reads, by the names that the tests use."""

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


class Partner:
    """A library with arrays on a device. Each has, as far as its `ways` need it:

    stream()               a stream of its own, which is not the default one
    handle(stream)         the driver's handle of it
    full(value, stream)    an array whose every element is the value
    fill(array, value, stream)   overwrites the array in the stream, and does not wait
    take(array)            ours by DLPack, for work in its current stream
    take_interface(array)  ours by __cuda_array_interface__
    copied(array, stream)  a copy, made in the stream without waiting
    values(array, stream)  what the stream sees in the array; waits for that stream alone
    """

    ways: frozenset[str] = frozenset({"dlpack", "interface"})
    module = ""
    #: Whether its work can be put into a stream that is not the default one.
    has_streams = True

    def __init__(self, driver: Any) -> None:
        """The library is imported; `driver` is the vendor's, for those who bring none."""
        self.driver = driver
        self.library: Any = importlib.import_module(self.module) if self.module else None

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """Its work of this thread goes into that stream."""
        yield


class Refarray(Partner):
    """Nobody: for the tests that are about refarray alone. What it exports and takes back is one
    storage, whose uses it knows: as a partner of itself it would prove nothing."""

    ways = frozenset()


class Memory:
    """Memory of the driver's with the stream that it was written on, offered by both protocols."""

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
        """As the standard asks: the consumer's stream waits, and the host does not."""
        if stream != -1:
            self.driver.after(1 if stream is None else stream, self.stream)
        tensor = adversary.make(
            device=(2, 0), data=self.pointer, shape=(COUNT,), dtype=(2, 32, 1), versioned=True
        )
        self.kept.append(tensor)
        return tensor.capsule()


class Driver(Partner):
    """The vendor's driver itself, by ctypes: there wherever a device is, and it knows nothing of
    us."""

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
        pointer = ra._native._inspect_capsule(capsule)["data"]
        return Memory(self.driver, int(pointer), 0, kept=capsule)

    def take_interface(self, array: ra.Array) -> Any:
        said = array.__cuda_array_interface__
        return Memory(self.driver, said["data"][0], said["stream"] or 0, kept=array)

    def copied(self, array: Any, stream: Any) -> Any:
        self.follow(array, stream)
        copy = Memory(self.driver, self.driver.memory(4 * COUNT), stream)
        self.driver("cuMemcpyDtoDAsync_v2", copy.pointer, array.pointer, 4 * COUNT, stream)
        return copy

    def follow(self, array: Any, stream: Any) -> None:
        """As the interface's text asks: the consumer waits for the stream that is named."""
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
    """Offered as if it were ready."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**super().__cuda_array_interface__, "stream": None}

    def __dlpack__(self, *, stream: int | None = None, **others: Any) -> object:
        return super().__dlpack__(stream=-1, **others)


class Careless(Driver):
    """Waits for nothing, and lets nobody else: the tests of order have to fail with it."""

    def full(self, value: float, stream: Any) -> Any:
        array = CarelessMemory(self.driver, self.driver.memory(4 * COUNT), stream)
        self.fill(array, value, stream)
        return array

    def take(self, array: ra.Array) -> Any:
        self.current = -1
        return super().take(array)

    def follow(self, array: Any, stream: Any) -> None:
        """Not at all."""


class CudaCore(Driver):
    """NVIDIA's cuda.core: takes both protocols for a stream that it is told. What it gives names no
    stream and waits for none, so that only taking is asked of it."""

    ways = frozenset({"takes-dlpack", "takes-interface"})
    module = "cuda.core.utils"

    def taken(self, way: str, array: ra.Array) -> Memory:
        view = getattr(self.library.StridedMemoryView, way)(array, stream_ptr=self.current)
        return Memory(self.driver, view.ptr, 0, kept=view)  # 0: its stream has been made to wait

    def take(self, array: ra.Array) -> Any:
        return self.taken("from_dlpack", array)

    def take_interface(self, array: ra.Array) -> Any:
        return self.taken("from_cuda_array_interface", array)


class Torch(Partner):
    """PyTorch: its use of the interface knows no streams, so that only DLPack is asked for."""

    ways = frozenset({"dlpack"})
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
    """CuPy speaks both protocols; it waits on the host for the interface's stream."""

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
    """JAX orders its work by itself: there is no stream to choose, and no array to overwrite."""

    ways = frozenset({"dlpack"})
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
        """`value` everywhere, after seconds of work that no compiler can leave out."""
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
    """Numba takes and gives the interface, and waits on the host for its stream."""

    ways = frozenset({"interface"})
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
    """cuDF makes a column over the interface; it works in the default stream."""

    ways = frozenset({"interface"})
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
