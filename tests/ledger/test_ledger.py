"""ledger(): what counts as an allocation and a copy, what is forbidden, errors, bad arguments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.other_classes import Exports

import refarray
from refarray import _native

SIX = 6 * 8  # bytes of six float64


def six() -> Any:
    return refarray.reshape(refarray.arange(6, dtype=refarray.float64), (2, 3))


#: A call, how many bytes it copies, and its allocations (None: those of the computation).
COPIES: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "copy": (lambda x: refarray.copy(x), SIX, 1),
    "copy method": (lambda x: x.copy(), SIX, 1),
    "copy.copy": (copy.copy, SIX, 1),
    "copy.deepcopy": (copy.deepcopy, SIX, 1),
    "astype": (lambda x: x.astype("float32"), SIX // 2, 1),
    "astype of equal dtype": (lambda x: x.astype("float64"), SIX, 1),
    "asarray": (lambda x: refarray.asarray(x, copy=True), SIX, 1),
    "asarray dtype": (lambda x: refarray.asarray(x, dtype="int64"), SIX, 1),
    "from_dlpack": (lambda x: refarray.from_dlpack(x, copy=True), SIX, 1),
    "from_dlpack of a producer": (lambda x: refarray.from_dlpack(Exports(x), copy=True), SIX, 1),
    "export": (lambda x: x.__dlpack__(copy=True), SIX, 1),
    "reshape of strides": (lambda x: refarray.reshape(x.T, (6,)), SIX, 1),
    "reshape copy": (lambda x: refarray.reshape(x, (6,), copy=True), SIX, 1),
    "tobytes": (lambda x: x.tobytes(), SIX, 0),
    "pickle of strides": (lambda x: pickle.dumps(x.T, 5, buffer_callback=lambda _: None), SIX, 1),
    "pickle in bytes": (lambda x: pickle.dumps(x, 4), SIX, 0),
    "concat": (lambda x: refarray.concat([x, x]), 2 * SIX, 1),
    "concat of strides": (lambda x: refarray.concat([x.T, x.T], axis=None), 2 * SIX, 3),
    "stack": (lambda x: refarray.stack([x, x, x]), 3 * SIX, 1),
    "tile": (lambda x: refarray.tile(x, (2, 2)), 4 * SIX, 1),
    "repeat": (lambda x: refarray.repeat(x, 3), 3 * SIX, 1),
    "roll": (lambda x: refarray.roll(x, (1, 1), axis=(0, 1)), SIX, 1),
    "meshgrid": (lambda x: refarray.meshgrid(x[0], x[1]), 2 * 9 * 8, 2),
    "assignment": (lambda x: x.__setitem__(slice(None), x[:1]), SIX, 1),  # overlaps
    "assignment that converts": (lambda x: x.__setitem__(0, refarray.ones(3, dtype="int8")), 24, 2),
}
#: Of these only the copied bytes: their working memory is nobody's business.
GATHERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "take": (lambda x: refarray.take(x, refarray.asarray([0, 2]), axis=1), 4 * 8),
    "take_along_axis": (
        lambda x: refarray.take_along_axis(x, refarray.asarray([[0], [1]]), axis=1),
        2 * 8,
    ),
    "integer arrays": (lambda x: x[refarray.asarray([1, 0, 1]), ...], 9 * 8),
    "a list": (lambda x: x[[1]], 3 * 8),
    "a mask": (lambda x: x[x >= 4], 2 * 8),
    "a mask of one axis": (lambda x: x[:, refarray.asarray([True, False, True])], 4 * 8),
    "repeat by an array": (lambda x: refarray.repeat(x, refarray.asarray([1, 2]), axis=0), 9 * 8),
    "assignment at a mask": (
        lambda x: x.__setitem__(x > 3, refarray.asarray([7.0, 8.0])),
        2 * 8,
    ),
}
#: What copies nothing.
FREE: dict[str, Callable[[Any], Any]] = {
    "views": lambda x: (x.T, x[0], x[..., 1:], refarray.flip(x), refarray.expand_dims(x, axis=0)),
    "reshape": lambda x: refarray.reshape(x, (3, 2)),
    "broadcast_to": lambda x: refarray.broadcast_to(x, (4, 2, 3)),
    "asarray of itself": lambda x: refarray.asarray(x),
    "astype without a copy": lambda x: x.astype("float64", copy=False),
    "from_dlpack": lambda x: refarray.from_dlpack(x),
    "from_dlpack of a producer": lambda x: refarray.from_dlpack(Exports(x)),
    "from_dlpack without a copy": lambda x: refarray.from_dlpack(Exports(x), copy=False),
    "a capsule": lambda x: refarray.from_capsule(x.__dlpack__()),
    "a legacy capsule": lambda x: refarray.from_capsule(x.__dlpack__(max_version=None)),
    "a buffer": lambda x: refarray.from_buffer(memoryview(x)),
    "an interface": lambda x: refarray.from_array_interface(x),
    "numbers": lambda x: (float(x[0, 0]), x.tolist(), x[1, 1].item(), bool(x[0, 1])),
    "repr": repr,
    "assignment of a number": lambda x: x.__setitem__(..., 3),
    "pickle out of band": lambda x: pickle.dumps(x, 5, buffer_callback=lambda _: None),
}
#: Computations: they allocate their results, and what they copy on the way is a step of theirs.
COMPUTATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + 1,
    "in place": lambda x: x.__iadd__(x[::-1]),
    "add of strides": lambda x: x.T + x.T,
    "sum": lambda x: refarray.sum(x.T, axis=0, dtype="float32"),
    "sort": lambda x: refarray.sort(x.T, axis=0),
    "where": lambda x: refarray.where(x > 1, x, 0.0),
    "tril": lambda x: refarray.tril(x),
    "clip": lambda x: refarray.clip(x),
    "matmul": lambda x: x @ x.T,
    "matmul in place": lambda x: x.__imatmul__(refarray.ones((3, 3))),
    "qr": lambda x: refarray.linalg.qr(x),
    "solve": lambda x: refarray.linalg.solve(x @ x.T + refarray.eye(2), refarray.ones(2)),
    "matrix_power": lambda x: refarray.linalg.matrix_power(x @ x.T, 2),
    "pinv": lambda x: refarray.linalg.pinv(x),
    "norm": lambda x: refarray.linalg.vector_norm(x, axis=0),
    "fft": lambda x: refarray.fft.fft(refarray.astype(x, "complex128") if False else x + 0j),
    "cumulative_sum": lambda x: refarray.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda x: refarray.diff(x, prepend=x[:, :1]),
    "unique_all": lambda x: refarray.unique_all(x.T),
    "nonzero": lambda x: refarray.nonzero(x.T),
    "searchsorted": lambda x: refarray.searchsorted(x[0], x[1], sorter=refarray.asarray([0, 1, 2])),
    "isin": lambda x: refarray.isin(refarray.asarray([1, 2]), refarray.asarray([2])),
    "full": lambda _: refarray.full((2, 3), 7.0),
    "creation": lambda _: (refarray.eye(3), refarray.linspace(0, 1, 5), refarray.ones((2, 2))),
    "arange": lambda _: refarray.arange(5, dtype="float32"),
    "a list": lambda _: refarray.asarray([1, 2]),
}


@run_each("name", COPIES)
def test_copies_count_with_their_bytes(name: str) -> None:
    call, nbytes, allocations = COPIES[name]
    x = six()
    with refarray.ledger() as ledger:
        result = call(x)
    del result
    assert (ledger.copies > 0, ledger.copied_bytes) == (True, nbytes)
    assert ledger.copies == (2 if name == "meshgrid" else 1)
    assert ledger.allocations == allocations
    assert (ledger.transfers, ledger.synchronizations, ledger.refused) == (0, 0, 0)


@run_each("name", GATHERS)
def test_selections_by_arrays_are_copies(name: str) -> None:
    call, nbytes = GATHERS[name]
    x = six()
    with refarray.ledger() as ledger:
        call(x)
    assert (ledger.copies, ledger.copied_bytes) == (1, nbytes)


@run_each("name", [*COPIES, *GATHERS])
def test_forbidden_copies_raise_before_they_are_made(name: str) -> None:
    call = (COPIES | GATHERS)[name][0]
    x = six()
    raises = pytest.raises(refarray.LedgerError, match="a copy.* forbids")
    with refarray.ledger(forbid="copy") as ledger, raises:
        call(x)
    assert (ledger.copies, ledger.copied_bytes, ledger.refused) == (0, 0, 1)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    call(x)  # the ledger is closed


@run_each("name", FREE)
def test_what_shares_memory_is_free(name: str) -> None:
    x = six()
    with refarray.ledger(forbid=["copy", "allocation", "transfer", "synchronization"]) as ledger:
        FREE[name](x)
    assert (ledger.allocations, ledger.copies, ledger.refused) == (0, 0, 0)


@run_each("name", COMPUTATIONS)
def test_computations_copy_nothing(name: str) -> None:
    x = six()
    with refarray.ledger(forbid={"copy", "transfer", "synchronization"}) as ledger:
        COMPUTATIONS[name](x)
    assert (ledger.copies, ledger.transfers, ledger.refused) == (0, 0, 0)
    if name != "in place":
        assert ledger.allocations > 0 and ledger.allocated_bytes > 0


@run_each(
    ("call", "nbytes"),
    [
        (lambda: refarray.empty((3, 5), dtype="int16"), 30),
        (lambda: refarray.zeros(7, dtype="uint8"), 7),
        (lambda: refarray.empty((0, 4)), 0),
        (lambda: refarray.ones(1_000_000, dtype="float32"), 4_000_000),
        (lambda: refarray.asarray([[1, 2, 3]]), 24),
    ],
)
def test_allocations_count_with_their_bytes(call: Callable[[], Any], nbytes: int) -> None:
    call()
    with refarray.ledger() as ledger:
        call()
        call()
    assert ledger.allocated_bytes >= 2 * nbytes
    assert ledger.allocations >= 2
    if nbytes != 4_000_000:  # ones() takes an element to fill with
        assert (ledger.allocations, ledger.allocated_bytes) == (2, 2 * nbytes)
    raises = pytest.raises(refarray.LedgerError, match="an allocation of .* bytes")
    with refarray.ledger(forbid="allocation") as strict, raises:
        call()
    assert (strict.allocations, strict.refused) == (0, 1)


def test_an_allocation_that_fails_does_not_count() -> None:
    with refarray.ledger() as ledger, pytest.raises(MemoryError):
        refarray.empty(1 << 55, dtype="uint8")
    assert ledger.allocations == 0


def test_several_kinds_are_forbidden() -> None:
    ledger = refarray.ledger(forbid=("transfer", "allocation", "copy", "copy"))
    assert ledger.forbidden == ("allocation", "copy", "transfer")
    assert refarray.ledger().forbidden == ()


@run_each("forbid", ["copies", "", ["copy", "all"], [1], {"copy": 1, "x": 2}])
def test_unknown_kinds_are_refused(forbid: Any) -> None:
    with pytest.raises(ValueError, match="forbid is of 'allocation', 'copy'"):
        refarray.ledger(forbid=forbid)


@pytest.mark.parametrize("forbid", [None, 1, True])
def test_what_is_no_set_of_kinds_is_refused(forbid: Any) -> None:
    with pytest.raises(TypeError):
        refarray.ledger(forbid=forbid)


def test_the_native_functions_take_ledgers_only() -> None:
    for call in (_native._ledger_open, _native._ledger_close, _native._ledger_counts):
        for wrong in (None, 1, refarray.ledger(), six().__dlpack__()):
            with pytest.raises(TypeError, match="a ledger is a capsule"):
                call(wrong)  # type: ignore[operator]
    for bits in (-1, 16, 1 << 70):
        with pytest.raises((ValueError, OverflowError)):
            _native._ledger_new(bits)


def test_it_prints_as_a_line_and_as_a_table() -> None:
    x = six()
    with refarray.ledger() as ledger:
        x.copy()
        x.copy()
    assert repr(ledger) == (
        "<refarray.Ledger: 2 allocations (96 bytes); 2 copies (96 bytes); 0 transfers; "
        "0 synchronizations>"
    )
    assert str(ledger) == (
        "                  number  bytes\n"
        "allocations            2     96\n"
        "copies                 2     96\n"
        "transfers              0      0\n"
        "synchronizations       0      -"
    )


def test_its_table_shows_what_was_refused() -> None:
    with refarray.ledger(forbid="copy") as ledger:
        for _ in range(2):
            with pytest.raises(refarray.LedgerError):
                six().copy()
    assert repr(ledger).endswith("forbidden: copy, refused 2 times>")
    lines = str(ledger).splitlines()
    assert lines[0].split() == ["number", "bytes", "refused"]
    assert lines[2].split() == ["copies", "0", "0", "2"]
    assert lines[3].split() == ["transfers", "0", "0", "-"]


def test_the_error_is_no_refusal_of_an_exporter() -> None:
    """asarray() tries other protocols after a refusal; what a ledger forbids ends the call."""
    strict: Any = refarray.namespace(immutable=True)

    class Exporter:
        def __dlpack__(self, **_: Any) -> Any:
            return strict.asarray([1.0]).__dlpack__(copy=True)

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("not asked")

    with refarray.ledger(forbid="copy"), pytest.raises(refarray.LedgerError):
        refarray.asarray(Exporter())
    assert issubclass(refarray.LedgerError, RuntimeError)


def test_namespaces_have_no_ledger() -> None:
    for arguments in ({"strict": True}, {"immutable": True}):
        space: Any = refarray.namespace(**arguments)
        assert not hasattr(space, "ledger")
        with refarray.ledger() as ledger:
            x = space.asarray([1.0, 2.0])
            space.asarray(x, copy=True)
        assert (ledger.allocations, ledger.copies, ledger.copied_bytes) == (2, 1, 16)
