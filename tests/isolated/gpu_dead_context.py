"""Another library resets a device that refarray uses.

What refarray keeps on it fails with the driver's reason, other devices continue, and nothing is
freed twice. Prints "alive"."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda, Number

import refarray as ra


def outcome(use: Callable[[], object]) -> object:
    """The driver's error code, or a text that says how the call ended."""
    try:
        use()
    except ra.DriverError as error:
        complete = str(error.code) in str(error) and error.name and error.call
        return error.code if complete else str(error)
    except BufferError as error:
        return "names the device" if "cuda:0" in str(error) else str(error)
    return f"{use} worked"


def main() -> None:
    fakegpu.load(cuda=2, hip=0)
    other = Cuda(fakegpu.Drivers.here().cuda)
    other.use(1)  # the user's current context, which must not change
    before = other.made("cuCtxGetCurrent")
    stream, theirs = ra.Stream("cuda:0"), other.stream()
    with ra.use_stream(stream):
        array = ra.ones((100,), device="cuda:0").copy()
    alive = ra.ones((100,), device="cuda:1")
    kept = [array.__dlpack__(stream=theirs, max_version=(1, 3)), array[1:], stream]
    ra.synchronize("cuda:0")
    uses: list[Callable[[], object]] = [
        array.copy,
        array.tolist,
        partial(array.__dlpack__, stream=theirs),
        partial(array.to_device, "cuda:1"),
        partial(ra.zeros, (3,), device="cuda:0"),
        partial(ra.Stream, "cuda:0"),
        partial(ra.synchronize, "cuda:0"),
        stream.synchronize,
        stream.record,
    ]
    other("cuDevicePrimaryCtxReset_v2", 0)
    fakegpu.reset()
    for use in uses:
        assert outcome(use) in (709, "names the device"), (use, outcome(use))
    other("cuDevicePrimaryCtxRetain", Number(), 0)  # the next user makes the context anew
    for use in uses:
        assert outcome(use) in (709, "names the device"), (use, outcome(use))
    assert repr(array).startswith("refarray.Array(<data on cuda:0: CUDA: "), repr(array)
    assert other.made("cuCtxGetCurrent") == before
    assert alive.copy().tolist() == [1.0] * 100
    alive.__dlpack__(stream=theirs)
    del array, stream, kept, uses, use
    gc.collect()
    ra.synchronize("cuda:1")
    # A stream of another device waits for an event of before: drivers return 709, as for a query.
    calls = {found["second"]["call"] for found in fakegpu.violations()}
    assert calls <= {"cuStreamWaitEvent"}, fakegpu.violations()
    print("alive")


main()
