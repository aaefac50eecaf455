"""Functions and operators on arrays on devices: they compute on the host, with the results of host
arrays, and the results are on the device."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

import fakegpu
import pytest
from capturing import capturing, driver_of
from helpers.on_devices import NAMES, compare_with_the_host

import refarray as ra


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_the_result_of_the_host(name: str, device: str) -> None:
    compare_with_the_host(name, device)


OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.matmul, operator.iadd, operator.isub, operator.imul, operator.itruediv),
    *(operator.ifloordiv, operator.imod, operator.ipow),
]


@pytest.mark.parametrize("operate", OPERATORS, ids=lambda each: each.__name__)
def test_operators(operate: Callable[..., Any], device: str) -> None:
    x, y = ra.asarray([7.0, -2.0, 0.5]), ra.asarray([2.0, 3.0, -1.0])
    there: Any = x.to_device(device)
    view = there[::-1]
    got = operate(view, y.to_device(device))
    assert (got is view) == operate.__name__.startswith("i")
    assert got.device == device and got.tolist() == operate(x[::-1].copy(), y).tolist()
    if got is view:
        assert there.tolist() == got.tolist()[::-1]
    if operate is not operator.matmul:
        assert operate(x.to_device(device), 2).tolist() == operate(x.copy(), 2).tolist()
        with pytest.raises(ValueError, match=f"one array is on {device}, another on cpu"):
            operate(x.to_device(device), ra.asarray(2.0))


def test_matrices_in_place_signs_and_membership(device: str) -> None:
    x: Any = ra.asarray([[1, 2], [3, 4]], device=device)
    x @= ra.asarray([[0, 1], [1, 0]], device=device)
    assert x.tolist() == [[2, 1], [4, 3]] and (-x).tolist() == [[-2, -1], [-4, -3]]
    assert 4 in x and ra.asarray(5, device=device) not in x
    x &= 6
    assert (~x | 1).tolist() == [[-3, -1], [-5, -3]]


def test_selection_and_assignment_by_arrays(device: str) -> None:
    x: Any = ra.reshape(ra.arange(12, device=device), (3, 4))
    rows = ra.asarray([2, 0], device=device)
    assert x[rows].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]] and x[rows].device == device
    assert x[x > 9].tolist() == [10, 11] and x[:, rows][1].tolist() == [6, 4]
    x[x > 9] = -1
    x[rows, 1] = ra.asarray([7, 8])
    assert x.tolist() == [[0, 8, 2, 3], [4, 5, 6, 7], [8, 7, -1, -1]]
    with pytest.raises(ValueError, match=f"indexing.*{device}.*cpu"):
        x[ra.asarray([0])]
    with pytest.raises(IndexError):
        x[rows + 1] = 0
    assert x[0, 0] == 0


def test_an_index_that_names_no_device(device: str) -> None:
    x: Any = ra.reshape(ra.arange(6, device=device), (2, 3))
    assert x[[1]].tolist() == [[3, 4, 5]] and x[[True, False]].tolist() == [[0, 1, 2]]
    assert x[True].shape == (1, 2, 3) and x[ra.asarray([1], device=device), [2]].tolist() == [5]
    x[[0]] = 9
    assert x.tolist() == [[9, 9, 9], [3, 4, 5]]


class Writing:
    """A number that writes to an array when it is read."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __index__(self) -> int:
        self.array[...] = 7
        return 1


def test_arguments_are_read_before_arrays_are_copied(device: str) -> None:
    x: Any = ra.zeros(3, dtype="int64", device=device)
    x += Writing(x)
    assert x.tolist() == [8, 8, 8]
    x[ra.asarray([0], device=device)] = Writing(x)
    assert x.tolist() == [1, 7, 7]


def test_what_is_no_operand_is_refused_without_a_transfer(device: str) -> None:
    x: Any = ra.ones(3, device=device)
    with ra.ledger(forbid="transfer"):
        assert (x == None) is False  # noqa: E711
        for operate in (operator.add, operator.iadd):
            with pytest.raises(TypeError):
                operate(x, "a")


def test_a_failed_transfer_leaves_the_array_as_it_was(device: str) -> None:
    """Large arrays cross in pieces."""
    x: Any = ra.zeros(2**21, device=device)
    copy = "cuMemcpyHtoDAsync" if device.startswith("cuda") else "hipMemcpyAsync"
    for number in (2, 3, 4):
        fakegpu.fail(copy, number, 2)
        with pytest.raises((MemoryError, BufferError)):
            x += 1
        assert not ra.any(x)


def test_elements_that_share_memory_are_copied_once(device: str) -> None:
    x = ra.broadcast_to(ra.ones(1, device=device), (2**46,))  # more bytes than addresses
    assert 1 in x and x[ra.asarray([5, 2**39], device=device)].tolist() == [1, 1]
    with pytest.raises(MemoryError):
        x + 1


def test_operators_in_place_refuse_read_only_arrays(device: str) -> None:
    x: Any = ra.broadcast_to(ra.ones(1, device=device), (3,))
    assert x.readonly
    with ra.ledger(forbid="transfer"), pytest.raises(ValueError, match="the array is read-only"):
        x += 1


def test_operators_in_place_refuse_other_owners_on_devices_too(device: str) -> None:
    space = ra.namespace(poison_views=True)
    x = space.asarray(ra.arange(4, device=device), copy=True)
    view = x[1:]
    with pytest.raises(ValueError, match="owners"):
        view += 1
    assert x.tolist() == [0, 1, 2, 3]


def test_work_in_other_streams_comes_first(device: str) -> None:
    x = ra.zeros(4, device=device)
    with ra.use_stream(ra.Stream(device)):
        x[...] = 5.0
    assert (x + 1).tolist() == [6.0] * 4
    with ra.use_stream(ra.Stream(device)):
        y = x * 2
    assert y.tolist() == [10.0] * 4


def test_what_forbids_transfers_forbids_computation(device: str, mode: int) -> None:
    x = ra.ones(3, device=device)
    before = len(fakegpu.live("memory"))
    for forbidden in ("transfer", "synchronization"):
        with ra.ledger(forbid=forbidden), pytest.raises(ra.LedgerError):
            x + 1
    driver = driver_of(device)
    stream = ra.Stream(device)
    captured = capturing(driver, stream.handle, mode=mode)
    with ra.use_stream(stream), captured, pytest.raises(BufferError, match="captur"):
        x + 1
    assert len(fakegpu.live("memory")) == before


def test_the_switch(device: str) -> None:
    x, mask = ra.zeros(3, device=device), ra.asarray([True, False, True], device=device)
    calls: list[Callable[[], Any]] = [lambda: ra.sin(x), lambda: x + 1, lambda: x[mask]]
    ra.set_host_computation(False)
    try:
        assert not ra.get_host_computation()
        for call in calls:
            with pytest.raises(NotImplementedError, match=f'{device}.*to_device\\("cpu"\\)'):
                call()
    finally:
        ra.set_host_computation(True)
    with pytest.raises(TypeError, match="bool"):
        ra.set_host_computation(1)  # type: ignore[arg-type]


def managed(*values: float) -> Any:
    return ra.asarray(values, device="cuda_managed:0")


def test_managed_memory_is_used_in_place() -> None:
    """After the work on it; only results cross."""
    x = managed(0.0, 0.0, 0.0)
    with ra.use_stream(ra.Stream("cuda:0")):
        x[...] = managed(4.0, -5.0, 6.0)
    before = fakegpu.calls("cuMemcpyAsync")
    x += x[::-1]
    x[x > 9] = 0
    assert ra.sum(x).device == x.device
    assert fakegpu.calls("cuMemcpyAsync") - before == 2  # of the mask and the sum
    assert x.tolist() == [0, -10.0, 0]


def test_managed_memory_is_written_after_it_was_read() -> None:
    x, stream = managed(1.0, 2.0), ra.Stream("cuda:0")
    fakegpu.hold(stream.handle)
    with ra.use_stream(stream):
        y, z = x.copy(), x.copy()
    release = threading.Timer(0.2, fakegpu.run)
    release.start()
    x += 1
    release.join()
    x[[0]] = 7
    assert [each.tolist() for each in (x, y, z)] == [[7.0, 3.0], [1.0, 2.0], [1.0, 2.0]]


def test_managed_memory_is_not_computed_with_in_a_capture(mode: int) -> None:
    x = managed(1.0)
    stream = ra.Stream("cuda:0")
    captured = capturing(driver_of("cuda:0"), stream.handle, mode=mode)
    with ra.use_stream(stream), captured, pytest.raises(BufferError, match=r"add.*captur"):
        x += 1
    assert x.tolist() == [1.0]


def test_managed_memory_lives_as_long_as_its_use() -> None:
    x = managed(1.0, 2.0)

    class Last:
        """A number that drops the array when it is read."""

        def __index__(self) -> int:
            nonlocal x
            del x
            return 1

    assert (x + Last()).tolist() == [2.0, 3.0]
