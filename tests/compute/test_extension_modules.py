"""The modules fft and linalg: when they are imported, what they hold, and named tuples."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pydoc
import re
import sys
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.processes import python
from oracles import direct_sums

import refarray

xp: Any = refarray
SHARED = ("matmul", "matrix_transpose", "tensordot", "vecdot")
TUPLES = {
    "eig": ("EigResult", ("eigenvalues", "eigenvectors")),
    "eigh": ("EighResult", ("eigenvalues", "eigenvectors")),
    "qr": ("QRResult", ("Q", "R")),
    "slogdet": ("SlogdetResult", ("sign", "logabsdet")),
    "svd": ("SVDResult", ("U", "S", "Vh")),
}
modules = run_each("module", ["fft", "linalg"])
functions = run_each(
    ("module", "name"),
    [
        (module, name)
        for module in ("fft", "linalg")
        for name in getattr(xp, module).__all__
        if name not in SHARED
    ],
)
several = run_each("name", TUPLES)


def run(code: str) -> str:
    """What a new interpreter prints."""
    path = [each for each in sys.path if each]
    script = f"import sys; sys.path[:0] = {path!r}\n{code}"
    done = python("-I", "-S", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


#: MODULE and USE stand for the module and a call of one of its functions.
PROGRAMS = {
    "attribute": """
import refarray
assert "refarray.MODULE" not in sys.modules and "MODULE" not in vars(refarray)
assert "MODULE" in dir(refarray) and "MODULE" in refarray.__all__
x = refarray.ones((1, 1))
assert "refarray.MODULE" not in sys.modules
print(refarray.MODULE.USE.tolist())
assert sys.modules["refarray.MODULE"] is refarray.MODULE is vars(refarray)["MODULE"]
""",
    "from": """
from refarray import MODULE
import refarray
assert MODULE is refarray.MODULE is sys.modules["refarray.MODULE"]
x = refarray.ones((1, 1))
print(MODULE.USE.tolist())
""",
    "submodule": """
import refarray.MODULE
from refarray.MODULE import NAME
assert refarray.MODULE.NAME is NAME
print(refarray.MODULE.__name__)
""",
    "namespace": """
import refarray
xp = refarray.ones(1).__array_namespace__()
assert "refarray.MODULE" not in sys.modules
print(hasattr(xp, "MODULE"), sorted(sys.modules).count("refarray.MODULE"))
""",
    "star": """
from refarray import *
print(MODULE.__name__)
""",
}
USES = {"fft": ("rfft(x)", "[[(1+0j)]]"), "linalg": ("inv(x)", "[[1.0]]")}


@pytest.mark.not_sanitized("isolated mode ignores PYTHONMALLOC, and LSan reports arenas as leaks")
@modules
@run_each("kind", PROGRAMS)
def test_the_module_is_imported_on_first_use(kind: str, module: str) -> None:
    use, result = USES[module]
    words = {"MODULE": module, "USE": use, "NAME": use.partition("(")[0]}
    code = re.sub("MODULE|USE|NAME", lambda found: words[found[0]], PROGRAMS[kind])
    printed = {"submodule": f"refarray.{module}", "namespace": "True 1"}
    printed["star"] = printed["submodule"]
    assert run(code) == printed.get(kind, result)


@modules
def test_the_names_of_the_module(module: str) -> None:
    own = getattr(xp, module)
    assert len(own.__all__) == {"fft": len(direct_sums.NAMES), "linalg": 25}[module]
    assert own.__all__ == sorted(own.__all__) and set(own.__all__) <= set(dir(own))
    found: dict[str, Any] = {}
    exec(f"from refarray.{module} import *", found)
    assert set(found) - {"__builtins__"} == set(own.__all__)
    assert importlib.import_module(f"refarray.{module}") is own
    with pytest.raises(AttributeError, match="lstsq"):
        own.lstsq  # noqa: B018


@run_each("name", SHARED)
def test_functions_of_the_main_namespace(name: str) -> None:
    assert getattr(xp.linalg, name) is getattr(xp, name)


@functions
def test_functions_as_objects(module: str, name: str) -> None:
    function = getattr(getattr(xp, module), name)
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__ == f"refarray.{module}"
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function is copy.copy(function)
    assert name in repr(function) and callable(function)
    assert not hasattr(refarray, name) or name == "fft"


@functions
def test_documentation_of_functions(module: str, name: str) -> None:
    function = getattr(getattr(xp, module), name)
    doc = inspect.getdoc(function) or ""
    assert "Array API standard" in doc.rsplit("\n", 1)[-1]
    signature = inspect.signature(function)
    for each in set(signature.parameters) - {"device"}:
        assert re.search(rf"^(\w+, )*{each}(, \w+)*: ", doc, re.MULTILINE), each
    for shown in (function, getattr(xp, module)):
        text = pydoc.plain(pydoc.render_doc(shown))
        assert f"{name}{signature}" in text and doc.split("\n", 1)[0] in text


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
