"""Adapters of the libraries that implement the methods of the DLPack protocol."""

from __future__ import annotations

from refarray.conformance.subjects import devices as on_devices
from refarray.conformance.subjects.subject import CONTIGUOUS, DTYPES, Subject, array_api, of_numpy

NUMPY = Subject(
    "numpy",
    "import numpy as np",
    arrays=array_api(
        "np",
        readonly="np.broadcast_to(np.arange(6, dtype=np.float32), 6)",
        **{"readonly-strided": "np.broadcast_to(np.arange(6, dtype=np.float32), 6)[::2]"},
        unexportable="np.array(['a', 'b'])",
        swapped="np.arange(6, dtype=np.dtype('f4').newbyteorder())",
        **{"unaligned-strides": "np.zeros(3, dtype=[('a', 'i1'), ('b', 'f4')])['b']"},
    ),
    big="np.ones({}, dtype=np.float32)",
    dtype="np.ones(3, dtype='{}')",
    ramp="np.arange(37).astype('{}')",
    strides="tuple(each // {0}.itemsize for each in {0}.strides)",
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
    ramp="torch.arange(37, dtype=torch.float32).to(torch.{})",
    strides="{}.stride()",
    from_dlpack="torch.from_dlpack({})",
    subclass=True,
    devices=on_devices.TORCH,
)
JAX = Subject(
    "jax",
    "import jax, jax.numpy as jnp; jax.config.update('jax_enable_x64', True)",
    # JAX has no strided arrays: slices are copies.
    arrays=array_api(
        "jnp", strided="", reversed="", transposed="", broadcast="", inner="", permuted=""
    ),
    big="jnp.ones({}, dtype=jnp.float32)",
    dtype="jnp.ones(3, dtype='{}')",
    ramp="jnp.arange(37).astype('{}')",
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
    ramp="tvm_ffi.from_dlpack(np.arange(37).astype('{}'))",
    values="np.from_dlpack({}).tolist()",
    strides="tuple({}.strides)",
    dtypes=DTYPES[:11],
    from_dlpack="tvm_ffi.from_dlpack({})",
    distribution="apache-tvm-ffi",
    through="numpy",
    carrier=True,
    array_api=False,
    note="makes no arrays of its own: its tensors are imported from NumPy",
)
ARRAY_API_STRICT = Subject(
    "array_api_strict",
    "import array_api_strict as xp",
    arrays=array_api("xp", broadcast="xp.broadcast_to(xp.ones(1, dtype=xp.float32), (3,))"),
    big="xp.ones({}, dtype=xp.float32)",
    dtype="xp.ones(3, dtype=xp.{})",
    ramp="xp.astype(xp.arange(37), xp.{})",
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
        "offset": "pa.array([0, 1, 2, 3, 4, 5], pa.float32())[2:5]",
        "odd": "pa.array(range(37)).cast('float32')",
    },
    dtype="pa.array([1, 1, 1]).cast('{}')",
    ramp="pa.array(range(37)).cast('{}')",
    dtypes=("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    array_api=False,
    immutable=True,
    note="a producer only",
)
CUPY = Subject(
    "cupy",
    "import cupy as cp",
    arrays=array_api("cp"),
    big="cp.ones({}, dtype=cp.float32)",
    dtype="cp.ones(3, dtype='{}')",
    ramp="cp.arange(37).astype('{}')",
    dtypes=DTYPES[:14],
    from_dlpack="cp.from_dlpack({})",
    devices=on_devices.CUPY,
    note="its arrays are on CUDA or ROCm devices",
)
TVM = Subject(
    "tvm",
    "import tvm, numpy as np",
    arrays=of_numpy("tvm.runtime.tensor({})", *CONTIGUOUS),
    big="tvm.runtime.tensor(np.ones({}, dtype=np.float32))",
    dtype="tvm.runtime.tensor(np.ones(3, dtype='{}'))",
    dtypes=DTYPES[:11],
    from_dlpack="tvm.runtime.from_dlpack({})",
    distribution="apache-tvm",
    through="numpy",
    carrier=True,
    array_api=False,
    note="its tensors are copies of NumPy arrays",
)
MPI4PY = Subject(
    "mpi4py",
    "from mpi4py import MPI",
    from_dlpack="MPI.memory({})",
    carrier=True,
    array_api=False,
    note="a consumer only: imports an address and a length",
)
MLX = Subject(
    "mlx",
    "import mlx.core as mx",
    arrays={
        "plain": "mx.arange(6, dtype=mx.float32)",
        "scalar": "mx.array(1.0)",
        "empty": "mx.zeros((0,))",
        "one": "mx.ones((1, 1))",
    },
    big="mx.ones({})",
    dtype="mx.ones(3).astype(mx.{})",
    array_api=False,
    note="a producer only",
)
MEMORYVIEW = Subject(
    "memoryview",
    "import array",
    arrays={"plain": "memoryview(array.array('f', range(6)))"},
    array_api=False,
    note="has the buffer protocol, but no DLPack",
)
REFARRAY = Subject(
    "refarray",
    "import refarray as ra",
    arrays=array_api(
        "ra",
        readonly="ra.arange(6, dtype=ra.float32).as_readonly()",
        **{"readonly-strided": "ra.arange(6, dtype=ra.float32).as_readonly()[::2]"},
        unexportable="ra.zeros(5, dtype=ra.float4_e2m1fn)[1:4]",  # begins inside a byte
    ),
    big="ra.ones({}, dtype=ra.float32)",
    dtype="ra.ones(3, dtype='{}')",
    ramp="ra.arange(37).astype('{}')",
    strides="{}.strides",
    from_dlpack="ra.from_dlpack({})",
    devices=on_devices.REFARRAY,
)
LIBRARIES = {
    subject.name: subject
    for subject in (
        *(NUMPY, TORCH, JAX, TVM_FFI, ARRAY_API_STRICT, PYARROW, CUPY, TVM, MPI4PY, MLX),
        *(MEMORYVIEW, REFARRAY),
    )
}
"""The adapters by the name that the command line takes."""
