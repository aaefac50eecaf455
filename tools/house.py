#!/usr/bin/env python3
"""Checks the house rules that no linter covers: `house.py [ROOT]` prints violations and exits 1."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

#: The layers, and which others each includes.
LAYERS = {
    "extension": {"dlpack", "runtime", "core"},
    "dlpack": {"runtime", "core"},
    "runtime": {"core"},
    "compute": {"core"},
    "core": set[str](),
}
#: The part of the extension that computes: the only one that includes the layer compute. The rest
#: of the extension is built without both, so it includes neither.
COMPUTE = "src/extension/compute/"
#: The rooms of the extension: each includes only what is to its right.
ROOMS = (
    *("module", "compute", "indexing", "modes", "array", "creation", "arrow", "interop", "dlpack"),
    *("copy", "devices", "objects", "capi"),
)
TOP = {
    *(".ci", ".clang-format", ".gitattributes", ".github", ".gitignore", ".pre-commit-hooks.yaml"),
    *("CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE"),
    *("LICENSE.MPL-2.0", "Makefile", "NOTICE", "README.md", "SECURITY.md", "action.yml"),
    *("benchmarks", "cmake", "docs", "examples", "fakegpu", "include", "pyproject.toml", "src"),
    *("tests", "tools"),
}
MAX_FUNCTION_LINES = 60
MAX_DEFINES = 5
MAX_REFCOUNT_LINES, MAX_REFCOUNT_FILES = 9, 3
CAPSULE_NAMES = ("dltensor", "used_dltensor", "dltensor_versioned", "used_dltensor_versioned")
NOT_SOURCE = {"build", "dist", "_build", "__pycache__"}  # and every hidden folder except .ci
TEXT = {
    ".cpp",
    ".hpp",
    ".h",
    ".c",
    ".py",
    ".pyi",
    ".cmake",
    ".txt",
    ".toml",
    ".md",
    ".rst",
    ".yml",
    "",
}

# Blanked before code is searched. A quote after a digit is a digit separator.
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
SCOPE = re.compile(
    r"^\s*(?:template\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s*$)\b"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


def blank(match: re.Match[str]) -> str:
    """Replaces the match by spaces, keeping line and column numbers."""
    return re.sub(r"[^\n]", " ", match[0])


@dataclass(frozen=True)
class Source:
    path: str  # relative to the root, with forward slashes
    text: str

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix

    @property
    def is_cpp(self) -> bool:
        return self.suffix in {".cpp", ".hpp", ".h"}

    @property
    def is_product(self) -> bool:
        """False for the adversary, which breaks the protocol on purpose and is in no layer."""
        return self.path.startswith(("src/", "include/")) and not self.path.startswith(
            "src/refarray/conformance/native/"
        )

    @property
    def layer(self) -> str | None:
        match = re.match(r"(?:src|include/refarray)/(\w+)/", self.path)
        return match[1] if match and match[1] in LAYERS else None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def code(self) -> str:
        return COMMENT_OR_TEXT.sub(blank, self.text)

    def grep(self, pattern: str, text: str | None = None) -> Iterator[tuple[int, str]]:
        """Yields line number and match of every occurrence, in the code unless `text` is given."""
        text = self.code if text is None else text
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match[0].strip()

    def includes(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self.lines, 1):
            if match := INCLUDE.match(line):
                yield number, match[1]


def read_tree(root: Path) -> list[Source]:
    found = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") and part != ".ci" for part in parts[:-1])
        if (
            hidden
            or NOT_SOURCE.intersection(parts)
            or path.suffix not in TEXT
            or not path.is_file()
        ):
            continue
        found.append(Source("/".join(parts), path.read_text(encoding="utf-8")))
    return found


Rule = Callable[[list[Source]], Iterator[tuple[Source, int, str]]]
RULES: dict[str, Rule] = {}


def rule(check: Rule) -> Rule:
    RULES[check.__name__.replace("_", "-")] = check
    return check


@rule
def layering(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.layer is None:
            continue
        computes = source.path.startswith(COMPUTE)
        allowed = {source.layer, *LAYERS[source.layer], *(["compute"] if computes else [])}
        for line, name in source.includes():
            match = re.match(r"(?:refarray/)?(\w+)/", name)
            layer = match[1] if match and name != "dlpack/dlpack.h" else None
            if layer in LAYERS and layer not in allowed:
                yield source, line, f"{source.layer} includes {name}, of a layer it may not include"
            elif not computes and name.startswith(COMPUTE.removeprefix("src/")):
                yield source, line, f"{name}: objects/compute_hooks.hpp has what others may call"


def room(path: str) -> int | None:
    match = re.match(r"extension/(\w+)/", path)
    return ROOMS.index(match[1]) if match else None


@rule
def rooms(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        own = room(source.path.removeprefix("src/"))
        if own is None:
            continue
        for line, name in source.includes():
            other = room(name)
            if other is not None and other < own:
                yield source, line, f"{ROOMS[own]} includes {name}, of a room that builds on it"


@rule
def unique_names(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    """A file name says which C++ file of src is meant. Python modules have their package."""
    seen: dict[str, str] = {}
    for source in tree:
        if source.is_cpp and source.path.startswith("src/"):
            name = source.path.rpartition("/")[2]
            if seen.setdefault(name, source.path) != source.path:
                yield source, 1, f"{name} is the name of {seen[name]} too"


IMPORT = re.compile(r"^\s*from (refarray[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:    .*\n|\n)+", re.MULTILINE)


def package(module: str) -> str:
    """The folder of a module, as far down as the rooms of the package and of the kit go."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] == ["conformance"] else 2])


@rule
def import_circles(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    """Neither modules nor folders import each other, in functions neither."""
    modules = {
        source.path[4:-3].removesuffix("/__init__").replace("/", "."): source
        for source in tree
        if source.path.startswith("src/refarray/") and source.suffix == ".py"
    }
    for node in (str, package):  # of modules, and of folders
        graph: dict[str, set[str]] = {}
        for module, source in modules.items():
            for base, names in IMPORT.findall(FOR_TYPES.sub("", source.text)):
                found = {f"{base}.{each}" for each in re.findall(r"\w+", names)} & {*modules}
                targets = {node(each) for each in found or {base}} - {node(module), "refarray"}
                graph.setdefault(node(module), set()).update(targets)
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            source = next(modules[each] for each in modules if node(each) == error.args[1][0])
            yield source, 1, f"a circle of imports: {' < '.join(error.args[1])}"


KIT = "src/refarray/conformance/"
#: What the kit may import of the package besides itself: modules that know no array.
KIT_IMPORTS = (
    r"\s*(?:from|import) refarray\.(?:conformance|_describe|_hang_detector|_terminal)\b"
    r"|from refarray import __version__$"
)


@rule
def kit_without_the_array(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    """The kit judges refarray as it does any library: by an adapter, with readers of its own."""
    for source in tree:
        if not source.path.startswith(KIT):
            continue
        for line, name in source.includes():
            if name.partition("/")[0] in {"refarray", *LAYERS} and name != "dlpack/dlpack.h":
                yield source, line, f"the kit includes {name}, which it judges"
        for line, text in source.grep(r"^\s*(?:from|import) refarray\b.*$", source.text):
            if source.suffix in {".py", ".pyi"} and not re.match(KIT_IMPORTS, text):
                yield source, line, f"{text}: the kit imports nothing of what it judges"


#: The headers for extension modules: the only ones of include/ that see Python.h.
PYTHON_HEADERS = "include/refarray/python/"


@rule
def python_only_in_extension(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if (
            source.is_product
            and source.layer != "extension"
            and not source.path.startswith(PYTHON_HEADERS)
        ):
            for line, name in source.includes():
                if name in {"Python.h", "structmember.h"}:
                    yield source, line, f"{name} belongs in src/extension"


@rule
def dlpack_header_only_in_dlpack(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if (
            source.is_product
            and source.layer != "dlpack"
            and source.path != f"{PYTHON_HEADERS}c_api.h"  # in C
        ):
            for line, name in source.includes():
                if name.endswith("dlpack.h"):
                    yield source, line, f"{name} belongs in the dlpack folders"


@rule
def eigen_only_in_linalg(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.is_cpp and not source.path.startswith("src/compute/linalg/"):
            for line, name in source.includes():
                if name.startswith(("Eigen/", "unsupported/Eigen/")):
                    yield source, line, f"{name} belongs in src/compute/linalg"


@rule
def drivers_only_in_runtime(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.path == "src/extension/capi/lookup.cpp":  # asks the interpreter's library
            continue
        if source.is_cpp and source.is_product and source.layer != "runtime":
            for line, name in source.grep(r"\b(?:dlopen|dlsym|(?:cu|hip)[A-Z]\w*)\s*\("):
                yield source, line, f"{name}...) belongs in src/runtime"


@rule
def first_line(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    starts = {".cpp": ("// ",), ".hpp": ("// ",), ".cmake": ("# ",), ".toml": ("# ",)}
    for source in tree:
        lines = [line for line in source.lines if not line.startswith("#!")]
        start = starts.get(
            source.suffix, ('"""', "# ", 'r"""') if source.suffix in {".py", ".pyi"} else ()
        )
        if start and lines and not lines[0].startswith(start):
            yield source, 1, "the first line must say in one sentence what is in the file"


def functions(source: Source) -> Iterator[tuple[int, int, str]]:
    """First line, number of lines and heading of each outermost function body."""
    code = DIRECTIVE.sub(blank, source.code)
    heading_start, scopes, position = 0, 0, 0
    while match := re.compile(r"[{};]").search(code, position):
        position = match.end()
        if match[0] != "{":
            heading_start = position
            continue
        heading = code[heading_start : match.start()]
        bare = heading
        while bare != (bare := re.sub(r"<[^<>]*>", "", bare)):
            pass
        bare = re.sub(r"\b(?:public|protected|private)\s*:", "", bare)
        if SCOPE.match(bare):
            scopes, heading_start = scopes + 1, position
            continue
        close = matching_brace(code, match.start())
        position = close
        if re.search(r"\)[\w\s]*:[^:].*[\w>]\s*$", bare, re.DOTALL):
            continue  # `name{value}` in a constructor's initialiser list: still the heading
        if ")" in bare:
            first = code.count("\n", 0, match.start()) + 1
            yield first, code.count("\n", match.start(), close) + 1, " ".join(bare.split())
        heading_start = position


def matching_brace(code: str, start: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(code)


@rule
def function_length(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.is_cpp:
            for line, length, heading in functions(source):
                if length > MAX_FUNCTION_LINES:
                    yield (
                        source,
                        line,
                        f"{length} lines, at most {MAX_FUNCTION_LINES}: {heading[:60]}",
                    )


@rule
def no_goto(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.is_cpp:
            for line, _ in source.grep(r"\bgoto\b"):
                yield source, line, "goto"


@rule
def no_null_macro(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.is_cpp:
            for line, _ in source.grep(r"\bNULL\b"):
                yield source, line, "NULL: write nullptr"


@rule
def few_defines(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    product = [source for source in tree if source.is_cpp and source.is_product]
    defines = [
        (source, line) for source in product for line, _ in source.grep(r"^[ \t]*#[ \t]*define\b")
    ]
    for source, line in defines[MAX_DEFINES:]:
        yield source, line, f"#define number {len(defines)}; the project has at most {MAX_DEFINES}"


@rule
def no_static_objects(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    static = r"\bstatic\s+(?:(?:const|inline|constinit)\s+)*"
    variable = static + r"(?:PyObject\s*\*|PyTypeObject)\s*\w+\s*(?![\w\s(])"
    for source in tree:
        if source.is_cpp and source.is_product:
            for line, name in source.grep(variable):
                yield source, line, f"{name}: Python objects live in the module state"


@rule
def few_reference_counts(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    count = r"^.*\bPy_(?:X?INCREF|X?DECREF|CLEAR|X?NewRef|X?SETREF)\b.*$"
    product = [source for source in tree if source.is_cpp and source.is_product]
    lines = [(source, line) for source in product for line, _ in source.grep(count)]
    for source, line in lines[MAX_REFCOUNT_LINES:]:
        yield (
            source,
            line,
            f"reference counting by hand, line {len(lines)} of at most {MAX_REFCOUNT_LINES}",
        )
    files = sorted({source.path for source, _ in lines})
    if len(files) > MAX_REFCOUNT_FILES:
        yield (
            lines[-1][0],
            lines[-1][1],
            f"reference counting in more than {MAX_REFCOUNT_FILES} files: {files}",
        )


VERSION_FILES = (
    "src/extension/capi/compat.cpp",
    "src/extension/capi/compat.hpp",
    "src/extension/capi/lookup.cpp",
    "include/refarray/python/exchange.hpp",  # for other modules, which lack that header
)


@rule
def versions_only_in_compat(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.is_cpp and source.is_product and source.path not in VERSION_FILES:
            for line, name in source.grep(r"\b(?:PY_VERSION_HEX|Py_LIMITED_API|Py_GIL_DISABLED)\b"):
                yield source, line, f"{name} belongs in src/extension/capi/compat.hpp"


@rule
def no_stray_try(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if (
            source.is_cpp
            and source.is_product
            and not source.path.startswith("src/extension/capi/errors.")
        ):
            for line, _ in source.grep(r"\btry\b"):
                if not any(
                    "// boundary:" in text for text in source.lines[max(line - 2, 0) : line]
                ):
                    yield (
                        source,
                        line,
                        "try without a `// boundary:` comment that says why it must be here",
                    )


@rule
def capsule_names_once(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    home = "include/refarray/dlpack/wire.hpp"
    product = [source for source in tree if source.is_cpp and source.is_product]
    for name in CAPSULE_NAMES:
        places = [
            (source, line)
            for source in product
            for line, _ in source.grep(f'"{name}"', source.text)
        ]
        at_home = [place for place in places if place[0].path == home]
        for source, line in [place for place in places if place not in at_home[:1]]:
            yield source, line, f'"{name}" is written once, in {home}'
        for source in product:
            if source.path == home and not at_home:
                yield source, 1, f'"{name}" is not here, its one home'


#: C-API functions that return -1 for an exception, by what tells it from a result.
STATUS = (  # negative only then
    r"PyObject_(?:IsTrue|Not|Size|Length|RichCompareBool|IsInstance|IsSubclass|SetAttr\w*|DelAttr\w*"
    r"|SetItem|DelItem\w*|GetBuffer|GetOptionalAttr\w*|HasAttr\w*WithError)"
    r"|PySequence_(?:Size|Length|Contains|Index|Count|SetItem|DelItem|SetSlice|DelSlice)"
    r"|PyMapping_(?:Size|Length|SetItemString|DelItem\w*|GetOptional\w*|HasKey\w*WithError)"
    r"|PyDict_(?:SetItem\w*|DelItem\w*|Contains\w*|Merge\w*|Update|GetItem\w*Ref)"
    r"|PyList_(?:Append|Insert|SetItem|SetSlice|Sort|Reverse)|PyTuple_SetItem"
    r"|PySet_(?:Add|Contains|Discard|Clear|Size)|PyModule_(?:Add\w*|ExecDef)"
    r"|PyUnicode_(?:GetLength|Contains|Find\w*|Count|Tailmatch)|PySlice_Unpack|PyBuffer_FillInfo"
    r"|PyErr_(?:CheckSignals|Warn\w*)|PyCapsule_Set\w+|PyType_Ready|Py_EnterRecursiveCall"
)
NUMBERS = r"PyLong_As\w+|PyFloat_AsDouble|PyNumber_AsSsize_t|PyObject_Hash"  # PyErr_Occurred() does
SWALLOW = r"PyObject_HasAttr(?:String)?|PyDict_GetItem(?:String)?|PyMapping_HasKey(?:String)?"
IS_CHECKED = re.compile(r"(?:check|check_number)(?:<|\((?:calling(?:<|\(\[[^]]*\]\{return))?)$")


@rule
def checked_status(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if not source.is_cpp or not source.is_product:
            continue
        for line, name in source.grep(rf"\b(?:{SWALLOW})(?=\s*[(>])"):
            yield (
                source,
                line,
                f"{name}() swallows exceptions: ask with a function that reports them",
            )
        for match in re.finditer(rf"\b(?:({STATUS})|{NUMBERS})(?=\s*[(>])", source.code):
            before = re.sub(r"\s", "", source.code[max(0, match.start() - 200) : match.start()])
            line = source.code.count("\n", 0, match.start()) + 1
            near = " ".join(source.lines[max(0, line - 2) : line + 3])
            told = r"[<!=]=? 0\b" if match[1] else r"PyErr_Occurred\(\)"
            if not IS_CHECKED.search(before) and not re.search(f"{told}|// .*cannot fail", near):
                yield source, line, f"{match[0]}() may fail: check(), or say why it cannot fail"


#: Absolute paths of one machine, and hosts of package registries.
LOCAL = (
    r"(?<![\w.$}])/(?:work|farm|root|tmp/ra|tmp/bash_jobs)/"
    r"|deb[.]debian[.]org|pypi[.]org|python[h]osted|registry[.]npmjs"
)


@rule
def nothing_local(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        for line, name in source.grep(LOCAL, source.text):
            yield source, line, f"{name}: a path of one machine, or a registry's host"


#: Formulas of the first version's private language, each with the plain term.
PLAIN_WORDS = {
    r"^(?://|#|\"\"\") ?Owns\b": "say what is in the file",
    r"\bstrangers?\b": "foreign, or another library",
    r"\b[Bb]raid(?:s|ed)?\b": "interleave",
    r"\b[Nn]ursery\b": "fork server",
    r"\b(?:zoo|animals?)\b": "mutants",
    r"\b(?:what|which) (?:became|becomes|came|comes) of\b": "the outcome",
    r"\bwhoever\b": "name the caller, owner or user",
    r"\b(?:has|have) gone\b": "name the event: freed, deleted, ended",
    r"\bwhatever (?:that|it) costs\b": "name the limit",
    r"\bso many times as much\b": "name the factor",
    r"\bis asked for meanwhile\b": "prefetch",
}
QUOTES_WORDS = ("tools/house.py", "tests/gates/test_house.py")


@rule
def plain_words(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.path in QUOTES_WORDS or source.path.startswith("docs/findings"):
            continue
        for pattern, better in PLAIN_WORDS.items():
            for line, word in source.grep(pattern, source.text):
                yield source, line, f"{word!r}: {better}"


@rule
def nothing_vendored(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.path.rpartition("/")[2] == "dlpack.h":
            yield source, 1, "dlpack.h is found by the build, never stored"
        if "/Eigen/" in f"/{source.path}":
            yield source, 1, "Eigen is found by the build, never stored"


@rule
def nothing_unfinished(tree: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in tree:
        if source.path.startswith(
            ("src/", "include/", "fakegpu/", "tests/")
        ) and not source.path.endswith("test_house.py"):
            for line, word in source.grep(
                r"\b(?:TODO|FIXME|XXX|raise NotImplementedError)\b", source.text
            ):
                yield source, line, f"{word}: finish it, or open an issue"


def top_level(root: Path) -> Iterator[Finding]:
    """What is tracked at the top without a place there. Nothing if the root is no checkout."""
    done = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if done.returncode == 0 and (root / ".git").exists():
        for name in sorted({line.partition("/")[0] for line in done.stdout.splitlines()} - TOP):
            yield Finding(name, 1, "top-level", "the top of the tree has no place for it")


def check(root: Path) -> list[Finding]:
    tree = read_tree(root)
    found = [
        Finding(source.path, line, name, message)
        for name, find in RULES.items()
        for source, line, message in find(tree)
    ]
    return [*top_level(root), *found]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    findings = check(root)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} breaches of {len(RULES)} house rules")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
