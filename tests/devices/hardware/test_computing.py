"""Functions on arrays of devices: they compute on the host, after the work on the arrays."""

from __future__ import annotations

import pytest
from devices.hardware.conftest import Busy, Delay, begin_write
from devices.hardware.gpu_partners import COUNT, DEVICE, NEW, OLD, Partner, full
from helpers.cases import cases
from helpers.on_devices import NAMES, compare_with_the_host

import refarray as ra

pytestmark = [pytest.mark.hardware, pytest.mark.needs("refarray")]
#: A kind of memory, and where a function's new results go.
PLACES = {DEVICE: DEVICE, "cuda_managed:0": "cuda_managed:0", "cuda_host": "cpu"}


@pytest.mark.parametrize("kind", PLACES)
def test_every_function_has_the_result_of_the_host(partner: Partner, kind: str) -> None:
    with cases() as case:
        for name in NAMES:
            with case(name):
                compare_with_the_host(name, kind, PLACES[kind])


@pytest.mark.parametrize("kind", PLACES)
def test_it_waits_for_the_work_on_its_operands(
    partner: Partner, kind: str, delay: Delay, is_busy: Busy
) -> None:
    array, _ = begin_write(kind, delay, is_busy)
    assert float(ra.sum(array)) == NEW * COUNT
    array, _ = begin_write(kind, delay, is_busy)
    array += array[::-1]
    assert float(ra.min(array)) == float(ra.max(array)) == 2 * NEW


@pytest.mark.parametrize("kind", PLACES)
def test_it_writes_after_the_reads_of_its_operand(
    partner: Partner, kind: str, delay: Delay, is_busy: Busy
) -> None:
    array = full(OLD, kind)
    stream = ra.Stream(DEVICE)
    ra.synchronize(DEVICE)
    delay(stream.handle)
    with ra.use_stream(stream):
        copy = ra.asarray(array, device=DEVICE, copy=True)
    assert is_busy(stream.handle)
    array += 1
    assert float(ra.min(copy)) == float(ra.max(copy)) == OLD
    assert float(ra.min(array)) == OLD + 1


@pytest.mark.parametrize("kind", PLACES)
def test_results_are_ordered_on_the_current_stream(partner: Partner, kind: str) -> None:
    array = full(OLD, kind)
    with ra.use_stream(ra.Stream(DEVICE)):
        result = array + 1
    assert set(result.to_device("cpu").tolist()) == {OLD + 1}
