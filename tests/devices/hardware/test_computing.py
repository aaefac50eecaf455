"""Functions on arrays of devices: they compute on the host, after the work on the arrays."""

from __future__ import annotations

from typing import Any

import pytest
from devices.hardware.conftest import Busy, Delay
from devices.hardware.gpu_partners import DEVICE, Partner
from helpers.cases import cases
from helpers.on_devices import NAMES, compare_with_the_host

import refarray as ra

pytestmark = [pytest.mark.hardware, pytest.mark.needs("refarray")]
#: A kind of memory, and where a function's new results go.
PLACES = {DEVICE: DEVICE, "cuda_managed:0": "cuda_managed:0", "cuda_host": "cpu"}
COUNT = 1 << 20


@pytest.mark.parametrize("kind", PLACES)
def test_every_function_has_the_result_of_the_host(partner: Partner, kind: str) -> None:
    with cases() as case:
        for name in NAMES:
            with case(name):
                compare_with_the_host(name, kind, PLACES[kind])


def written_slowly(kind: str, delay: Delay, is_busy: Busy) -> tuple[Any, ra.Stream]:
    """An array of zeros whose last write, of ones, is unfinished."""
    array = ra.zeros(COUNT, dtype="float32", device=kind)
    ones = ra.ones(COUNT, dtype="float32", device=DEVICE)
    stream = ra.Stream(DEVICE)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        array[...] = ones
    assert is_busy(stream.handle)
    return array, stream


@pytest.mark.parametrize("kind", PLACES)
def test_it_waits_for_the_work_on_its_operands(
    partner: Partner, kind: str, delay: Delay, is_busy: Busy
) -> None:
    array, _ = written_slowly(kind, delay, is_busy)
    assert float(ra.sum(array)) == COUNT
    array, _ = written_slowly(kind, delay, is_busy)
    array += array[::-1]
    assert float(ra.min(array)) == float(ra.max(array)) == 2


@pytest.mark.parametrize("kind", PLACES)
def test_it_writes_after_the_reads_of_its_operand(
    partner: Partner, kind: str, delay: Delay, is_busy: Busy
) -> None:
    array = ra.zeros(COUNT, dtype="float32", device=kind)
    stream = ra.Stream(DEVICE)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        copy = ra.asarray(array, device=DEVICE, copy=True)
    assert is_busy(stream.handle)
    array += 1
    assert float(ra.max(copy)) == 0 and float(ra.min(array)) == 1


@pytest.mark.parametrize("kind", PLACES)
def test_results_are_ordered_on_the_current_stream(partner: Partner, kind: str) -> None:
    array = ra.ones(COUNT, dtype="float32", device=kind)
    with ra.use_stream(ra.Stream(DEVICE)):
        result = array + 1
    assert set(result.to_device("cpu").tolist()) == {2.0}
