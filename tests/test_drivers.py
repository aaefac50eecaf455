"""What refarray says of a driver library that is there: named by its variable, asked, reported."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from refarray import _native

SOURCE = Path(__file__).resolve().parent / "driver" / "driver.cpp"
VARIABLES = {"CUDA": "REFARRAY_LIBCUDA", "ROCm": "REFARRAY_LIBHIP"}
CALLS = {"CUDA": ("cuInit", "cuDeviceGetCount"), "ROCm": ("hipInit", "hipGetDeviceCount")}


def compiled(path: Path, *flags: str) -> Path:
    compiler = os.environ.get("CXX", "g++").split()
    command = [*compiler, "-std=c++20", "-shared", "-fPIC", "-Wno-unused-function", *flags]
    subprocess.run([*command, "-o", path, SOURCE], check=True)
    return path


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("driver") / "libdriver.so")


def report(monkeypatch: pytest.MonkeyPatch, vendor: str, library: Path, **answers: int) -> Any:
    monkeypatch.setenv(VARIABLES[vendor], str(library))
    for name, value in answers.items():
        monkeypatch.setenv(f"STUB_{name.upper()}", str(value))
    (found,) = [row for row in _native._probe_drivers() if row["name"] == vendor]
    return found


@pytest.mark.parametrize("vendor", VARIABLES)
@pytest.mark.parametrize(("devices", "detail"), [(3, ""), (0, "the driver counts no device")])
def test_a_driver_counts_its_devices(
    monkeypatch: pytest.MonkeyPatch, driver: Path, vendor: str, devices: int, detail: str
) -> None:
    found = report(monkeypatch, vendor, driver, devices=devices)
    assert (found["found"], found["devices"], found["library"]) == (True, devices, str(driver))
    assert (found["detail"] or "") == detail


@pytest.mark.parametrize("vendor", VARIABLES)
@pytest.mark.parametrize("call", [0, 1])
def test_a_driver_that_fails(
    monkeypatch: pytest.MonkeyPatch, driver: Path, vendor: str, call: int
) -> None:
    answers = {("init_status", "count_status")[call]: 34, "devices": 2}
    found = report(monkeypatch, vendor, driver, **answers)
    assert (found["found"], found["devices"]) == (True, None)
    assert found["detail"] == f"{CALLS[vendor][call]} returned 34"


def test_a_library_that_is_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    half = compiled(tmp_path / "libhalf.so", "-DSTUB_WITHOUT_COUNT")
    found = report(monkeypatch, "CUDA", half)
    assert (found["found"], found["devices"]) == (False, None)
    assert found["detail"] == "the library has no cuDeviceGetCount"
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    found = report(monkeypatch, "CUDA", text)
    assert (found["found"], found["devices"]) == (False, None)
    assert "libtext.so" in found["detail"]
