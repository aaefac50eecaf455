"""Pitfalls of driver libraries: the toolkit's stub, functions whose signature changed, files that
are not drivers, several copies of HIP, and fork()."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from devices.driver.probing import DEVICES, FORK, PROBE, VARIABLES, compiled, of_vendor, report, run

import refarray

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("simulated_drivers")]

#: The loader has other words, and the C library another name.
IS_MUSL = str(sysconfig.get_config_var("HOST_GNU_TYPE")).endswith("musl")
RUNTIME = Path(__file__).resolve().parents[2] / "src" / "runtime" / "drivers"


def cuda_lookups() -> list[str]:
    """The functions that refarray looks up in libcuda."""
    text = (RUNTIME / "cuda_symbols.cpp").read_text(encoding="utf-8")
    return re.findall(r'\{"(cu\w+)", \d+', text)


def hip_lookups() -> list[str]:
    """The functions that refarray looks up in libamdhip64, with their alternative names."""
    rows = re.findall(
        r'\{"(hip\w+)", (?:nullptr|"(\w+)"),', (RUNTIME / "hip.cpp").read_text("utf-8")
    )
    return [name for row in rows for name in row if name]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("driver") / "libdriver.so")


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Like the toolkit's lib64/stubs/libcuda.so: every version of every function returns 34 and
    writes no output."""
    folder = tmp_path_factory.mktemp("stub")
    names = {*cuda_lookups(), "cuGetProcAddress"}
    lines = [f'extern "C" int {name}{form}() {{ return 34; }}'
             for name in sorted(names) for form in ("", "_v2", "_ptsz")]  # fmt: skip
    source = written(folder / "stub.cpp", "\n".join(lines) + "\n")
    return compiled(folder / "libcuda.so", "-Wl,-soname,libcuda.so.1", source=source)


def test_the_stub_where_the_driver_should_be(stub: Path, tmp_path: Path) -> None:
    """The search path has a copy of the stub under the driver's name."""
    shutil.copy(stub, tmp_path / "libcuda.so.1")
    for chosen in ("", str(stub)):  # an empty variable counts as unset
        found = of_vendor("CUDA", run(PROBE, LD_LIBRARY_PATH=tmp_path, REFARRAY_LIBCUDA=chosen))
        assert (found["library"], found["devices"]) == (chosen or "libcuda.so.1", None)
        assert found["detail"].startswith("cuInit returned 34 (this is the CUDA Toolkit's stub")


def test_the_stub_under_its_own_name_is_not_opened(stub: Path) -> None:
    code = f"""
import json, refarray._native as n
rows = n._probe_drivers()
print(json.dumps([rows[0]["library"], {str(stub)!r} in open("/proc/self/maps").read()]))
"""
    assert run(code, LD_LIBRARY_PATH=stub.parent) == ["libcuda.so.1", False]


def test_an_error_without_a_name(driver: Path) -> None:
    """If the lookup of an error's name fails, the driver does not write the name."""
    code = """
import json, refarray
try:
    refarray.zeros((2,), device="cuda:0")
except refarray.DriverError as error:
    print(json.dumps([error.code, error.name, str(error)]))
"""
    number, name, text = run(code, REFARRAY_LIBCUDA=driver, STUB_DEVICES=1, STUB_CALL_STATUS=719)
    assert (number, name) == (719, "unknown error")
    assert text.endswith("failed with 719 (unknown error): no description")


# Files that are not drivers.


@pytest.mark.parametrize("vendor", VARIABLES)
def test_a_variable_that_names_another_file(vendor: str, tmp_path: Path) -> None:
    """The report has the file and the reason; no other library is tried."""
    (tmp_path / "folder").mkdir()
    libc = Path("libc.so" if IS_MUSL else "libc.so.6")
    for file, why in {
        tmp_path / "missing.so": "No such file",
        written(tmp_path / "text.so", "no library"): "Exec format error"
        if IS_MUSL
        else "file too short",
        written(tmp_path / "long.so", "no library " * 500): "Exec format error"
        if IS_MUSL
        else "invalid ELF header",
        tmp_path / "folder": "irectory",
        libc: f"the library has no {'cuInit' if vendor == 'CUDA' else 'hipInit'}",
    }.items():
        found = report(vendor, file)
        assert (found["library"], found["found"], found["devices"]) == (str(file), False, None)
        assert why in found["detail"]


@pytest.mark.parametrize(("vendor", "other"), [("CUDA", "ROCm"), ("ROCm", "CUDA")])
def test_the_other_vendors_library(vendor: str, other: str, tmp_path: Path) -> None:
    name = {"CUDA": "cuInit", "ROCm": "hipInit"}
    text = f'extern "C" int {name[other]}(unsigned) {{ __builtin_trap(); }}\n'
    library = compiled(tmp_path / "libother.so", source=written(tmp_path / "other.cpp", text))
    assert report(vendor, library)["detail"] == f"the library has no {name[vendor]}"


@pytest.mark.parametrize("vendor", VARIABLES)
def test_a_library_with_undefined_symbols(vendor: str, tmp_path: Path) -> None:
    needed = compiled(tmp_path / "libneeded.so", source=written(tmp_path / "n.cpp", "int n;\n"))
    source = written(tmp_path / "d.cpp", "extern int n;\nint* d() { return &n; }\n")
    library = compiled(
        tmp_path / "libdriver.so", f"-L{tmp_path}", f"-l:{needed.name}", source=source
    )
    needed.unlink()
    assert "libneeded.so" in report(vendor, library)["detail"]


@pytest.mark.parametrize("vendor", VARIABLES)
def test_a_drivers_symbols_stay_local(driver: Path, vendor: str) -> None:
    """The driver is opened with RTLD_LOCAL: other libraries do not see its symbols."""
    code = """
import ctypes, json, refarray._native as n
rows = n._probe_drivers()
print(json.dumps([any(row["devices"] for row in rows), hasattr(ctypes.CDLL(None), "hipMemsetAsync"),
                  hasattr(ctypes.CDLL(None), "cuGetProcAddress_v2")]))
"""
    seen = run(code, **{VARIABLES[vendor]: driver}, STUB_DEVICES=1)
    assert seen == [True, False, False]


# Functions whose signature or meaning has changed.


def test_no_function_with_a_changed_signature_is_looked_up() -> None:
    """hipDeviceProp_t and HIP_MEMCPY3D have grown, and hipGetLastError has another meaning since
    HIP 7. For CUDA, the drivers of these tests abort if an old version is looked up."""
    changed = {"hipGetDeviceProperties", "hipGetDevicePropertiesR0600", "hipDrvMemcpy3DAsync",
               "hipDrvMemcpy3D", "hipGetLastError", "hipPeekAtLastError"}  # fmt: skip
    assert len(hip_lookups()) > 30 and not changed & set(hip_lookups())
    assert len(cuda_lookups()) > 45


@pytest.mark.parametrize("hip", ["5.2", "6.3", "7.0", "10.0"])
def test_memory_types_of_each_hip_version(isolated: object, hip: str) -> None:
    """Device memory is 1 before HIP 6 and 2 since; unknown memory is an error before HIP 7."""
    assert isolated("hip_traps.py", "memory", hip) == "alive\n"  # type: ignore[operator]


@pytest.mark.parametrize("hip", ["5.2", "10.0"])
def test_hip_never_receives_streams_1_and_2(isolated: object, hip: str) -> None:
    """Released versions of HIP dereference the stream handles 1 and 2."""
    assert isolated("hip_traps.py", "streams", hip) == "alive\n"  # type: ignore[operator]


def test_an_event_that_was_waited_for_is_done(isolated: object) -> None:
    """Also if the stream that was asked for it before, on HIP 7.0 to 7.2, still waits."""
    assert isolated("hip_traps.py", "events", "7.0") == "alive\n"  # type: ignore[operator]


# The choice among several HIP libraries.


@pytest.fixture
def site(driver: Path, tmp_path: Path) -> Path:
    """A folder like site-packages, with refarray, AMD's wheel and PyTorch's."""
    shutil.copytree(Path(refarray.__file__).parent, tmp_path / "refarray")
    for folder, names in {
        "_rocm_sdk_core/lib": ("libamdhip64.so.9", "libamdhip64.so.10", "libamdhip64.so.7.2.1"),
        "torch/lib": ("libamdhip64.so",),
        "system": ("libamdhip64.so.9", "libamdhip64.so.11", "libamdhip64.so.6.3.60300"),
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(driver, tmp_path / folder / name)
    return tmp_path


def opened(site: Path, before: str = "") -> str:
    """The library that is opened when the system's path has a higher version."""
    code = f"{before}\nimport refarray, sys; assert refarray.__file__.startswith({str(site)!r})\n"
    paths = {"PYTHONPATH": site, "LD_LIBRARY_PATH": site / "system"}
    found = of_vendor("ROCm", run(code + PROBE, STUB_DEVICES=1, **paths))
    assert found["devices"] == 1
    library = Path(found["library"])
    return str(library.relative_to(site)) if library.is_absolute() else str(library)


def test_the_order_of_the_search_path(site: Path) -> None:
    """AMD's wheel, which has no unversioned link; then PyTorch's; then the system's. Versions
    are compared as numbers: as text, "9" comes after "10" and "11"."""
    assert opened(site) == "_rocm_sdk_core/lib/libamdhip64.so.10"
    shutil.rmtree(site / "_rocm_sdk_core")
    assert opened(site) == "torch/lib/libamdhip64.so"
    shutil.rmtree(site / "torch")
    assert opened(site) == "libamdhip64.so.11"


@pytest.mark.parametrize("mapped", ["system/libamdhip64.so.6.3.60300", "torch/lib/libamdhip64.so"])
def test_a_copy_already_mapped_comes_first(site: Path, mapped: str) -> None:
    """HIP's state lies in the library: the streams of one copy are invalid in another."""
    assert opened(site, f"import ctypes; ctypes.CDLL({str(site / mapped)!r})") == mapped


# fork().


@pytest.mark.parametrize("vendor", VARIABLES)
def test_a_child_without_a_device_gets_the_reason(driver: Path, vendor: str) -> None:
    """The error names the missing device, not the fork: starting the child otherwise would not
    help."""
    code = f"""{FORK}
import refarray
def ask():
    try:
        refarray.zeros((2,), device={DEVICES[vendor]!r})
    except BufferError as error:
        return str(error)
print(json.dumps([ask(), in_child(ask)]))
"""
    here, there = run(code, **{VARIABLES[vendor]: driver}, STUB_INIT_STATUS=100)
    assert here == there and "returned 100 (no device)" in there


@pytest.mark.parametrize("vendor", VARIABLES)
def test_a_child_forked_while_a_driver_is_being_opened(
    driver: Path, vendor: str, tmp_path: Path
) -> None:
    """The thread that holds the lock does not exist in the child, which must not wait for it."""
    pause = written(tmp_path / "pause", "")
    code = f"""{FORK}
import pathlib, threading, time
import refarray
from refarray import _native
pause = pathlib.Path({str(pause)!r})
def ask():
    refarray.zeros((2,), device={DEVICES[vendor]!r})
thread = threading.Thread(target=_native._probe_drivers)
thread.start()
while not pathlib.Path(f"{{pause}}.here").exists():
    time.sleep(0.001)
result = [in_child(ask), in_child(lambda: [row["detail"] for row in _native._probe_drivers()])]
pause.unlink()
thread.join()
print(json.dumps(result))
"""
    (kind, text), details = run(
        code, **{VARIABLES[vendor]: driver}, STUB_DEVICES=1, STUB_PAUSE=pause
    )
    assert kind == "BufferError" and "forked" in text and "spawn" in text
    assert all("forked" in detail for detail in details)


SIMULATED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2] / "fakegpu")!r})
import fakegpu
drivers = fakegpu.load(cuda=1, hip=1)
{FORK}
"""


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0", "cuda_host"])
def test_a_child_drops_its_parents_arrays(device: str) -> None:
    """The memory, the streams, the events and the driver belong to the parent: the child calls no
    driver function."""
    code = f"""{SIMULATED}
import gc
import refarray as ra
kept = [ra.zeros((64,), device={device!r}), ra.Stream({device.replace("_host", ":0")!r})]
kept.append(kept[0].__dlpack__(stream=None if "host" in {device!r} else -1))
with ra.use_stream(kept[1]):
    kept.append(kept[0].copy())
    kept.append(ra.Event(kept[1].device))
    kept[-1].record(kept[1])
fakegpu.run()  # a thread that allocates during fork() leaves ASAN's allocator locked in the child
def drop():
    kept.clear()
    gc.collect()
    called = fakegpu.calls_after_fork()
    try:
        ra.zeros((2,), device={device!r})
    except BufferError as error:
        return [called, str(error)]
result = in_child(drop)
array = kept[0].to_device("cpu").tolist()
print(json.dumps([result, array == [0.0] * 64]))
"""
    (called, text), same = run(code)
    assert called == 0 and "forked" in text
    assert same


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0", "cuda_host", "rocm_host"])
@pytest.mark.parametrize("stream", [None, -1, "new"])
def test_a_child_does_not_export_its_parents_arrays(device: str, stream: Any) -> None:
    """Whatever the work that a consumer would have to wait for: the driver is not asked."""
    code = f"""{SIMULATED}
import refarray as ra
array = ra.zeros((64,), device={device!r})
stream = {stream!r}
if stream == "new":
    stream = ra.Stream({device.replace("_host", ":0")!r})
fakegpu.run()  # a thread that allocates during fork() leaves ASAN's allocator locked in the child
def export():
    told = []
    for copy in (None, True):
        try:
            array.__dlpack__(stream=stream, copy=copy)
        except BufferError as error:
            told.append(str(error))
    return [fakegpu.calls_after_fork(), told]
print(json.dumps(in_child(export)))
"""
    called, told = run(code)
    assert called == 0
    assert len(told) == 2
    assert "forked" in told[0]


def test_a_child_whose_parent_initialised_the_driver() -> None:
    """The driver cannot be initialised in the child, e.g. with PyTorch in the parent and refarray
    in the child."""
    code = f"""{SIMULATED}
import ctypes
import refarray
assert ctypes.CDLL(str(drivers.cuda)).cuInit(0) == 0
def ask():
    refarray.zeros((2,), device="cuda:0")
print(json.dumps(in_child(ask)))
"""
    kind, text = run(code)
    assert kind == "BufferError" and "cuInit returned 3" in text and "forked" in text


def test_this_process_has_opened_no_driver() -> None:
    """Each test opens drivers in a subprocess: this process must stay able to fork."""
    assert "libdriver.so" not in Path("/proc/self/maps").read_text(encoding="utf-8"), os.getpid()
