"""Strict namespaces: what libraries that use arrays do by accident raises.

Written from the standard and from how users of array libraries write; beside each refusal stands
the spelling that the standard promises, which works.
"""

from __future__ import annotations

import http
import operator
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each, words
from oracles.functions import TABLE

import refarray

pytestmark = pytest.mark.every_python

xp: Any = refarray.namespace(strict=True)
frozen: Any = refarray.namespace(strict=True, immutable=True)
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
]
both = run_each("space", [xp, frozen], ids=["strict", "immutable"])


def vector(dtype: str = "float64") -> Any:
    values = [True, True, True] if dtype == "bool" else [1, 2, 3]
    return xp.asarray(values, dtype=getattr(xp, dtype))


def matrix() -> Any:
    return xp.reshape(xp.arange(6, dtype=xp.float64), (2, 3))


# --- names


@both
def test_the_names_are_those_of_the_standard(space: Any) -> None:
    expected = {name for name in TABLE["functions"] if "." not in name and name != "to_device"}
    expected |= {*TABLE["constants"], *DTYPES, "fft", "linalg", "__array_api_version__"}
    assert set(space.__all__) == expected | {"__array_namespace_info__"}
    for module in ("fft", "linalg"):
        functions = {n.partition(".")[2] for n in TABLE["functions"] if n.startswith(f"{module}.")}
        assert set(getattr(space, module).__all__) == functions


@both
@pytest.mark.parametrize("name", sorted({*refarray.__all__, "array", "concatenate", "T", "NAN"}))
def test_other_names_are_missing(space: Any, name: str) -> None:
    assert hasattr(space, name) == (name in space.__all__)


@both
def test_attributes_are_those_of_the_standard(space: Any) -> None:
    x = space.zeros((2, 2))
    plain = {name for name in dir(x) if not name.startswith("__")}
    assert plain == {*TABLE["attributes"], "to_device"}
    for name in plain:
        getattr(x, name) if name != "to_device" else x.to_device(x.device)
    for name in words("strides astype reshape tolist item sum numpy nbytes copy"):
        with pytest.raises(AttributeError, match=name):
            getattr(x, name)
    for name in ("__array_interface__", "__len__", "__contains__", "__array_struct__"):
        assert not hasattr(x, name), name
    with pytest.raises(AttributeError):
        x.note = 1


# --- dtypes, devices and conveniences of arguments


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "complex32"])
def test_dtypes_are_those_of_the_standard(name: str) -> None:
    dtype = getattr(refarray, name)
    for call in (lambda: xp.zeros(3, dtype=dtype), lambda: xp.astype(vector(), dtype)):
        with pytest.raises(TypeError, match=f"no dtype {name}"):
            call()
    made = refarray.asarray([1.0, 2.0], dtype=dtype)
    for function in (xp.asarray, xp.from_dlpack):
        with pytest.raises(TypeError, match=f"no dtype {name}"):
            function(made)


@pytest.mark.parametrize("device", ["cpu", 0, object()])
def test_devices_are_device_objects(device: Any) -> None:
    for call in (
        lambda: xp.zeros(3, device=device),
        lambda: xp.asarray([1], device=device),
        lambda: vector().to_device(device),
        lambda: xp.__array_namespace_info__().dtypes(device=device),
    ):
        with pytest.raises(TypeError, match="device"):
            call()
    assert xp.zeros(3, device=vector().device).shape == (3,)


def test_arguments_are_those_of_the_standard() -> None:
    x = vector()
    for call in (
        lambda: xp.from_dlpack(x, max_version=(1, 0)),
        lambda: xp.sum(x, 0),
        lambda: xp.sum(x=x),
        lambda: xp.add(x1=x, x2=x),
        lambda: xp.sqrt(x, out=x),
        lambda: xp.asarray(obj=[1]),
        lambda: xp.reshape(x, 3),
        lambda: xp.reshape(x, -1),
        lambda: xp.reshape(x, [3]),
        lambda: xp.tile(x, 2),
        lambda: xp.sum(x, axis=[0]),
        lambda: xp.full(3, vector()[0]),
        lambda: xp.stack(x),
    ):
        with pytest.raises(TypeError):
            call()
    assert xp.reshape(x, (-1,)).shape == xp.full((3,), 1).shape == (3,)


# --- kinds that do not mix, and implicit conversions


@pytest.mark.parametrize(("a", "b"), [("int32", "float32"), ("bool", "int8"), ("uint64", "int64")])
def test_kinds_do_not_mix(a: str, b: str) -> None:
    x, y = vector(a), vector(b)
    for function in (xp.add, xp.multiply, xp.equal, xp.maximum, xp.matmul):
        with pytest.raises(TypeError):
            function(x, y)
    for call in (lambda: xp.concat([x, y]), lambda: xp.where(x == x, x, y), lambda: x + y):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("dtype", "number"), [("int64", 1.5), ("int64", True), ("bool", 1), ("float64", True)]
)
def test_numbers_have_the_kind_of_the_array_or_a_lower_one(dtype: str, number: Any) -> None:
    x = vector(dtype)
    for call in (lambda: x + number, lambda: number == x, lambda: xp.multiply(x, number)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        x[0] = number
    assert (vector("float64") + 1).dtype == xp.float64


def test_numbers_fit_the_dtype() -> None:
    for call in (lambda: vector("int8") + 128, lambda: vector("uint8") == -1):
        with pytest.raises(OverflowError):
            call()


@run_each("other", [None, "1", [1, 2, 3], (1,), range(3), b"123"])
def test_operands_are_arrays_and_numbers(other: Any) -> None:
    x = vector()
    for call in (
        lambda: x + other,
        lambda: other * x,
        lambda: x == other,
        lambda: other != x,
        lambda: x < other,
        lambda: xp.add(x, other),
    ):
        with pytest.raises(TypeError):
            call()


class Half(float):
    """As numpy.float64, a subclass of float."""


@pytest.mark.parametrize("number", [Half(0.5), http.HTTPStatus(200)])
def test_instances_of_python_numbers_are_numbers(number: Any) -> None:
    """The standard asks for instances: of a subclass too."""
    x, plain = vector("float32"), number.real
    assert (x + number).dtype == x.dtype
    assert xp.all(x + number == x + plain) and xp.all(number - x == plain - x)
    assert xp.all(xp.maximum(x, number) == xp.maximum(x, plain))


def test_numpy_arrays_and_scalars_do_not_mix() -> None:
    """But numpy.float64 and numpy.complex128 are instances of float and complex."""
    numpy = pytest.importorskip("numpy")
    x, y = vector(), numpy.ones(3)
    for other in (y, numpy.float32(1), numpy.int64(1), numpy.bool_(True)):
        for call in (
            lambda other=other: x + other,
            lambda other=other: other * x,
            lambda other=other: x == other,
            lambda other=other: xp.maximum(x, other),
        ):
            with pytest.raises(TypeError):
                call()
        if other is not y:
            with pytest.raises(TypeError):
                x[0] = other
    x[0] = numpy.float64(7)  # it is an instance of float, which is all that the standard asks
    assert float(x[0]) == 7
    with pytest.raises(TypeError):
        y += x
    with pytest.raises(IndexError):
        x[y == 1]
    assert xp.asarray(y).shape == numpy.asarray(x).shape == (3,), "named conversions work"


def test_sequences_with_arrays_are_not_converted() -> None:
    x = vector()
    for obj in ([x, x], [x[0], x[1]], (x[0],)):
        with pytest.raises(TypeError, match="stack"):
            xp.asarray(obj)
    assert xp.stack([x, x]).shape == (2, 3)
    assert xp.asarray([[x[0], x[1]]]).shape == (1, 2), "the official suite does this"


@pytest.mark.parametrize("function", [bool, int, float, complex])
def test_only_arrays_of_ndim_0_are_numbers(function: Any) -> None:
    assert function(vector()[0]) == 1
    with pytest.raises(TypeError):
        function(vector()[:1])
    with pytest.raises(TypeError):
        len(vector())
    with pytest.raises(TypeError):
        hash(vector())


def test_only_vectors_are_iterable() -> None:
    assert [float(each) for each in vector()] == [1, 2, 3]
    for x in (matrix(), vector()[0]):
        with pytest.raises(TypeError):
            iter(x)
    with pytest.raises(TypeError):
        _ = 1.0 in matrix()
    assert [each.shape for each in xp.unstack(matrix())] == [(3,), (3,)]


# --- indexing


INDEX: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "no entry for an axis": (lambda x: x[0], lambda x: x[0, ...]),
    "an empty tuple": (lambda x: x[()], lambda x: x[...]),
    "a start past the end": (lambda x: x[0, 4:], lambda x: x[0, 3:]),
    "a stop past the end": (lambda x: x[0, :4], lambda x: x[0, :3]),
    "a stop before the beginning": (lambda x: x[0, :-4], lambda x: x[0, :-3]),
    "a huge stop": (lambda x: x[0, : 10**30], lambda x: x[0, :]),
    "an integer past the end": (lambda x: x[0, 3], lambda x: x[0, 2]),
    "a bool": (lambda x: x[True, ...], lambda x: x[None, ...]),
    "a list": (lambda x: x[[0, 1], :], lambda x: xp.take(x, xp.asarray([0, 1]), axis=0)),
    "a float": (lambda x: x[0.0, ...], lambda x: x[0, ...]),
    "a mask beside others": (lambda x: x[x[:, 0] > 0, 0], lambda x: x[x > 0]),
    "indices beside a slice": (lambda x: x[xp.asarray([0]), :], lambda x: x[xp.asarray([0]), 1]),
    "an array of no axis beside a slice": (
        lambda x: x[xp.asarray(0), :],
        lambda x: x[xp.asarray(0), 1],
    ),
    "two ellipses": (lambda x: x[..., 0, ...], lambda x: x[..., 0, :]),
}


@both
@run_each("what", INDEX)
def test_indices_are_those_of_the_standard(space: Any, what: str) -> None:
    x = space.asarray(matrix())
    wrong, right = INDEX[what]
    if space is frozen and ("list" in what or "slice" in what):  # the index is an array of `xp`
        return
    right(x)
    with pytest.raises(IndexError):
        wrong(x)


def test_assignment() -> None:
    x = matrix()
    for index in (None, (None, ...), xp.asarray([0, 1]), (xp.asarray([0]), 0), 0, (0, slice(9))):
        with pytest.raises(IndexError):
            x[index] = 1
    for value in ([1, 2, 3], (1, 2, 3), "1", None, 1j, xp.ones(3, dtype=xp.int64) == 1):
        with pytest.raises(TypeError):
            x[0, ...] = value
    for dtype in ("int64", "float64", "complex128"):
        narrow = xp.zeros(3, dtype=xp.float32)
        with pytest.raises(TypeError, match="promote"):
            narrow[...] = vector(dtype)
    with pytest.raises(TypeError):
        del x[0, 0]
    assert bool(xp.all(x == matrix())), "nothing was written"
    x[x > 2] = 0
    x[0, :] = vector("float32")
    x[1, 2] = 7
    assert float(xp.sum(x)) == 13


# --- dtypes of functions


@run_each("name", ["sort", "argsort", "max", "cumulative_sum", "mean", "linalg.det"])
def test_functions_take_the_dtypes_of_the_standard(name: str) -> None:
    function = operator.attrgetter(name)(xp)
    x = xp.asarray([[True, False], [False, True]])
    with pytest.raises(TypeError):
        function(x[0, :] if name == "cumulative_sum" else x)


def test_bool_is_not_numeric() -> None:
    for call in (
        lambda: xp.sum(vector("bool")),
        lambda: xp.sum(vector("bool"), dtype=xp.int64),
        lambda: xp.prod(vector("bool"), dtype=xp.float64),
        lambda: -vector("bool"),
        lambda: xp.isin(vector(), vector()),
        lambda: xp.meshgrid(vector(), vector("int64")),
    ):
        with pytest.raises(TypeError):
            call()
    assert int(xp.count_nonzero(vector("bool"))) == 3
