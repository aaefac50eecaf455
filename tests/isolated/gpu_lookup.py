"""Imports look addresses up without initialising a device, as `gpu_lookup.py CASE`; prints "alive".

Initialising a device takes seconds and hundreds of MB. Only device 1 is in use here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakegpu"))

import fakegpu
from fakegpu.driving import Driver

import refarray as ra
from refarray.conformance import _adversary as adversary

SIZE = 24


class Exporter:
    """Another library's array on device 1."""

    def __init__(self, data: int) -> None:
        self.data = data

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        fields = {"shape": (3,), "typestr": "<f8", "version": 3, "data": (self.data, False)}
        return {**fields, "strides": None, "stream": None}


def theirs() -> Driver:
    cuda = Driver(fakegpu.Drivers.here().cuda)
    cuda("cuInit", 0)
    cuda("cuCtxPushCurrent_v2", cuda.made("cuDevicePrimaryCtxRetain", 1))
    return cuda


def main(case: str) -> None:
    fakegpu.load(cuda=2, hip=1)
    cuda = theirs()
    if case == "pinned":
        ra.zeros((3,), device="cuda:1")  # loads the driver: from now on pinned memory is checked
        data = cuda.made("cuMemHostAlloc", SIZE, 1)
        tensor = adversary.make(device=(3, 0), data=data, shape=(3,), dtype=(2, 64, 1))
        assert str(ra.from_dlpack(tensor).device) == "cuda_host"
    else:
        data = cuda.made("cuMemAlloc_v2", SIZE)
        assert str(ra.asarray(Exporter(data)).device) == "cuda:1"
    assert [item["device"] for item in fakegpu.live("context")] == [1], fakegpu.live("context")
    assert fakegpu.violations() == []
    print("alive")


main(sys.argv[1])
