"""Adapters of runtimes that implement parts of DLPack's protocol."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.subjects import devices as on_devices
from refarray.conformance.subjects.subject import (
    CONTIGUOUS,
    DTYPES,
    KINDS,
    Subject,
    array_api,
    of_numpy,
)

MLX = Subject(
    "mlx",
    "import mlx.core as mx",
    arrays=array_api(
        "mx", transposed="mx.reshape(mx.arange(6, dtype=mx.float32), (2, 3)).T", empty="", empty2=""
    )
    | {
        "scalar": "mx.array(1.0)",
        "empty": "mx.zeros((0,))",
        "empty2": "mx.zeros((2, 0))",
        "broadcast": "mx.broadcast_to(mx.ones(1), (3,))",
        "permuted": "mx.swapaxes(mx.reshape(mx.arange(24, dtype=mx.float32), (2, 3, 4)), 1, 2)",
    },
    big="mx.ones({})",
    dtype="mx.ones(3).astype(getattr(mx, '{}', mx.bool_))",
    ramp="mx.arange(37).astype(getattr(mx, '{}', mx.bool_))",
    dtypes=(*DTYPES[:12], "float16", "bfloat16"),
    from_dlpack="mx.from_dlpack({})",
    array_api=False,  # __array_namespace__ takes no api_version yet, and arrays have no device
    note="imports since version 0.32",
)
MLX_METAL = replace(
    MLX,
    name="mlx_metal",
    distribution="mlx",
    inherits="mlx",
    there="mx.metal.is_available()",
    note="MLX's arrays in Metal's buffers, on a Mac",
)
ONNXRUNTIME = Subject(
    "onnxruntime",
    "import onnxruntime as ort, numpy as np",
    arrays=of_numpy("ort.OrtValue.ortvalue_from_numpy({})", "plain", "one", "empty", "odd"),
    big="ort.OrtValue.ortvalue_from_numpy(np.ones({}, dtype=np.float32))",
    dtype="ort.OrtValue.ortvalue_from_numpy(np.ones(3, dtype='{}'))",
    ramp="ort.OrtValue.ortvalue_from_numpy(np.arange(37).astype('{}'))",
    values="{}.numpy().tolist()",
    dtypes=(*DTYPES[:11], "float16"),
    from_dlpack="ort.OrtValue.from_dlpack({})",
    through="numpy",
    array_api=False,
    note="OrtValue; shares NumPy's memory",
)
WARP = Subject(
    "warp",
    "import warp as wp, numpy as np; wp.config.quiet = True; wp.init()",
    arrays=of_numpy(
        "wp.array({}, device='cpu')",
        *(kind for kind in CONTIGUOUS if kind != "scalar"),
        "odd",
    )
    | {
        "strided": "wp.array(np.arange(6, dtype='f4'), device='cpu')[::2]",
        "offset": "wp.array(np.arange(6, dtype='f4'), device='cpu')[2:5]",
        "transposed": "wp.array(np.arange(6, dtype='f4').reshape(2, 3), device='cpu')"
        ".transpose([1, 0])",
        "inner": "wp.array(np.arange(8, dtype='f4').reshape(2, 4), device='cpu')[:, 1:3]",
    },
    big="wp.array(np.ones({}, dtype=np.float32), device='cpu')",
    dtype="wp.array(np.ones(3, dtype='{}'), device='cpu')",
    ramp="wp.array(np.arange(37).astype('{}'), device='cpu')",
    values="{}.numpy().tolist()",
    strides="tuple(each // wp.types.type_size_in_bytes({0}.dtype) for each in {0}.strides)",
    dtypes=(*DTYPES[:11], "float16"),
    from_dlpack="wp.from_dlpack({})",
    distribution="warp-lang",
    through="numpy",
    axes=4,
    array_api=False,
    note="arrays of scalars, with one axis or more",
)
PADDLE = Subject(
    "paddle",
    "import paddle",
    arrays=array_api(
        "paddle",
        broadcast="",
        unexportable="paddle.to_tensor([1.0], stop_gradient=False)",
        gradient="paddle.to_tensor([1.0, 1.0, 1.0], stop_gradient=False) * 2",
        sparse="paddle.eye(3).to_sparse_coo(2)",
        **{"sparse-rows": "paddle.eye(3).to_sparse_csr()"},
    ),
    big="paddle.ones([{}])",
    dtype="paddle.ones([3]).astype('{}')",
    ramp="paddle.arange(37).astype('{}')",
    values="({0}.astype('float32') if 'float8' in str({0}.dtype) or 'bfloat16' in str({0}.dtype)"
    " else {0}).tolist()",
    strides="tuple({}.strides)",
    dtypes=(*DTYPES[:6], *DTYPES[9:]),
    from_dlpack="paddle.from_dlpack({})",
    distribution="paddlepaddle",
    array_api=False,
    subclass=True,
)
# Without a vendor's list of drivers in /etc, OpenCL finds the CPU driver of the package
# intel-opencl-rt by this variable only. Arrays are awaited: an export with copy=True copies before
# pending kernels have written, which shows in some runs only.
DPNP = Subject(
    "dpnp",
    "import os, sys; "
    "os.environ.setdefault('OCL_ICD_FILENAMES', sys.prefix + '/lib/libintelocl.so'); "
    "import dpnp; ready = lambda x: (dpnp.synchronize_array_data(x), x)[1]",
    arrays={kind: f"ready({text})" for kind, text in array_api("dpnp").items()},
    big="ready(dpnp.ones({}, dtype=dpnp.float32))",
    dtype="ready(dpnp.ones(3, dtype='{}'))",
    ramp="ready(dpnp.arange(37).astype('{}'))",
    strides="tuple(each // {0}.itemsize for each in {0}.strides)",
    dtypes=DTYPES[:14],
    from_dlpack="dpnp.from_dlpack({})",
    through="numpy",
    note="its imports from the CPU are NumPy's arrays",
)
# An import names the stream to order; -1 asks for none, and is the only one for host memory.
VIEW = "View.from_dlpack({}, stream_ptr=-1)"
READ_ONLY = "np.broadcast_to(np.arange(6, dtype='f4'), 6)"
CUDA_CORE = Subject(
    "cuda_core",
    "import numpy as np, cuda.core as cc; from cuda.core.utils import StridedMemoryView as View",
    arrays=of_numpy(VIEW, *KINDS)
    | {
        "readonly": VIEW.format(READ_ONLY),
        "readonly-strided": VIEW.format(f"{READ_ONLY}[::2]"),
    },
    big=VIEW.format("np.ones({}, dtype=np.float32)"),
    dtype=VIEW.format("np.ones(3, dtype='{}')"),
    ramp=VIEW.format("np.arange(37).astype('{}')"),
    values="np.from_dlpack({}).tolist()",
    strides="({0}.strides or ())",
    dtypes=DTYPES[:14],
    from_dlpack=VIEW,
    distribution="cuda-core",
    through="numpy",
    carrier=True,
    array_api=False,
    devices=on_devices.CUDA_CORE,
    note="StridedMemoryView, of NumPy's arrays and of memory on devices",
)
AWKWARD = Subject(
    "awkward",
    "import awkward as ak",
    from_dlpack="ak.from_dlpack({})",
    through="numpy",
    inherits="numpy",
    array_api=False,
    note="a consumer only: its import is NumPy's",
)
RUNTIME_LIBRARIES = {
    subject.name: subject
    for subject in (MLX, MLX_METAL, ONNXRUNTIME, WARP, PADDLE, DPNP, CUDA_CORE, AWKWARD)
}
"""The adapters by the name that the command line takes."""
