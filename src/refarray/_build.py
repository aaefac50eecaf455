"""Owns what can be said about this build of the package, and where its headers are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refarray import _native


def build_info() -> dict[str, str | bool]:
    """How this package was built.

    version, compiler, build_type, abi (Python's, as in wheel tags), dlpack (the version of the
    header it was built with), dlpack_source (where that header came from), free_threading, isa (the
    instruction set whose kernels copies use; REFARRAY_ISA chooses another) and isas (all that this
    processor runs, best first).
    """
    info: dict[str, Any] = _native._build_info()
    return {**info, "dlpack": ".".join(map(str, info["dlpack"])), "isas": ", ".join(info["isas"])}


def get_include() -> str:
    """The folder of refarray's C++ headers and of dlpack.h, for a compiler's -I.

    Raises FileNotFoundError in a build that did not install them (a plain CMake build: use its
    sources' `include`).
    """
    for module in (_native.__file__, __file__):
        folder = Path(module).resolve().parent / "include"
        if folder.is_dir():
            return str(folder)
    raise FileNotFoundError(
        f"no headers beside {_native.__file__}: this build of refarray did not install them"
    )
