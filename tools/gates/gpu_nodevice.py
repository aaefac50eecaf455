#!/usr/bin/env python3
"""The gate `gpu-nodevice`: the vendors' own drivers without a device, and what we declare of their
binary interfaces against the vendors' own headers."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import debian
from common import ROOT, TESTS, build, environment, located, print_loaded, run, say

#: NVIDIA's driver is not free software: it is unpacked in a cache folder, and nothing of it is kept
#: in the repository. Its name has been the same since Debian 8.
CUDA, CUDA_COMPONENTS = "libcuda1", "non-free"
#: Debian 12 has HIP 5.2, Debian 13 has HIP 5.7, both under this name.
HIP, HIP_HEADERS = "libamdhip64-5", "libamdhip64-dev"


def packages() -> tuple[Path, Path]:
    """Where NVIDIA's and AMD's files were unpacked."""
    try:
        cuda = debian.unpacked([], [CUDA], CUDA_COMPONENTS)
        hip = debian.unpacked([HIP], [HIP_HEADERS], "main")
    except debian.Unavailable as error:
        sys.exit(f"the drivers' packages cannot be had: {error}")
    return cuda, hip


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name; there may be links to it beside it."""
    found = {path.resolve(): path for path in sorted(folder.rglob(pattern))}
    if len(found) != 1:
        sys.exit(f"{len(found)} files {pattern} in the package, not one: {sorted(found)}")
    return next(iter(found.values()))


def toolkit() -> Path:
    """The folder with cuda.h, of NVIDIA's wheel."""
    site = Path(sysconfig.get_path("purelib")) / "nvidia"
    headers = sorted(site.glob("*/include/cudaTypedefs.h"))
    if not headers:
        sys.exit(f"no cudaTypedefs.h in {site}: the extra 'headers' of pyproject.toml brings it")
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
        REAL_LIBHIP_FOLDER=str(library.parent),  # the libraries that it needs are there too
        CUDA_HOME=str(toolkit()),
        HIP_PATH=str(hip / "usr"),
    )
    print_loaded(folder, plain)
    say("NVIDIA's and AMD's own drivers, with no device; the vendors' own headers")
    run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(TESTS / "devices" / "driver" / "real_drivers.py", located("test_abi.py")),
        ],
        plain,
    )


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
