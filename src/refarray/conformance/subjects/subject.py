"""Owns what the kit knows of each library: how its arrays are made, as Python text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType

import refarray
from refarray.conformance.subjects import devices as on_devices

KINDS = {
    "plain": "six contiguous float32 values, 0 to 5",
    "strided": "every second of six",
    "reversed": "six backwards",
    "transposed": "two rows of three, transposed",
    "broadcast": "one value repeated three times without a copy",
    "scalar": "a 0-d array",
    "empty": "no elements",
    "empty2": "shape (2, 0)",
    "one": "shape (1, 1)",
    "readonly": "six values that must not be written",
    "unaligned-strides": "strides that are no multiple of the item size",
    "unexportable": "data that DLPack has no words for",
    "sparse": "data without strides",
    "swapped": "data in the other byte order",
}
"""The kinds of arrays that probes ask for. A subject that lacks one leaves it out."""

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
    *("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


@dataclass(frozen=True)
class Subject:
    """A library as the kit meets it. Everything is text, so what a probe runs is what a repro
    prints.

    `arrays` maps KINDS to expressions; `dtype` is an expression with `{}` for a dtype's name, or
    empty; `imports` the lines that these need; `from_dlpack` an expression with `{}` for the
    producer, or empty when it does not import.
    """

    name: str
    imports: str
    arrays: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    dtype: str = ""
    dtypes: tuple[str, ...] = DTYPES
    big: str = ""
    """An expression with `{}` for a number of float32 elements, all of them written."""
    from_dlpack: str = ""
    distribution: str = ""
    subclass: bool = False
    """Whether its array type may be subclassed."""
    carrier: bool = False
    """Whether it passes on every dtype and device without looking at the data, so none is foreign
    to it."""
    array_api: bool = True
    """Whether it claims to follow the array API: from_dlpack's keywords and exceptions are its."""
    immutable: bool = False
    """Whether its arrays can never be written."""
    takes_capsules: bool = False
    """Whether its import takes a bare capsule, so that asking the producer is not its part."""
    gives_capsules: bool = False
    """Whether its export is a bare legacy capsule, without methods that could be asked."""
    overloads: bool = False
    """Whether its import is the argument of a bound function, which asks for what it needs: what
    fits no overload is a TypeError."""
    through: str = ""
    """The library that its own is made of or cannot be imported without: what becomes of that one
    cannot be told from what becomes of it."""
    devices: Mapping[str, on_devices.OnDevice] = field(default_factory=lambda: MappingProxyType({}))
    """Its arrays and streams on devices, by vendor: "cuda", "rocm"."""
    note: str = ""
    """What a reader of the report should know of the adapter."""

    @property
    def version(self) -> str:
        """The installed version; empty when there is none to read."""
        name = self.distribution or self.name
        if name == "refarray":
            return refarray.__version__  # of a build that was not installed too
        try:
            return metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):  # an empty name is no name
            return ""


def array_api(module: str, **others: str) -> dict[str, str]:
    """The expressions of a library with the array API's names."""
    arrays = {
        "plain": f"{module}.arange(6, dtype={module}.float32)",
        "strided": f"{module}.arange(6, dtype={module}.float32)[::2]",
        "reversed": f"{module}.arange(6, dtype={module}.float32)[::-1]",
        "transposed": f"{module}.reshape({module}.arange(6, dtype={module}.float32), (2, 3)).T",
        "broadcast": f"{module}.broadcast_to({module}.ones(1, dtype={module}.float32), (3,))",
        "scalar": f"{module}.asarray(1.0, dtype={module}.float32)",
        "empty": f"{module}.empty(0, dtype={module}.float32)",
        "empty2": f"{module}.empty((2, 0), dtype={module}.float32)",
        "one": f"{module}.ones((1, 1), dtype={module}.float32)",
    }
    arrays.update(others)
    return {kind: text for kind, text in arrays.items() if text}


NUMPY = Subject(
    "numpy",
    "import numpy as np",
    arrays=array_api(
        "np",
        readonly="np.broadcast_to(np.arange(6, dtype=np.float32), 6)",
        unexportable="np.array(['a', 'b'])",
        swapped="np.arange(6, dtype=np.dtype('f4').newbyteorder())",
        **{"unaligned-strides": "np.zeros(3, dtype=[('a', 'i1'), ('b', 'f4')])['b']"},
    ),
    big="np.ones({}, dtype=np.float32)",
    dtype="np.ones(3, dtype='{}')",
    dtypes=DTYPES[:14],
    from_dlpack="np.from_dlpack({})",
    subclass=True,
)
TORCH = Subject(
    "torch",
    "import torch",
    arrays=array_api(
        "torch",
        reversed="",
        unexportable="torch.ones(3, requires_grad=True)",
        sparse="torch.eye(3).to_sparse()",
    ),
    big="torch.ones({}, dtype=torch.float32)",
    dtype="torch.ones(3, dtype=torch.float32).to(torch.{})",
    from_dlpack="torch.from_dlpack({})",
    subclass=True,
    devices=on_devices.TORCH,
)
JAX = Subject(
    "jax",
    "import jax, jax.numpy as jnp; jax.config.update('jax_enable_x64', True)",
    # jax has no strided arrays: slices are copies
    arrays=array_api("jnp", strided="", reversed="", transposed="", broadcast=""),
    big="jnp.ones({}, dtype=jnp.float32)",
    dtype="jnp.ones(3, dtype='{}')",
    from_dlpack="jnp.from_dlpack({})",
    immutable=True,
)
TVM_FFI = Subject(
    "tvm_ffi",
    "import tvm_ffi, numpy as np",
    arrays={
        kind: f"tvm_ffi.from_dlpack({text})" for kind, text in array_api("np", broadcast="").items()
    },
    big="tvm_ffi.from_dlpack(np.ones({}, dtype=np.float32))",
    dtype="tvm_ffi.from_dlpack(np.ones(3, dtype='{}'))",
    dtypes=DTYPES[:11],
    from_dlpack="tvm_ffi.from_dlpack({})",
    distribution="apache-tvm-ffi",
    through="numpy",
    carrier=True,
    array_api=False,
    note="it makes no arrays: what is exported was imported from NumPy",
)
ARRAY_API_STRICT = Subject(
    "array_api_strict",
    "import array_api_strict as xp",
    arrays=array_api("xp", broadcast="xp.broadcast_to(xp.ones(1, dtype=xp.float32), (3,))"),
    big="xp.ones({}, dtype=xp.float32)",
    dtype="xp.ones(3, dtype=xp.{})",
    dtypes=DTYPES[:13],
    from_dlpack="xp.from_dlpack({})",
    distribution="array-api-strict",
    through="numpy",
)
PYARROW = Subject(
    "pyarrow",
    "import pyarrow as pa",
    arrays={
        "plain": "pa.array([0, 1, 2, 3, 4, 5], pa.float32())",
        "empty": "pa.array([], pa.float32())",
    },
    dtype="pa.array([1, 1, 1]).cast('{}')",
    dtypes=("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    array_api=False,
    immutable=True,
    note="a producer only",
)
REFARRAY = Subject(
    "refarray",
    "import refarray as ra",
    arrays=array_api("ra", readonly="ra.arange(6, dtype=ra.float32).as_readonly()"),
    big="ra.ones({}, dtype=ra.float32)",
    dtype="ra.ones(3, dtype='{}')",
    from_dlpack="ra.from_dlpack({})",
    devices=on_devices.REFARRAY,
)
SUBJECTS = {
    subject.name: subject
    for subject in (NUMPY, TORCH, JAX, TVM_FFI, ARRAY_API_STRICT, PYARROW, REFARRAY)
}
"""The adapters that come with the kit, by the name that the command line takes."""
