"""The tests of the array on i686: the extension, compiled for the distribution's CPython for i386,
which is unpacked and not installed. This machine's kernel runs it by its own loader."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import debian
from common import TESTS, build, dlpack_include, pip, quiet, run_pytest, say, tool
from compilers import Compiler
from windows import write_script
from zig import WORK

VERSION = "3.13"
#: The newest release of Debian with packages for i386, whose NumPy is new enough.
SUITE = "trixie"
PACKAGES = ("python3", "libpython3-dev", "python3-numpy", "libstdc++6")
#: Without a compiled part; the distribution's pytest is too old.
PURE = ("pytest", "pytest-xdist", "hypothesis", "packaging", "sybil")
FOLDERS = ("array", "dlpack", "interop", "files", "foreign", "ledger")
#: Tests of lengths and addresses beyond 2**31.
LONG = (
    *("arange_rejects", "asarray_rejects_invalid", "buffer_of_a_huge", "nbytes_of_a_huge"),
    *("sequence_item_returns", "sparse_and_growing", "strides_are_those_of"),
    "(test_asarray and nothing_leaks)",
    *("buffer-negative-min", "buffer-product", "buffer-bytes", "buffer-huge", "buffer-stride"),
    *("buffer-extent", "buffer-len", "buffer-empty-garbage", "buffer-as-bytes-len"),
    *("interface-56", "interface-69", "interface-false", "struct-13-wraps", "struct-extra"),
)
#: Tests that read the structs of 64 bits by ctypes, or know their sizes.
STRUCTS = (
    *("deletes_a_replaced_tensor", "getsizeof", "malformed_structs", "null_input", "null_output"),
    *("release_after_the_interpreter", "test_ways_out"),
)
#: Tests that compare with NumPy's default integer, which has 32 bits there, and its long double, or
#: need NumPy 2.2.5.
NUMPY = (
    *("copy_false_with_a_conversion", "nested_sequences_convert", "from_buffer_values"),
    *("from_buffer_rejects", "other_types_are_refused", "copy_on_write"),
)
#: The simulated drivers are for 64 bits.
DRIVERS = ("pending_device_work", "subinterpreters")
LEFT_OUT = (*LONG, *STRUCTS, *NUMPY, *DRIVERS)


def python(sysroot: Path) -> Path:
    """Writes a script beside the interpreter, which finds its own loader and libraries."""
    folder, libraries = sysroot / "usr" / "bin", sysroot / "usr" / "lib" / "i386-linux-gnu"
    path = folder / "python-i386"
    found = ":".join(str(libraries / name) for name in ("", "blas", "lapack"))
    loader = f'exec {libraries}/ld-linux.so.2 --argv0 "$0" --library-path {found}'
    write_script(path, loader, str(folder / f"python{VERSION}"))
    return path


def compiler_script(compiler: Compiler, sysroot: Path) -> Path:
    """Writes a script that compiles shared libraries with the headers of that CPython."""
    path = WORK / "i686" / "c++"
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = [each for each in compiler.flags if each != "-static"]
    write_script(path, "exec", str(compiler.path), *flags, f"-idirafter {sysroot}/usr/include")
    return path


def build_extension(compiler: Compiler, cxx: Path, sysroot: Path) -> Path:
    """Compiles the package, with its headers installed beside it; returns its folder."""
    headers = sysroot / "usr" / "include" / f"python{VERSION}"
    folder = build(
        "platforms/i686-python",
        options=[
            *compiler.options(),
            *("-DREFARRAY_PYTHON=ON", "-DREFARRAY_ANY_SYSTEM=ON", "-DREFARRAY_TESTS=OFF"),
            *(f"-DCMAKE_CXX_COMPILER={cxx}", "-DCMAKE_CXX_FLAGS=", "-DREFARRAY_LTO=OFF"),
            f"-DPython_INCLUDE_DIR={headers}",
        ],
    )
    package = folder / "python"
    install = [tool("cmake"), "--install", folder, "--prefix", package / "refarray"]
    quiet([*install, "--component", "refarray"])
    for module in list(package.rglob("*.so")):  # CMake may have taken another CPython's suffix
        module.rename(module.with_name(f"{module.name.partition('.')[0]}.so"))
    return package


def build_ml_dtypes(cxx: Path, sysroot: Path, site: Path) -> None:
    """Compiles ml_dtypes, which has no wheel for i686, from its sources."""
    work = WORK / "i686" / "ml_dtypes"
    shutil.rmtree(work, ignore_errors=True)
    no_wheel = ("--no-deps", "--no-binary=ml_dtypes")
    pip(sys.executable, "download", *no_wheel, "--dest", work, "ml_dtypes")
    (archive,) = work.glob("*.tar.gz")
    subprocess.run(["tar", "xf", archive], check=True, cwd=work)
    (sources,) = (path for path in work.iterdir() if path.is_dir())
    shutil.copytree(sources / "ml_dtypes", site / "ml_dtypes")
    places = [sources, sources / "third_party" / "eigen"]
    places.append(sysroot / "usr/lib/python3/dist-packages/numpy/_core/include")
    places.append(sysroot / "usr" / "include" / f"python{VERSION}")
    command = [cxx, "-std=c++17", "-O1", "-w", "-fPIC", "-shared"]
    command += [f"-I{path}" for path in places]
    command += sorted((sources / "ml_dtypes" / "_src").glob("*.cc"))
    quiet([*command, "-o", site / "ml_dtypes" / "_ml_dtypes_ext.so"])


def run_tests(compiler: Compiler) -> str:
    """Runs the tests of the array; returns pytest's last line."""
    sysroot = debian.unpacked([*PACKAGES], [], "main", architecture="i386", suite=SUITE)
    interpreter, cxx = python(sysroot), compiler_script(compiler, sysroot)
    package = build_extension(compiler, cxx, sysroot)
    site = WORK / "i686" / "site"
    shutil.rmtree(site, ignore_errors=True)
    where = ["--platform", "any", "--python-version", VERSION, "--implementation", "py"]
    where += ["--abi", "none", "--only-binary=:all:"]
    pip(sys.executable, "install", "--target", site, *where, *PURE)
    build_ml_dtypes(cxx, sysroot, site)
    say("i686: pytest")
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [package, site])),
        "DLPACK_INCLUDE_DIR": dlpack_include(),
        "CXX": str(cxx),
        "XDG_CACHE_HOME": str(WORK / "i686" / "cache"),
    }
    choice = f"not ({' or '.join(LEFT_OUT)})"
    options = ["--numprocesses=auto", "-k", choice, *(TESTS / name for name in FOLDERS)]
    return run_pytest(interpreter, WORK / "i686" / "pytest.log", variables, *options)
