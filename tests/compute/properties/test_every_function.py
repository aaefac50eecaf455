"""Every function against its model, in calls that the model draws, and what holds for all: layouts,
instruction sets, threads, and arguments that are refused."""

from __future__ import annotations

import functools
import inspect
import operator
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import cases, refusal, run_each
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracles import direct_sums
from oracles import exact_matrices as em
from oracles.formats import ALL
from oracles.functions import BINARY, UNARY
from oracles.layouts import text as layout_text
from oracles.layouts import views
from oracles.nested import Nested
from oracles.switches import ISAS, instruction_set, run_together, threads

import refarray
from properties.arrays import examples
from properties.models import MODELS
from properties.models.registry import Call, Near, Result, check
from refarray import Array

xp: Any = refarray
Path = tuple[Any, ...]
#: Of which no element is determined, or which make arrays from other objects.
UNDETERMINED = ("empty", "empty_like")
names = pytest.mark.parametrize("name", sorted(set(MODELS) - set(UNDETERMINED)))


@functools.cache
def calls(name: str, count: int = 12) -> tuple[Call, ...]:
    """Calls that the model draws, the same ones each time."""
    found: list[Call] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        found.append(MODELS[name](data.draw))

    draw()
    return tuple(found)


def function_of(name: str) -> Callable[..., Any]:
    return operator.attrgetter(name)(refarray)  # type: ignore[no-any-return]


def run(name: str, call: Call) -> Any:
    return function_of(name)(*call.arguments, **call.keywords)


def arrays(value: Any, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Every array in the arguments of a call, and the way to it."""
    if isinstance(value, Array):
        yield path, value
    elif isinstance(value, (list, tuple, dict)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from arrays(each, (*path, key))


def replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: replaced(value[path[0]], path[1:], new)}
    items = [
        replaced(each, path[1:], new) if i == path[0] else each for i, each in enumerate(value)
    ]
    return type(value)(items)


def with_argument(call: Call, path: Path, new: Any) -> Call:
    arguments, keywords = replaced((call.arguments, dict(call.keywords)), path, new)
    return call._replace(arguments=arguments, keywords=keywords)


def gapless(call: Call) -> Call:
    keywords = {key: contiguous(each) for key, each in call.keywords.items()}
    return call._replace(arguments=contiguous(call.arguments), keywords=keywords)


def layouts(x: Array) -> Iterator[tuple[str, Array]]:
    if x.ndim and x.size:
        yield from views(x)


def repeated(x: Array) -> Iterator[Array]:
    """Views of the shape of `x` in which elements share memory."""
    for axis in range(x.ndim if x.size else 0):
        first = x[(*[slice(None)] * axis, slice(0, 1))]
        yield xp.broadcast_to(first, x.shape)
    if x.size:
        yield xp.broadcast_to(x[(0,) * x.ndim], x.shape)


@names
def test_every_layout_has_the_same_bits(name: str) -> None:
    with cases() as case:
        for number, call in enumerate(map(gapless, calls(name))):
            wanted = text(run(name, call))
            for path, x in arrays((call.arguments, call.keywords)):
                for layout, view in layouts(x):
                    with case(f"call {number}, {path}, {x.dtype}{x.shape}, {layout}"):
                        before = layout_text(view)
                        assert text(run(name, with_argument(call, path, view))) == wanted
                        assert layout_text(view) == before, "the argument was changed"


#: Functions whose results may be views of their arguments.
VIEWS = {
    *("asarray", "astype", "broadcast_arrays", "broadcast_to", "conj", "expand_dims", "flip"),
    *("from_dlpack", "imag", "linalg.diagonal", "linalg.matrix_transpose", "matrix_transpose"),
    *("moveaxis", "permute_dims", "positive", "real", "reshape", "squeeze", "unstack"),
}
#: Functions whose results have the order of axes of their operands.
ORDERED = {*UNARY, *BINARY, "clip", "where"}


@pytest.mark.parametrize("name", sorted(set(MODELS) - VIEWS))
def test_results_are_new_arrays(name: str) -> None:
    with cases() as case:
        for number, call in enumerate(calls(name)):
            for path, x in arrays((run(name, call),)):
                with case(f"call {number}, {path}"):
                    assert not x.readonly and (x.is_contiguous() or name in ORDERED)


#: Calls that have nothing to compute: their results are copies too.
COPIED: dict[str, Callable[[Any], Any]] = {
    **{
        f"fft.{name}": lambda x, name=name: getattr(xp.fft, name)(x[:, :1], n=1)
        for name in direct_sums.ONE_AXIS
    },
    **{
        f"fft.{name}": lambda x, name=name: getattr(xp.fft, name)(x[:, :1], s=(1,), axes=(-1,))
        for name in direct_sums.SEVERAL_AXES
    },
    **{
        f"fft.{name}": lambda x, name=name: getattr(xp.fft, name)(x, axes=())
        for name in direct_sums.SHIFTS
    },
    "linalg.matrix_power": lambda x: xp.linalg.matrix_power(x, 1),
    "linalg.trace": lambda x: xp.linalg.trace(x[:1, :1]),
    "concat": lambda x: xp.concat([x]),
    "repeat": lambda x: xp.repeat(x, 1, axis=0),
    "roll": lambda x: xp.roll(x, 0),
    "stack": lambda x: xp.stack([x]),
    "take": lambda x: xp.take(x, xp.asarray([0, 1]), axis=0),
    "tensordot": lambda x: xp.tensordot(x, xp.ones(()), axes=0),
    "tile": lambda x: xp.tile(x, (1,)),
    "tril": lambda x: xp.tril(x, k=5),
    "meshgrid": lambda x: xp.meshgrid(x[0, :1])[0],
    "a mask": lambda x: x[xp.ones(2, dtype=xp.bool)],
    "indices": lambda x: x[xp.asarray([0, 1])],
}


@run_each("name", COPIED)
def test_results_are_copies_where_nothing_is_computed(name: str) -> None:
    x = xp.asarray([[1, 2], [3, 4]], dtype=DTYPES.get(name, ("float64",))[-1])
    out = COPIED[name](x.as_readonly())
    assert not out.readonly
    out[...] = 7
    assert x.tolist() == [[1, 2], [3, 4]]


def outcome(name: str, call: Call) -> str:
    """The result, or the exception: repeated elements may make a matrix singular."""
    try:
        return text(run(name, call))
    except ValueError as error:
        return str(error)


@names
def test_elements_may_share_memory(name: str) -> None:
    with cases() as case:
        for number, call in enumerate(map(gapless, calls(name))):
            for path, x in arrays((call.arguments, call.keywords)):
                for view in repeated(x):
                    with case(f"call {number}, {path}, {x.dtype}{x.shape}, {view.strides}"):
                        copied = outcome(name, with_argument(call, path, xp.copy(view)))
                        assert outcome(name, with_argument(call, path, view)) == copied


@names
def test_instruction_sets_and_threads_have_the_same_bits(name: str) -> None:
    with cases() as case:
        for number, call in enumerate(calls(name)):
            wanted = text(run(name, call))
            for level in ISAS:
                with case(f"call {number}, {level}"), instruction_set(level):
                    assert text(run(name, call)) == wanted
            with case(f"call {number}, threads"), threads(3):
                assert text(run(name, call)) == wanted


def test_many_threads_have_the_same_results() -> None:
    """Of arrays that all of them read."""
    every = [
        (name, call) for name in sorted(set(MODELS) - set(UNDETERMINED)) for call in calls(name)
    ]
    wanted = [text(run(name, call)) for name, call in every]
    wrong: list[str] = []

    def work(seed: int) -> None:
        order = list(range(len(every)))
        random.Random(seed).shuffle(order)
        for place in order:
            if text(run(*every[place])) != wanted[place]:
                wrong.append(every[place][0])

    run_together(work, 4)
    assert not wrong


# --- What is refused.

OBJECTS: tuple[Any, ...] = (None, "text", [1.0, 2.0], (1.0,), object(), b"x", {}, xp.float64)
NUMBERS: tuple[Any, ...] = (True, 2, 1.5, 2j)
#: Functions that also take dtypes or other libraries' arrays; their own tests say what they refuse.
OPEN = {
    *("asarray", "can_cast", "finfo", "from_dlpack", "full_like", "iinfo", "ones_like"),
    *("result_type", "zeros_like"),
}
#: Functions in which a Python number may stand for an array.
WITH_NUMBERS = {*BINARY, "clip", "isin", "repeat", "searchsorted", "where"}
#: The dtypes of functions that do not take all of them.
DTYPES = {
    **{f"fft.{name}": direct_sums.dtypes(name) for name in direct_sums.TRANSFORMS},
    **{name: row.dtypes for table in (UNARY, BINARY) for name, row in table.items()},
    **{
        f"linalg.{name}": em.DTYPES
        for name in (
            *("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm"),
            *("matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "vector_norm"),
        )
    },
}


def first_arrays(name: str) -> Iterator[tuple[Call, Path]]:
    """A call, and the way to each positional argument that is an array."""
    call = next((c for c in map(gapless, calls(name)) if any(arrays(c.arguments))), None)
    if call is not None:
        for place, each in enumerate(call.arguments):
            if isinstance(each, Array):
                yield call, (0, place)


def assert_refused(name: str, call: Call, path: Path, wrong: Any, word: str) -> None:
    with refusal(TypeError, name.rpartition(".")[2], word):
        run(name, with_argument(call, path, wrong))


@names
def test_other_objects_are_refused(name: str) -> None:
    if name in OPEN:
        return
    with cases() as case:
        for call, path in first_arrays(name):
            for wrong in (*OBJECTS, *NUMBERS[: 0 if name in WITH_NUMBERS else None]):
                with case(f"argument {path[1]}, {wrong!r}"):
                    assert_refused(name, call, path, wrong, type(wrong).__name__)
        if name in BINARY:
            for wrong in NUMBERS:
                with case(f"two of {wrong}"), pytest.raises(TypeError, match=name):
                    function_of(name)(wrong, wrong)


@pytest.mark.parametrize("name", DTYPES)
def test_other_dtypes_are_refused(name: str) -> None:
    exotic = ("complex32", "float8_e5m2", "float4_e2m1fn", "float32x4")
    with cases() as case:
        for call, path in first_arrays(name):
            x = call.arguments[path[1]]
            for dtype in {*ALL, *exotic} - set(DTYPES[name]):
                with case(f"argument {path[1]}, {dtype}"):
                    assert_refused(name, call, path, xp.zeros(x.shape, dtype=dtype), dtype)


@names
def test_wrong_numbers_of_arguments_are_refused(name: str) -> None:
    function, call = function_of(name), calls(name)[0]
    parameters = inspect.signature(function).parameters.values()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    with cases() as case:
        if any(p.default is p.empty for p in places):
            with case("no argument"), pytest.raises(TypeError, match=name.rpartition(".")[2]):
                function()
        with case("an unknown keyword"), pytest.raises(TypeError, match="keyword"):
            function(*call.arguments, **call.keywords, unknown=1)
        if not is_open:
            filled = (*call.arguments, *[None] * (len(places) - len(call.arguments)))
            with case("too many arguments"), pytest.raises(TypeError):
                function(*filled, call.arguments[0] if call.arguments else 1)
        if places and places[0].kind is places[0].POSITIONAL_ONLY and call.arguments:
            given = dict(zip([p.name for p in places], call.arguments, strict=False))
            with case("positional arguments by name"), pytest.raises(TypeError):
                function(**given, **call.keywords)


# --- Models


def contiguous(value: Any) -> Any:
    """An argument with copies in place of views."""
    if isinstance(value, Array):
        return refarray.copy(value)
    if isinstance(value, (list, tuple)):
        return type(value)(contiguous(each) for each in value)
    return value


def text(value: Any) -> str:
    """What an argument or a result holds, with the signs of zeros."""
    if isinstance(value, Array):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if isinstance(value, (list, tuple)):
        return f"{[text(each) for each in value]}"
    return repr(value)


def assert_is_model(name: str, call: Call) -> None:
    before = text(call.arguments)
    function = operator.attrgetter(name)(refarray)
    out = function(*call.arguments, **call.keywords)
    check(out, call)
    assert text(call.arguments) == before, "an argument was changed"
    if not name.startswith("empty"):
        copies = [contiguous(each) for each in call.arguments]
        again = function(*copies, **{k: contiguous(v) for k, v in call.keywords.items()})
        assert text(again) == text(out) or "object at" in text(out), "the layout has an effect"


@pytest.mark.parametrize("name", sorted(MODELS))
@settings(deadline=None, max_examples=examples(0.15))
@given(data=st.data())
def test_function_is_its_model(name: str, data: st.DataObject) -> None:
    # Dtypes, shapes, layouts and keywords differ: an example is several calls. Those of the models
    # of decompositions take ten times as long as others.
    for _ in range(2 if name.startswith("linalg.") else 4):
        assert_is_model(name, MODELS[name](data.draw))


WANTED = Result(Nested([0.0, 2.0], (2,)), "float32")
WRONG = {
    "an element": refarray.asarray([0.0, 3.0], dtype="float32"),
    "the sign of a zero": refarray.asarray([-0.0, 2.0], dtype="float32"),
    "NaN": refarray.asarray([0.0, float("nan")], dtype="float32"),
    "the dtype": refarray.asarray([0.0, 2.0], dtype="float64"),
    "the shape": refarray.asarray([[0.0, 2.0]], dtype="float32"),
    "the type": [0.0, 2.0],
}


@run_each("what", WRONG)
def test_a_wrong_result_is_found(what: str) -> None:
    check(refarray.asarray([0.0, 2.0], dtype="float32"), Call((), WANTED))
    with pytest.raises(AssertionError):
        check(WRONG[what], Call((), WANTED))
    with pytest.raises(AssertionError):
        check((WRONG[what],), Call((), (WANTED,)))


def test_an_inexact_element_has_a_bound() -> None:
    wanted = Result(Nested([Near(Fraction(1, 3), 1.0)], (1,)), "float64")
    for error, is_right in ((0.0, True), (2.0**-54, True), (2.0**-52, False)):
        out = refarray.asarray([1 / 3 + error])
        if is_right:
            check(out, Call((), wanted))
        else:
            with pytest.raises(AssertionError):
                check(out, Call((), wanted))
