"""How decompositions run: the same bits for every layout, stack, thread count and instruction set,
many threads at once, other threads meanwhile, and Ctrl-C."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import SIZES, is_interrupted, is_interrupted_when_long, lateness
from oracles import exact_matrices as em
from oracles import hard_matrices as hard
from oracles.decomposition_calls import ALL_NAN, CALLS, SQUARE, parts, plain
from oracles.switches import assert_instruction_sets_agree, run_together, threads

import refarray

xp: Any = refarray
dtypes = run_each("dtype", em.DTYPES)
#: Beside the norm of the whole array.
functions = pytest.mark.parametrize("name", [n for n in CALLS if n != "vector_norm"])


def argument(name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """A new copy of an array that the function takes."""
    return numbers(name in SQUARE, shape, dtype).copy()


@functools.cache
def numbers(square: bool, shape: tuple[int, ...], dtype: str) -> Any:
    if square:
        return hard.positive_definite((*shape[:-2], shape[-1], shape[-1]), dtype)
    return hard.stack(shape, dtype)


def bits(result: Any) -> list[Any]:
    """The bytes, shapes and dtypes of the parts of a result."""
    return [(each.tobytes(), each.shape, str(each.dtype)) for each in parts(result)]


@dtypes
@functions
def test_stacks_have_the_bits_of_each_matrix_alone(name: str, dtype: str) -> None:
    function = CALLS[name]
    for shape in ((1, 3, 3), (7, 4, 2), (2, 3, 2, 4), (2, 1, 2, 3, 3)):
        x = argument(name, shape, dtype)
        whole = parts(function(x))
        for index in itertools.product(*map(range, shape[:-2])):
            for one, other in zip(whole, parts(function(x[index])), strict=True):
                assert one[index].tobytes() == other.tobytes(), (shape, index)
                assert one.shape == (*shape[:-2], *other.shape)


@functions
def test_instruction_sets_do_not_change_the_bits(name: str) -> None:
    shapes = [(n, n) for n in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)] + [(9, 4), (4, 9), (20, 3)]
    for dtype in ("float32", "float64", "complex64", "complex128", "bfloat16"):
        arguments = [argument(name, shape, dtype) for shape in shapes]
        assert_instruction_sets_agree(lambda given=arguments: [bits(CALLS[name](x)) for x in given])


@functions
def test_threads_do_not_change_the_bits(name: str) -> None:
    """A stack large enough for threads to share the work."""
    for dtype, shape in (("float64", (3000, 4, 4)), ("complex64", (30, 16, 16))):
        x = argument(name, (50, *shape[1:]), dtype)
        whole = xp.tile(x, (shape[0] // 50 + 1, 1, 1))[: shape[0], ...]
        with threads(1):
            wanted = bits(CALLS[name](whole))
        for count in (2, 4):
            with threads(count):
                assert bits(CALLS[name](whole)) == wanted, (dtype, count)


# --- many threads, and errors


#: Of matrix_norm the slowest.
FUNCTIONS = {name: CALLS[name] for name in plain(CALLS)} | {
    "matrix_norm": CALLS["matrix_norm nuc"],
    "qr": CALLS["qr complete"],
    "vector_norm": CALLS["vector_norm 3"],
}
SLOW = {*ALL_NAN, "matrix_norm", "matrix_rank"} - {"qr"}


def test_many_threads_with_errors() -> None:
    """Each thread gets the message of its own matrix."""
    wrong: list[Any] = []

    def work(seed: int) -> None:
        x = hard.regular((8, 3, 3), "float64")
        x[seed] = xp.zeros((3, 3))
        for _ in range(50):
            try:
                xp.linalg.inv(x)
            except ValueError as caught:
                if f"({seed},)" not in str(caught):
                    wrong.append(str(caught))
            else:
                wrong.append(seed)

    run_together(work, 8)
    assert not wrong


# --- other threads, and signals


COUNTS = {
    **dict.fromkeys(("eigh", "eigvals", "eigvalsh", "qr"), 30_000),
    "eig": 20_000,
    **dict.fromkeys(("matrix_norm", "matrix_rank", "pinv", "svd", "svdvals"), 10_000),
}


def many(name: str, size: int) -> Any:
    """A stack without memory of its size, whose decomposition takes long."""
    if name == "vector_norm":
        return xp.broadcast_to(hard.stack((1000,), "float64"), (100_000 * size, 1000))
    x = hard.positive_definite((8, 8), "complex128")
    return xp.broadcast_to(x, (COUNTS.get(name, 150_000) * size, 8, 8))


@pytest.mark.parametrize("name", ["eig", "svd", "qr", "inv"])
def test_other_threads_run_meanwhile(name: str) -> None:
    """They would wait for the whole call if it kept the GIL."""
    x = many(name, 2)[:100_000, ...]
    state = ["before"]

    def work() -> None:
        state[0] = "during"
        FUNCTIONS[name](x)
        state[0] = "after"

    worker = threading.Thread(target=work)
    turns = 0
    with threads(1):
        worker.start()
        while state[0] != "after" and turns < 10:
            time.sleep(0.001)
            turns += state[0] == "during"
        worker.join()
    assert turns == 10, f"the thread had {turns} turns during the call"


@pytest.mark.not_sanitized("hundreds of megabytes")
@run_each("count", [1, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signals_interrupt_decompositions(name: str, count: int) -> None:
    stacks = {size: many(name, size) for size in SIZES}  # Python code would be interrupted
    with threads(count):
        assert is_interrupted_when_long(lambda size: FUNCTIONS[name](stacks[size]))
        longest = stacks[SIZES[-1]]
        begin = time.process_time()
        FUNCTIONS[name](longest[: longest.shape[0] // 100])
        whole = 100 * (time.process_time() - begin)  # of the call that is interrupted
        assert lateness(lambda: FUNCTIONS[name](longest), after=0.03) < whole / 4, whole
    assert float(xp.linalg.det(xp.eye(2))) == 1


@pytest.mark.not_sanitized("seconds become minutes")
@run_each("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "vector_norm"])
def test_signals_interrupt_the_decomposition_of_one_matrix(name: str, dtype: str) -> None:
    def is_interrupted_at(size: int) -> bool:
        order = (300 if name in SLOW else 800) * size
        numbers = xp.cos(xp.arange(order * order, dtype="float64"))
        x = xp.reshape(numbers, (order, order)) + 2 * order * xp.eye(order)
        x = xp.astype(x, dtype)
        return is_interrupted(lambda: FUNCTIONS[name](x))

    with threads(1):
        assert any(map(is_interrupted_at, SIZES))
    assert float(xp.linalg.det(xp.eye(2))) == 1


BIG: dict[str, Callable[[int], Any]] = {
    "trace": lambda size: xp.linalg.trace(ones(size << 17, 1 << 13, 1 << 13)),
    "cross": lambda size: xp.linalg.cross(ones(size << 23, 3), xp.ones(3)),
    "outer": lambda size: xp.linalg.outer(xp.ones(size << 13), xp.ones(1 << 13)),
    "vector_norm": lambda size: xp.linalg.vector_norm(ones(size << 28)),
    "columns": lambda size: xp.linalg.vector_norm(ones(size << 14, 1 << 13), axis=0, ord=3),
}


def ones(*shape: int) -> Any:
    return xp.broadcast_to(xp.ones(()), shape)


@pytest.mark.not_sanitized("hundreds of megabytes")
@run_each("kind", BIG)
def test_signals_interrupt_products_and_norms(kind: str) -> None:
    with threads(1):
        assert is_interrupted_when_long(BIG[kind])
    assert float(xp.linalg.det(xp.eye(2))) == 1
