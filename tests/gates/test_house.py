"""The house rules: the repository follows them, and each rule detects a violation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers.gate_loading import load_tool

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]


house = load_tool("house")

WIRE = "include/refarray/dlpack/wire.hpp"
CAPSULE_NAMES = "\n".join(f'auto {name} = "{name}";' for name in house.CAPSULE_NAMES)
GOOD = {
    WIRE: f"// Capsule names.\n#include <dlpack/dlpack.h>\n{CAPSULE_NAMES}\n",
    "src/core/a.cpp": (
        '// Type A.\n#include "refarray/core/a.hpp"\n'
        'const char* kText = "goto NULL";  // goto, NULL: comments are not code\n'
        "struct A {\n  explicit A(int n) : n_{n}, m_{1'000} {\n    use(n);\n  }\n};\n"
    ),
    "src/extension/capi/errors.cpp": "// Error translator.\n#include <Python.h>\n"
    "void f() { try {} catch (...) {} }\n",
    "src/extension/p.cpp": "// Function f.\nstatic PyObject* call(PyObject*);\n"
    "void f() {\n  try {  // boundary: a reason\n  } catch (...) {}\n}\n",
    "src/extension/q.cpp": "// Function g.\nvoid g() {\n  check(PyObject_IsTrue(a));\n"
    "  check(calling<PySequence_Size>(a));\n  check_number<PyFloat_AsDouble>(a);\n"
    "  check(calling([&] { return PyList_Append(a, b); }));\n"
    "  if (PyObject_SetAttr(a, b, c) < 0) return;\n"
    "  const double d = PyFloat_AsDouble(a);\n  if (PyErr_Occurred()) return;\n"
    "  use(PyLong_AsLong(b));  // an int below 100: cannot fail\n}\n",
    "src/extension/compute/c.cpp": '// Computes.\n#include "compute/ops/complex_kernels.hpp"\n',
    "src/runtime/r.cpp": '// Driver loader.\nvoid f() { dlopen("libcuda.so.1", 1); }\n',
    "src/refarray/__init__.py": '"""The package."""\n',
    ".venv/lib/dlpack.h": "int elsewhere;\n",
    "build/x.cpp": "goto;\n",
}


def cpp(*lines: str) -> str:
    return "\n".join(["// Violates a rule.", *lines, ""])


VIOLATIONS: list[tuple[str, dict[str, str]]] = [
    ("layering", {"src/core/b.cpp": cpp('#include "refarray/dlpack/wire.hpp"')}),
    ("layering", {"include/refarray/runtime/b.hpp": cpp('#include "extension/capi/ref.hpp"')}),
    ("rooms", {"src/extension/capi/b.cpp": cpp('#include "extension/objects/conversions.hpp"')}),
    (
        "import-circles",
        {
            "src/refarray/b.py": '"""B."""\nfrom refarray import c\n',
            "src/refarray/c.py": '"""C."""\n\n\ndef f():\n    from refarray.b import g\n',
        },
    ),
    (
        "import-circles",  # of folders
        {
            "src/refarray/d/a.py": '"""A."""\nfrom refarray.e import (\n    a,\n)\n',
            "src/refarray/d/b.py": '"""B."""\n',
            "src/refarray/e/a.py": '"""A."""\n',
            "src/refarray/e/b.py": '"""B."""\nfrom refarray.d import b\n',
        },
    ),
    ("unique-names", {"src/core/b.hpp": cpp(""), "src/runtime/b.hpp": cpp("")}),
    ("kit-without-the-array", {f"{house.KIT}b.py": '"""B."""\nfrom refarray import _native\n'}),
    ("kit-without-the-array", {f"{house.KIT}b.py": '"""B."""\nimport refarray\n'}),
    ("kit-without-the-array", {f"{house.KIT}b.py": '"""B."""\nimport refarray._inspect\n'}),
    ("kit-without-the-array", {f"{house.KIT}native/b.cpp": cpp('#include "core/array.hpp"')}),
    ("layering", {"src/compute/b.cpp": cpp('#include "runtime/runtime.hpp"')}),
    ("layering", {"src/core/b.cpp": cpp('#include "compute/ops/complex_kernels.hpp"')}),
    ("layering", {"src/extension/array/b.cpp": cpp('#include "compute/ops/complex_kernels.hpp"')}),
    ("layering", {"src/extension/module/b.cpp": cpp('#include "extension/compute/operands.hpp"')}),
    ("python-only-in-extension", {"src/dlpack/b.cpp": cpp("#include <Python.h>")}),
    (
        "dlpack-header-only-in-dlpack",
        {"src/extension/b.cpp": cpp("#  include <dlpack/dlpack.h>")},
    ),
    ("eigen-only-in-linalg", {"src/core/b.cpp": cpp("#include <Eigen/Core>")}),
    ("eigen-only-in-linalg", {"tests/cpp/b.cpp": cpp("#include <Eigen/LU>")}),
    ("drivers-only-in-runtime", {"src/extension/b.cpp": cpp("void f() { cuInit(0); }")}),
    ("drivers-only-in-runtime", {"src/core/b.cpp": cpp('void f() { dlopen("x", 1); }')}),
    ("first-line", {"src/core/b.cpp": "#include <vector>\n"}),
    ("first-line", {"src/refarray/b.py": "import os\n"}),
    ("function-length", {"src/core/b.cpp": cpp("int f() {", *["  g();"] * 59, "}")}),
    (
        "function-length",
        {
            "src/core/b.cpp": cpp(
                "namespace a {",
                "template <class T>",
                "struct B : C<T> {",
                " public:",
                "  B(int n) noexcept : n_{n}, m_{2} {",
                *["    if (n) { g(); }"] * 59,
                "  }",
                "};",
                "}",
            )
        },
    ),
    ("no-goto", {"src/core/b.cpp": cpp("void f() { goto out; out:; }")}),
    ("no-null-macro", {"tests/cpp/b.cpp": cpp("int* a = NULL;")}),
    ("few-defines", {"src/core/b.cpp": cpp(*[f"#define A{i}" for i in range(6)])}),
    ("no-static-objects", {"src/extension/b.cpp": cpp("static PyObject* cache;")}),
    ("no-static-objects", {"src/extension/b.cpp": cpp("static PyTypeObject ArrayType = {1};")}),
    ("few-reference-counts", {"src/extension/b.cpp": cpp(*["Py_INCREF(a);"] * 10)}),
    ("few-reference-counts", {f"src/extension/b{i}.cpp": cpp("Py_XDECREF(a);") for i in range(4)}),
    ("versions-only-in-compat", {"src/extension/b.cpp": cpp("#if PY_VERSION_HEX > 1", "#endif")}),
    ("no-stray-try", {"src/core/b.cpp": cpp("void f() { try { g(); } catch (...) {} }")}),
    ("capsule-names-once", {"src/extension/b.cpp": cpp('auto name = "dltensor";')}),
    ("capsule-names-once", {WIRE: GOOD[WIRE].replace('"used_dltensor"', '"used"')}),
    (
        "checked-status",
        {"src/extension/b.cpp": cpp("bool f(PyObject* a) {", "  return PyObject_IsTrue(a);", "}")},
    ),
    ("checked-status", {"src/extension/b.cpp": cpp("long a = PyLong_AsLong(b);", "use(a);")}),
    ("checked-status", {"src/extension/b.cpp": cpp("use(calling<PySequence_Size>(a));")}),
    ("checked-status", {"src/extension/b.cpp": cpp("auto a = PyDict_GetItem(b, c);")}),
    ("nothing-local", {"docs/b.md": "see " + "/" + "work/notes\n"}),
    ("nothing-local", {"Makefile": "# Downloads.\nfetch https://" + "pypi" + ".org/simple\n"}),
    ("nothing-vendored", {"third_party/dlpack.h": "int a;\n"}),
    ("nothing-vendored", {"third_party/Eigen/a.h": "int a;\n"}),
    ("plain-words", {"src/core/b.cpp": "// Owns b.\n"}),
    ("plain-words", {"docs/b.md": "A stranger's capsule.\n"}),
    ("nothing-unfinished", {"src/core/b.cpp": cpp("// TO" + "DO: later")}),
]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_repository_follows_the_rules() -> None:
    assert [str(finding) for finding in house.check(ROOT)] == []


def test_tree_that_follows_the_rules_passes(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert [str(finding) for finding in house.check(tmp_path)] == []


@pytest.mark.parametrize(("rule", "files"), VIOLATIONS, ids=[rule for rule, _ in VIOLATIONS])
def test_violation_is_found(rule: str, files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, GOOD | files)
    findings = house.check(tmp_path)
    assert {finding.rule for finding in findings} == {rule}
    assert {finding.path for finding in findings} <= set(files)


def test_every_rule_has_a_violation_here() -> None:
    assert {rule for rule, _ in VIOLATIONS} == set(house.RULES)


def test_the_top_of_the_tree(tmp_path: Path) -> None:
    write(tmp_path, {"src/core/a.cpp": "// a\n", "notes.txt": "", "build/x": ""})
    (tmp_path / "810a").symlink_to("810a")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "src", "notes.txt", "810a"], cwd=tmp_path, check=True)
    assert [found.path for found in house.top_level(tmp_path)] == ["810a", "notes.txt"]


def test_command_fails_on_a_violation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, GOOD)
    assert house.main([str(tmp_path)]) == 0
    write(tmp_path, {"src/core/b.cpp": cpp("void f() { goto out; out:; }")})
    assert house.main([str(tmp_path)]) == 1
    assert "src/core/b.cpp:2: [no-goto]" in capsys.readouterr().out
