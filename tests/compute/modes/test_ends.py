"""Namespaces end with their last array, and their classes and functions are pickled by name."""

from __future__ import annotations

import gc
import importlib
import pickle
import subprocess
import sys
import sysconfig
import weakref
from typing import Any

import pytest
from helpers.cases import run_each

import refarray
from refarray._namespaces.by_name import PACKAGE, arguments_in

pytestmark = pytest.mark.every_python

gpu = refarray.VirtualDevice("a.b'\\ é", id=3, dtypes=[refarray.bool, refarray.float32])
ARGUMENTS: list[dict[str, Any]] = [
    {"strict": True},
    {"immutable": True},
    {"strict": True, "api_version": "2022.12"},
    {"strict": True, "lazy": True},
    {"lazy": True, "boolean_indexing": True, "data_dependent_shapes": True},
    {"strict": True, "poison_views": True},
    {"strict": True, "devices": [gpu]},
    {"devices": [gpu, refarray.VirtualDevice("b")], "extensions": ["fft"]},
    {"default_dtypes": {"real floating": refarray.float32}},
]
arguments = run_each("arguments", ARGUMENTS, ids=str)
unlike = {"name": 0}
#: Whether the interpreter makes classes and modules immortal once a thread has started.
IMMORTAL = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)
mortal = pytest.mark.skipif(IMMORTAL, reason="CPython 3.13 without a GIL keeps classes for ever")


def fresh(arguments: dict[str, Any]) -> Any:
    """A namespace that no other test holds: with a device of its own."""
    unlike["name"] += 1
    own = refarray.VirtualDevice(f"device {unlike['name']}", id=9)
    return refarray.namespace(**{**arguments, "devices": [*arguments.get("devices", ()), own]})


@mortal
@arguments
def test_a_namespace_ends_with_its_last_array(arguments: dict[str, Any]) -> None:
    xp = fresh(arguments)
    x, function = xp.ones(3) + xp.ones(3), xp.sum
    x.__array_namespace__(api_version="2022.12")
    pickle.loads(pickle.dumps(x))
    gone = weakref.ref(xp)
    del xp
    for name in ("x", "function"):
        gc.collect()
        assert gone() is not None, name
        if name == "x":
            assert float(refarray.asarray(x.__array_namespace__().sum(x))) == 6.0
            del x
    del function
    gc.collect()
    assert gone() is None


@mortal
@arguments
def test_equal_arguments_make_it_again(arguments: dict[str, Any]) -> None:
    xp = fresh(arguments)
    text, origin = repr(xp), xp.__reduce__()
    assert origin[0](*origin[1]) is xp
    gone = weakref.ref(xp)
    del xp
    gc.collect()
    assert gone() is None
    again = origin[0](*origin[1])
    assert repr(again) == text and float(refarray.asarray(again.sum(again.ones(3)))) == 3.0


@arguments
def test_classes_and_functions_are_pickled_by_name(arguments: dict[str, Any]) -> None:
    xp: Any = refarray.namespace(**arguments)
    values = (
        [type(xp.ones(1, device=each)) for each in xp.__array_namespace_info__().devices()]
        if (hasattr(xp, "__array_namespace_info__"))
        else [type(xp.ones(1))]
    )
    spaces = [xp, xp.ones(1).__array_namespace__(api_version="2022.12")]
    for space in spaces:
        for module in (space, *(getattr(space, n) for n in ("linalg", "fft") if hasattr(space, n))):
            names = [name for name in module.__all__ if callable(getattr(module, name))]
            values += [getattr(module, name) for name in names]
    assert len(values) > 100
    for each in values:
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            got = pickle.loads(pickle.dumps(each, protocol))
            assert got is each, (each, each.__module__)


def test_another_process_finds_them() -> None:
    sent = []
    for each in ARGUMENTS:
        xp: Any = refarray.namespace(**each)
        sent.append((type(xp.ones(1)), xp.sum, xp.asarray, xp.fft.fft, xp.fft.fftfreq, xp.finfo))
    code = (
        "import pickle, sys; found = pickle.loads(sys.stdin.buffer.read())\n"
        "for kind, total, asarray, fft, freq, finfo in found:\n"
        "    x = asarray([1.0, 2.0]); assert type(x) is kind\n"
        "    xp = x.__array_namespace__(); fft_of = xp.fft\n"
        "    assert (xp.sum, xp.asarray) == (total, asarray)\n"
        "    assert (fft_of.fft, fft_of.fftfreq) == (fft, freq)\n"
        "    total(x), freq(4), finfo(x)\n"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(sent), check=True)


@mortal
def test_a_module_by_name_holds_no_namespace() -> None:
    xp = fresh({"strict": True})
    kind = type(xp.ones(1))
    module = importlib.import_module(kind.__module__)
    assert module.Array is kind and module.sum is not None
    gone = weakref.ref(xp)
    del xp, kind
    gc.collect()
    assert gone() is None
    assert module.Array.__module__ == module.__name__


def test_only_refarray_strict_is_a_module_by_itself() -> None:
    code = (
        "import refarray, refarray.strict, sys; before = set(sys.modules)\n"
        "xp = refarray.namespace(strict=True); xp.sum(xp.ones(3)); del xp\n"
        "print(*(name for name in set(sys.modules) - before if 'refarray' in name))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@run_each(
    "text",
    [
        "",
        "x",
        "namespace",
        "namespace(1)",
        "namespace(strict=open('x'))",
        "exec(strict=True)",
        "a.b",
    ],
)
def test_other_names_are_no_modules(text: str) -> None:
    with pytest.raises(ValueError, match="no name of a namespace"):
        arguments_in(text)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{PACKAGE}.{text}")
