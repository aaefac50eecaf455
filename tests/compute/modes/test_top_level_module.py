"""The module that the class of an array names first computes with it, for libraries that take
their functions from there: opt_einsum, autoray, and with them xarray."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from typing import Any

import numpy
import pytest
from helpers.cases import run_each

import refarray
import refarray.strict

pytestmark = pytest.mark.every_python

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
    import subprocess

    code = "import refarray, sys; sys.exit('refarray_strict' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


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
