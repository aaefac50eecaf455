"""The module refarray.fft: when it is imported, what it holds, and its functions as objects."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys
from typing import Any

import pytest
from helpers.cases import run_each
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
SIGNATURES = {
    **dict.fromkeys(sums.ONE_AXIS, "(x, /, *, n=None, axis=-1, norm='backward')"),
    **dict.fromkeys(sums.SEVERAL_AXES, "(x, /, *, s=None, axes=None, norm='backward')"),
    **dict.fromkeys(sums.FREQUENCIES, "(n, /, *, d=1.0, dtype=None, device=None)"),
    **dict.fromkeys(sums.SHIFTS, "(x, /, *, axes=None)"),
}
names = run_each("name", sums.NAMES)


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
assert "refarray.fft" not in sys.modules and "fft" not in vars(refarray)
assert "fft" in dir(refarray) and "fft" in refarray.__all__
x = refarray.ones(2, dtype="complex64")
assert "refarray.fft" not in sys.modules
print(refarray.fft.fft(x).tolist())
assert sys.modules["refarray.fft"] is refarray.fft is vars(refarray)["fft"]
"""
FROM = """
from refarray import fft
import refarray
assert fft is refarray.fft is sys.modules["refarray.fft"]
print(fft.rfft(refarray.ones(2)).tolist())
"""
SUBMODULE = """
import refarray.fft
from refarray.fft import ifft
assert refarray.fft.ifft is ifft
print(refarray.fft.__name__)
"""
NAMESPACE = """
import refarray
xp = refarray.ones(1).__array_namespace__()
assert "refarray.fft" not in sys.modules
print(hasattr(xp, "fft"), sorted(sys.modules).count("refarray.fft"))
"""
STAR = """
from refarray import *
print(fft.__name__)
"""
PROGRAMS = {
    "attribute": (ATTRIBUTE, "[(2+0j), 0j]"),
    "from": (FROM, "[(2+0j), 0j]"),
    "submodule": (SUBMODULE, "refarray.fft"),
    "namespace": (NAMESPACE, "True 1"),
    "star": (STAR, "refarray.fft"),
}


@pytest.mark.not_sanitized("isolated mode ignores PYTHONMALLOC, and LSan reports arenas as leaks")
@run_each("kind", PROGRAMS)
def test_the_module_is_imported_on_first_use(kind: str) -> None:
    code, printed = PROGRAMS[kind]
    assert run(code) == printed


def test_the_names_of_the_module() -> None:
    assert set(xp.fft.__all__) == set(sums.NAMES)
    assert xp.fft.__all__ == sorted(xp.fft.__all__)
    assert set(sums.NAMES) <= set(dir(xp.fft))
    found: dict[str, Any] = {}
    exec("from refarray.fft import *", found)
    assert set(found) - {"__builtins__"} == set(sums.NAMES)
    assert importlib.import_module("refarray.fft") is xp.fft
    with pytest.raises(AttributeError, match="fft2"):
        xp.fft.fft2  # noqa: B018


@names
def test_functions_as_objects(name: str) -> None:
    function = getattr(xp.fft, name)
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__ == "refarray.fft"
    assert str(inspect.signature(function)) == SIGNATURES[name]
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function is copy.copy(function)
    assert name in repr(function) and callable(function)
    assert not hasattr(refarray, name) or name == "fft"


@names
def test_documentation_of_functions(name: str) -> None:
    function = getattr(xp.fft, name)
    doc = inspect.getdoc(function) or ""
    assert doc.endswith("Array API standard, Fourier transform functions, since 2022.12.")
    parameters = set(inspect.signature(function).parameters) - {"device"}
    assert all(f"\n{parameter}: " in doc for parameter in parameters)
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}{SIGNATURES[name]}" in text and doc.split("\n", 1)[0] in text


def test_documentation_of_the_module() -> None:
    text = pydoc.plain(pydoc.render_doc(xp.fft))
    assert all(f"{name}{SIGNATURES[name]}" in text for name in sums.NAMES)
    assert "Fourier" in (inspect.getdoc(xp.fft) or "")
