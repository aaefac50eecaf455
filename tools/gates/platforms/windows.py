"""What Windows has and this machine lacks: the headers and the import library of CPython's stable
ABI, from the distribution's source package; wine, which runs programs; what a module may need."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import debian
from common import output, quiet, say
from musl_python import SOURCES, VERSION, fetch
from zig import llvm, zig

#: Without what shows windows and plays sounds.
WINE = ["wine64", "libwine", "libunwind8", "libz-mingw-w64"]
#: The libraries that a module may need: all that begin so are parts of Windows 10 and newer.
SYSTEM = re.compile(r"(?:kernel32|ntdll|api-ms-win-[\w-]+)\.dll", re.IGNORECASE)
EXPORT = re.compile(r"^EXPORT_(FUNC|DATA)\((\w+)\)", re.MULTILINE)


def write_import_library(names: list[tuple[str, str]], prefix: Path) -> None:
    """Writes python3.lib, by which modules find the functions and objects of python3.dll."""
    lines = [f"{name} DATA" if kind == "DATA" else name for kind, name in names]
    definition = prefix / "python3.def"
    text = "\n".join(["LIBRARY python3.dll", "EXPORTS", *lines, ""])
    definition.write_text(text, encoding="utf-8")
    command = [zig(), "dlltool", "-m", "i386:x86-64", "-d", definition]
    subprocess.run([*command, "-l", prefix / "python3.lib"], check=True)


def python() -> Path:
    """A folder with `include` and `python3.lib`, as CPython for Windows has them."""
    recipe = repr((VERSION, SOURCES))
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
    prefix = debian.cache_folder("windows") / digest
    with debian.locked(prefix.with_suffix(".lock")):
        if not (prefix / "ready").is_file():
            say(f"CPython {VERSION}'s headers for Windows, from its sources")
            work = prefix.with_suffix(".work")
            for folder in (work, prefix):
                shutil.rmtree(folder, ignore_errors=True)
            work.mkdir(parents=True)
            sources = fetch(f"python{VERSION}", work)
            shutil.copytree(sources / "Include", prefix / "include")
            (configuration,) = (sources / "PC").glob("pyconfig.h*")
            shutil.copyfile(configuration, prefix / "include" / "pyconfig.h")
            names = EXPORT.findall((sources / "PC" / "python3dll.c").read_text(encoding="utf-8"))
            write_import_library(names, prefix)
            shutil.rmtree(work)
            (prefix / "ready").touch()
    return prefix


def write_script(path: Path, *words: str) -> None:
    path.write_text(f'#!/bin/sh\n{" ".join(words)} "$@"\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def wine() -> Path:
    """The packages of wine. Their own script of the server names the folder of an installation."""
    packages = debian.unpacked([], WINE, "main") / "usr"
    folder = packages / "lib" / "wine"
    write_script(folder / "wineserver", f"exec '{folder}/wineserver64' -p0")  # ends with the last
    return packages


def write_launcher(folder: Path) -> Path:
    """Writes a script that runs a program by wine, in a Windows of its own below `folder`."""
    packages = wine()
    libraries = packages / "lib" / "x86_64-linux-gnu"
    variables = {
        "WINEPREFIX": folder / "wine",
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "WINEDLLPATH": libraries / "wine",
        "LD_LIBRARY_PATH": libraries,
    }
    words = [f"{name}='{value}'" for name, value in variables.items()]
    script = folder / "wine.sh"
    write_script(script, *words, f"exec '{packages}/lib/wine/wine64'")
    make_windows(script, folder / "wine", packages / "x86_64-w64-mingw32" / "lib" / "zlib1.dll")
    return script


def make_windows(script: Path, folder: Path, zlib: Path) -> None:
    """The first program makes it; wine's user32.dll needs zlib, and may wait for it for ever."""
    say("wine: a Windows for the tests")
    shutil.rmtree(folder, ignore_errors=True)
    system = folder / "drive_c" / "windows" / "system32"
    system.mkdir(parents=True)
    shutil.copy(zlib, system)
    subprocess.run(
        [script, r"C:\windows\system32\cmd.exe", "/c", "exit"],
        check=True,
        timeout=300,
        stdout=subprocess.DEVNULL,  # what it starts would keep a pipe open
        stderr=subprocess.DEVNULL,
    )


#: Loads modules, given by their paths; ends with the number of the first that has no entry point.
LOADER = """
#include <stdio.h>
#include <string.h>
#include <windows.h>
int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    char entry[99] = "PyInit_";
    const char* name = strrchr(paths[i], '/') + 1;
    strncat(entry, name, strcspn(name, "."));
    HMODULE module = LoadLibraryA(paths[i]);
    if (module == NULL || GetProcAddress(module, entry) == NULL) {
      printf("%s: error %lu\\n", name, GetLastError());
      return i;
    }
  }
  return 0;
}
"""


def load(modules: list[Path], compiler: str, launcher: Path) -> None:
    """Loads the modules by wine: their libraries are found, and what runs then does not fail. There
    is no Python: python3.dll is made of its names, and does nothing."""
    folder = launcher.parent / "loading"
    folder.mkdir(exist_ok=True)
    lines = (python() / "python3.def").read_text(encoding="utf-8").splitlines()[2:]
    declared = (
        f"void* {name};" if kind else f"void {name}(void) {{}}"
        for name, _, kind in (line.partition(" ") for line in lines)
    )
    exported = "\n".join(f"__declspec(dllexport) {each}" for each in declared)
    for name, text, options in (
        ("python3.dll", exported, "-shared"),
        ("loader.exe", LOADER, "-O1"),
    ):
        source = (folder / name).with_suffix(".c")
        source.write_text(text, encoding="utf-8")
        words = [*shlex.split(compiler), options, "-w", source, "-o", folder / name]
        subprocess.run(words, check=True)
    quiet([launcher, folder / "loader.exe", *modules])
    say(f"loaded under wine: {', '.join(each.name for each in modules)}")


def audit(module: Path) -> None:
    """Fails if a module exports more than its entry point, or needs a library that is neither
    CPython's stable ABI nor a part of Windows."""
    read = [*llvm("llvm-readobj"), module]
    exported = set(re.findall(r"^\s*Name: (\w+)$", output([*read, "--coff-exports"]), re.MULTILINE))
    if exported != {entry := f"PyInit_{module.stem}"}:
        sys.exit(f"{module.name} exports {', '.join(sorted(exported ^ {entry}))}")
    table = output([*read, "--coff-imports"])
    libraries = {}
    for part in table.split("Import {")[1:]:
        name = re.findall(r"^\s*Name: (\S+)$", part, re.MULTILINE)[0]
        libraries[name] = re.findall(r"^\s*Symbol: (\S+)", part, re.MULTILINE)
    foreign = [each for each in libraries if each != "python3.dll" and not SYSTEM.fullmatch(each)]
    if foreign or "python3.dll" not in libraries:
        sys.exit(f"{module.name} needs {', '.join(sorted(foreign)) or 'no python3.dll'}")
    counts = ", ".join(f"{name} {len(names)}" for name, names in sorted(libraries.items()))
    say(f"{module.name}: exports {entry}; imports {counts}")
