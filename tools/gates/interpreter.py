#!/usr/bin/env python3
"""Builds a free-threaded CPython from the distribution's own source package, plain or under TSAN,
and keeps it in a cache folder."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSION = "3.13"
SUITE = "trixie"  # the Debian release whose source package has that version
FLAVOURS = {"plain": [], "tsan": ["--with-thread-sanitizer"]}
CONFIGURE = ["--disable-gil", "--with-ensurepip=no"]
SOURCES = Path("/etc/apt/sources.list.d")
PROBE = "import sys; sys.exit(sys._is_gil_enabled())"


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "refarray-tests" / "free-threaded"


def one_line_sources() -> Iterator[tuple[str, str, str]]:
    """(address, suite, options) of `deb [options] address suite components` lines."""
    for path in [SOURCES.parent / "sources.list", *SOURCES.glob("*.list")]:
        if not path.is_file():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)", line):
                yield found[2], found[3], found[1] or ""


def stanza_sources() -> Iterator[tuple[str, str, str]]:
    """The same of deb822 files."""
    for path in SOURCES.glob("*.sources"):
        for stanza in path.read_text(encoding="utf-8").split("\n\n"):
            lines = (line for line in stanza.splitlines() if not line.lstrip().startswith("#"))
            fields = dict(line.split(":", 1) for line in lines if re.match(r"[\w-]+:", line))
            if "URIs" in fields and "Suites" in fields:
                signer = fields.get("Signed-By", "").strip()
                for suite in fields["Suites"].split():
                    yield fields["URIs"].split()[0], suite, f"signed-by={signer}" if signer else ""


def mirror() -> tuple[str, str]:
    """Where this machine's own packages come from, and the options of that line."""
    release = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )
    codename = release.get("VERSION_CODENAME", "").strip('"')
    if release.get("ID", "").strip('"') == "debian":
        for address, suite, options in [*stanza_sources(), *one_line_sources()]:
            if suite == codename:
                return address, options
    raise SystemExit(
        "No Debian source package can be had on this machine: give a free-threaded interpreter "
        "with FREETHREADED=PATH"
    )


def fetch(work: Path) -> Path:
    """The unpacked upstream sources; apt runs with folders of its own and changes no system
    state."""
    address, options = mirror()
    listed = work / "apt" / "sources.list"
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / "apt" / folder).mkdir(parents=True, exist_ok=True)
    listed.write_text(f"deb-src [{options}] {address} {SUITE} main\n", encoding="utf-8")
    (work / "apt" / "status").touch()
    apt = ["apt-get", "-qq", "-o", "APT::Sandbox::User=", "-o", f"Dir::Etc::sourcelist={listed}"]
    apt += ["-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={work}/apt/lists"]
    apt += ["-o", f"Dir::Cache={work}/apt/cache", "-o", f"Dir::State::status={work}/apt/status"]
    subprocess.run([*apt, "update"], check=True, cwd=work)
    source = [*apt, "source", "--download-only", f"python{VERSION}"]
    subprocess.run(source, check=True, cwd=work, stdout=subprocess.DEVNULL)
    (archive,) = work.glob("*.orig.tar.xz")
    subprocess.run(["tar", "xf", archive], check=True, cwd=work)
    (unpacked,) = work.glob("Python-*")
    return unpacked


def build(flavour: str, prefix: Path, byte_compiler: Path | None) -> None:
    """Configures, compiles, installs. Under TSAN, compiling the library to byte code takes longer
    than all the rest: `byte_compiler`, of the same version, does it instead."""
    work = prefix.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    say(f"a free-threaded CPython {VERSION} ({flavour}), from the source package: some minutes")
    unpacked = fetch(work)
    tree, log = work / "build", work / "log"
    tree.mkdir()
    steps = [
        [unpacked / "configure", f"--prefix={prefix}", *CONFIGURE, *FLAVOURS[flavour]],
        ["make", "-j2"],
        # It would try the modules in the other interpreter, and set aside what that cannot load.
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Several runs may want the same interpreter at once: one builds, the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def interpreter(flavour: str) -> Path:
    """A free-threaded interpreter whose GIL is off; made when there is none yet."""
    given = os.environ.get("FREETHREADED")
    if given and flavour == "plain":
        python = Path(shutil.which(given) or given)
    else:
        recipe = repr((VERSION, SUITE, CONFIGURE, FLAVOURS[flavour]))
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        prefix = cache_folder() / f"{flavour}-{digest}"
        python = prefix / "bin" / f"python{VERSION}t"
        byte_compiler = interpreter("plain") if flavour == "tsan" else None
        with locked(prefix.with_suffix(".lock")):
            if not (prefix / "ready").is_file():
                build(flavour, prefix, byte_compiler)
    if subprocess.run([python, "-c", PROBE], check=False).returncode != 0:
        raise SystemExit(f"{python} is not a free-threaded interpreter with its GIL off")
    return python


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour", choices=FLAVOURS)
    print(interpreter(parser.parse_args().flavour))
