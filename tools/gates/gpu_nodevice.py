#!/usr/bin/env python3
"""The gate `gpu-nodevice`: the vendors' real drivers without a device, and our declarations of
their binary interfaces against the vendors' headers."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import debian
from common import PYTEST, ROOT, TESTS, build, environment, located, print_loaded, run, say

#: NVIDIA's driver is not free software: it is unpacked in a cache folder and never stored in the
#: repository. The package name has not changed since Debian 8.
CUDA, CUDA_COMPONENTS = "libcuda1", "non-free"
#: Debian 12 has HIP 5.2, Debian 13 has HIP 5.7, both under this name.
HIP, HIP_HEADERS = "libamdhip64-5", "libamdhip64-dev"


def packages() -> tuple[Path, Path]:
    """Returns the folders of the unpacked NVIDIA and AMD packages."""
    try:
        cuda = debian.unpacked([], [CUDA], CUDA_COMPONENTS)
        hip = debian.unpacked([HIP], [HIP_HEADERS], "main")
    except debian.Unavailable as error:
        sys.exit(f"the driver packages are unavailable: {error}")
    return cuda, hip


def only(folder: Path, pattern: str) -> Path:
    """Returns the only file that matches; symbolic links to it do not count."""
    found = {path.resolve(): path for path in sorted(folder.rglob(pattern))}
    if len(found) != 1:
        sys.exit(f"{len(found)} files {pattern} in the package, not one: {sorted(found)}")
    return next(iter(found.values()))


def toolkit() -> Path:
    """Returns the folder of NVIDIA's wheel with cuda.h."""
    site = Path(sysconfig.get_path("purelib")) / "nvidia"
    headers = sorted(site.glob("*/include/cudaTypedefs.h"))
    if not headers:
        sys.exit(f"no cudaTypedefs.h in {site}: install the group 'headers' of pyproject.toml")
    return headers[-1].parent.parent


def main() -> None:
    folder = build("gpu-nodevice", options=["-DREFARRAY_TESTS=OFF"])
    cuda, hip = packages()
    library = only(hip, "libamdhip64.so.5*")
    plain = environment(
        folder,
        XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        REAL_LIBCUDA=str(only(cuda, "libcuda.so.1*")),
        REAL_LIBHIP=str(library),
        REAL_LIBHIP_FOLDER=str(library.parent),  # also has its dependencies
        CUDA_HOME=str(toolkit()),
        HIP_PATH=str(hip / "usr"),
    )
    print_loaded(folder, plain)
    say("the real NVIDIA and AMD drivers without a device; the vendors' headers")
    real = TESTS / "devices" / "driver" / "real_drivers.py"
    run([*PYTEST, real, located("test_abi.py")], plain)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
