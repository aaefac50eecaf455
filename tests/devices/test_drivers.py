"""Driver libraries: which is opened and when, which functions are looked up, how failures read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from devices.driver.probing import (
    CALLS,
    DEVICES,
    PROBE,
    VARIABLES,
    compiled,
    of_vendor,
    report,
    run,
)

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


def test_nvidias_stub_is_recognised(driver: Path) -> None:
    """Every call returns 34 and writes no output, cuGetProcAddress included."""
    found = report("CUDA", driver, init_status=34, devices=2)
    assert found["devices"] is None
    assert "cuInit returned 34" in found["detail"] and "stub" in found["detail"]


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


def test_a_library_that_is_not_a_driver(tmp_path: Path) -> None:
    half = compiled(tmp_path / "libhalf.so", "-DSTUB_WITHOUT_COUNT")
    found = report("ROCm", half)
    assert (found["found"], found["devices"]) == (False, None)
    assert found["detail"] == "the library has no hipGetDeviceCount"
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    for vendor in VARIABLES:
        for file in (text, tmp_path / "libmissing.so"):
            found = report(vendor, file)
            assert (found["found"], found["devices"]) == (False, None)
            assert found["library"] == str(file) and file.name in found["detail"]


# The choice among several HIP libraries.


@pytest.fixture(scope="module")
def versions(driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versions")
    for version in (5, 9, 10):
        shutil.copy(driver, folder / f"libamdhip64.so.{version}")
    return folder


def test_the_highest_version_of_hip_is_opened(versions: Path) -> None:
    """Versions are compared as numbers: as text, "9" comes after "10"."""
    rows = run(PROBE, LD_LIBRARY_PATH=versions, STUB_DEVICES=1)
    found = of_vendor("ROCm", rows)
    assert (found["library"], found["devices"]) == ("libamdhip64.so.10", 1)


def test_a_copy_of_hip_already_mapped_comes_first(versions: Path) -> None:
    mapped = versions / "libamdhip64.so.5"
    code = f"import ctypes; ctypes.CDLL({str(mapped)!r}); {PROBE}"
    rows = run(code, LD_LIBRARY_PATH=versions, STUB_DEVICES=1)
    found = of_vendor("ROCm", rows)
    assert (found["library"], found["devices"]) == (str(mapped), 1)


def test_a_library_loaded_later_is_found(versions: Path) -> None:
    """A package imported after the first failure may load one."""
    code = f"""
import ctypes, json, refarray._native as n
before = [row["devices"] for row in n._probe_drivers() if row["name"] == "ROCm"]
again = [row["devices"] for row in n._probe_drivers() if row["name"] == "ROCm"]
ctypes.CDLL({str(versions / "libamdhip64.so.9")!r})
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
    code = f"""
import json, os, refarray
from refarray import _native
_native._probe_drivers()
reader, writer = os.pipe()
if os.fork() == 0:
    try:
        refarray.zeros((2,), device={DEVICES[vendor]!r})
        text = "no error"
    except BufferError as error:
        text = str(error)
    os.write(writer, json.dumps([text, _native._probe_drivers()[0]["detail"]]).encode())
    os._exit(0)
os.wait()
print(os.read(reader, 10000).decode())
"""
    text, detail = run(code, **{VARIABLES[vendor]: driver}, STUB_DEVICES=2)
    assert "forked" in text and "spawn" in text
    assert "forked" in detail


def test_a_fork_before_the_first_use_is_allowed(driver: Path) -> None:
    code = """
import json, os, refarray
from refarray import _native
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, json.dumps(_native._probe_drivers()[0]).encode())
    os._exit(0)
os.wait()
print(os.read(reader, 10000).decode())
"""
    assert run(code, REFARRAY_LIBCUDA=driver, STUB_DEVICES=2)["devices"] == 2
