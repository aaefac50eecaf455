"""The class of the arrays of refarray.strict, by the name that it has in array-api-strict."""

from __future__ import annotations

from typing import Any

import refarray_strict
from refarray.strict._devices import ALL_DEVICES, CPU_DEVICE, Device

#: The type of the arrays of CPU_DEVICE; isinstance() takes those of the other devices for its own.
Array: Any = refarray_strict.Array
Dtype: Any = refarray_strict.DType

__all__ = ["ALL_DEVICES", "CPU_DEVICE", "Array", "Device", "Dtype"]
