"""The declared driver ABI: complete, and equal to the vendors' headers where installed."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from devices.abi import declared

pytestmark = [pytest.mark.every_python, pytest.mark.not_repeated]


sys.path.append(str(Path(__file__).resolve().parents[2] / "tools" / "gpu"))
import driver_functions  # noqa: E402


def wheels() -> list[str]:
    """The include folders of NVIDIA's wheels."""
    site = Path(sysconfig.get_path("purelib")) / "nvidia"
    return [str(path.parent) for path in sorted(site.glob("*/include"))]


def headers(vendor: str) -> Iterator[Path]:
    """The include folders of the installed toolkits; CUDA_HOME and HIP_PATH come first."""
    places = {
        "cuda": [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *wheels()],
        "hip": [os.environ.get("HIP_PATH", ""), "/usr", "/opt/rocm"],
    }[vendor]
    wanted = {"cuda": "cudaTypedefs.h", "hip": "hip/hip_runtime_api.h"}[vendor]
    for place in filter(None, places):
        include = Path(place) / "include"
        if (include / wanted).is_file():
            yield include


def installed_headers(vendor: str) -> list[Path]:
    """Skips the test if there are none: the gate gpu-nodevice installs them and runs it."""
    found = list(headers(vendor))
    if not found:
        pytest.skip(f"no {vendor} headers; `make gpu-nodevice` installs them and runs this check")
    return found


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_declarations_match_the_vendors_headers(vendor: str, tmp_path: Path) -> None:
    for include in installed_headers(vendor):
        assert declared.errors(vendor, include, tmp_path) == "", include


def test_the_simulated_driver_knows_every_function_of_nvidias() -> None:
    rows = map(str.split, driver_functions.LIST.read_text(encoding="utf-8").splitlines())
    listed = {(name, int(version)) for name, *versions in rows for version in versions}
    for include in installed_headers("cuda"):
        text = (include / "cuda.h").read_text(encoding="utf-8", errors="replace")
        newest = int(re.findall(r"#define CUDA_VERSION (\d+)", text)[0])
        known = driver_functions.functions(include).items()
        pairs = {(name, version) for name, versions in known for version in versions}
        assert pairs <= listed, include
        # A later release may list a version that an earlier one forgot.
        assert len({pair for pair in listed if pair[1] <= newest} - pairs) < 10, include


def test_every_declared_function_is_looked_up() -> None:
    cuda, hip = declared.cuda_symbols(), declared.hip_symbols()
    assert {member for _, _, member in cuda} == declared.members("cuda_abi.hpp")
    assert {member for _, member in hip} == declared.members("hip_abi.hpp")
    assert len(cuda) > 45 and len(hip) > 30
    assert len({(name, version) for name, version, _ in cuda}) == len(cuda)


@pytest.mark.parametrize(
    ("declaration", "wrong"),
    [
        ("(*event_elapsed)(float*, void*, void*)", "(*event_elapsed)(double*, void*, void*)"),
        ("int (*free)(std::uintptr_t)", "int (*free)(unsigned)"),
        ("int (*context_pop)(void**)", "int (*context_pop)(void**, int)"),
        ("int location_type = 1;    // CU_MEM_LOCATION_TYPE_DEVICE\n  int location_id = 0;",
         "int location_id = 0;\n  int location_type = 1;"),
        ("kPointerDevice = 9;", "kPointerDevice = 8;"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_detected(
    declaration: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = installed_headers("cuda")[0]
    for path in declared.RUNTIME.rglob("*.?pp"):
        text = path.read_text(encoding="utf-8")
        if path.name == "cuda_abi.hpp":
            assert text.count(declaration) == 1
            text = text.replace(declaration, wrong)
        copy = tmp_path / "runtime" / path.relative_to(declared.RUNTIME)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    (tmp_path / "core").symlink_to(declared.SOURCES / "core")
    monkeypatch.setattr(declared, "SOURCES", tmp_path)
    assert "static assertion failed" in declared.errors("cuda", found, tmp_path)
