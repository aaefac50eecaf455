"""Fixtures: a freshly started machine and its drivers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fakegpu
import pytest
from fakegpu.driving import Cuda, Hip

Gpu = Cuda | Hip
Elsewhere = Callable[[Callable[[], Any]], Any]


def kinds() -> list[str]:
    return [violation["kind"] for violation in fakegpu.violations()]


def script(body: str) -> subprocess.CompletedProcess[str]:
    """Runs `body` in a new process with drivers."""
    start = "import ctypes, fakegpu\nfrom fakegpu.driving import *\ndrivers = fakegpu.load(hip=2)\n"
    command = [sys.executable, "-c", start + body]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def in_thread(body: Callable[[], Any]) -> Any:
    """The body's result in a thread of its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(body).result()


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
def each(request: pytest.FixtureRequest) -> Iterator[Gpu]:
    """Both drivers in every personality."""
    vendor, settings = request.param
    files = fakegpu.load(hip=2, **settings)
    yield vendor(files.cuda if vendor is Cuda else files.hip)
    fakegpu.configure(**fakegpu.DEFAULTS)


@pytest.fixture
def elsewhere(cuda: Cuda) -> Elsewhere:
    """Runs a function in another thread with device 0's context, and returns its result."""

    def run(body: Callable[[], Any]) -> Any:
        return in_thread(lambda: (cuda.use(0), body())[1])

    return run
