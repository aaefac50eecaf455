"""The devices of array-api-strict: their names, dtypes and default dtypes."""

from __future__ import annotations

from typing import Any

from refarray import _native
from refarray._namespaces.devices import STANDARD, DeviceInfo, Place, VirtualDevice

WIDE = (_native.float64, _native.complex128)
NARROW = {"real floating": _native.float32, "complex floating": _native.complex64}


class Device(VirtualDevice):
    """A device by its name: "CPU_DEVICE", "device1", "device2", "no_float64" or "no_x64".

    The arrays of "CPU_DEVICE" are on the host. "device2" has narrow default dtypes, "no_float64"
    lacks float64 and complex128, and "no_x64" lacks 64-bit integers as well.
    """

    __slots__ = ()

    def __init__(self, device: str = "CPU_DEVICE") -> None:
        if type(device) is not str or device not in ARGUMENTS:
            raise ValueError(f"there is no device {device!r}; there are {', '.join(ARGUMENTS)}")
        super().__init__(device, **ARGUMENTS[device])

    def __repr__(self) -> str:
        return f"refarray.strict.Device({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.name,)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "CPU_DEVICE": {},
    "device1": {"id": 1},
    "device2": {"id": 2, "default_dtypes": NARROW},
    "no_float64": {"id": 3, "dtypes": [each for each in STANDARD if each not in WIDE]},
    "no_x64": {
        "id": 4,
        "dtypes": [each for each in STANDARD if each not in (*WIDE, _native.int64, _native.uint64)],
    },
}

ALL_DEVICES = tuple(map(Device, ARGUMENTS))
CPU_DEVICE, _, _, NO_FLOAT64_DEVICE, NO_X64_DEVICE = ALL_DEVICES


class NamedDevices(DeviceInfo):
    """Inspection functions that take names of devices too, as scikit-learn passes them."""

    def _place(self, device: Any) -> Place:
        return super()._place(Device(device) if isinstance(device, str) else device)
