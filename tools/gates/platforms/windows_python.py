"""Cross-compiles CPython for Windows from the distribution's sources, with zlib and libffi inside,
and caches it; what wine runs on it. Modules that are files elsewhere are in the library."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import debian
from common import output, quiet, say
from musl_python import SOURCES, VERSION, fetch, musl_python
from zig import Zig, zig

NUMBER = VERSION.replace(".", "")
FLAGS = ("-O1", "-g0", "-w", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=undefined")
FLAGS += ("-Wno-error=date-time", "-Wno-incompatible-pointer-types")  # errors without these
CTYPES = ("_ctypes", "callbacks", "callproc", "cfield", "stgdict", "malloc_closure")
#: module: its files in Modules.
MODULES = {
    "_asyncio": ["_asynciomodule.c"],
    "_ctypes": [f"_ctypes/{name}.c" for name in CTYPES],
    "_multiprocessing": ["_multiprocessing/multiprocessing.c", "_multiprocessing/semaphore.c"],
    "_overlapped": ["overlapped.c"],
    "_queue": ["_queuemodule.c"],
    "_socket": ["socketmodule.c"],
    "_zoneinfo": ["_zoneinfo.c"],
    "select": ["selectmodule.c"],
    "unicodedata": ["unicodedata.c"],
}
SYSTEM = ("version", "ws2_32", "bcrypt", "ole32", "oleaut32", "iphlpapi", "rpcrt4", "shlwapi")
SYSTEM += ("advapi32", "user32")
FFI = ("prep_cif.c", "types.c", "closures.c", "tramp.c", "x86/ffiw64.c", "x86/win64.S")
#: A library of the system that zig does not have.
PATHS = """LIBRARY api-ms-win-core-path-l1-1-0.dll
EXPORTS
PathCchCombineEx
PathCchCanonicalizeEx
PathCchSkipRoot
PathCchRemoveFileSpec
"""
CORE = (
    *("-DPy_BUILD_CORE", "-DPy_BUILD_CORE_BUILTIN", "-DPy_ENABLE_SHARED", "-D_Py_HAVE_ZLIB"),
    *(f'-DMS_DLL_ID="{VERSION}"', "-DDONT_USE_SEH", "-DNDEBUG", "-DWIN32", "-D_WINDOWS"),
    *("-D_M_X64=100", "-D_M_AMD64=100", "-DUSING_MALLOC_CLOSURE_DOT_C=1"),
)
GETPATH = ("PREFIX=NULL", "EXEC_PREFIX=NULL", "VERSION=NULL", 'VPATH=".."', 'PYDEBUGEXT=""')
#: file: the macros that the project files of CPython give to it alone.
MACROS = {
    "getpath.c": [*(f"-D{each}" for each in GETPATH), '-DPLATLIBDIR="DLLs"'],
    "sysmodule.c": ['-DVPATH=".."'],
    "dynload_win.c": ['-DPY3_DLLNAME=L"python3.dll"'],
    "callbacks.c": ["-DDllMain=ctypes_DllMain"],  # there is one in the library already
    "binascii.c": ["-DUSE_ZLIB_CRC32"],
}
INCLUDE = ("", "Include", "Include/internal", "Include/internal/mimalloc", "PC", "Python")
INCLUDE += ("Modules/_hacl/include", "Modules/_hacl/internal")
#: (file, what stands there, what has to): CPython takes every other compiler than Microsoft's for
#: one with an older C library, and its files for those of a system that does not know case.
EDITS = (
    ("PC/pyconfig.h", "#ifdef _MSC_VER\n\n/* We want", "#ifdef _WIN32\n\n/* We want"),
    ("PC/pyconfig.h", "typedef int pid_t;\n\n/* define some", "/* define some"),
    ("PC/pyconfig.h", '#define COMPILER "[gcc]"\n', ""),
    ("PC/pyconfig.h", ' with MSC v." _Py_STRINGIZE(_MSC_VER) " CRT]', ""),
    ("Modules/posixmodule.c", "#elif defined( _MSC_VER)\n", "#elif defined(MS_WINDOWS)\n"),
    (
        "Modules/posixmodule.c",
        "#ifdef _MSC_VER\n#  ifdef HAVE_DI",
        "#ifdef MS_WINDOWS\n#  ifdef HAVE_DI",
    ),
    (
        "Modules/posixmodule.c",
        "!defined(_MSC_VER) && (!defined(__WAT",
        "!defined(MS_WINDOWS) && (!defined(__WAT",
    ),
    ("Modules/posixmodule.c", "<ProcessSnapshot.h>", "<processsnapshot.h>"),
    ("Modules/_ctypes/ctypes.h", "<Unknwn.h>", "<unknwn.h>"),
    ("Modules/socketmodule.c", "<Rpc.h>", "<rpc.h>"),
    ("Include/pylifecycle.h", "\nint _Py_CheckPython3(void);", ""),
)
Commands = dict[Path, list[str | Path]]


def edit(python: Path) -> None:
    """Prepares the sources for this compiler, and adds the modules to the library's table."""
    shutil.copy(python / "PC" / "pyconfig.h.in", python / "PC" / "pyconfig.h")
    for name, before, after in EDITS:
        text = (python / name).read_text(encoding="utf-8")
        if before not in text:
            raise SystemExit(f"CPython's {name} has no {before!r}")
        (python / name).write_text(text.replace(before, after), encoding="utf-8")
    sockets = python / "Modules" / "socketmodule.c"  # names of an enumeration, macros here
    text = re.sub(r"(?m)^#define (IPPROTO_\w+) \1\b.*\n", "", sockets.read_text(encoding="utf-8"))
    sockets.write_text(text, encoding="utf-8")
    table = python / "PC" / "config.c"
    text = table.read_text(encoding="utf-8")
    for marker, line in ((1, "extern PyObject* PyInit_{0}(void);"), (2, '{{"{0}", PyInit_{0}}},')):
        lines = "\n".join(map(line.format, MODULES))
        text = text.replace(f"/* -- ADDMODULE MARKER {marker} -- */", lines)
    table.write_text(text, encoding="utf-8")


def freeze(python: Path) -> None:
    """Writes the modules that the library holds as code, by a CPython of this version."""
    interpreter = musl_python(Zig("x86_64", "linux-musl"))
    project = (python / "PCbuild" / "_freeze_module.vcxproj").read_text(encoding="utf-8-sig")
    row = (
        r'<(?:None|GetPath) Include="\.\.\\([^"]+)">\s*<ModName>([^<]+)<.*?<OutFile>[^<]*\)(\S+?)<'
    )
    folder = python / "Python" / "frozen_modules"
    folder.mkdir(exist_ok=True)
    for source, name, header in re.findall(row, project, re.DOTALL):
        command = [interpreter, python / "Programs" / "_freeze_module.py", name]
        target = folder / header.replace("\\", "/").rpartition("/")[2]
        quiet([*command, python / source.replace("\\", "/"), target])


@dataclass
class Build:
    """The sources, and where objects go."""

    python: Path
    zlib: Path
    ffi: Path
    work: Path
    compiler: list[str]

    def configure_ffi(self) -> Path:
        folder = self.work / "ffi"
        folder.mkdir()
        options = ["--host=x86_64-w64-mingw32", "--disable-shared", "--disable-docs"]
        tools = [f"CC={shlex.join(self.compiler)}", f"AR={zig()} ar", f"RANLIB={zig()} ranlib"]
        command = [self.ffi / "configure", *options, *tools]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return folder

    def core(self) -> Iterator[Path]:
        """CPython's files."""
        project = (self.python / "PCbuild" / "pythoncore.vcxproj").read_text(encoding="utf-8-sig")
        for name in re.findall(r'<ClCompile Include="\.\.\\([^"]+)"', project):
            yield self.python / name.replace("\\", "/")
        for name in [*(each for files in MODULES.values() for each in files), "zlibmodule.c"]:
            yield self.python / "Modules" / name

    def commands(self) -> Commands:
        """object: the arguments that compile it."""
        built = self.configure_ffi()
        ffi = [f"-I{built}", f"-I{built / 'include'}", f"-I{self.ffi / 'include'}"]
        ffi.append(f"-I{self.ffi / 'src' / 'x86'}")
        include = [f"-I{self.python / name}" for name in INCLUDE]
        include += [f"-I{self.zlib}", f"-I{built / 'include'}"]
        out: Commands = {}
        for path in self.core():
            name = path.relative_to(self.python).as_posix().replace("/", "-")
            out[self.work / f"{name}.o"] = [*CORE, *include, *MACROS.get(path.name, []), path]
        for path in self.zlib.glob("*.c"):
            if not path.name.startswith("gz"):  # files
                out[self.work / f"zlib-{path.name}.o"] = [path]
        for each in FFI:
            out[self.work / f"ffi-{Path(each).name}.o"] = [*ffi, self.ffi / "src" / each]
        return out

    def compile(self, item: tuple[Path, list[str | Path]]) -> None:
        target, arguments = item
        quiet([*self.compiler, *FLAGS, *arguments[:-1], "-c", arguments[-1], "-o", target])

    def link(self, objects: list[Path], prefix: Path) -> None:
        """Writes the library, the program, and the library of the stable ABI, which forwards."""
        paths, definition = self.work / "libpathcch.a", self.work / "pathcch.def"
        definition.write_text(PATHS, encoding="utf-8")
        quiet([zig(), "dlltool", "-m", "i386:x86-64", "-d", definition, "-l", paths])
        library, names = prefix / f"python{NUMBER}.dll", self.work / f"libpython{NUMBER}.a"
        needed = [*objects, *(f"-l{name}" for name in SYSTEM), paths]
        target = ["-o", library, f"-Wl,--out-implib,{names}"]
        quiet([*self.compiler, *FLAGS, "-shared", *needed, *target])
        include = [f"-I{self.python / name}" for name in INCLUDE]
        macros = ["-municode", "-DPy_ENABLE_SHARED", "-DPy_BUILD_CORE_MODULE"]
        program = [self.python / "Programs" / "python.c", names, "-o", prefix / "python.exe"]
        quiet([*self.compiler, *FLAGS, *macros, *include, *program])
        listed = (self.python / "PC" / "python3dll.c").read_text(encoding="utf-8")
        forward = self.work / "python3.c"
        lines = (
            f'__asm__(".section .drectve,\\"yn\\"\\n.ascii \\" /EXPORT:{name}=python{NUMBER}.{name}'
            f'{",DATA" if kind == "DATA" else ""}\\"\\n");\n'
            for kind, name in re.findall(r"(?m)^EXPORT_(FUNC|DATA)\((\w+)\)", listed)
        )
        forward.write_text("".join(lines), encoding="utf-8")
        quiet([*self.compiler, *FLAGS, "-shared", forward, "-o", prefix / "python3.dll"])


def build(platform: Zig, prefix: Path) -> None:
    work = prefix.with_suffix(".work")
    for folder in (work, prefix):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    say(f"CPython {VERSION} for {platform.name}, from source: some minutes")
    zlib, ffi, python = (fetch(name, work / "sources") for name in SOURCES)
    edit(python)
    freeze(python)
    made = Build(python, zlib, ffi, work, shlex.split(platform.c_compiler()))
    commands = made.commands()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(made.compile, commands.items()))
    made.link(list(commands), prefix)
    left = shutil.ignore_patterns("test", "idlelib", "tkinter", "__pycache__")
    shutil.copytree(python / "Lib", prefix / "Lib", ignore=left)
    (prefix / "DLLs").mkdir()
    shutil.rmtree(work)
    (prefix / "ready").touch()


def windows_python(platform: Zig) -> Path:
    """Returns python.exe; builds it if necessary."""
    recipe = Path(__file__).read_bytes() + repr((VERSION, SOURCES)).encode()
    digest = hashlib.sha256(recipe).hexdigest()[:12]
    prefix = debian.cache_folder("windows") / f"python-{digest}"
    with debian.locked(prefix.with_suffix(".lock")):
        if not (prefix / "ready").is_file():
            build(platform, prefix)
    return prefix / "python.exe"


#: Arrays, kernels, buffers, exchange and pickles.
ARRAYS = """
import array, pickle
import refarray as ra
x = ra.arange(12, dtype="float64").reshape((3, 4))[::2]
assert (x @ x.T).tolist() == [[14.0, 62.0], [62.0, 366.0]]
for y in (ra.from_dlpack(x), memoryview(x), pickle.loads(pickle.dumps(x))):
    assert y.tolist() == x.tolist()
assert ra.asarray(array.array("l", [1])).dtype == "int32"
"""


def run_python_tests(platform: Zig, wheel: Path, launcher: Path) -> str:
    """Computes and exchanges arrays, then lets the kit judge refarray; returns what it says."""
    python, folder = windows_python(platform), platform.folder / "site"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    variables = {**os.environ, "PYTHONPATH": f"Z:{folder}"}
    say(f"{platform.name}: arrays, and the kit, on CPython {VERSION}")
    quiet([launcher, python, "-c", ARRAYS], variables)
    told = output([launcher, python, "-m", "refarray", "check", "refarray"], variables)
    say(told)
    kept = re.search(r"\d+ of \d+ requirements kept", told)
    cases = re.search(r"\d+ pass", told)
    if kept is None or cases is None:
        raise SystemExit("the kit says nothing of requirements")
    return f"the kit on refarray: {kept[0]}, {cases[0]}"
