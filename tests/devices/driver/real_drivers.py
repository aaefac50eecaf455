"""NVIDIA's and AMD's own libraries on a machine without a device. Run by the gate gpu-nodevice,
which sets their paths."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from devices.abi.declared import cuda_symbols, hip_symbols
from devices.driver.probing import VARIABLES, run
from devices.driver.refusals import check

LIBRARIES = {"CUDA": "REAL_LIBCUDA", "ROCm": "REAL_LIBHIP"}
#: Without a device HIP returns 100 or 101, depending on call and version.
REASONS = {
    "CUDA": r"cuInit returned 100 \(no device\)",
    "ROCm": r"hip\w+ returned 10[01] \(no device\)",
}


def variables() -> dict[str, str]:
    """AMD's library needs others from its folder."""
    return {"LD_LIBRARY_PATH": os.environ["REAL_LIBHIP_FOLDER"]}


@pytest.mark.parametrize("vendor", LIBRARIES)
def test_library_given_by_path(vendor: str) -> None:
    library = os.environ[LIBRARIES[vendor]]
    driver = check(vendor, {**variables(), VARIABLES[vendor]: library}, library, "no device")
    assert re.fullmatch(REASONS[vendor], driver["detail"])
    assert driver["found"] is True, "a required function is missing"


@pytest.mark.parametrize("vendor", LIBRARIES)
def test_library_found_on_the_search_path(vendor: str) -> None:
    """As if the vendor's package were installed."""
    library = Path(os.environ[LIBRARIES[vendor]])
    name = {"CUDA": "libcuda.so.1", "ROCm": "libamdhip64.so.5"}[vendor]
    path = f"{library.parent}{os.pathsep}{os.environ['REAL_LIBHIP_FOLDER']}"
    check(vendor, {"LD_LIBRARY_PATH": path}, name, "no device")


def test_both_libraries_in_one_process() -> None:
    named = {VARIABLES[vendor]: os.environ[name] for vendor, name in LIBRARIES.items()}
    for vendor, name in LIBRARIES.items():
        check(vendor, {**variables(), **named}, os.environ[name], "no device")


def test_hip_has_every_required_function() -> None:
    names = [name for name, _ in hip_symbols()]
    code = f"""
import ctypes, json, os
library = ctypes.CDLL(os.environ["REAL_LIBHIP"])
print(json.dumps([name for name in {names} if not hasattr(library, name)]))
"""
    assert set(run(code, **variables())) <= {"hipStreamGetDevice"}  # HIP 5.6 and later


def test_cuda_has_every_function_in_the_requested_version() -> None:
    """cuGetProcAddress works without a device, before cuInit."""
    code = f"""
import ctypes, json, os
library = ctypes.CDLL(os.environ["REAL_LIBCUDA"])
version, status, found = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
assert library.cuDriverGetVersion(ctypes.byref(version)) == 0
missing = []
for name, asked, _ in {cuda_symbols()}:
    found.value = None
    library.cuGetProcAddress_v2(name.encode(), ctypes.byref(found), asked, ctypes.c_uint64(1),
                                ctypes.byref(status))
    if not found.value:
        missing.append([name, asked])
print(json.dumps([version.value, missing]))
"""
    version, missing = run(code)
    assert version >= 12000
    assert all(asked > version for _, asked in missing), missing
