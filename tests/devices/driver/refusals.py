"""How refarray must behave with any driver library that has no device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helpers.processes import python

SCRIPT = Path(__file__).resolve().parent / "no_device.py"
DEVICES = {"CUDA": ["cuda:0", "cuda_host", "cuda_managed:0"], "ROCm": ["rocm:0", "rocm_host"]}


def ended(command: list[str], variables: dict[str, str]) -> str:
    """Runs refarray's Python; returns stdout after a clean exit with empty stderr."""
    done = python("-X", "faulthandler", *command, **variables)
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stdout, done.stderr)
    return done.stdout


def check(vendor: str, variables: dict[str, str], library: str, reason: str) -> dict[str, Any]:
    """Every operation raises with the reason, and leaves no thread or file open."""
    seen = json.loads(ended([str(SCRIPT), *DEVICES[vendor]], variables))
    for name, answers in seen["said"].items():
        for what, (kind, text) in answers.items():
            assert kind == "BufferError", (name, what, kind, text)
            assert f"device {name} cannot be used: " in text, (what, text)
            assert reason in text and "refarray doctor" in text, (name, what, text)
    before, after = seen["threads"]
    assert after == before, f"{after - before} more threads than before"
    before, after = seen["descriptors"]
    assert after == before, f"left open: {set(after) - set(before)}"
    (driver,) = [row for row in seen["drivers"] if row["name"] == vendor]
    assert (driver["library"], driver["devices"]) == (library, None), driver
    assert reason in driver["detail"]
    doctor = ended(["-m", "refarray", "doctor", "--quick"], variables)
    (line,) = [line for line in doctor.splitlines() if line.split()[:1] == [vendor]]
    assert f"no device: {driver['detail']}" in line, line
    return driver
