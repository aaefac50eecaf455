"""Downloads and unpacks distribution packages without installing them. apt runs with its own state
folders and does not modify the system; unpacked files are cached."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

SOURCES = Path("/etc/apt/sources.list.d")


class Unavailable(Exception):
    """The reason why a package is unavailable on this machine."""


def one_line_sources() -> Iterator[tuple[str, str, str]]:
    """Yields (address, suite, options) of `deb [options] address suite components` lines."""
    for path in [SOURCES.parent / "sources.list", *SOURCES.glob("*.list")]:
        if not path.is_file():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)", line):
                yield found[2], found[3], found[1] or ""


def stanza_sources() -> Iterator[tuple[str, str, str]]:
    """Yields the same from deb822 files."""
    for path in SOURCES.glob("*.sources"):
        for stanza in path.read_text(encoding="utf-8").split("\n\n"):
            lines = (line for line in stanza.splitlines() if not line.lstrip().startswith("#"))
            fields = dict(line.split(":", 1) for line in lines if re.match(r"[\w-]+:", line))
            if "URIs" in fields and "Suites" in fields:
                signer = fields.get("Signed-By", "").strip()
                for suite in fields["Suites"].split():
                    yield fields["URIs"].split()[0], suite, f"signed-by={signer}" if signer else ""


def mirror() -> tuple[str, str, str]:
    """Returns this machine's package mirror, the options of its source line, and the release."""
    release = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )
    codename = release.get("VERSION_CODENAME", "").strip('"')
    if release.get("ID", "").strip('"') == "debian":
        for address, suite, options in [*stanza_sources(), *one_line_sources()]:
            if suite == codename:
                return address, options, codename
    raise Unavailable("this machine does not run Debian, or apt has no source for its release")


class Apt:
    """apt with its own lists and cache, for one suite of this machine's mirror."""

    def __init__(
        self,
        folder: Path,
        *,
        suite: str = "",
        kind: str = "deb",
        components: str = "main",
        architecture: str = "",
        bare: bool = False,
    ) -> None:
        """`bare`: no package counts as installed."""
        address, options, codename = mirror()
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        listed = folder / "sources.list"
        line = f"{kind} [{options}] {address} {suite or codename} {components}\n"
        listed.write_text(line, encoding="utf-8")
        places = {
            "APT::Sandbox::User": "",
            "Dir::Etc::sourcelist": listed,
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": folder / "lists",
            "Dir::Cache": folder / "cache",
        }
        if bare:
            (folder / "status").touch()
            places["Dir::State::status"] = folder / "status"
        if architecture:
            places |= {"APT::Architecture": architecture, "APT::Architectures": architecture}
        pairs = [f"{name}={value}" for name, value in places.items()]
        self.archives = folder / "cache" / "archives"
        self.options = [word for pair in pairs for word in ("-o", pair)]
        self.run("update", cwd=folder)

    def run(self, *arguments: str, cwd: Path) -> None:
        command = ["apt-get", "-qq", *self.options, *arguments]
        try:
            done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise Unavailable("apt-get was not found") from error
        if done.returncode != 0:
            raise Unavailable(f"apt-get {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a file lock, so that one of several concurrent runs builds and the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def cache_folder(name: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "refarray-tests" / name


def unpacked(
    with_needs: Sequence[str],
    alone: Sequence[str],
    components: str,
    architecture: str = "",
    suite: str = "",
) -> Path:
    """Returns a folder with the files of packages, without installing them: those of `with_needs`
    with their missing dependencies, those of `alone` without. Of another `architecture` or release
    (`suite`), all dependencies are missing. Raises Unavailable."""
    bare = bool(architecture or suite)
    recipe = repr((with_needs, alone, components, architecture, suite, mirror()))
    prefix = cache_folder("debian") / hashlib.sha256(recipe.encode()).hexdigest()[:12]
    with locked(prefix.with_suffix(".lock")):
        if not (prefix / "ready").is_file():
            work = prefix.with_suffix(".work")
            shutil.rmtree(work, ignore_errors=True)
            apt = Apt(
                work, suite=suite, components=components, architecture=architecture, bare=bare
            )
            # --reinstall downloads the package even if it is installed.
            install = ["install", "--download-only", "--no-install-recommends", "-y"]
            if not bare:
                install.append("--reinstall")
            if with_needs:
                apt.run(*install, *with_needs, cwd=work)
            if alone:
                apt.run("download", *alone, cwd=apt.archives)
            shutil.rmtree(prefix, ignore_errors=True)
            for package in sorted(apt.archives.glob("*.deb")):
                subprocess.run(["dpkg-deb", "--extract", package, prefix], check=True)
            shutil.rmtree(work)
            (prefix / "ready").touch()
    return prefix
