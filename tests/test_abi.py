"""Our declaration of a driver's binary interface against the vendor's own header, where there is
one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLKITS = [
    folder
    for folder in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda")
    if folder and (Path(folder) / "include" / "cudaTypedefs.h").is_file()
][:1]


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_cuda(toolkit: str) -> None:
    compiler = os.environ.get("CXX", "g++").split()
    command = [*compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}/src", f"-I{toolkit}/include"]
    done = subprocess.run(
        [*command, ROOT / "tests" / "abi" / "cuda_abi.cpp"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
