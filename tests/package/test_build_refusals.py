"""The build stops at once where the sources cannot be compiled, and says what is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers.extensions import tool

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "old compiler": ["CMAKE_CXX_FLAGS=-Dconsteval=no"],
    "other system": ["CMAKE_SYSTEM_NAME=FreeBSD"],
    # Compiled and not linked: the machine may have no libraries of 32 bits.
    "32 bits": ["CMAKE_CXX_FLAGS=-m32", "CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"],
}
SAYS = {
    "old compiler": "refarray needs C++20 with the vector extensions of GCC and Clang",
    "other system": "refarray's extension is for Linux, macOS and Windows; FreeBSD has none yet",
    "32 bits": "refarray's extension needs a 64-bit target; pointers have 32 bits here",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_cannot_be_compiled_is_refused_at_once(name: str, tmp_path: Path) -> None:
    options = [f"-D{each}" for each in ("REFARRAY_PYTHON=ON", *SETTINGS[name])]
    done = subprocess.run(
        [tool("cmake"), "-S", ROOT, "-B", tmp_path, *options],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert SAYS[name] in " ".join(done.stderr.split())
