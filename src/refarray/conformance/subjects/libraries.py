"""Adapters of the libraries that implement the methods of the DLPack protocol."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.subjects import devices as on_devices
from refarray.conformance.subjects.subject import (
    CONTIGUOUS,
    DTYPES,
    SubByte,
    Subject,
    array_api,
    of_numpy,
)

FP4 = (0, 2, 4, 5, 6, 7)
"""The bits of 0, 1, 2, 3, 4 and 6 as float4_e2m1fn."""

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
        **{"long-double": "np.ones(3, dtype='longdouble')"},
        frozen="np.frombuffer(bytes(24), dtype=np.float32)",
        masked="np.ma.array([0, 1, 2], mask=[0, 1, 0], dtype=np.float32)",
        object="np.array([None])",
        text="np.array(['a'], dtype=np.dtypes.StringDType())",
        time="np.array(['2020-01-01'], dtype='M8[s]')",
        records="np.zeros(2, dtype='i4,f4')",
    ),
    big="np.ones({}, dtype=np.float32)",
    dtype="np.ones(3, dtype='{}')",
    ramp="np.arange(37).astype('{}')",
    strides="tuple(each // {0}.itemsize for each in {0}.strides)",
    dtypes=DTYPES[:14],
    from_dlpack="np.from_dlpack({})",
    subclass=True,
)
TORCH_STATES = {
    "fake": "from torch._subclasses.fake_tensor import FakeTensorMode",
    "wrapper": """\
class Wrapper(torch.Tensor):
    def __new__(cls): return torch.Tensor._make_wrapper_subclass(cls, (3,), dtype=torch.float32)
    @classmethod
    def __torch_dispatch__(cls, *_, **__): raise TypeError""",
    "freed": "def freed(x): x.untyped_storage().resize_(0); return x",
    "masked": "from torch.masked import masked_tensor",
    "batched": "def batched(x): y = []; torch.vmap(lambda z: (y.append(z), z)[1])(x); return y[0]",
    "dual": """\
def dual(x): y = []; torch.func.jvp(lambda z: (y.append(z), z)[1], (x,), (x,)); return y[0]""",
}
"""The statements that PyTorch's arrays without memory need."""
TORCH = Subject(
    "torch",
    "import torch",
    arrays=array_api(
        "torch",
        reversed="",
        unexportable="torch.ones(3, requires_grad=True)",
        sparse="torch.eye(3).to_sparse()",
        conjugate="torch.tensor([1 + 2j, 3 - 4j, 5j], dtype=torch.complex64).conj()",
        negative="torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64).conj().imag",
        meta="torch.ones(3, device='meta')",
        fake="FakeTensorMode().from_tensor(torch.ones(3))",
        functional="torch._to_functional_tensor(torch.ones(3))",
        wrapper="Wrapper()",
        zeros="torch._efficientzerotensor(3)",
        freed="freed(torch.ones(3))",
        batched="batched(torch.ones(2, 3))",
        dual="dual(torch.ones(3))",
        masked="masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))",
        gradient="torch.ones(3, requires_grad=True) * 2",
        quantized="torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)",
        nested="torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])",
        **{"sparse-rows": "torch.eye(3).to_sparse_csr()"},
    ),
    states=TORCH_STATES,
    subbyte={
        "float4_e2m1fn_x2": SubByte(
            "torch.tensor([32, 84, 118], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)",
            (17, 4, 2),
            FP4,
        )
    },
    big="torch.ones({}, dtype=torch.float32)",
    dtype="torch.ones(3, dtype=torch.float32).to(torch.{})",
    ramp="torch.arange(37, dtype=torch.float32).to(torch.{})",
    strides="{}.stride()",
    from_dlpack="torch.from_dlpack({})",
    array_api=True,
    subclass=True,
    devices=on_devices.TORCH,
)
MPS = "torch.float32, device='mps')"
TORCH_MPS = replace(
    TORCH,
    name="torch_mps",
    distribution="torch",
    inherits="torch",
    arrays={
        kind: text.replace("torch.float32)", MPS)
        for kind, text in array_api("torch", reversed="").items()
    },
    states={},
    subbyte={},
    devices={},
    big=TORCH.big.replace("torch.float32)", MPS),
    dtype=TORCH.dtype.replace("torch.float32)", MPS),
    ramp=TORCH.ramp.replace("torch.float32)", MPS),
    dtypes=tuple(each for each in DTYPES if each not in {"float64", "complex128"}),
    there="torch.backends.mps.is_available()",
    note="PyTorch's arrays in Metal's buffers, on a Mac",
)
WIDE = {"int64", "uint64", "float64", "complex128"}
"""The dtypes that JAX has in its 64-bit mode only."""
JAX = Subject(
    "jax",
    "import jax, jax.numpy as jnp; jax.config.update('jax_enable_x64', True)",
    # JAX has no strided arrays: slices are copies.
    arrays=array_api(
        "jnp",
        **dict.fromkeys(
            ("strided", "reversed", "transposed", "broadcast", "inner", "permuted"), ""
        ),
        traced="traced(jnp.ones(3))",
        freed="freed(jnp.arange(3.0) + 1)",
        nibbles="jnp.asarray([0, 1, 2], dtype='int4')",
    ),
    states={
        "traced": "def traced(x): y = []; jax.jit(lambda z: (y.append(z), z)[1])(x); return y[0]",
        "freed": "def freed(x): x.delete(); return x",
    },
    subbyte={
        "float4_e2m1fn": SubByte(
            "jnp.asarray([0, 1, 2, 3, 4, 6], dtype='float4_e2m1fn')", (17, 4, 1), FP4
        )
    },
    big="jnp.ones({}, dtype=jnp.float32)",
    dtype="jnp.ones(3, dtype='{}')",
    ramp="jnp.arange(37).astype('{}')",
    from_dlpack="jnp.from_dlpack({})",
    immutable=True,
)
JAX_32_BITS = replace(
    JAX,
    name="jax_32_bits",
    imports="import jax, jax.numpy as jnp",
    distribution="jax",
    inherits="jax",
    dtypes=tuple(each for each in DTYPES if each not in WIDE),
    note="JAX without 64-bit numbers, its default",
)
JAX_TWO_DEVICES = replace(
    JAX,
    name="jax_two_devices",
    imports="import os; "
    "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'; " + JAX.imports,
    distribution="jax",
    inherits="jax",
    arrays={
        **JAX.arrays,
        "second-device": "jax.device_put(jnp.arange(6, dtype='float32'), jax.devices('cpu')[1])",
        "sharded": "jax.device_put(jnp.arange(6.0), jax.sharding.NamedSharding("
        "jax.make_mesh((2,), ('a',)), jax.sharding.PartitionSpec('a')))",
    },
    note="JAX with two CPU devices",
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
    arrays=array_api(
        "xp",
        broadcast="xp.broadcast_to(xp.ones(1, dtype=xp.float32), (3,))",
        **{"second-device": "xp.arange(6, dtype=xp.float32, device=xp.Device('device1'))"},
    ),
    big="xp.ones({}, dtype=xp.float32)",
    dtype="xp.ones(3, dtype=xp.{})",
    ramp="xp.astype(xp.arange(37), xp.{})",
    dtypes=DTYPES[:13],
    from_dlpack="xp.from_dlpack({})",
    distribution="array-api-strict",
    through="numpy",
    inherits="numpy",
)
NUMBERS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
"""The dtypes that PyArrow exchanges."""
PYARROW = Subject(
    "pyarrow",
    "import pyarrow as pa",
    arrays={
        "plain": "pa.array([0, 1, 2, 3, 4, 5], pa.float32())",
        "empty": "pa.array([], pa.float32())",
        "offset": "pa.array([0, 1, 2, 3, 4, 5], pa.float32())[2:5]",
        "odd": "pa.array(range(37)).cast('float32')",
        "nulls": "pa.array([1, None, 3], pa.float32())",
        "bits": "pa.array([True, False])",
        "text": "pa.array(['a'])",
        "time": "pa.array([1], pa.timestamp('s'))",
    },
    dtype="pa.array([1, 1, 1]).cast('{}')",
    ramp="pa.array(range(37)).cast('{}')",
    dtypes=NUMBERS,
    from_dlpack="pa.Array.from_dlpack({})",  # PyArrow 26
    axes=1,
    array_api=False,
    immutable=True,
    note="one axis; imports since version 26",
)
PYARROW_TENSOR = Subject(
    "pyarrow_tensor",
    "import pyarrow as pa, numpy as np",
    arrays=of_numpy("pa.Tensor.from_numpy({})", *CONTIGUOUS, "strided", "transposed", "offset"),
    dtype="pa.Tensor.from_numpy(np.ones(3, dtype='{}'))",
    ramp="pa.Tensor.from_numpy(np.arange(37).astype('{}'))",
    values="{}.to_numpy().tolist()",
    dtypes=NUMBERS,
    from_dlpack="pa.Tensor.from_dlpack({})",  # PyArrow 26
    distribution="pyarrow",
    inherits="pyarrow",
    through="numpy",
    array_api=False,
    note="pyarrow.Tensor; imports since version 26",
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
        frozen="ra.asarray(memoryview(bytes(24)).cast('f'), copy=False)",
    ),
    subbyte={
        name: SubByte(f"ra.asarray([0, 1, 2, 3, 4, 6], dtype='{name}')", dtype, codes)
        for name, dtype, codes in (
            ("float4_e2m1fn", (17, 4, 1), FP4),
            ("float6_e2m3fn", (15, 6, 1), (0, 8, 16, 20, 24, 28)),
            ("float6_e3m2fn", (16, 6, 1), (0, 12, 16, 18, 20, 22)),
        )
    },
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
        *(NUMPY, TORCH, TORCH_MPS, JAX, JAX_32_BITS, JAX_TWO_DEVICES, TVM_FFI, ARRAY_API_STRICT),
        *(PYARROW, PYARROW_TENSOR, CUPY, TVM, MPI4PY, MEMORYVIEW, REFARRAY),
    )
}
"""The adapters by the name that the command line takes."""
