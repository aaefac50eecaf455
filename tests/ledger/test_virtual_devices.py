"""ledger() with virtual devices: what would be a transfer or a wait on real hardware."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.other_classes import Exports

import refarray

GPU = refarray.VirtualDevice("gpu")
SMALL = refarray.VirtualDevice("small", id=1, dtypes=[refarray.float32, refarray.int32])
CPU = refarray.Device("cpu")
xp: Any = refarray.namespace(strict=True, devices=[GPU, SMALL])
open_: Any = refarray.namespace(devices=[GPU, SMALL])


ON_HOST = refarray.asarray([1.0, 2.0, 3.0])
#: A call of a namespace with its array of three float64 on GPU; transfers, bytes and waits.
TRANSFERS: dict[str, tuple[Callable[[Any, Any], Any], int, int, int]] = {
    "to the host": (lambda _, x: x.to_device(CPU), 1, 24, 1),
    "to its device": (lambda _, x: x.to_device(GPU), 0, 0, 0),
    "to another device": (
        lambda xp, x: xp.astype(x, xp.float32).to_device(SMALL), 1, 12, 0
    ),
    "asarray": (lambda xp, x: xp.asarray(x, device=CPU), 1, 24, 1),
    "from_dlpack": (lambda xp, x: xp.from_dlpack(x, device=CPU), 1, 24, 1),
    "from the host": (lambda xp, _: xp.asarray(ON_HOST, device=GPU), 1, 24, 1),
    "from a producer": (lambda xp, _: xp.from_dlpack(Exports(ON_HOST), device=GPU), 1, 24, 1),
    "export": (lambda _, x: x.__dlpack__(dl_device=(1, 0)), 1, 24, 1),
    "float()": (lambda _, x: float(x[0]), 1, 8, 1),
    "bool()": (lambda xp, x: bool(xp.all(x > 0)), 1, 1, 1),
    "int()": (lambda xp, x: int(xp.sum(xp.astype(x, xp.int32))), 1, 8, 1),
    "complex()": (lambda _, x: complex(x[1]), 1, 8, 1),
    "an index": (lambda xp, x: [5, 6][xp.astype(x[0], xp.int32)], 1, 4, 1),
    "astype to the host": (lambda xp, x: xp.astype(x, xp.float32, device=CPU), 1, 12, 1),
    "astype of the same dtype": (
        lambda xp, x: xp.astype(x, x.dtype, copy=False, device=CPU), 1, 24, 1
    ),
    "astype to a device": (lambda xp, x: xp.astype(x, xp.float32, device=SMALL), 1, 12, 0),
    "asarray with a dtype": (lambda xp, x: xp.asarray(x, dtype=xp.float32, device=CPU), 1, 12, 1),
    "from the host with a dtype": (
        lambda xp, _: xp.asarray(ON_HOST, dtype=xp.float32, device=GPU), 1, 12, 1
    ),
    "a list": (lambda xp, _: xp.asarray([1.0, 2.0], device=GPU), 1, 16, 1),
    "a range": (lambda xp, _: xp.asarray(range(4), device=GPU), 1, 32, 1),
    "a number": (lambda xp, _: xp.asarray(1.0, device=GPU), 0, 0, 0),
    "unpickling": (lambda xp, _: pickle.loads(PICKLES[xp]), 1, 24, 1),
    "an index of an axis": (lambda xp, x: x[NUMBERS[xp]], 1, 8, 1),
    "a bound of a slice": (lambda xp, x: x[NUMBERS[xp] :], 1, 8, 1),
    "zeros_like": (lambda xp, x: xp.zeros_like(x, device=CPU), 0, 0, 0),
    "an assigned number": (lambda xp, x: operator.setitem(x, ..., 2.0), 0, 0, 0),
    "an assigned array": (lambda xp, x: operator.setitem(x, ..., x[0]), 0, 0, 0),
}  # fmt: skip
#: The same in the open namespace, whose functions take more.
MORE: dict[str, tuple[Callable[[Any, Any], Any], int, int, int]] = {
    "an assigned producer": (lambda _, x: operator.setitem(x, ..., Exports(ON_HOST)), 1, 24, 1),
    "an assigned buffer": (lambda _, x: operator.setitem(x, ..., memoryview(ON_HOST)), 1, 24, 1),
    "one element for all": (
        lambda _, x: operator.setitem(x, ..., memoryview(ON_HOST)[:1]), 1, 24, 1
    ),
    "an assigned list": (lambda _, x: operator.setitem(x, ..., [1.0, 2.0, 3.0]), 1, 24, 1),
    "a list by a mask": (lambda xp, x: operator.setitem(x, MASKS[xp], [1.0, 2.0]), 1, 16, 1),
    "a buffer by a mask": (
        lambda xp, x: operator.setitem(x, MASKS[xp], memoryview(ON_HOST)[:2]), 1, 16, 1
    ),
    "a number by a mask": (lambda xp, x: operator.setitem(x, MASKS[xp], 1.0), 0, 0, 0),
    "a list of indices": (lambda _, x: x[[0, 1]], 1, 16, 1),
    "a buffer of indices": (lambda _, x: x[memoryview(INDICES)], 1, 16, 1),
    "a buffer as a mask": (lambda _, x: x[memoryview(MASK)], 1, 3, 1),
    "start of arange": (lambda xp, _: xp.arange(NUMBERS[xp], 5, device=CPU), 1, 8, 1),
    "stop of arange": (lambda xp, _: xp.arange(0, NUMBERS[xp], device=CPU), 1, 8, 1),
    "start of arange on the device": (lambda xp, _: xp.arange(NUMBERS[xp], 5, device=GPU), 1, 8, 1),
    "arange of a number of the host": (
        lambda xp, _: xp.arange(xp.asarray(1), 5, device=GPU), 0, 0, 0
    ),
    "start of linspace": (lambda xp, x: xp.linspace(x[0], 5.0, 3, device=CPU), 1, 8, 1),
    "stop of linspace": (lambda xp, x: xp.linspace(0.0, x[0], 3, device=CPU), 1, 8, 1),
    "an extent": (lambda xp, _: xp.empty(NUMBERS[xp], device=CPU), 1, 8, 1),
    "an extent in a tuple": (lambda xp, _: xp.empty((NUMBERS[xp], 2), device=CPU), 1, 8, 1),
    "an extent of full": (lambda xp, _: xp.full(NUMBERS[xp], 1.0, device=CPU), 1, 8, 1),
    "rows": (lambda xp, _: xp.eye(NUMBERS[xp], device=CPU), 1, 8, 1),
    "a spacing": (lambda xp, x: xp.fft.fftfreq(3, d=x[0], device=CPU), 1, 8, 1),
    "frequencies": (lambda xp, _: xp.fft.fftfreq(NUMBERS[xp], device=CPU), 1, 8, 1),
    "an axis": (lambda xp, x: xp.sum(xp.reshape(x, (1, 3)), axis=NUMBERS[xp]), 1, 8, 1),
    "a shift": (lambda xp, x: xp.roll(x, NUMBERS[xp]), 1, 8, 1),
    "a diagonal": (lambda xp, x: xp.tril(xp.reshape(x, (1, 3)), k=NUMBERS[xp]), 1, 8, 1),
    "a correction": (lambda xp, x: xp.std(x, correction=x[0]), 1, 8, 1),
    "an exponent": (lambda xp, _: xp.linalg.matrix_power(MATRICES[xp], NUMBERS[xp]), 1, 8, 1),
    "a fill value": (lambda xp, x: xp.full(3, x[0], device=GPU), 0, 0, 0),
    "in": (lambda _, x: 2.0 in x, 1, 1, 1),
    "the method astype": (lambda xp, x: x.astype(xp.float32, device=CPU), 1, 12, 1),
    "the method astype, to the device": (lambda xp, x: x.astype(xp.float32, device=GPU), 0, 0, 0),
    "deepcopy": (lambda _, x: copy.deepcopy(x), 0, 0, 0),
    "an array of the host in a list": (
        lambda xp, _: xp.asarray([[xp.asarray(1.0)]], device=GPU), 1, 8, 1
    ),
    "arrays of the device in a list": (lambda xp, x: xp.asarray([x, x], device=GPU), 3, 96, 3),
}  # fmt: skip
MASK, INDICES = refarray.asarray([True, False, True]), refarray.asarray([0, 1])
MASKS, NUMBERS, MATRICES, PICKLES = {}, {}, {}, {}
for each in (xp, open_):
    MASKS[each] = each.asarray([True, False, True], device=GPU)
    NUMBERS[each] = each.asarray(1, device=GPU)
    MATRICES[each] = each.ones((2, 2), device=GPU)
    PICKLES[each] = pickle.dumps(each.ones(3, device=GPU))


@run_each("kind", ["transfer", "synchronization", None])
@pytest.mark.parametrize("name", MORE)
def test_open_namespaces_count_more(name: str, kind: str | None) -> None:
    """No copy besides a transfer of the same elements, and nothing has happened where it is
    forbidden."""
    call, transfers, nbytes, waits = MORE[name]
    x = open_.asarray([1.0, 2.0, 3.0], device=GPU)
    with refarray.ledger(forbid=kind or []) as ledger:
        if kind is None or transfers == 0:
            call(open_, x)
        else:
            with pytest.raises(refarray.LedgerError, match=f"a {kind}"):
                call(open_, x)
    found = ledger.transfers, ledger.transferred_bytes, ledger.synchronizations
    refused = kind is not None and transfers > 0
    assert found == ((0, 0, 0) if refused else (transfers, nbytes, waits))
    assert ledger.refused == refused
    if refused:
        assert x.tolist() == [1.0, 2.0, 3.0] and ledger.copies == 0
    elif "assigned" in name or "by a mask" in name:
        assert ledger.copies == 0


def test_astype_as_a_method_moves_arrays() -> None:
    """In an open namespace; strict arrays have none."""
    x = open_.asarray([1.0, 2.0, 3.0], device=GPU)
    assert x.astype("int32", device=CPU).device == CPU
    assert x.astype("int32").device == x.astype("int32", device=GPU).device == GPU
    assert open_.ones(3).astype("float32", device=GPU).device == GPU
    with pytest.raises(ValueError, match="no device"):
        x.astype("int32", device="nowhere")
    with pytest.raises(TypeError, match="copy must be"):
        x.astype("int32", device=CPU, copy=1)
    with pytest.raises(TypeError, match="imaginary"):
        open_.asarray([1j], device=GPU).astype("float32", device=CPU)


@pytest.mark.parametrize("name", TRANSFERS)
@run_each("space", [xp, open_], ids=["strict", "open"])
def test_transfers_count(space: Any, name: str) -> None:
    call, transfers, nbytes, waits = TRANSFERS[name]
    x = space.asarray([1.0, 2.0, 3.0], device=GPU)
    with refarray.ledger() as ledger:
        call(space, x)
    found = ledger.transfers, ledger.transferred_bytes, ledger.synchronizations
    assert found == (transfers, nbytes, waits)
    if any(word in name for word in ("dtype", "astype", "assigned", "list", "unpickling")):
        assert ledger.copies == (name == "an assigned array")


@run_each("name", TRANSFERS)
def test_forbidden_transfers_raise(name: str) -> None:
    call, transfers, _, waits = TRANSFERS[name]
    x = xp.asarray([1.0, 2.0, 3.0], device=GPU)
    for kind, number in (("transfer", transfers), ("synchronization", waits)):
        with refarray.ledger(forbid=kind) as ledger:
            if number:
                with pytest.raises(refarray.LedgerError, match=f"a {kind}"):
                    call(xp, x)
            else:
                call(xp, x)
        assert (ledger.transfers, ledger.refused) == ((0, 1) if number else (transfers, 0))


def test_methods_of_open_arrays_read_as_well() -> None:
    x = open_.ones(3, device=GPU)
    for call in (lambda: x.tolist(), lambda: x[0].item(), lambda: round(x[0]), lambda: f"{x[0]:f}"):
        with refarray.ledger() as ledger:
            call()
        assert (ledger.transfers, ledger.synchronizations) == (1, 1)


def test_computing_on_a_device_transfers_nothing() -> None:
    x = xp.ones((3, 3), device=GPU)
    with refarray.ledger(forbid=["transfer", "synchronization"]) as ledger:
        y = xp.sum(x @ x + 1.0, axis=0)
        z = xp.where(y > 2.0, y, xp.zeros_like(y))
        z += 1.0
        xp.asarray(z, copy=True)
        repr(z)
    assert ledger.allocations > 3 and ledger.copies == 1


def test_host_arrays_are_read_without_a_transfer() -> None:
    x = xp.ones(3)
    with refarray.ledger(forbid=["transfer", "synchronization"]):
        assert float(x[0]) == 1.0
        assert x.to_device(CPU).device == CPU
