"""Fixtures: a freshly started machine and its drivers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import fakegpu
import pytest
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


def personalities() -> Iterator[Any]:
    for name, settings in fakegpu.PERSONALITIES.items():
        yield pytest.param(settings, id=name)


@pytest.fixture(params=personalities())
def each_cuda(request: pytest.FixtureRequest) -> Iterator[Cuda]:
    """The CUDA driver in every personality."""
    yield Cuda(fakegpu.load(**request.param).cuda)
    fakegpu.configure(**fakegpu.DEFAULTS)


@pytest.fixture(params=personalities())
def each_hip(request: pytest.FixtureRequest) -> Iterator[Hip]:
    """The HIP runtime in every personality."""
    yield Hip(fakegpu.load(hip=2, **request.param).hip)
    fakegpu.configure(**fakegpu.DEFAULTS)


@pytest.fixture(
    params=[(vendor, *one.values) for vendor in (Cuda, Hip) for one in personalities()],
    ids=[f"{vendor}-{name}" for vendor in ("cuda", "hip") for name in fakegpu.PERSONALITIES],
)
def each(request: pytest.FixtureRequest) -> Iterator[Cuda | Hip]:
    """Both drivers in every personality."""
    vendor, settings = request.param
    files = fakegpu.load(hip=2, **settings)
    yield vendor(files.cuda if vendor is Cuda else files.hip)
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
