"""Compiles driver libraries without devices, and probes them with refarray, each in a new process,
since a process loads a driver only once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from helpers.processes import printed
from native.build import compiler_environment

SOURCE = Path(__file__).resolve().parent / "driver.cpp"
VARIABLES = {"CUDA": "REFARRAY_LIBCUDA", "ROCm": "REFARRAY_LIBHIP"}
CALLS = {"CUDA": ("cuInit", "cuDeviceGetCount"), "ROCm": ("hipInit", "hipGetDeviceCount")}
DEVICES = {"CUDA": "cuda:0", "ROCm": "rocm:0"}
PROBE = "import json, refarray._native as n; print(json.dumps(n._probe_drivers()))"
#: in_child() runs a function in a forked child, and returns its result or exception.
FORK = """
import json, os, sys
def in_child(body):
    reader, writer = os.pipe()
    sys.stdout.flush()
    if os.fork() == 0:
        try:
            result = body()
        except Exception as error:
            result = [type(error).__name__, str(error)]
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        result = json.loads(stream.read())
    assert os.wait()[1] == 0
    return result
"""


def compiled(path: Path, *flags: str, source: Path = SOURCE) -> Path:
    """Compiles `source` to a shared library at `path`."""
    compiler = os.environ.get("CXX", "g++").split()
    command = [*compiler, "-std=c++20", "-shared", "-fPIC", "-o", path, source, *flags]
    subprocess.run(command, check=True, env=compiler_environment())
    return path


def run(code: str, **variables: object) -> Any:
    """What the code prints in a new process, parsed as JSON."""
    return json.loads(printed(code, **variables))


def of_vendor(vendor: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [row for row in rows if row["name"] == vendor]
    return found


def report(vendor: str, library: Path | str, **answers: object) -> Any:
    """The driver report for `library`, which behaves as the STUB_* variables say."""
    variables = {f"STUB_{name.upper()}": value for name, value in answers.items()}
    return of_vendor(vendor, run(PROBE, **{VARIABLES[vendor]: library}, **variables))
