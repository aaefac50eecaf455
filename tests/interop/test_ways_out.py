"""Every way out of an array's memory, by where that is and by namespace: the manual's tables."""

from __future__ import annotations

import array
import ctypes
import hashlib
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.ways_out import ELEMENTS, MODES, answers, check, check_messages

import refarray

GPU = refarray.VirtualDevice("gpu")
VALUES = [3, 7, 7]


def virtual(mode: str, **more: bool) -> Any:
    """An array on a virtual device."""
    space: Any = refarray.namespace(devices=[GPU], **MODES[mode], **more)
    return space.asarray(VALUES, device=GPU)


@run_each("mode", MODES)
def test_memory_of_the_host(mode: str) -> None:
    check("cpu", mode, lambda space: space.asarray(VALUES))


@run_each("mode", MODES)
def test_read_only_memory(mode: str) -> None:
    owner = refarray.asarray(VALUES).as_readonly()
    check("read-only", mode, lambda space: space.asarray(owner))


@run_each("mode", MODES)
def test_memory_of_a_virtual_device(mode: str) -> None:
    check("virtual", mode, lambda _: virtual(mode))


def test_refusals_say_how_to_get_a_copy() -> None:
    check_messages("virtual", virtual("open"))


def test_the_tables_name_all_ways() -> None:
    """A new protocol of the type needs a row."""
    named = " ".join(answers("cpu"))
    shares = {name for name in dir(refarray.Array) if name.startswith("__arr") or "interf" in name}
    assert {name for name in shares if name not in named} == {
        "__array_namespace__",
        "__array_priority__",
    }


NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "copy": lambda np, x: np.array(x, copy=True),
    "another dtype": lambda np, x: np.asarray(x, dtype="f4"),
    "ndim 0": lambda np, x: np.asarray(x[0]),
    "in a list": lambda np, x: np.array([[x], [x]], dtype=object),
    "copyto": lambda np, x: np.copyto(np.zeros(3), x),
    "assignment": lambda np, x: np.zeros(3).__setitem__(slice(None), x),
    "out of a function": lambda np, x: np.mean(x),
    "a ufunc": lambda np, x: np.add(1, x),
    "an operator": lambda np, x: np.ones(3) + x,
    "stack": lambda np, x: np.stack([x, x]),
    "save": lambda np, x: np.save(io.BytesIO(), x),
    "testing": lambda np, x: np.testing.assert_array_equal(x, np.ones(3)),
}


@pytest.mark.parametrize("mode", MODES)
def test_numpy_reads_no_virtual_device(mode: str) -> None:
    np = pytest.importorskip("numpy")
    x = virtual(mode)
    for name, use in NUMPY.items():
        with refarray.ledger() as ledger, pytest.raises(TypeError):
            raise AssertionError(name, use(np, x))
        assert ledger.transfers == 0
    with pytest.raises(TypeError, match=r"'gpu'.*to_device"):
        np.asarray(x)


@run_each(
    "use",
    [
        bytes,
        bytearray,
        hashlib.sha256,
        ctypes.c_char.from_buffer,
        refarray.from_buffer,
        lambda x: array.array("b").frombytes(x),
        lambda x: io.BytesIO().write(x),
        lambda x: b"".join([x]),
        lambda x: x.__dlpack__(copy=True),
        refarray.asarray,
        lambda x: refarray.asarray([x, x]),
    ],
)
@run_each("mode", MODES)
def test_nothing_else_reads_a_virtual_device(use: Callable[[Any], Any], mode: str) -> None:
    x = virtual(mode)
    # ValueError: bytes(x) asks a lazy array for its index first.
    with refarray.ledger() as ledger, pytest.raises((BufferError, TypeError, ValueError)):
        use(x)
    assert ledger.transfers == 0


def test_functions_of_the_namespace_ask_too() -> None:
    x = virtual("open")
    space = x.__array_namespace__()
    with pytest.raises(BufferError, match="'gpu'"):
        space.to_capsule(x)
    with refarray.ledger() as ledger:
        capsule = space.to_capsule(x, dl_device=(1, 0), max_version=(1, 3))
    assert ledger.transfers == 1
    assert refarray.inspect(capsule).flag_names == ("IS_COPIED",)


def test_unknown_extents_change_nothing() -> None:
    np = pytest.importorskip("numpy")
    space: Any = refarray.namespace(lazy=True, boolean_indexing=True, devices=[GPU])
    x = space.asarray(VALUES, device=GPU)
    with pytest.raises(TypeError, match="'gpu'"):
        np.asarray(x[x > 5])
    host = space.asarray(VALUES)
    assert host[host > 5].__array__().tolist() == [7, 7]


@pytest.mark.parametrize("protocol", [0, 4, 5])
def test_a_pickle_of_a_device_is_a_transfer_and_no_copy(protocol: int) -> None:
    x = virtual("open")[::-1]
    buffers: list[Any] = []
    taker = buffers.append if protocol == 5 else None
    with refarray.ledger() as ledger:
        data = pickle.dumps(x, protocol, buffer_callback=taker)
    assert (ledger.transfers, ledger.transferred_bytes, ledger.copies) == (1, 24, 0)
    assert buffers == []
    again = pickle.loads(data)
    assert (again.device, again.tolist()) == (GPU, VALUES[::-1])


@pytest.mark.parametrize("kind", ["transfer", "synchronization"])
def test_a_forbidden_transfer_shows_no_values(kind: str) -> None:
    x = virtual("open")
    for show in (repr, str, lambda x: x._repr_html_(), "{}".format):
        with refarray.ledger(forbid=kind) as ledger:
            text = show(x)
        assert "data on gpu: " in text and f"a {kind}" in text and ELEMENTS not in text
        assert ledger.refused == 1


def test_text_counts_what_it_shows() -> None:
    x = refarray.namespace(devices=[GPU]).zeros((300, 300), device=GPU)
    with refarray.ledger() as ledger:
        text = x._repr_html_()
        str(x)
    assert (ledger.transfers, ledger.transferred_bytes) == (2, 2 * 36 * 8)
    assert ">gpu<" in text


def test_the_host_of_a_namespace_with_devices_is_read() -> None:
    """Its device may be no refarray.Device: that of refarray.strict is not."""
    np = pytest.importorskip("numpy")
    import refarray.strict as xp

    x = xp.asarray([1.0, 2.0])
    assert x.__array__().tolist() == np.asarray(x).tolist() == [1.0, 2.0]
    assert x.__array__(dtype=np.float32, copy=True).dtype == np.float32
    with pytest.raises(refarray.NoCopyError):
        x.__array__(np.float32, copy=False)
    with pytest.raises(TypeError, match="device1"):
        xp.asarray([1.0], device=xp.Device("device1")).__array__()
    x.__array__()[0] = 7.0
    assert float(x[0]) == 7.0


@pytest.mark.parametrize("dtype", ["int32x2", "float4_e2m1fn"])
def test_dtypes_that_numpy_lacks_raise(dtype: str) -> None:
    """Not an array of objects either."""
    np = pytest.importorskip("numpy")
    x = refarray.zeros(2, dtype=dtype)
    for use in (np.asarray, np.sin, lambda x: np.array(x, dtype=object), lambda x: np.array([x])):
        with pytest.raises((TypeError, ImportError)):
            use(x)
