"""asarray of elements that cannot be shared, for their strides or their byte order: None copies, as
True does, and False refuses, by every protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray

RECORD = np.dtype("u1, f8, c16, i2")
RECORDS = np.array([(i, i / 3, complex(i, -i), -i) for i in range(6)], RECORD)
OTHER = ">" if sys.byteorder == "little" else "<"
RNG = np.random.default_rng(5)


def in_other_order(code: str, *shape: int) -> Any:
    return RNG.integers(0, 100, shape).astype(code).astype(np.dtype(code).newbyteorder())


ELEMENTS: dict[str, Any] = {
    "field": RECORDS["f1"],
    "complex field": RECORDS["f2"],
    "field backwards": RECORDS["f3"][::-1],
    "field of two axes": RECORDS.reshape(2, 3).T["f1"],
    "field of one element": RECORDS[:1, None]["f1"],
    "overlapping complex": np.lib.stride_tricks.as_strided(
        np.arange(7, dtype="f4").view("u1")[:24].view("c8"), (5,), (4,)
    ),
    "complex of odd columns": np.arange(12, dtype="f4").reshape(4, 3)[:, :2].view("c8"),
    **{
        f"{OTHER}{code}": in_other_order(code, 2, 3)
        for code in ("i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16")
    },
    "other order, transposed": in_other_order("i4", 3, 4).T[::-1],
    "other order, no axis": in_other_order("f8"),
    "other order, empty": in_other_order("f8", 0, 3),
    "other order, field": np.zeros(3, f"u1, {OTHER}c8")["f1"],
}


class Interface:
    def __init__(self, x: Any) -> None:
        self.x, self.__array_interface__ = x, x.__array_interface__


class Struct:
    def __init__(self, x: Any) -> None:
        self.x, self.__array_struct__ = x, x.__array_struct__


class Method:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert copy is not True
        return self.x


PROTOCOLS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x,
    "buffer": memoryview,
    "interface": Interface,
    "struct": Struct,
    "method": Method,
}


@pytest.fixture(params=ELEMENTS)
def x(request: pytest.FixtureRequest) -> Any:
    return ELEMENTS[request.param]


@pytest.fixture(params=PROTOCOLS)
def exporter(request: pytest.FixtureRequest, x: Any) -> Any:
    return PROTOCOLS[request.param](x)


def shares(x: Any) -> bool:
    """Whether strides have no meaning, so that the elements can be shared after all."""
    return bool(x.dtype.isnative and x.size <= 1)


def test_none_copies_and_false_refuses(exporter: Any, x: Any) -> None:
    copy = refarray.asarray(exporter)
    assert (copy.shape, copy.tolist()) == (x.shape, x.tolist())
    assert copy.dtype == refarray.DType(x.dtype.newbyteorder("=").name)
    if shares(x):
        assert np.shares_memory(copy.numpy(), x)
        return
    assert not copy.readonly
    assert not np.shares_memory(copy.numpy(), x)
    with pytest.raises(refarray.NoCopyError, match="copy=False"):
        refarray.asarray(exporter, copy=False)


def test_every_reader_of_arrays_copies(exporter: Any, x: Any) -> None:
    """dtype=, items of sequences, and assignment."""
    assert refarray.asarray(exporter, dtype="complex128").tolist() == x.astype("c16").tolist()
    assert refarray.asarray([exporter, exporter]).tolist() == [x.tolist()] * 2
    into = refarray.zeros(x.shape, dtype="complex128")
    into[...] = exporter
    assert into.tolist() == x.astype("c16").tolist()


def test_true_makes_one_copy() -> None:
    for x in (RECORDS["f1"], in_other_order("i4", 5)):
        for exporter in (memoryview(x), Interface(x), Struct(x)):
            with refarray.ledger() as counted:
                copy = refarray.asarray(exporter, copy=True)
            assert copy.tolist() == x.tolist()
            assert counted.copies == 1


def test_functions_of_one_protocol_never_copy(x: Any) -> None:
    if shares(x):
        return
    for take, exporter in (
        (refarray.from_buffer, x),
        (refarray.from_array_interface, Interface(x)),
        (refarray.from_numpy, x),
        (refarray.from_dlpack, x),
    ):
        with pytest.raises(BufferError, match="stride|multiple of|byte order|no dtype for"):
            take(exporter)


def test_the_memory_around_elements_is_checked() -> None:
    """The elements must lie in the buffer that the dict names, also if they are copied."""

    class Outside:
        __array_interface__ = {  # noqa: RUF012
            "version": 3,
            "shape": (3,),
            "typestr": "<f8" if OTHER == ">" else ">f8",
            "data": bytes(26),
            "strides": (9,),
        }

    assert refarray.asarray(Outside()).tolist() == [0.0] * 3
    for change in ({"strides": (10,)}, {"offset": 1}, {"strides": (-9,)}, {"shape": (-1,)}):
        outside = Outside()
        outside.__array_interface__ = {**Outside.__array_interface__, **change}
        with pytest.raises(BufferError):
            refarray.asarray(outside)
    deep = Outside()
    deep.__array_interface__ = {
        **Outside.__array_interface__,
        "shape": (1,) * 62 + (3,),
        "strides": (0,) * 62 + (9,),
    }
    with pytest.raises(BufferError, match="ndim is 63; elements with odd strides .* at most 62"):
        refarray.asarray(deep)


@run_each(
    "out",
    [
        ("__dlpack__",),
        ("__dlpack__", "__dlpack_device__"),
        ("__dlpack__", "__dlpack_device__", "__buffer__"),
        ("__dlpack__", "__dlpack_device__", "__buffer__", "__array_interface__"),
        ("__dlpack_c_exchange_api__", "__dlpack_device__"),
    ],
)
def test_none_is_the_next_protocol_s_turn(out: tuple[str, ...]) -> None:
    x = np.arange(3.0).view(type("Out", (np.ndarray,), dict.fromkeys(out)))
    assert refarray.asarray(x).tolist() == [0.0, 1.0, 2.0]
    assert refarray.asarray([x]).tolist() == [[0.0, 1.0, 2.0]]
    assert np.shares_memory(refarray.asarray(x).numpy(), x)


def test_a_class_may_opt_out_of_everything() -> None:
    names = ("__dlpack__", "__buffer__", "__array_interface__", "__array_struct__", "__array__")
    x = np.arange(3.0).view(type("Out", (np.ndarray,), dict.fromkeys(names)))
    assert refarray.asarray(x).tolist() == [0.0, 1.0, 2.0]  # as a sequence of numbers
    with pytest.raises(TypeError, match="from_buffer needs an object with the buffer protocol"):
        refarray.from_buffer(x)


@pytest.mark.parametrize("copy", [None, True, False])
def test_a_bare_capsule_has_a_function_of_its_own(copy: bool | None) -> None:
    capsule = refarray.ones(2).__dlpack__()
    for thing in (capsule, [capsule])[: 1 if copy is False else 2]:
        with pytest.raises(TypeError, match="PyCapsule; from_capsule"):
            refarray.asarray(thing, copy=copy)
    assert refarray.from_capsule(capsule).tolist() == [1.0, 1.0]
