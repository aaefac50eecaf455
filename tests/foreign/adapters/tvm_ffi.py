"""tvm-ffi's tests with refarray's arrays in the place of NumPy's and PyTorch's: from_dlpack, and
function calls through refarray's exchange table."""

from __future__ import annotations

import inspect
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import tvm_ffi  # noqa: F401 - before the stand-in for PyTorch below

import refarray
from foreign import exchanges

DATA_POINTER = re.compile(r"([\w.\[\]\"']+)\.(?:data_ptr\(\)|ctypes\.data)")
MAKERS = ("zeros", "ones", "arange", "array", "asarray", "empty")


def address(x: Any) -> int:
    """The address of the first element of an array of refarray or of tvm-ffi."""
    if not isinstance(x, refarray.Array):
        return int(x.data_ptr())
    found: int = x.__array_interface__["data"][0]
    return found


def made(function: Any) -> Any:
    def make(*arguments: Any, **keywords: Any) -> refarray.Array:
        exchanges.note()
        array: refarray.Array = function(*arguments, **keywords)
        return array

    return make


class Torch(ModuleType):
    """Stands for PyTorch in tests that call tvm-ffi's functions with its tensors."""

    Tensor = refarray.Array
    arange = staticmethod(made(refarray.arange))
    zeros = staticmethod(made(refarray.zeros))
    tensor = staticmethod(made(refarray.asarray))
    float32, int32, int64 = "float32", "int32", "int64"
    cuda = SimpleNamespace(is_available=lambda: False)
    version = SimpleNamespace(hip=None, cuda=None)


# Before the tests are imported, and after tvm-ffi, which would use PyTorch itself.
sys.modules["torch"] = Torch("torch")
sys.modules["torch.version"] = ModuleType("torch.version")


def substitute(module: ModuleType, side: str) -> None:
    """Compiles each test that takes the address of its data again, with address() in that place."""
    makers = {name: exchanges.made_by(getattr(np, name)) for name in MAKERS}
    module.np = exchanges.Namespace(np, **makers)
    names = vars(module)
    names.update(address=address)
    for name, test in list(names.items()):
        if name.startswith("test_") and inspect.isfunction(test):
            source = inspect.getsource(test)
            code = compile(
                DATA_POINTER.sub(r"address(\1)", source), test.__code__.co_filename, "exec"
            )
            exec(code, names)
