"""Lets the linker bind symbols of the C library to versions that an old glibc has (docs/adr/0020).

A stub library has the name and the symbols of a library of glibc, each with the newest version that
the old glibc has. The linker takes it in place of the real one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: The glibc of manylinux_2_28.
LIMIT = (2, 28)
LIBRARIES = ("libc.so.6", "libm.so.6")
#: The release that moved these libraries' functions into libc.
MOVED = (2, 34)
#: Prefixes of those functions. An older glibc has them in the libraries named here.
OLD_HOMES = {"dl": "libdl.so.2", "pthread_": "libpthread.so.0", "sem_": "libpthread.so.0"}
#: What no version of an old glibc has, in C. The C++ library can do without a byte that says
#: whether the process has one thread, so that reference counts need not be atomic: with 0 they
#: always are. Before 2.33 programs had a stat() and fstat() of their own, which called functions
#: with the number of the struct's layout.
SHIM = """\
#include <sys/stat.h>
#if defined(__x86_64__)
#define LAYOUT 1
#else
#define LAYOUT 0
#endif
#define HIDDEN __attribute__((visibility("hidden")))
int __xstat(int layout, const char* path, struct stat* out);
int __fxstat(int layout, int file, struct stat* out);
HIDDEN char __libc_single_threaded = 0;
HIDDEN int stat(const char* path, struct stat* out) { return __xstat(LAYOUT, path, out); }
HIDDEN int fstat(int file, struct stat* out) { return __fxstat(LAYOUT, file, out); }
"""
#: What it calls: no program can be linked with these any more.
CALLED_BY_SHIM = ("__xstat", "__fxstat")

Version = tuple[int, ...]


def number(version: str) -> Version | None:
    """(2, 34) of "GLIBC_2.34"; None of others, such as GLIBC_PRIVATE."""
    found = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", version)
    return tuple(map(int, found[1].split("."))) if found else None


@dataclass(frozen=True)
class Stub:
    """A symbol to bind: its library, the version that it gets, and whether it is a variable."""

    symbol: str
    version: str
    library: str
    is_variable: bool = False


def home(symbol: str, default: Version, library: str) -> str:
    if default == MOVED:
        for prefix, old in OLD_HOMES.items():
            if symbol.startswith(prefix):
                return old
    return library


def stubs(listing: str, library: str, limit: Version = LIMIT) -> list[Stub]:
    """Every public symbol of a library with the newest of its versions up to `limit`. One that has
    only newer versions keeps its own, so that an audit names it.

    `listing`: what `nm -D --with-symbol-versions` prints of the library."""
    defaults: dict[str, tuple[Version, bool]] = {}
    older: dict[str, Version] = {}
    for kind, symbol, at, name in re.findall(
        r" ([A-Za-z]) (\S+?)(@@?)(\S+)$", listing, re.MULTILINE
    ):
        version = number(name)
        if version is None or kind == "A":  # A: the versions themselves
            continue
        if at == "@@" or symbol in CALLED_BY_SHIM:
            defaults[symbol] = version, kind in "BDGRSV"
        if version <= limit:
            older[symbol] = max(version, older.get(symbol, version))
    return [
        Stub(
            symbol,
            f"GLIBC_{'.'.join(map(str, older.get(symbol, default)))}",
            home(symbol, default, library) if symbol in older else library,
            is_variable,
        )
        for symbol, (default, is_variable) in sorted(defaults.items())
    ]


def assembly(wanted: Iterable[Stub]) -> str:
    lines = ['    .section .note.GNU-stack,"",%progbits', "    .text"]
    for index, stub in enumerate(wanted):
        lines += [
            f"    .globl stub_{index}",
            f"    .type stub_{index}, %{'object' if stub.is_variable else 'function'}",
            f"stub_{index}:",
            "    .byte 0",
            f"    .size stub_{index}, 1",
            f"    .symver stub_{index}, {stub.symbol}@@{stub.version}",
        ]
    return "\n".join([*lines, ""])


def version_script(wanted: Iterable[Stub]) -> str:
    names = sorted({stub.version for stub in wanted})
    return "".join(f"{name} {{ }};\n" for name in names)


def find(compiler: Sequence[str], library: str) -> Path:
    """The compiler's own copy of a library."""
    done = subprocess.run(
        [*compiler, f"-print-file-name={library}"], check=True, capture_output=True, text=True
    )
    path = Path(done.stdout.strip())
    if not path.is_absolute():
        raise SystemExit(f"{compiler[0]} has no {library}: wheels are built with glibc only")
    return path


def build_stub(compiler: Sequence[str], library: str, wanted: Sequence[Stub], folder: Path) -> Path:
    source, script = folder / f"{library}.s", folder / f"{library}.map"
    source.write_text(assembly(wanted), encoding="utf-8")
    script.write_text(version_script(wanted), encoding="utf-8")
    flags = ["-shared", "-nostdlib", f"-Wl,-soname,{library}", f"-Wl,--version-script,{script}"]
    subprocess.run([*compiler, *flags, source, "-o", folder / library], check=True)
    return folder / library


def link_libraries(
    compiler: Sequence[str],
    folder: Path,
    nm: str = "nm",
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """Builds the stubs in `folder`; returns what the linker needs before the C library."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Stub] = []
    for library in LIBRARIES:
        command = [nm, "-D", "--with-symbol-versions", find(compiler, library)]
        listing = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment
        ).stdout
        found += stubs(listing, library)
    shim = folder / "shim.c"
    shim.write_text(SHIM, encoding="utf-8")
    flags = ["-x", "c", "-O2", "-fPIC", "-fno-builtin", "-c"]
    subprocess.run([*compiler, *flags, shim, "-o", folder / "shim.o"], check=True)
    libraries = [
        build_stub(compiler, library, [stub for stub in found if stub.library == library], folder)
        for library in sorted({stub.library for stub in found})
    ]
    # --no-as-needed: also the archives after them, such as libstdc++.a, may need these libraries.
    keep = ["-Wl,--push-state,--no-as-needed", *map(str, libraries), "-Wl,--pop-state"]
    return [str(folder / "shim.o"), *keep]
