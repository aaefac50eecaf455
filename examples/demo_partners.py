"""The partner libraries of the demo: how each creates, imports, reads and addresses arrays."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

COUNT = 48
DTYPES = ("bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex128")
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "contiguous": lambda xp, x: xp.reshape(x, (2, 4, 6)),
    "transposed": lambda xp, x: xp.permute_dims(xp.reshape(x, (8, 6)), (1, 0)),
    "every third": lambda _, x: x[1::3],
    "window": lambda xp, x: xp.reshape(x, (8, 6))[2:5, 1:4],
    "reversed": lambda _, x: x[::-1],
    "0-d": lambda xp, x: xp.reshape(x[:1], ()),
    "empty": lambda xp, x: xp.reshape(x[:0], (0, 3)),
    "read-only": lambda _, x: x,
}


@dataclass
class Partner:
    """A library, and how to create, import, read and address its arrays."""

    name: str
    module: str
    distribution: str
    writes: bool = True  # whether its arrays can be written to
    narrow: tuple[str, ...] = ()  # dtypes that it supports in addition to DTYPES

    def load(self) -> None:
        self.library = importlib.import_module(self.module)
        self.version = importlib.metadata.version(self.distribution)
        self.title = f"{self.name} {self.version}"
        if self.name == "JAX":
            self.library.config.update("jax_enable_x64", True)
        module = self.library.dlpack if self.name == "JAX" else self.library
        self.from_dlpack: Callable[..., Any] = module.from_dlpack

    def view(self, array: Any) -> Any:
        """Return an indexable view of the partner's array; for tvm-ffi, a NumPy array."""
        return np.from_dlpack(array) if self.name == "tvm-ffi" else array

    def address(self, array: Any) -> int:
        if self.name == "NumPy":
            return array.ctypes.data
        return array.unsafe_buffer_pointer() if self.name == "JAX" else array.data_ptr()

    def make(self, dtype: str, layout: str) -> Any:
        """Create an array of this partner; tvm-ffi cannot slice, so NumPy creates its views."""
        if self.name == "PyTorch":
            xp = type(
                "xp", (), {"reshape": self.library.reshape, "permute_dims": self.library.permute}
            )
            return LAYOUTS[layout](xp, self.library.arange(COUNT).to(getattr(self.library, dtype)))
        if self.name == "JAX":
            numpy = self.library.numpy
            return LAYOUTS[layout](numpy, numpy.arange(COUNT).astype(dtype))
        source = numpy_array(dtype, layout)
        return self.from_dlpack(source) if self.name == "tvm-ffi" else source


PARTNERS = (
    Partner("NumPy", "numpy", "numpy"),
    Partner("tvm-ffi", "tvm_ffi", "apache-tvm-ffi"),
    Partner("PyTorch", "torch", "torch", narrow=("bfloat16", "float8_e5m2")),
    Partner("JAX", "jax", "jax", writes=False, narrow=("bfloat16", "float8_e5m2")),
)


def numpy_array(dtype: str, layout: str) -> Any:
    array = LAYOUTS[layout](np, np.arange(COUNT).astype(dtype))
    if layout == "read-only":
        array.flags.writeable = False
    return array
