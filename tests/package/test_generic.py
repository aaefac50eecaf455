"""Array and DType are generic for type checkers, and what the stubs say of dtypes is true."""

from __future__ import annotations

import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from helpers.cases import run_each

import refarray
import refarray.typing as rt

STUBS = Path(__file__).resolve().parents[2] / "src" / "refarray"
FUNCTION = re.compile(r"^def (\w+)\((.*?)\) -> (.*?): \.\.\.$", re.MULTILINE | re.DOTALL)
#: Arguments for an array of shape (1, 4), by the parameters' names.
ARGUMENTS: dict[str, Any] = {
    "axes": (1, 0),
    "axis": 0,
    "destination": 1,
    "device": "cpu",
    "fill_value": 2,
    "indices": refarray.asarray([[0, 0]]),
    "repeats": 2,
    "repetitions": (2,),
    "shape": (1, 4),
    "shift": 1,
    "source": 0,
}


def functions(result: str) -> list[tuple[str, str]]:
    """Functions with the result in a stub: the module and the name."""
    return [
        (module, found[1])
        for stub, module in (("_native", ""), ("fft", "fft"), ("linalg", "linalg"))
        for found in FUNCTION.finditer((STUBS / f"{stub}.pyi").read_text(encoding="utf-8"))
        if found[3] == result and "dtype: DType" not in found[2]
    ]


def result_of(module: str, name: str, x: refarray.Array) -> Any:
    """What the function returns for `x`, and for ARGUMENTS where it needs more."""
    function = getattr(getattr(refarray, module) if module else refarray, name)
    given = {"x": x, "x1": x, "x2": x, **ARGUMENTS}
    if name == "take":
        return function(x, refarray.asarray([1, 2]), axis=1)
    needed = inspect.signature(function).parameters.values()
    return function(*(given[each.name] for each in needed if each.default is each.empty))


@run_each(("module", "name"), functions("Array[_Name]"))
def test_results_have_the_dtype_of_x(module: str, name: str) -> None:
    whole = [] if module == "fft" else ["int16", "uint8"]
    floating = [] if name == "bitwise_invert" else ["float32", "bfloat16"]
    for dtype in whole + floating:
        x = refarray.asarray([[1, 2, 3, 4]], dtype=dtype)
        assert result_of(module, name, x).dtype == dtype


@run_each(("module", "name"), functions("Array[_Bool]"))
def test_results_are_bool(module: str, name: str) -> None:
    dtype = refarray.bool if name.startswith("logical") else refarray.float32
    assert result_of(module, name, refarray.ones((1, 4), dtype=dtype)).dtype == refarray.bool


def test_stubs_have_such_functions() -> None:
    assert len(functions("Array[_Name]")) >= 30 and len(functions("Array[_Bool]")) >= 15


def test_names_stand_for_the_dtypes() -> None:
    names = {each: typing.get_args(value) for each, value in vars(rt).items() if each[0].islower()}
    literals = {each: value for each, value in names.items() if value}
    dtypes = {
        each for each in refarray.__all__ if isinstance(getattr(refarray, each), refarray.DType)
    }
    assert literals == {each: (each,) for each in dtypes}
    assert dtypes <= set(rt.__all__)


@pytest.mark.parametrize("kind", [refarray.Array, refarray.DType])
def test_subscripted_type_is_an_alias(kind: Any) -> None:
    alias = kind[refarray.float32]
    assert isinstance(alias, types.GenericAlias)
    assert (alias.__origin__, alias.__args__) == (kind, (refarray.float32,))
    with pytest.raises(TypeError, match="immutable type"):
        kind.__class_getitem__ = None
    with pytest.raises(TypeError):
        kind.__class_getitem__()


def test_strict_types_are_not_generic() -> None:
    xp = refarray.namespace(strict=True)
    with pytest.raises(TypeError, match="not subscriptable"):
        type(xp.asarray([1.0]))[int]
    with pytest.raises(TypeError, match="not subscriptable"):
        type(xp.float32)[int]
