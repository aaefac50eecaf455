#!/usr/bin/env python3
"""Compiles the device kernels ahead of time: PTX for NVIDIA, a bundle of code objects for AMD.

`gpu_kernels.py` writes src/runtime/kernels/images, which the build embeds in the extension module.
`gpu_kernels.py --check` checks that the images match the sources and that ptxas assembles the PTX.
If clang 19 is installed, it also recompiles and compares.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "runtime" / "kernels" / "kernels.cu"
IMAGES = SOURCE.parent / "images"
PTX, BUNDLE, MANIFEST = "refarray.ptx", "refarray.hipfb", "manifest.json"

CLANG = "clang++-19"
PACKAGES = "clang-19 lld-19"
# Reproducible on every machine: an installed vendor toolkit is ignored. No fused multiply-add, so
# that conversions give the same bits as on the host. Everything is inlined, because calls would
# pass the parameters through slow local memory.
FLAGS = [
    *("--cuda-device-only", "-std=c++20", "-O3", "-ffp-contract=off"),
    *("-mllvm", "-inline-threshold=1000000"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unknown-cuda-version", "-Isrc", "-Iinclude"),
]
# The oldest target: drivers from CUDA 9 on accept it, and compile it for every later device.
NVIDIA = [
    *("-x", "cuda", "--cuda-gpu-arch=sm_60", "-nocudainc", "-nocudalib"),
    *("--cuda-path=/nonexistent", "--cuda-feature=+ptx60", "-S"),
]
AMD = [
    *("-x", "hip", "-nogpuinc", "-nogpulib", "-mcode-object-version=5"),
    *("-fuse-cuid=none", "--no-gpu-bundle-output"),  # otherwise objects differ between runs
]
ARCHITECTURES = (
    *("gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1031", "gfx1032"),
    *("gfx1100", "gfx1101", "gfx1102", "gfx1151", "gfx1200", "gfx1201"),
)
ALIGNMENT = 4096  # of code objects in the bundle: the HIP runtime reads at least this much at once

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources() -> list[Path]:
    """kernels.cu and all of our headers that it includes, directly or indirectly."""
    found, waiting = set(), [SOURCE]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            waiting += [root / name for root in (ROOT / "src", ROOT / "include")
                        if (root / name).is_file()]  # fmt: skip
    return sorted(found)


def fingerprint() -> str:
    """Hash of everything the images depend on, ignoring comments and whitespace."""
    digest = hashlib.sha256("\n".join((*FLAGS, *NVIDIA, *AMD, *ARCHITECTURES)).encode())
    for path in sources():
        code = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        digest.update(f"\n{path.relative_to(ROOT).as_posix()}\n{' '.join(code.split())}".encode())
    return digest.hexdigest()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(command: list[str | Path]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}exit status {done.returncode}: {command[0]}")
    return done.stdout


def compiler() -> str | None:
    """The compiler's version; None if it or its linker is not installed."""
    if shutil.which(CLANG) is None or shutil.which("ld.lld-19") is None:
        return None
    return run([CLANG, "--version"]).splitlines()[0]


def bundle(objects: dict[str, bytes]) -> bytes:
    """A clang offload bundle: hipModuleLoadData picks the code object for the device."""
    triples = ["host-x86_64-unknown-linux-gnu-"]
    triples += [f"hipv4-amdgcn-amd-amdhsa--{name}" for name in objects]
    contents = [b"", *objects.values()]
    magic = b"__CLANG_OFFLOAD_BUNDLE__"
    size = len(magic) + 8 + sum(24 + len(triple) for triple in triples)
    header, body = [magic, struct.pack("<Q", len(triples))], bytearray(size)
    for triple, content in zip(triples, contents, strict=True):
        body += bytes(-len(body) % ALIGNMENT)
        header += [struct.pack("<QQQ", len(body), len(content), len(triple)), triple.encode()]
        body += content
    body[:size] = b"".join(header)
    return bytes(body) + bytes(-len(body) % ALIGNMENT)


def entries(image: bytes) -> Iterator[tuple[str, bytes]]:
    """The entries of a bundle: (triple, code object)."""
    count = struct.unpack_from("<Q", image, 24)[0]
    at = 32
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", image, at)
        yield image[at + 24 : at + 24 + length].decode(), image[offset : offset + size]
        at += 24 + length


def compile_to(folder: Path, version: str) -> None:
    """Compile both images into `folder`, with the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    run([CLANG, *FLAGS, *NVIDIA, SOURCE, "-o", folder / PTX])
    objects = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in ARCHITECTURES:
            out = Path(scratch) / name
            run([CLANG, *FLAGS, *AMD, f"--offload-arch={name}", SOURCE, "-o", out])
            objects[name] = out.read_bytes()
    (folder / BUNDLE).write_bytes(bundle(objects))
    manifest = {
        "compiler": version,
        "sources": fingerprint(),
        PTX: sha256(folder / PTX),
        BUNDLE: sha256(folder / BUNDLE),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def stale() -> list[str]:
    """Problems of the images that can be found without compiling."""
    if not (IMAGES / MANIFEST).is_file():
        return [f"{IMAGES.relative_to(ROOT)} is missing: run `make gpu-kernels`"]
    manifest = json.loads((IMAGES / MANIFEST).read_text(encoding="utf-8"))
    found = []
    if manifest["sources"] != fingerprint():
        found.append(
            "the kernels have changed and their images have not: install "
            f"{PACKAGES} and run `make gpu-kernels`"
        )
    for name in (PTX, BUNDLE):
        if not (IMAGES / name).is_file() or manifest[name] != sha256(IMAGES / name):
            found.append(f"{name} does not match the manifest")
    return found


def ptxas() -> Path | None:
    """NVIDIA's assembler, from the wheel nvidia-cuda-nvcc or an installed toolkit."""
    wheels = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/*/bin/ptxas"))
    found = wheels[-1:] or [Path(path) for path in [shutil.which("ptxas")] if path is not None]
    if not found:
        return None
    if not found[0].stat().st_mode & 0o100:  # pip does not always keep the executable bit
        found[0].chmod(0o755)
    return found[0]


def assembled_for(tool: Path) -> list[str]:
    """All architectures that this assembler supports."""
    return sorted(set(re.findall(r"'(sm_\d+)'", run([tool, "--help"]))), key=lambda n: int(n[3:]))


def assemble(tool: Path, architecture: str) -> str:
    """Assembles the PTX and returns the assembler's statistics; exits if it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.cubin"
        command = [tool, "-v", f"-arch={architecture}", IMAGES / PTX, "-o", out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}ptxas cannot assemble {PTX} for {architecture}")
    return done.stderr


def check_assembly() -> None:
    tool = ptxas()
    if tool is None:
        print(
            "the PTX was not assembled: no ptxas found; `pip install nvidia-cuda-nvcc` installs it"
        )
        return
    architectures = assembled_for(tool)
    for architecture in architectures:
        spills = re.findall(r"(\d+) bytes spill stores", assemble(tool, architecture))
        if any(int(each) > 0 for each in spills):
            sys.exit(f"registers spill to local memory on {architecture}")
    print(f"{PTX} assembles for {', '.join(architectures)} without a spill")


def check() -> None:
    found = stale()
    if found:
        sys.exit("\n".join(found))
    print(f"the images match their {len(sources())} sources")
    check_assembly()
    version = compiler()
    manifest = json.loads((IMAGES / MANIFEST).read_text(encoding="utf-8"))
    if version is None:
        print(f"not recompiled: needs {CLANG} and its linker (Debian: {PACKAGES})")
        return
    if version != manifest["compiler"]:
        print(f"not compared: the images were made by {manifest['compiler']}, this is {version}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch)
        compile_to(again, version)
        different = [name for name in (PTX, BUNDLE, MANIFEST)
                     if (again / name).read_bytes() != (IMAGES / name).read_bytes()]  # fmt: skip
    if different:
        sys.exit(f"recompiled: {' and '.join(different)} differ")
    print(f"recompiled by {version}: identical")


def main(arguments: list[str]) -> None:
    if arguments == ["--check"]:
        check()
        return
    if arguments:
        sys.exit("usage: gpu_kernels.py [--check]")
    version = compiler()
    if version is None:
        sys.exit(f"compiling the kernels needs {CLANG} and its linker (Debian: {PACKAGES})")
    compile_to(IMAGES, version)
    sizes = ", ".join(f"{name} {(IMAGES / name).stat().st_size}" for name in (PTX, BUNDLE))
    print(f"{IMAGES.relative_to(ROOT)}: {sizes} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
