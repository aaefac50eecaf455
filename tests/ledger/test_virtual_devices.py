"""ledger() with virtual devices: what would be a transfer or a wait on real hardware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import refarray

GPU = refarray.VirtualDevice("gpu")
SMALL = refarray.VirtualDevice("small", id=1, dtypes=[refarray.float32, refarray.int32])
CPU = refarray.Device("cpu")
xp: Any = refarray.namespace(strict=True, devices=[GPU, SMALL])
open_: Any = refarray.namespace(devices=[GPU, SMALL])


class Producer:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


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
    "from a producer": (lambda xp, _: xp.from_dlpack(Producer(ON_HOST), device=GPU), 1, 24, 1),
    "export": (lambda _, x: x.__dlpack__(dl_device=(1, 0)), 1, 24, 1),
    "float()": (lambda _, x: float(x[0]), 1, 8, 1),
    "bool()": (lambda xp, x: bool(xp.all(x > 0)), 1, 1, 1),
    "int()": (lambda xp, x: int(xp.sum(xp.astype(x, xp.int32))), 1, 8, 1),
    "complex()": (lambda _, x: complex(x[1]), 1, 8, 1),
    "an index": (lambda xp, x: [5, 6][xp.astype(x[0], xp.int32)], 1, 4, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFERS)
@pytest.mark.parametrize("space", [xp, open_], ids=["strict", "open"])
def test_transfers_count(space: Any, name: str) -> None:
    call, transfers, nbytes, waits = TRANSFERS[name]
    x = space.asarray([1.0, 2.0, 3.0], device=GPU)
    with refarray.ledger() as ledger:
        call(space, x)
    found = ledger.transfers, ledger.transferred_bytes, ledger.synchronizations
    assert found == (transfers, nbytes, waits)


@pytest.mark.parametrize("name", TRANSFERS)
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
