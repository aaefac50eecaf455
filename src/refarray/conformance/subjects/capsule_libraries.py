"""Adapters of libraries that exchange bare capsules, and the checks that do not apply to them."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import Check
from refarray.conformance.requirements import Role
from refarray.conformance.subjects.subject import CONTIGUOUS, DTYPES, Subject, of_numpy

CAPSULE_FAMILIES = {"ABI", "DTYPE", "TENS", "LIFE"}
"""Requirement families that apply to a library that exchanges bare capsules."""
CAPSULE_IMPORT = {
    *("VERS-02", "VERS-03", "VERS-08", "VERS-11", "CONS-05", "CONS-06", "CONS-07", "CONS-12"),
    *("DEV-07", "DEV-10", "DEV-11", "FLAG-11"),
}
"""Further requirements that apply to the import of a capsule."""


class CapsuleProducer:
    """Adds the protocol's methods to an array whose library exports legacy capsules by the method
    named `method`."""

    def __init__(self, array: Any, method: str) -> None:
        self.array = array
        self.method = method

    def __getattr__(self, name: str) -> Any:
        """Forwards shape, dtype and other attributes to the array."""
        return getattr(self.array, name)

    def __repr__(self) -> str:
        return repr(self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> object:
        """The legacy capsule for any `max_version`. BufferError for a copy, a device or a
        stream."""
        if copy is True or dl_device not in {None, (1, 0)} or stream not in {None, -1}:
            raise BufferError("the library exports legacy capsules only: no copy, device or stream")
        capsule: object = getattr(self.array, self.method)()
        return capsule


def find_excuse(subject: Subject, check: Check) -> str:
    """The reason why a check does not apply to a library that exchanges bare capsules; empty if it
    applies."""
    family = check.id.partition("-")[0]
    if check.role is Role.CONSUMER and subject.takes_capsules:
        if family not in CAPSULE_FAMILIES and check.id not in CAPSULE_IMPORT:
            return f"{subject.name} takes bare capsules: its caller negotiates with the producer"
    elif (
        check.role is not Role.CONSUMER
        and subject.gives_capsules
        and family not in CAPSULE_FAMILIES
    ):
        return f"{subject.name} exports bare capsules: it has no __dlpack__ to call"
    return ""


SENT = (
    "sent = lambda x: type('Sent', (), {{'__dlpack__': lambda _, **k: x.{}(), "
    "'__dlpack_device__': lambda _: (1, 0)}})()"
)
"""An object with the protocol's methods, for repros; `{}` is the method that exports."""
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
    note="its from_dlpack takes capsules",
)
MXNET = Subject(
    "mxnet",
    "import mxnet as mx; "
    "from refarray.conformance.subjects.capsule_libraries import CapsuleProducer; "
    "sent = lambda x: CapsuleProducer(x, 'to_dlpack_for_read'); "
    "take = lambda x: sent(mx.nd.from_dlpack(x.__dlpack__()))",
    alone="import mxnet as mx; take = lambda x: mx.nd.from_dlpack(x.__dlpack__()).asnumpy()\n"
    + SENT.format("to_dlpack_for_read"),
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
    note="imports and exports legacy capsules",
)
# dgl/__init__ imports PyTorch for every backend; dgl.ndarray does not.
DGL_NDARRAY = (
    "import importlib, importlib.util, sys, types, numpy as np; "
    "found = importlib.util.find_spec('dgl'); sys.modules['dgl'] = types.ModuleType('dgl'); "
    "sys.modules['dgl'].__path__ = list(found.submodule_search_locations); "
    "importlib.import_module('dgl.backend'); nd = importlib.import_module('dgl.ndarray'); "
)
DGL = Subject(
    "dgl",
    f"{DGL_NDARRAY}from refarray.conformance.subjects.capsule_libraries import CapsuleProducer; "
    "sent = lambda x: CapsuleProducer(x, 'to_dlpack'); "
    "take = lambda x: sent(nd.from_dlpack(x.__dlpack__()))",
    alone=f"{DGL_NDARRAY}take = lambda x: nd.from_dlpack(x.__dlpack__())\n"
    + SENT.format("to_dlpack"),
    arrays=of_numpy("sent(nd.array({}))", "plain", "one", "empty", "empty2"),
    big="sent(nd.array(np.ones({}, dtype=np.float32)))",
    dtype="sent(nd.array(np.ones(3, dtype='{}')))",
    dtypes=("int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64"),
    from_dlpack="take({})",
    through="numpy",
    carrier=True,
    array_api=False,
    takes_capsules=True,
    gives_capsules=True,
    note="imports and exports legacy capsules",
)
DALI = Subject(
    "dali",
    "import numpy as np; from nvidia.dali import backend; "
    "take = lambda x: backend.TensorCPU(x.__dlpack__())",
    arrays=of_numpy("backend.TensorCPU({})", *CONTIGUOUS),
    big="backend.TensorCPU(np.ones({}, dtype=np.float32))",
    dtype="backend.TensorCPU(np.ones(3, dtype='{}'))",
    dtypes=DTYPES[:11],
    values="np.array({}).tolist()",
    from_dlpack="take({})",
    distribution="nvidia-dali-cuda120",
    through="numpy",
    array_api=False,
    takes_capsules=True,
    note="its tensors share NumPy's memory; its import takes capsules",
)
CAPSULE_LIBRARIES = {subject.name: subject for subject in (TENSORFLOW, MXNET, DGL, DALI)}
"""The adapters by the name that the command line takes."""
