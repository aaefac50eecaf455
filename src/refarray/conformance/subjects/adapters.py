"""Owns the adapters of libraries that are met more rarely, and what holds a library answerable only
for what it does itself."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import Check
from refarray.conformance.requirements import Role
from refarray.conformance.subjects import devices as on_devices
from refarray.conformance.subjects.subject import DTYPES, Subject, array_api

OF_CAPSULES = {"ABI", "DTYPE", "TENS", "LIFE"}
"""Families that a library answers for whose only door is a bare capsule."""
OF_THEIR_IMPORT = {"VERS-02", "VERS-03", "VERS-08", "VERS-11", "CONS-05", "CONS-06", "CONS-07"}
OF_THEIR_IMPORT |= {"CONS-12", "DEV-07", "DEV-10", "DEV-11", "FLAG-11"}


class Sent:
    """An array of a library whose own export is a bare legacy capsule, with the methods of the
    protocol, so that it can be handed to others. `method` is the name of that export."""

    def __init__(self, array: Any, method: str) -> None:
        self.array = array
        self.method = method

    def __getattr__(self, name: str) -> Any:
        """The array's own: shape and dtype, for who describes it."""
        return getattr(self.array, name)

    def __repr__(self) -> str:
        """The array's own: printing it shows what it is made of."""
        return repr(self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host."""
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> object:
        """The legacy capsule, whatever was asked, or BufferError where it would be no answer."""
        if copy is True or dl_device not in {None, (1, 0)} or stream not in {None, -1}:
            raise BufferError("a bare legacy capsule is all that this library has")
        capsule: object = getattr(self.array, self.method)()
        return capsule


def excused(subject: Subject, check: Check) -> str:
    """Why a library is not held to a check: it has no part in what the check asks for. Empty when
    it is."""
    family = check.id.partition("-")[0]
    if check.role is Role.CONSUMER and subject.takes_capsules:
        if family not in OF_CAPSULES and check.id not in OF_THEIR_IMPORT:
            return f"{subject.name} takes bare capsules: asking the producer is the caller's part"
    elif check.role is not Role.CONSUMER and subject.gives_capsules and family not in OF_CAPSULES:
        return f"{subject.name} gives bare capsules: it has no __dlpack__ that could be asked"
    return ""


def _of_numpy(wrap: str, *kinds: str, **others: str) -> dict[str, str]:
    """NumPy's arrays, each made the library's own by an expression with `{}`."""
    arrays = array_api("np")
    made = {kind: wrap.format(text) for kind, text in arrays.items() if kind in kinds}
    return {**made, **others}


COMPACT = ("plain", "scalar", "empty", "empty2", "one")
HOST = DTYPES[:11]

CUPY = Subject(
    "cupy",
    "import cupy as cp",
    arrays=array_api("cp"),
    big="cp.ones({}, dtype=cp.float32)",
    dtype="cp.ones(3, dtype='{}')",
    dtypes=DTYPES[:14],
    from_dlpack="cp.from_dlpack({})",
    devices=on_devices.CUPY,
    note="its arrays are on a CUDA or ROCm device",
)
TVM = Subject(
    "tvm",
    "import tvm, numpy as np",
    arrays=_of_numpy("tvm.runtime.tensor({})", *COMPACT),
    big="tvm.runtime.tensor(np.ones({}, dtype=np.float32))",
    dtype="tvm.runtime.tensor(np.ones(3, dtype='{}'))",
    dtypes=HOST,
    from_dlpack="tvm.runtime.from_dlpack({})",
    distribution="apache-tvm",
    through="numpy",
    carrier=True,
    array_api=False,
    note="its tensors are copies of NumPy's arrays",
)
MPI4PY = Subject(
    "mpi4py",
    "from mpi4py import MPI",
    from_dlpack="MPI.memory({})",
    carrier=True,
    array_api=False,
    note="a consumer only: what it makes of an array is an address and a length",
)
TENSORFLOW = Subject(
    "tensorflow",
    "import tensorflow as tf; take = lambda x: tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
    arrays={
        "plain": "tf.range(6, dtype=tf.float32)",
        "scalar": "tf.constant(1.0)",
        "empty": "tf.zeros((0,))",
        "empty2": "tf.zeros((2, 0))",
        "one": "tf.ones((1, 1))",
    },
    big="tf.ones({})",
    dtype="tf.cast(tf.ones(3), tf.{})",
    from_dlpack="take({})",
    distribution="tensorflow-cpu",
    through="numpy",
    array_api=False,
    immutable=True,
    takes_capsules=True,
    note="its from_dlpack takes bare capsules",
)
MXNET = Subject(
    "mxnet",
    "import mxnet as mx; from refarray.conformance.subjects.adapters import Sent; "
    "sent = lambda x: Sent(x, 'to_dlpack_for_read'); "
    "take = lambda x: sent(mx.nd.from_dlpack(x.__dlpack__()))",
    arrays={
        "plain": "sent(mx.nd.arange(6, dtype='float32'))",
        "one": "sent(mx.nd.ones((1, 1)))",
    },
    big="sent(mx.nd.ones({}))",
    dtype="sent(mx.nd.ones(3, dtype='{}'))",
    dtypes=("int8", "int32", "int64", "uint8", "float32", "float64", "float16"),
    from_dlpack="take({})",
    through="numpy",
    array_api=False,
    takes_capsules=True,
    gives_capsules=True,
    note="both ways are bare legacy capsules",
)
DGL = Subject(
    "dgl",
    # Its __init__ imports PyTorch, whatever its backend is; dgl.ndarray alone does not.
    "import importlib, importlib.util, sys, types, numpy as np; "
    "from refarray.conformance.subjects.adapters import Sent; "
    "found = importlib.util.find_spec('dgl'); sys.modules['dgl'] = types.ModuleType('dgl'); "
    "sys.modules['dgl'].__path__ = list(found.submodule_search_locations); "
    "importlib.import_module('dgl.backend'); nd = importlib.import_module('dgl.ndarray'); "
    "sent = lambda x: Sent(x, 'to_dlpack'); take = lambda x: sent(nd.from_dlpack(x.__dlpack__()))",
    arrays=_of_numpy("sent(nd.array({}))", "plain", "one", "empty", "empty2"),
    big="sent(nd.array(np.ones({}, dtype=np.float32)))",
    dtype="sent(nd.array(np.ones(3, dtype='{}')))",
    dtypes=("int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64"),
    from_dlpack="take({})",
    through="numpy",
    carrier=True,
    array_api=False,
    takes_capsules=True,
    gives_capsules=True,
    note="both ways are bare legacy capsules",
)
DALI = Subject(
    "dali",
    "import numpy as np; from nvidia.dali import backend; "
    "take = lambda x: backend.TensorCPU(x.__dlpack__())",
    arrays=_of_numpy("backend.TensorCPU({})", *COMPACT),
    big="backend.TensorCPU(np.ones({}, dtype=np.float32))",
    dtype="backend.TensorCPU(np.ones(3, dtype='{}'))",
    dtypes=HOST,
    from_dlpack="take({})",
    distribution="nvidia-dali-cuda120",
    through="numpy",
    array_api=False,
    takes_capsules=True,
    note="its tensors share NumPy's memory; its import takes bare capsules",
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
    note="it has the buffer protocol, and no DLPack",
)
OTHERS = {
    subject.name: subject
    for subject in (CUPY, TVM, MPI4PY, TENSORFLOW, MXNET, DGL, DALI, MLX, MEMORYVIEW)
}
"""These adapters by the name that the command line takes."""
