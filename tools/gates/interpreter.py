#!/usr/bin/env python3
"""Builds a free-threaded CPython from the distribution's source package, plain or with TSAN, and
caches it."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import debian

VERSION = "3.13"
SUITE = "trixie"  # the Debian release with that version
FLAVOURS = {"plain": [], "tsan": ["--with-thread-sanitizer"]}
CONFIGURE = ["--disable-gil", "--with-ensurepip=no"]
PROBE = "import sys; sys.exit(sys._is_gil_enabled())"


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def cache_folder() -> Path:
    return debian.cache_folder("free-threaded")


def fetch(work: Path) -> Path:
    """Downloads and unpacks the upstream sources; returns their folder."""
    try:
        apt = debian.Apt(work / "apt", suite=SUITE, kind="deb-src")
        apt.run("source", "--download-only", f"python{VERSION}", cwd=work)
    except debian.Unavailable as error:
        raise SystemExit(
            f"{error}\nset FREETHREADED=PATH to a free-threaded interpreter"
        ) from error
    (archive,) = work.glob("*.orig.tar.xz")
    subprocess.run(["tar", "xf", archive], check=True, cwd=work)
    (unpacked,) = work.glob("Python-*")
    return unpacked


def build(flavour: str, prefix: Path, byte_compiler: Path | None) -> None:
    """Configures, compiles and installs.

    `byte_compiler`, an interpreter of the same version, compiles the library to byte code; under
    TSAN that takes longer than all the rest.
    """
    work = prefix.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    say(f"a free-threaded CPython {VERSION} ({flavour}), from source: some minutes")
    unpacked = fetch(work)
    tree, log = work / "build", work / "log"
    tree.mkdir()
    steps = [
        [unpacked / "configure", f"--prefix={prefix}", *CONFIGURE, *FLAVOURS[flavour]],
        ["make", "-j2"],
        # PYTHON_FOR_BUILD=true skips the import check, which would run in the other interpreter.
        ["make", "install", *([] if byte_compiler is None else ["PYTHON_FOR_BUILD=true"])],
    ]
    if byte_compiler is not None:
        library = prefix / "lib" / f"python{VERSION}t"
        steps.append([byte_compiler, "-m", "compileall", "-q", "-x", r"/test/", library])
    with log.open("wb") as output:
        for step in steps:
            done = subprocess.run(step, cwd=tree, stdout=output, stderr=output, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{shlex.join(map(str, step))} failed; see {log}")
    shutil.rmtree(work)
    (prefix / "ready").touch()


def interpreter(flavour: str) -> Path:
    """Returns a free-threaded interpreter with its GIL off; builds it if necessary."""
    given = os.environ.get("FREETHREADED")
    if given and flavour == "plain":
        python = Path(shutil.which(given) or given)
    else:
        recipe = repr((VERSION, SUITE, CONFIGURE, FLAVOURS[flavour]))
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        prefix = cache_folder() / f"{flavour}-{digest}"
        python = prefix / "bin" / f"python{VERSION}t"
        byte_compiler = interpreter("plain") if flavour == "tsan" else None
        with debian.locked(prefix.with_suffix(".lock")):
            if not (prefix / "ready").is_file():
                build(flavour, prefix, byte_compiler)
    if subprocess.run([python, "-c", PROBE], check=False).returncode != 0:
        raise SystemExit(f"{python} is not a free-threaded interpreter with its GIL off")
    return python


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour", choices=FLAVOURS)
    print(interpreter(parser.parse_args().flavour))
