"""copy= of asarray with every import protocol, and __array__, the last protocol tried."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from native.exporters import PROTOCOLS, VALUES, data, exporting

import refarray

# --- copy


@run_each("protocol", PROTOCOLS)
def test_copy_true_copies_with_every_protocol(adv: Any, protocol: str) -> None:
    x = exporting(adv, protocol)
    y = refarray.asarray(x, copy=True)
    y[0] = 9.0
    if protocol == "buffer":
        assert list(x) == [3.0, 3.0]
    elif protocol != "table":
        assert x.kept[protocol].tolist() == [VALUES[protocol]] * 2
    assert not y.readonly


def test_copy_false_tries_the_next_protocol_that_shares(adv: Any) -> None:
    def old(self: Any, *, max_version: Any = None) -> Any:
        return self.kept["dlpack"].__dlpack__(max_version=max_version)

    x = exporting(adv, "dlpack", "interface", dlpack=old)
    y = refarray.asarray(x, copy=False)
    y[0] = 9.0
    assert x.kept["interface"].tolist() == [9.0, 4.0]
    x = exporting(adv, "dlpack", dlpack=old)
    with pytest.raises(refarray.NoCopyError, match="does not take copy="):
        refarray.asarray(x, copy=False)
    with pytest.raises(refarray.NoCopyError, match="exports no memory"):
        refarray.asarray(exporting(adv, "table"), copy=False)


def test_copy_false_is_passed_to_dunder_array(adv: Any) -> None:
    seen: list[Any] = []

    def with_copy_keyword(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        seen.append((dtype, copy))
        if copy is False and len(seen) > 2:
            raise ValueError("only by copying")
        return self.kept["array"]

    x = exporting(adv, "array", array=with_copy_keyword)
    y = refarray.asarray(x, copy=False)
    y[0] = 9.0
    assert x.kept["array"].tolist() == [9.0, 5.0]
    refarray.asarray(x)
    assert seen == [(None, False), (None, None)]
    with pytest.raises(ValueError, match="only by copying"):
        refarray.asarray(x, copy=False)
    with pytest.raises(refarray.NoCopyError, match="does not take copy=") as caught:
        refarray.asarray(exporting(adv, "array"), copy=False)
    assert isinstance(caught.value.__cause__, TypeError)


def test_copy_true_is_passed_to_dunder_array(adv: Any) -> None:
    seen: list[Any] = []

    def with_copy_keyword(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        seen.append((dtype, copy))
        return self.kept["array"].copy() if copy else self.kept["array"]

    x = exporting(adv, "array", array=with_copy_keyword)
    y = refarray.asarray(x, copy=True)
    y[0] = 9.0
    assert (x.kept["array"].tolist(), y.tolist()) == ([5.0, 5.0], [9.0, 5.0])
    assert refarray.asarray(x, copy=True, dtype="float32").dtype == "float32"
    assert seen == [(None, True), (None, None)]  # with dtype= the conversion is the copy


def test_a_copy_of_dunder_array_is_not_copied_again(adv: Any) -> None:
    addresses: list[int] = []

    def fresh(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        out = np.full(1000, 5.0)
        addresses.append(out.ctypes.data)
        return out

    y = refarray.asarray(exporting(adv, "array", array=fresh), copy=True)
    assert y.__array_interface__["data"][0] == addresses[0]


@pytest.mark.parametrize("how", ["itself", "view", "hidden view"])
def test_a_method_that_ignores_copy_true_is_not_believed(adv: Any, how: str) -> None:
    def ignoring(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        kept = self.kept["array"]
        if how == "hidden view":
            return np.ndarray(kept.shape, kept.dtype, memoryview(kept))
        return kept if how == "itself" else kept[:]

    x = exporting(adv, "array", array=ignoring)
    refarray.asarray(x, copy=True)[0] = 9.0
    assert x.kept["array"].tolist() == [5.0, 5.0]


def test_an_old_dunder_array_is_called_without_copy(adv: Any) -> None:
    calls: list[int] = []

    def old(self: Any) -> Any:
        calls.append(1)
        return self.kept["array"]

    x = exporting(adv, "array", array=old)
    refarray.asarray(x, copy=True)[0] = 9.0
    assert (x.kept["array"].tolist(), len(calls)) == ([5.0, 5.0], 1)

    def raising(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        calls.append(2)
        raise TypeError("its own")

    class Raising:
        __array__ = raising

    for copy in (True, False):
        with pytest.raises(TypeError, match="its own"):
            refarray.asarray(Raising(), copy=copy)
    assert calls == [1, 2, 2], "a method that has begun is not called again"


# --- __array__


@run_each("result", [None, [1.0], 5, "text", refarray.zeros(1), np.float32(1)])
def test_dunder_array_must_return_an_ndarray(adv: Any, result: Any) -> None:
    x = exporting(adv, "array", array=lambda self: result)
    with pytest.raises(
        TypeError, match=r"__array__\(\) of Exporter returned .*, not a numpy.ndarray"
    ):
        refarray.asarray(x)


def test_dunder_array_is_looked_up_on_the_type(adv: Any) -> None:
    x: Any = SimpleNamespace(__array__=lambda: data("array"))
    with pytest.raises(TypeError, match="SimpleNamespace"):
        refarray.asarray(x)
    for thing in (np.ndarray, np.float32, refarray.Array, int):
        with pytest.raises(TypeError, match="is of type"):
            refarray.asarray(thing)
    unset = type("Unset", (), {"__array__": None, "__array_interface__": None})()
    with pytest.raises(TypeError, match="is of type Unset"):
        refarray.asarray(unset)


def test_fabricated_attributes_are_ignored() -> None:
    class Fabricates:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: data("array")

    with pytest.raises(TypeError, match="Fabricates must be a dict, not function"):
        refarray.asarray(Fabricates())


def test_result_of_dunder_array_is_kept_alive(adv: Any) -> None:
    class Memory(bytearray):
        pass

    memory = Memory(data("array").tobytes())
    alive = weakref.ref(memory)
    results = [np.frombuffer(memory, "f4")]
    x = exporting(adv, "array", array=lambda self: results.pop())
    y = refarray.asarray(x)
    del x, memory
    gc.collect()
    assert alive() is not None
    assert y.tolist() == [5.0, 5.0]
    del y
    gc.collect()
    assert alive() is None


def test_recursive_dunder_array_raises(adv: Any) -> None:
    x = exporting(adv, "array", array=refarray.asarray)
    with pytest.raises(RecursionError):
        refarray.asarray(x)
