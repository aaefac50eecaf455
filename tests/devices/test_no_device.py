"""A driver library without a device: refarray imports and works on the CPU, every use of a device
raises with the reason, and the process exits normally."""

from __future__ import annotations

from pathlib import Path

import pytest
from devices.driver.probing import VARIABLES, compiled
from devices.driver.refusals import check

pytestmark = [pytest.mark.every_python, pytest.mark.not_repeated]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("driver") / "libdriver.so")


REASONS = {
    ("CUDA", "INIT", 34): "this is the CUDA Toolkit's stub library",
    ("CUDA", "INIT", 100): "cuInit returned 100 (no device)",
    ("CUDA", "INIT", 803): "cuInit returned 803 (the driver and its library are of different",
    ("CUDA", "COUNT", 100): "cuDeviceGetCount returned 100 (no device)",
    ("ROCm", "INIT", 101): "hipInit returned 101 (no device)",
    ("ROCm", "COUNT", 100): "hipGetDeviceCount returned 100 (no device)",
}


@pytest.mark.parametrize(("vendor", "call", "status"), REASONS)
def test_a_driver_without_a_device(driver: Path, vendor: str, call: str, status: int) -> None:
    variables = {VARIABLES[vendor]: str(driver), f"STUB_{call}_STATUS": str(status)}
    check(vendor, variables, str(driver), REASONS[vendor, call, status])


@pytest.mark.parametrize("vendor", VARIABLES)
def test_no_library_at_all(vendor: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "libmissing.so")
    check(vendor, {VARIABLES[vendor]: missing}, missing, "cannot open shared object file")
