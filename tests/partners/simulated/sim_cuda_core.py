"""NVIDIA's cuda.core on the simulated driver: its buffers and streams, in both directions."""

from __future__ import annotations

import importlib
from typing import Any

import fakegpu
import pytest

import refarray as ra

pytestmark = pytest.mark.cuda_core


@pytest.fixture(scope="module")
def device() -> Any:
    found = importlib.import_module("cuda.core").Device(0)
    found.set_current()
    return found


def filled(device: Any, stream: Any) -> Any:
    """A buffer of 64 bytes that the stream's work fills with ones."""
    made = device.allocate(64, stream=stream)
    made.fill(b"\1", stream=stream)
    return made


def test_every_property_of_a_device_has_a_value(device: Any) -> None:
    names = [name for name in dir(device.properties) if not name.startswith("_")]
    assert len(names) > 100
    assert all(isinstance(getattr(device.properties, name), int | bool) for name in names)
    assert (device.name, device.compute_capability) == ("fakegpu simulated cuda device 0", (9, 0))


def test_streams_events_and_copies(device: Any) -> None:
    first, second = device.create_stream(), device.create_stream()
    source, target = filled(device, first), device.allocate(64, stream=second)
    second.wait(first.record())
    target.copy_from(source, stream=second)
    done = second.record()
    done.sync()
    assert done.is_done
    assert fakegpu.peek(int(target.handle), 64) == b"\1" * 64


@pytest.mark.violation("race")
def test_a_missing_wait_is_found(device: Any) -> None:
    first, second = device.create_stream(), device.create_stream()
    source, target = filled(device, first), device.allocate(64, stream=second)
    target.copy_from(source, stream=second)
    second.sync()


def test_we_read_its_buffers(device: Any) -> None:
    stream = device.create_stream()
    made = filled(device, stream)
    with ra.use_stream(ra.Stream("cuda:0", stream)):
        got = ra.from_dlpack(made)
        assert got.device == "cuda:0" and got.to_device("cpu").tolist() == [1] * 64


@pytest.mark.violation("race")
@pytest.mark.quirk("cuda-core-ignores-stream")
def test_its_export_orders_no_stream(device: Any) -> None:
    made = filled(device, device.create_stream())
    with ra.use_stream(ra.Stream("cuda:0")):
        ra.from_dlpack(made).copy()


@pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface"])
def test_its_views_of_ours_wait(device: Any, way: str) -> None:
    views = importlib.import_module("cuda.core.utils").StridedMemoryView
    stream, copied = device.create_stream(), device.allocate(64, stream=device.default_stream)
    with ra.use_stream(ra.Stream("cuda:0")):
        array = ra.full((64,), 7, dtype="uint8", device="cuda:0")
        view = getattr(views, way)(array, stream_ptr=int(stream.handle))
    assert (view.shape, view.dtype, view.device_id) == ((64,), "uint8", 0)
    stream.wait(device.default_stream.record())
    theirs = importlib.import_module("cuda.core").Buffer.from_handle(view.ptr, 64)
    copied.copy_from(theirs, stream=stream)
    stream.sync()
    assert fakegpu.peek(int(copied.handle), 64) == b"\7" * 64
