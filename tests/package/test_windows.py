"""What the Python part of the package does on Windows, in processes that believe to run there."""

from __future__ import annotations

from pathlib import Path

from helpers.processes import printed

# What Windows lacks is gone; flags that only it has mean what they mean here.
BELIEVE = """
import mmap, os, sys
import multiprocessing.reduction, pathlib, subprocess
sys.platform = "win32"
os.O_BINARY, os.O_NOINHERIT = 0, os.O_CLOEXEC
for module, names in (
    (os, "O_CLOEXEC O_NONBLOCK O_NOCTTY pread fchmod memfd_create"),
    (mmap, "MAP_PRIVATE MAP_SHARED PROT_READ PROT_WRITE"),
):
    for name in names.split():
        delattr(module, name)
del multiprocessing.reduction.DupFd
"""


def test_long_has_32_bits() -> None:
    names = ["l", "long", "L", "ulong", "q", "longlong", "int", "int_"]
    code = f"{BELIEVE}\nimport refarray as ra\nprint(*(ra.DType(x).name for x in {names}))"
    assert printed(code).split() == ["int32"] * 2 + ["uint32"] * 2 + ["int64"] * 4


def test_files_are_mapped_and_replaced(tmp_path: Path) -> None:
    code = f"""{BELIEVE}
import refarray as ra
path = {str(tmp_path / "x.npy")!r}
for values in ([1, 2, 3], [4, 5, 6]):
    ra.save(path, ra.asarray(values))
    print(ra.open(path).tolist())
for mode in ("c", "r+", "r"):
    x = ra.open(path, mode=mode)
    if mode != "r":
        x[0] = 7 if mode == "c" else 8
        x.flush()
    print(x.tolist())
try:
    ra.open(path, sealed=True)
except BufferError as error:
    print(error)
"""
    assert printed(code).splitlines() == [
        *("[1, 2, 3]", "[4, 5, 6]", "[7, 5, 6]", "[8, 5, 6]", "[8, 5, 6]"),
        "sealed=True needs Linux: files in memory that can be sealed",
    ]


def test_shared_arrays_say_that_they_need_linux() -> None:
    code = f"""{BELIEVE}
import refarray._native
del refarray._native._shared_new
try:
    import refarray.shared
except ImportError as error:
    print(error)
"""
    assert printed(code).startswith("refarray.shared needs Linux")
