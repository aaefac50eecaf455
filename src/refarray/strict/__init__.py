"""A drop-in for array-api-strict: its module, flags, devices and environment variables.

    import refarray.strict as xp

The functions and arrays are those of refarray.namespace(strict=True). As in array-api-strict, the
flags belong to the process: tests that need several settings at once take namespaces instead.
`pytest -p refarray.strict.stand_in` puts this module in the place of array_api_strict.
"""
# The names of the standard become attributes of the module when it is imported, and change with
# the flags.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from refarray.strict._devices import Device
from refarray.strict._flags import (
    ArrayAPIStrictFlags,
    get_array_api_strict_flags,
    reset_array_api_strict_flags,
    set_array_api_strict_flags,
)
from refarray.strict._module import StrictModule

#: The release of array-api-strict with whose interface this agrees.
__version__ = "2.6.1"

__all__ = [
    "ArrayAPIStrictFlags",
    "Device",
    "__version__",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
]

_OWN = tuple(__all__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
else:
    sys.modules[__name__].__class__ = StrictModule
    sys.modules[__name__]._start()
