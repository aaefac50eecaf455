"""Facts about this build of the package, and the location of its C++ headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refarray import _native


def build_info() -> dict[str, str | bool]:
    """Return how this package was built.

    version: the version of refarray.
    compiler, build_type: those of the native module.
    abi: the Python ABI, as in wheel tags.
    dlpack, dlpack_source: the version and the origin of the dlpack.h used.
    free_threading: whether the native module supports running without a GIL.
    isa: the instruction set of the copy kernels in use; REFARRAY_ISA selects another.
    isas: the instruction sets that this processor supports, best first.
    """
    info: dict[str, Any] = _native._build_info()
    return {**info, "dlpack": ".".join(map(str, info["dlpack"])), "isas": ", ".join(info["isas"])}


def get_include() -> str:
    """Return the folder of refarray's C++ headers and dlpack.h, for a compiler's -I option.

    Raises FileNotFoundError if this build did not install them: after a plain CMake build, use the
    `include` folder of the source tree.
    """
    return _installed("include", "headers")


def get_cmake_dir() -> str:
    """Return the folder of refarrayConfig.cmake, for CMake's -Drefarray_DIR= option.

    `find_package(refarray CONFIG)` then defines the target `refarray::refarray`. Builds by
    scikit-build-core find the package without the option.
    Raises FileNotFoundError if this build did not install it.
    """
    return _installed("share/cmake/refarray", "CMake package")


def get_pkgconfig_dir() -> str:
    """Return the folder of refarray.pc, for the environment variable PKG_CONFIG_PATH.

    Raises FileNotFoundError if this build did not install it.
    """
    return _installed("share/pkgconfig", "pkg-config file")


def _installed(name: str, contents: str) -> str:
    for module in (_native.__file__, __file__):
        folder = Path(module).resolve().parent / name
        if folder.is_dir():
            return str(folder)
    raise FileNotFoundError(
        f"no {contents} next to {_native.__file__}: this build of refarray did not install them"
    )
