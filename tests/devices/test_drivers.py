"""Driver libraries: which is opened and when, which functions are looked up, how failures read;
and drivers without a device."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from devices.driver.probing import (
    CALLS,
    DEVICES,
    FORK,
    VARIABLES,
    compiled,
    report,
    run,
)
from devices.driver.refusals import check

pytestmark = [pytest.mark.every_python, pytest.mark.not_repeated]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("driver") / "libdriver.so")


@pytest.mark.parametrize("vendor", VARIABLES)
@pytest.mark.parametrize(("devices", "detail"), [(3, ""), (0, "the driver reports no device")])
def test_a_driver_counts_its_devices(driver: Path, vendor: str, devices: int, detail: str) -> None:
    found = report(vendor, driver, devices=devices)
    assert (found["found"], found["devices"] or 0) == (True, devices)
    assert (found["library"], found["detail"] or "") == (str(driver), detail)


@pytest.mark.parametrize("vendor", VARIABLES)
@pytest.mark.parametrize("call", [0, 1])
@pytest.mark.parametrize("status", [3, 35, 100, 101, 803, 999, 12345])
def test_a_driver_that_fails(driver: Path, vendor: str, call: int, status: int) -> None:
    answers = {("init_status", "count_status")[call]: status, "devices": 2}
    found = report(vendor, driver, **answers)
    assert (found["found"], found["devices"]) == (True, None)
    assert found["detail"].startswith(f"{CALLS[vendor][call]} returned {status}")
    if status == 100 or (vendor == "ROCm" and status == 101):  # HIP says either
        assert "no device" in found["detail"]


def test_a_driver_with_the_older_lookup(tmp_path: Path) -> None:
    """cuGetProcAddress of CUDA 11.3 has four parameters and must be called with four."""
    older = compiled(tmp_path / "libolder.so", "-DSTUB_OLD_LOOKUP")
    assert report("CUDA", older, devices=2)["devices"] == 2
    none = compiled(tmp_path / "libnone.so", "-DSTUB_WITHOUT_LOOKUP")
    found = report("CUDA", none, devices=2)
    assert (found["found"], found["devices"]) == (False, None)
    assert "no cuGetProcAddress" in found["detail"]


@pytest.mark.parametrize(
    ("name", "needed"),
    [("cuMemcpyAsync", True), ("cuMemPoolCreate", False), ("cuCtxRecordEvent", False),
     ("cuStreamGetDevice", False)],
)  # fmt: skip
def test_a_driver_that_lacks_a_call(driver: Path, name: str, needed: bool) -> None:
    found = report("CUDA", driver, devices=1, lacks=name)
    assert (found["found"], found["devices"]) == ((False, None) if needed else (True, 1))
    if needed:
        assert found["detail"] == f"the driver has no {name} of CUDA 4.0"


def test_hip_under_the_names_of_later_versions(tmp_path: Path) -> None:
    newer = compiled(tmp_path / "libnewer.so", "-DSTUB_HIP_NEWER")
    assert report("ROCm", newer, devices=1, version=70000000)["devices"] == 1


def test_a_library_that_lacks_a_call(tmp_path: Path) -> None:
    half = compiled(tmp_path / "libhalf.so", "-DSTUB_WITHOUT_COUNT")
    found = report("ROCm", half)
    assert (found["found"], found["devices"]) == (False, None)
    assert found["detail"] == "the library has no hipGetDeviceCount"


def test_a_library_loaded_later_is_found(driver: Path, tmp_path: Path) -> None:
    """A package imported after the first failure may load one."""
    later = shutil.copy(driver, tmp_path / "libamdhip64.so.9")
    code = f"""
import ctypes, json, refarray._native as n
before = [row["devices"] for row in n._probe_drivers() if row["name"] == "ROCm"]
again = [row["devices"] for row in n._probe_drivers() if row["name"] == "ROCm"]
ctypes.CDLL({str(later)!r})
after = [row["devices"] for row in n._probe_drivers() if row["name"] == "ROCm"]
print(json.dumps([before, again, after]))
"""
    assert run(code, STUB_DEVICES=2) == [[None], [None], [2]]


# The time of opening.


@pytest.mark.parametrize("vendor", VARIABLES)
def test_no_driver_is_opened_before_a_device_is_used(driver: Path, vendor: str) -> None:
    code = f"""
import json, refarray
def is_open():
    return {driver.name!r} in open("/proc/self/maps").read()
seen = [is_open()]
x = refarray.asarray([1.0, 2.0]); x.copy(); refarray.from_dlpack(x); x.__dlpack__()
refarray.Device({DEVICES[vendor]!r})
seen.append(is_open())
try:
    refarray.zeros((2,), device={DEVICES[vendor]!r})
except BufferError as error:
    seen.append(str(error))
seen.append(is_open())
print(json.dumps(seen))
"""
    before, still, why, after = run(code, **{VARIABLES[vendor]: driver}, STUB_INIT_STATUS=100)
    assert (before, still, after) == (False, False, True)
    assert why.startswith(f"device {DEVICES[vendor]} cannot be used: ")
    assert "returned 100" in why and "refarray doctor" in why


@pytest.mark.parametrize("vendor", VARIABLES)
@pytest.mark.parametrize(("unit", "why"), [(2, "has 2 devices"), (2147483647, "has 2")])
def test_a_device_past_the_last(driver: Path, vendor: str, unit: int, why: str) -> None:
    name = DEVICES[vendor].replace("0", str(unit))
    code = f"""
import json, refarray
try:
    refarray.zeros((2,), device={name!r})
except BufferError as error:
    print(json.dumps(str(error)))
"""
    text = run(code, **{VARIABLES[vendor]: driver}, STUB_DEVICES=2)
    assert text.startswith(f"device {name} does not exist: ") and why in text


@pytest.mark.parametrize("vendor", VARIABLES)
def test_the_child_of_a_fork_is_refused(driver: Path, vendor: str) -> None:
    code = f"""{FORK}
import refarray
from refarray import _native
_native._probe_drivers()
def ask():
    refarray.zeros((2,), device={DEVICES[vendor]!r})
print(json.dumps([in_child(ask), in_child(lambda: _native._probe_drivers()[0]["detail"])]))
"""
    (kind, text), detail = run(code, **{VARIABLES[vendor]: driver}, STUB_DEVICES=2)
    assert kind == "BufferError" and "forked" in text and "spawn" in text
    assert "forked" in detail


def test_a_fork_before_the_first_use_is_allowed(driver: Path) -> None:
    code = f"""{FORK}
from refarray import _native
print(json.dumps(in_child(lambda: _native._probe_drivers()[0])))
"""
    assert run(code, REFARRAY_LIBCUDA=driver, STUB_DEVICES=2)["devices"] == 2


# A driver library without a device: refarray works on the CPU, every use of a device raises with
# the reason, and the process exits normally.


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
    check(vendor, {VARIABLES[vendor]: missing}, missing, "No such file or directory")
