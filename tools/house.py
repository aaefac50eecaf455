#!/usr/bin/env python3
"""Checks the house rules that no linter covers: `house.py [ROOT]` prints violations and exits 1."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

#: The layers, and which others each includes.
LAYERS = {
    "extension": {"dlpack", "runtime", "shared", "core"},
    "dlpack": {"runtime", "core"},
    "runtime": {"core"},
    "compute": {"core"},
    "shared": {"core"},
    "core": set[str](),
}
#: The part of the extension that computes: the only one that includes the layer compute. The rest
#: of the extension is built without both, so it includes neither.
COMPUTE = "src/extension/compute/"
#: The rooms of the extension: each includes only what is to its right.
ROOMS = (
    *("module", "compute", "indexing", "modes", "array", "creation", "arrow", "interop", "dlpack"),
    *("shared", "copy", "devices", "objects", "capi"),
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
    *("", ".cpp", ".hpp", ".h", ".c", ".py", ".pyi", ".cmake", ".txt", ".toml", ".md", ".rst"),
    ".yml",
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


#: Beginnings and ends of paths. The adversary is no product: it breaks the protocol on purpose and
#: is in no layer.
CPP = r".*\.(?:cpp|hpp|h)$"
PRODUCT = r"(?:src|include)/(?!refarray/conformance/native/)"
CPP_PRODUCT = PRODUCT + CPP


@dataclass(frozen=True)
class Source:
    path: str  # relative to the root, with forward slashes
    text: str

    @property
    def layer(self) -> str | None:
        match = re.match(r"(?:src|include/refarray)/(\w+)/", self.path)
        return match[1] if match and match[1] in LAYERS else None

    @cached_property
    def code(self) -> str:
        return COMMENT_OR_TEXT.sub(blank, self.text)

    @cached_property
    def included(self) -> str:
        """The names of the included files, each on its line."""
        found = (INCLUDE.match(line) for line in self.text.splitlines())
        return "\n".join(match[1] if match else "" for match in found)

    def grep(self, pattern: str, of: str = "code") -> Iterator[tuple[int, str]]:
        """Yields line number and match of every occurrence in that attribute."""
        text = getattr(self, of)
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match[0].strip()

    def includes(self) -> Iterator[tuple[int, str]]:
        return self.grep(".+", "included")


def read_tree(root: Path) -> list[Source]:
    found = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") and part != ".ci" for part in parts[:-1])
        if hidden or NOT_SOURCE.intersection(parts) or path.suffix not in TEXT:
            continue
        if not path.is_file():
            continue
        found.append(Source("/".join(parts), path.read_text(encoding="utf-8")))
    return found


def product(tree: list[Source]) -> list[Source]:
    return [source for source in tree if re.match(CPP_PRODUCT, source.path)]


Found = Iterator[tuple[Source, int, str]]
Rule = Callable[[list[Source]], Found]
RULES: dict[str, Rule] = {}


def rule(check: Rule) -> Rule:
    RULES[check.__name__.replace("_", "-")] = check
    return check


class Pattern(NamedTuple):
    """What breaks a rule: each match, after the first `most`, in files `where` and not `but`."""

    rule: str
    pattern: str
    message: str  # `{}`: the match
    where: str = CPP_PRODUCT
    of: str = "code"
    but: str = "$"  # no path
    most: int = 0


def in_layer(name: str) -> str:
    return rf"(?:src|include/refarray)/{name}/"


#: The headers for extension modules: the only ones of include/ that see Python.h.
PYTHON_HEADERS = "include/refarray/python/"
FIRST_LINE = "the first line must say in one sentence what is in the file"
QUOTES_WORDS = r"(?:tools/|tests/gates/test_)house\.py$|docs/findings"
#: Absolute paths of one machine, and hosts of package registries.
LOCAL = (
    r"(?<![\w.$}])/(?:work|farm|root|tmp/ra|tmp/bash_jobs)/"
    r"|deb[.]debian[.]org|pypi[.]org|python[h]osted|registry[.]npmjs"
)
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
PATTERNS = [
    Pattern(
        "python-only-in-extension",
        r"^(?:Python|structmember)\.h$",
        "{} belongs in src/extension",
        where=PRODUCT,
        of="included",
        but=f"{in_layer('extension')}|{PYTHON_HEADERS}",
    ),
    Pattern(
        "dlpack-header-only-in-dlpack",
        r"^.*dlpack\.h$",
        "{} belongs in the dlpack folders",
        where=PRODUCT,
        of="included",
        but=rf"{in_layer('dlpack')}|{PYTHON_HEADERS}c_api\.h$",  # in C
    ),
    Pattern(
        "eigen-only-in-linalg",
        r"^(?:unsupported/)?Eigen/.*",
        "{} belongs in src/compute/linalg",
        where=CPP,
        of="included",
        but="src/compute/linalg/",
    ),
    Pattern(
        "drivers-only-in-runtime",
        r"\b(?:dlopen|dlsym|(?:cu|hip)[A-Z]\w*)\s*\(",
        "{}...) belongs in src/runtime",
        but=rf"{in_layer('runtime')}|src/extension/capi/lookup\.cpp$",  # Python's library
    ),
    *(
        Pattern("first-line", rf"\A(?:#!.*\n)*+(?!{start})[\s\S]", FIRST_LINE, where, "text")
        for where, start in (
            (r".*\.[ch]pp$", "// "),
            (r".*\.(?:cmake|toml)$", "# "),
            (r".*\.pyi?$", '"""|# |r"""'),
        )
    ),
    Pattern("no-goto", r"\bgoto\b", "goto", CPP),
    Pattern("no-null-macro", r"\bNULL\b", "NULL: write nullptr", CPP),
    Pattern(
        "few-defines",
        r"^[ \t]*#[ \t]*define\b",
        f"the project has at most {MAX_DEFINES}",
        most=MAX_DEFINES,
    ),
    Pattern(
        "no-static-objects",
        r"\bstatic\s+(?:(?:const|inline|constinit)\s+)*"
        r"(?:PyObject\s*\*|PyTypeObject)\s*\w+\s*(?![\w\s(])",
        "{}: Python objects live in the module state",
    ),
    Pattern(
        "versions-only-in-compat",
        r"\b(?:PY_VERSION_HEX|Py_LIMITED_API|Py_GIL_DISABLED|Py_TARGET_ABI3T)\b",
        "{} belongs in src/extension/capi/compat.hpp",
        but=r"src/extension/capi/(?:compat\.[ch]pp|lookup\.cpp|own_struct\.hpp|module_definition\.hpp)$"
        r"|conformance/native/module_abi\.hpp$"
        rf"|{PYTHON_HEADERS}exchange\.hpp$",  # for other modules, which lack that header
    ),
    Pattern("nothing-local", LOCAL, "{}: a path of one machine, or a registry's host", "", "text"),
    *(
        Pattern("plain-words", word, f"{{!r}}: {better}", "", "text", QUOTES_WORDS)
        for word, better in PLAIN_WORDS.items()
    ),
    *(
        Pattern(
            "nothing-vendored", f"(?:^|/){path}", "found by the build, never stored", "", "path"
        )
        for path in (r"dlpack\.h$", "Eigen/")
    ),
    Pattern(
        "nothing-unfinished",
        r"\b(?:TODO|FIXME|XXX|raise NotImplementedError)\b",
        "{}: finish it, or open an issue",
        where="(?:src|include|fakegpu|tests)/",
        of="text",
        but=r".*test_house\.py$",
    ),
]


def breaches(tree: list[Source], name: str) -> Found:
    for each in (pattern for pattern in PATTERNS if pattern.rule == name):
        files = [s for s in tree if re.match(each.where, s.path) and not re.match(each.but, s.path)]
        found = [(s, line, text) for s in files for line, text in s.grep(each.pattern, each.of)]
        for source, line, text in found[each.most :]:
            yield source, line, each.message.format(text)


RULES |= {each.rule: partial(breaches, name=each.rule) for each in PATTERNS}


@rule
def layering(tree: list[Source]) -> Found:
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
def rooms(tree: list[Source]) -> Found:
    for source in tree:
        own = room(source.path.removeprefix("src/"))
        if own is None:
            continue
        for line, name in source.includes():
            other = room(name)
            if other is not None and other < own:
                yield source, line, f"{ROOMS[own]} includes {name}, of a room that builds on it"


@rule
def unique_names(tree: list[Source]) -> Found:
    """A file name says which C++ file of src is meant. Python modules have their package."""
    seen: dict[str, str] = {}
    for source in tree:
        if re.match(f"src/{CPP}", source.path):
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
def import_circles(tree: list[Source]) -> Found:
    """Neither modules nor folders import each other, in functions neither."""
    modules = {
        source.path[4:-3].removesuffix("/__init__").replace("/", "."): source
        for source in tree
        if re.match(r"src/refarray/.*\.py$", source.path)
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
    r"\s*(?:from|import) refarray\.(?:conformance|_describe|_hang_detector|_system|_terminal)\b"
    r"|from refarray import __version__$"
)


@rule
def kit_without_the_array(tree: list[Source]) -> Found:
    """The kit judges refarray as it does any library: by an adapter, with readers of its own."""
    for source in tree:
        if not source.path.startswith(KIT):
            continue
        for line, name in source.includes():
            if name.partition("/")[0] in {"refarray", *LAYERS} and name != "dlpack/dlpack.h":
                yield source, line, f"the kit includes {name}, which it judges"
        for line, text in source.grep(r"^\s*(?:from|import) refarray\b.*$", "text"):
            if source.path.endswith((".py", ".pyi")) and not re.match(KIT_IMPORTS, text):
                yield source, line, f"{text}: the kit imports nothing of what it judges"


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
def function_length(tree: list[Source]) -> Found:
    for source in (each for each in tree if re.match(CPP, each.path)):
        for line, length, heading in functions(source):
            if length > MAX_FUNCTION_LINES:
                message = f"{length} lines, at most {MAX_FUNCTION_LINES}: {heading[:60]}"
                yield source, line, message


@rule
def few_reference_counts(tree: list[Source]) -> Found:
    count = r"^.*\bPy_(?:X?INCREF|X?DECREF|CLEAR|X?NewRef|X?SETREF)\b.*$"
    lines = [(source, line) for source in product(tree) for line, _ in source.grep(count)]
    for source, line in lines[MAX_REFCOUNT_LINES:]:
        yield source, line, f"reference counting by hand in more than {MAX_REFCOUNT_LINES} lines"
    files = sorted({source.path for source, _ in lines})
    if len(files) > MAX_REFCOUNT_FILES:
        yield *lines[-1], f"reference counting in more than {MAX_REFCOUNT_FILES} files: {files}"


@rule
def no_stray_try(tree: list[Source]) -> Found:
    for source in product(tree):
        if not source.path.startswith("src/extension/capi/errors."):
            lines = source.text.splitlines()
            for line, _ in source.grep(r"\btry\b"):
                if not any("// boundary:" in text for text in lines[max(line - 2, 0) : line]):
                    yield source, line, "try without a `// boundary:` comment that says why"


@rule
def capsule_names_once(tree: list[Source]) -> Found:
    home = "include/refarray/dlpack/wire.hpp"
    for name in CAPSULE_NAMES:
        places = [(s, line) for s in product(tree) for line, _ in s.grep(f'"{name}"', "text")]
        at_home = [place for place in places if place[0].path == home]
        for source, line in places:
            if (source, line) not in at_home[:1]:
                yield source, line, f'"{name}" is written once, in {home}'
        for source in tree:
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
def checked_status(tree: list[Source]) -> Found:
    for source in product(tree):
        for line, name in source.grep(rf"\b(?:{SWALLOW})(?=\s*[(>])"):
            yield source, line, f"{name}() swallows exceptions: ask with one that reports them"
        lines = source.text.splitlines()
        for match in re.finditer(rf"\b(?:({STATUS})|{NUMBERS})(?=\s*[(>])", source.code):
            before = re.sub(r"\s", "", source.code[max(0, match.start() - 200) : match.start()])
            line = source.code.count("\n", 0, match.start()) + 1
            near = " ".join(lines[max(0, line - 2) : line + 3])
            told = r"[<!=]=? 0\b" if match[1] else r"PyErr_Occurred\(\)"
            if not IS_CHECKED.search(before) and not re.search(f"{told}|// .*cannot fail", near):
                yield source, line, f"{match[0]}() may fail: check(), or say why it cannot fail"


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
