"""Imitations of JAX and tvm-ffi: classes whose methods have the names and the globals of the
libraries' own, by which from_dlpack() recognises them. Each call is recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_SOURCE = """
class {name}:
    def __init__(self, answer, device=(1, 0), platform="cpu"):
        self.answer, self.device, self.on, self.calls = answer, device, platform, []

    def __dlpack__(self, **keywords):
        self.calls.append(("__dlpack__", keywords))
        return self.answer(**keywords)

    def __dlpack_device__(self):
        self.calls.append(("__dlpack_device__", {{}}))
        return self.device

    def platform(self):
        self.calls.append(("platform", {{}}))
        return self.on
"""


class Imitation:
    """One library's module, made once: what from_dlpack() learns of it holds for the process."""

    def __init__(self, module: str, name: str) -> None:
        self.name = module
        self.module = ModuleType(module)
        exec(_SOURCE.format(name=name), vars(self.module))
        self.array: Any = getattr(self.module, name)

    @contextmanager
    def imported(self) -> Iterator[Any]:
        """The class, while sys.modules has the imitation in the place of the library."""
        before = sys.modules.get(self.name)
        sys.modules[self.name] = self.module
        try:
            yield self.array
        finally:
            if before is None:
                del sys.modules[self.name]
            else:
                sys.modules[self.name] = before


JAX = Imitation("jax._src.array", "ArrayImpl")
TVM = Imitation("tvm_ffi.core", "Tensor")
