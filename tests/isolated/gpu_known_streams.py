"""A stream of refarray's captures a graph, by a call of a library that got its handle in the way
named: freeing exported memory leaves the capture alone. Prints its state, 1 for active."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda

import refarray as ra
from refarray.conformance import _adversary as adversary

DEVICE, GLOBAL = "cuda:0", 0


class Asked:
    """A producer that only remembers the stream that it is passed."""

    stream = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int | None = None, **others: object) -> object:
        self.stream = stream or 0
        raise BufferError


def handle_of(stream: ra.Stream, way: str) -> int:
    with ra.use_stream(stream):
        if way == "handle":
            return stream.handle
        if way == "protocol":
            return int(stream.__cuda_stream__()[1])
        if way == "interface":
            interface = ra.zeros((8,), device=DEVICE).__cuda_array_interface__
            return int(interface["stream"])
        if way == "table":
            return adversary.api(ra.Array).stream(2, 0)
        asked = Asked()
        try:
            ra.from_dlpack(asked)
        except BufferError:
            return asked.stream
    raise ValueError(way)


def main(way: str) -> None:
    driver = Cuda(fakegpu.load(cuda=1, hip=0).cuda)
    stream, array = ra.Stream(DEVICE), ra.zeros((8,), device=DEVICE)
    handle = handle_of(stream, way)
    ra.synchronize(DEVICE)
    driver("cuStreamBeginCapture_v2", handle, GLOBAL)
    array.__dlpack__(stream=-1)
    del array
    gc.collect()
    state = ctypes.c_int(77)
    driver("cuStreamIsCapturing", handle, state)
    print(state.value)


main(sys.argv[1])
