"""The module refarray.linalg: when it is imported, what it holds, and its named tuples."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

xp: Any = refarray
SIGNATURES = {
    "cholesky": "(x, /, *, upper=False)",
    "cross": "(x1, x2, /, *, axis=-1)",
    "det": "(x, /)",
    "diagonal": "(x, /, *, offset=0)",
    "eig": "(x, /)",
    "eigh": "(x, /)",
    "eigvals": "(x, /)",
    "eigvalsh": "(x, /)",
    "inv": "(x, /)",
    "matrix_norm": "(x, /, *, keepdims=False, ord='fro')",
    "matrix_power": "(x, n, /)",
    "matrix_rank": "(x, /, *, rtol=None)",
    "outer": "(x1, x2, /)",
    "pinv": "(x, /, *, rtol=None)",
    "qr": "(x, /, *, mode='reduced')",
    "slogdet": "(x, /)",
    "solve": "(x1, x2, /)",
    "svd": "(x, /, *, full_matrices=True)",
    "svdvals": "(x, /)",
    "trace": "(x, /, *, offset=0, dtype=None)",
    "vector_norm": "(x, /, *, axis=None, keepdims=False, ord=2)",
}
SHARED = ("matmul", "matrix_transpose", "tensordot", "vecdot")
NAMES = sorted((*SIGNATURES, *SHARED))
TUPLES = {
    "eig": ("EigResult", ("eigenvalues", "eigenvectors")),
    "eigh": ("EighResult", ("eigenvalues", "eigenvectors")),
    "qr": ("QRResult", ("Q", "R")),
    "slogdet": ("SlogdetResult", ("sign", "logabsdet")),
    "svd": ("SVDResult", ("U", "S", "Vh")),
}
names = run_each("name", SIGNATURES)
several = run_each("name", TUPLES)


def run(code: str) -> str:
    """What a new interpreter prints."""
    path = [each for each in sys.path if each]
    script = f"import sys; sys.path[:0] = {path!r}\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ATTRIBUTE = """
import refarray
assert "refarray.linalg" not in sys.modules and "linalg" not in vars(refarray)
assert "linalg" in dir(refarray) and "linalg" in refarray.__all__
x = refarray.eye(2)
assert "refarray.linalg" not in sys.modules
print(float(refarray.linalg.det(x)))
assert sys.modules["refarray.linalg"] is refarray.linalg is vars(refarray)["linalg"]
"""
FROM = """
from refarray import linalg
import refarray
assert linalg is refarray.linalg is sys.modules["refarray.linalg"]
print(linalg.inv(refarray.eye(1)).tolist())
"""
SUBMODULE = """
import refarray.linalg
from refarray.linalg import svd
assert refarray.linalg.svd is svd
print(refarray.linalg.__name__)
"""
NAMESPACE = """
import refarray
xp = refarray.ones(1).__array_namespace__()
assert "refarray.linalg" not in sys.modules
print(hasattr(xp, "linalg"), sorted(sys.modules).count("refarray.linalg"))
"""
STAR = """
from refarray import *
print(linalg.__name__)
"""
PROGRAMS = {
    "attribute": (ATTRIBUTE, "1.0"),
    "from": (FROM, "[[1.0]]"),
    "submodule": (SUBMODULE, "refarray.linalg"),
    "namespace": (NAMESPACE, "True 1"),
    "star": (STAR, "refarray.linalg"),
}


@pytest.mark.not_sanitized("isolated mode ignores PYTHONMALLOC, and LSan reports arenas as leaks")
@run_each("kind", PROGRAMS)
def test_the_module_is_imported_on_first_use(kind: str) -> None:
    code, printed = PROGRAMS[kind]
    assert run(code) == printed


def test_the_names_of_the_module() -> None:
    assert xp.linalg.__all__ == NAMES and len(NAMES) == 25
    assert set(NAMES) <= set(dir(xp.linalg))
    found: dict[str, Any] = {}
    exec("from refarray.linalg import *", found)
    assert set(found) - {"__builtins__"} == set(NAMES)
    assert importlib.import_module("refarray.linalg") is xp.linalg
    with pytest.raises(AttributeError, match="lstsq"):
        xp.linalg.lstsq  # noqa: B018


@pytest.mark.parametrize("name", SHARED)
def test_functions_of_the_main_namespace(name: str) -> None:
    assert getattr(xp.linalg, name) is getattr(xp, name)


@names
def test_functions_as_objects(name: str) -> None:
    function = getattr(xp.linalg, name)
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__ == "refarray.linalg"
    assert str(inspect.signature(function)) == SIGNATURES[name]
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function is copy.copy(function)
    assert name in repr(function) and callable(function)
    assert not hasattr(refarray, name)


@names
def test_documentation_of_functions(name: str) -> None:
    function = getattr(xp.linalg, name)
    doc = inspect.getdoc(function) or ""
    assert "Array API standard" in doc.rsplit("\n", 1)[-1]
    for each in inspect.signature(function).parameters:
        assert re.search(rf"^(\w+, )*{each}(, \w+)*: ", doc, re.MULTILINE), each
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}{SIGNATURES[name]}" in text and doc.split("\n", 1)[0] in text


def arguments(name: str) -> tuple[Any, ...]:
    """What a function takes."""
    if name == "matrix_power":
        return xp.eye(3), 2
    if name == "outer":
        return xp.ones(3), xp.ones(3)
    return (xp.eye(3), xp.eye(3)) if name in ("cross", "solve") else (xp.eye(3),)


@names
def test_parameters_are_positional_or_keywords_only(name: str) -> None:
    function, given = getattr(xp.linalg, name), arguments(name)
    function(*given)
    with pytest.raises(TypeError, match=name):
        function()
    with pytest.raises(TypeError, match=name):
        function(**dict(zip(("x", "n"), given, strict=False)))
    with pytest.raises(TypeError, match=name):
        function(*given, 1)
    for keywords in ({"unknown": 1}, {"out": given[0]}, {"hermitian": True}):
        with pytest.raises(TypeError, match="keyword"):
            function(*given, **keywords)


# --- named tuples


@several
def test_named_tuples(name: str) -> None:
    title, fields = TUPLES[name]
    result = getattr(xp.linalg, name)(xp.eye(3))
    kind: Any = type(result)
    assert isinstance(result, tuple) and kind.__name__ == title
    assert kind._fields == fields and len(result) == len(fields)
    for index, field in enumerate(fields):
        assert getattr(result, field) is result[index]
        assert isinstance(result[index], refarray.Array)
        assert f"{field}=" in repr(result)
    first, *rest = result
    assert first is result[0] and len(rest) == len(fields) - 1
    assert repr(result).startswith(title)
    with pytest.raises(AttributeError):
        setattr(result, fields[0], None)


@several
def test_named_tuples_have_one_type(name: str) -> None:
    function = getattr(xp.linalg, name)
    kinds = {type(function(xp.eye(n, dtype=d))) for n in (0, 1, 3) for d in ("float32", "float64")}
    assert len(kinds) == 1
    assert set(kinds) != {type(getattr(xp.linalg, other)(xp.eye(1))) for other in TUPLES}


@several
def test_named_tuples_can_be_pickled(name: str) -> None:
    result = getattr(xp.linalg, name)(xp.eye(3))
    for other in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert type(other) is type(result)
        for pair in zip(other, result, strict=True):
            assert pair[0].tobytes() == pair[1].tobytes() and pair[0].dtype == pair[1].dtype


@several
def test_results_share_no_memory(name: str) -> None:
    x = xp.eye(3)
    before = x.tobytes()
    result = getattr(xp.linalg, name)(x)
    for each in result:
        wanted = [other.tobytes() for other in result if other is not each]
        each[...] = 7
        assert [other.tobytes() for other in result if other is not each] == wanted
        assert each.is_contiguous() and not each.readonly
    assert x.tobytes() == before
