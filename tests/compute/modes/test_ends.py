"""Namespaces end with their last array, and their classes and functions are pickled by name.

The module that the class of an array names first computes with it, for libraries that take their
functions from there: opt_einsum, autoray, and with them xarray."""

from __future__ import annotations

import gc
import importlib
import itertools
import math
import pickle
import sys
import sysconfig
import weakref
from typing import Any

import numpy
import pytest
from helpers.cases import run_each
from helpers.processes import printed

import refarray
import refarray.strict
from refarray._namespaces.by_name import PACKAGE, arguments_in

pytestmark = pytest.mark.every_python

odd = refarray.VirtualDevice("a.b'\\ é", id=3, dtypes=[refarray.bool, refarray.float32])
ARGUMENTS: list[dict[str, Any]] = [
    {"strict": True},
    {"immutable": True},
    {"strict": True, "api_version": "2022.12"},
    {"strict": True, "lazy": True},
    {"lazy": True, "boolean_indexing": True, "data_dependent_shapes": True},
    {"strict": True, "poison_views": True},
    {"strict": True, "devices": [odd]},
    {"devices": [odd, refarray.VirtualDevice("b")], "extensions": ["fft"]},
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
    printed(
        f"import pickle; found = pickle.loads({pickle.dumps(sent)!r})\n"
        "for kind, total, asarray, fft, freq, finfo in found:\n"
        "    x = asarray([1.0, 2.0]); assert type(x) is kind\n"
        "    xp = x.__array_namespace__(); fft_of = xp.fft\n"
        "    assert (xp.sum, xp.asarray) == (total, asarray)\n"
        "    assert (fft_of.fft, fft_of.fftfreq) == (fft, freq)\n"
        "    total(x), freq(4), finfo(x)\n"
    )


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
    assert printed(code).split() == []


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


# --- The module that the class of an array names first


gpu = refarray.VirtualDevice("gpu")
SPACES: dict[str, Any] = {
    "strict": refarray.namespace(strict=True),
    "immutable": refarray.namespace(immutable=True),
    "earlier": refarray.namespace(strict=True, api_version="2023.12"),
    "devices": refarray.namespace(strict=True, devices=[gpu]),
    "unknown": refarray.namespace(lazy=True, boolean_indexing=True, data_dependent_shapes=True),
    "refarray.strict": refarray.strict,
}
spaces = run_each("xp", SPACES.values(), ids=SPACES)


def module_of(x: Any) -> Any:
    """As opt_einsum and autoray find it."""
    return importlib.import_module(type(x).__module__.split(".")[0])


def values(x: Any) -> Any:
    return numpy.asarray(refarray.asarray(x))


@spaces
def test_functions_are_those_of_the_array(xp: Any) -> None:
    x = xp.reshape(xp.arange(6.0), (2, 3))
    module = module_of(x)
    results = [
        module.tensordot(x, module.transpose(x), axes=1),
        module.permute_dims(x, (1, 0)),
        module.stack([x, x]),
        module.sum(x),
        module.linalg.vector_norm(x),
        importlib.import_module(f"{module.__name__}.fft").rfft(x),
        module.where(x > 1.0, x, -x),
        module.astype(x, module.float64 if "strict" in xp.__name__ else refarray.float64),
    ]
    assert {type(each) for each in results} == {type(x)}
    assert all(each.__array_namespace__() is xp for each in results)


def test_devices_have_modules_too() -> None:
    for xp, device in (
        (SPACES["devices"], gpu),
        (refarray.strict, refarray.strict.Device("device1")),  # type: ignore[attr-defined]
    ):
        x = xp.ones((2, 3), device=device)
        assert module_of(x).tensordot(x, x, axes=2).device == device


def test_without_an_array_it_is_refarray_strict() -> None:
    module: Any = importlib.import_module("refarray_strict")
    assert module.zeros(3).__array_namespace__() is refarray.strict
    assert module.Array is type(refarray.strict.zeros(1))  # type: ignore[attr-defined]
    for name in ("numpy", "__path", "strides", "NoCopyError", "linalg.x"):
        assert not hasattr(module, name)
    assert {"sum", "einsum", "float32"} <= set(dir(module))
    own = {"Array", "DType", "Device", "einsum", "transpose"}
    assert set(dir(module)) == own | set(SPACES["strict"].__all__)
    assert all(hasattr(module, name) for name in own)


def test_it_is_not_imported_with_refarray() -> None:
    printed("import refarray, sys; sys.exit('refarray_strict' in sys.modules)")


TERMS = ["ij", "jk", "i", "ii", "iji", "", "kji"]


@run_each("terms", [*((t,) for t in TERMS), *itertools.product(TERMS, TERMS)], ids=str)
def test_einsum(terms: tuple[str, ...]) -> None:
    xp = SPACES["strict"]
    operands = [
        numpy.arange(float(2 ** len(term))).reshape((2,) * len(term)) + 1.0 for term in terms
    ]
    letters = sorted(set("".join(terms)))
    outputs = ["", "".join(letters), "".join(reversed(letters)), "".join(letters[:1])]
    einsum = importlib.import_module("refarray_strict").einsum
    for text in [",".join(terms), *(f"{', '.join(terms)} -> {out}" for out in outputs)]:
        got = einsum(text, *map(xp.asarray, operands))
        expected = numpy.einsum(text, *operands)
        assert got.shape == expected.shape and (values(got) == expected).all(), text


@run_each(
    "text",
    [
        "...",
        "i...->...",
        "...ij,...jk->...ik",
        "...i,...i",
        "i,...->i...",
    ],
)
def test_einsum_of_further_axes(text: str) -> None:
    xp = SPACES["strict"]
    shapes = [(2, 1, 2, 2), (3, 2, 2)]
    operands = [numpy.arange(float(math.prod(shape))).reshape(shape) + 1.0 for shape in shapes]
    if text == "i,...->i...":
        operands[0] = operands[0][0, 0, 0]
    operands = operands[: text.count(",") + 1]
    got = importlib.import_module("refarray_strict").einsum(text, *map(xp.asarray, operands))
    expected = numpy.einsum(text, *operands)
    assert got.shape == expected.shape and (values(got) == expected).all()


def test_what_einsum_refuses() -> None:
    einsum = importlib.import_module("refarray_strict").einsum
    x = SPACES["strict"].ones((2, 3))
    for text, operands in (("ij", [1.0]), ("ij", [numpy.ones((2, 3))])):
        with pytest.raises(TypeError, match="einsum"):
            einsum(text, *operands)
    invalid = ["i", "ij,jk", "ii", "ij->ijk", "ij->iij", "ij->k", "ij->i->j", "1j"]
    invalid += ["..i", "...i...", "ijk...", "ij->...", "...,...", "...ij->......ij", "...j->j"]
    for text, operands in ((each, [x]) for each in invalid):
        with pytest.raises(ValueError):
            einsum(text, *operands)


@pytest.mark.parametrize("version", ["2022.12", "2023.12", "2024.12"])
def test_einsum_of_earlier_versions_and_without_extensions(version: str) -> None:
    einsum = importlib.import_module("refarray_strict").einsum
    for xp in (
        refarray.namespace(strict=True, api_version=version),
        refarray.namespace(strict=True, api_version=version, extensions=[]),
    ):
        x = xp.reshape(xp.arange(9, dtype=xp.float64), (3, 3))
        assert values(einsum("ii->i", x)).tolist() == [0, 4, 8]
        assert values(einsum("ij->ji", x)).tolist() == values(x).T.tolist()
