"""Tries every operation that needs a device where there is none, and prints the errors as JSON:
`no_device.py DEVICE …`. Run in a process of its own, which must exit normally."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def descriptors() -> list[str]:
    found = list(Path("/proc/self/fd").iterdir())  # includes the descriptor of this listing
    return sorted(str(path.readlink()) for path in found if path.is_symlink())


started_with = threads(), descriptors()

import refarray as ra  # noqa: E402


class Labelled:
    """A producer whose array claims to be on a device."""

    def __init__(self, device: ra.Device) -> None:
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack

    def __dlpack__(self, **keywords: Any) -> object:
        raise AssertionError("__dlpack__ was called for an unusable device")


def attempts(name: str) -> dict[str, Callable[[], object]]:
    array = ra.asarray([1.0, 2.0])
    found: dict[str, Callable[[], object]] = {
        "asarray": lambda: ra.asarray([1.0], device=name),
        "zeros": lambda: ra.zeros((2,), device=name),
        "an empty array": lambda: ra.zeros((0,), device=name),
        "to_device": lambda: array.to_device(name),
        "from_dlpack to it": lambda: ra.from_dlpack(array, device=name),
        "__dlpack__ for it": lambda: array.__dlpack__(
            dl_device=ra.Device(name).dlpack, max_version=(1, 3)
        ),
    }
    if name.endswith(":0") and "managed" not in name:
        found |= {
            "Stream": lambda: ra.Stream(name),
            "Stream of a handle": lambda: ra.Stream(name, 0x1000),
            "Event": lambda: ra.Event(name),
            "current_stream": lambda: ra.current_stream(name),
            "synchronize": lambda: ra.synchronize(name),
            "from_dlpack from it": lambda: ra.from_dlpack(Labelled(ra.Device(name))),
        }
    return found


def main(devices: list[str]) -> None:
    said: dict[str, dict[str, Any]] = {}
    for name in devices:
        said[name] = {}
        for what, attempt in attempts(name).items():
            try:
                attempt()
            except Exception as error:
                said[name][what] = type(error).__name__, str(error)
            else:
                said[name][what] = "no error", ""
    kept = ra.from_dlpack(ra.asarray([[1.0, 2.0]]).T.copy())
    assert kept.tolist() == [[1.0], [2.0]]
    globals()["alive_at_exit"] = kept
    print(json.dumps({
        "said": said,
        "threads": [started_with[0], threads()],
        "descriptors": [started_with[1], descriptors()],
        "drivers": ra._native._probe_drivers(),
    }))  # fmt: skip


main(sys.argv[1:])
