"""Fixtures: a freshly started machine and its drivers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import fakegpu
from fakegpu.driving import Cuda, DriverError, Hip

Refused = Callable[..., int]
Elsewhere = Callable[[Callable[[], int]], int]


@pytest.fixture
def cuda() -> Iterator[Cuda]:
    yield Cuda(fakegpu.load().cuda)
    fakegpu.configure(**fakegpu.DEFAULTS)


@pytest.fixture
def hip() -> Iterator[Hip]:
    yield Hip(fakegpu.load(hip=2).hip)
    fakegpu.configure(**fakegpu.DEFAULTS)


@pytest.fixture
def refused() -> Refused:
    """Makes a call that must fail, and returns its status."""

    def run(call: Callable[..., object], *arguments: object) -> int:
        with pytest.raises(DriverError) as caught:
            call(*arguments)
        return caught.value.code

    return run


@pytest.fixture
def elsewhere(cuda: Cuda) -> Elsewhere:
    """Runs a function in another thread with device 0's context, and returns its result."""

    def run(body: Callable[[], int]) -> int:
        results: list[int] = []

        def enter() -> None:
            cuda.use(0)
            results.append(body())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return results[0]

    return run
