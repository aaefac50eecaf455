"""Operands of other libraries: the tables of docs/interop.md, with the libraries themselves.

The tables hold the expected results: each cell is a word, and `check` says what it means.
"""

from __future__ import annotations

import array
import importlib
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import refarray

PAGE = Path(__file__).resolve().parents[3] / "docs" / "interop.md"
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
BINARY = (*ARITHMETIC, "lshift", "rshift", "and", "or", "xor")
#: Each comparison and the one with the operands exchanged.
ORDER = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: The names that the examples use: their module, and the marker of its tests.
LIBRARIES = {
    "np": ("numpy", "numpy"),
    "ml_dtypes": ("ml_dtypes", "ml_dtypes"),
    "torch": ("torch", "torch"),
    "jnp": ("jax.numpy", "jax"),
}
OPEN: dict[str, dict[str, Any]] = {
    "open": {},
    "of an earlier version": {"api_version": "2023.12"},
    "immutable": {"immutable": True},
    "lazy": {"lazy": True},
    "lazy with unknown extents": {"lazy": True, "data_dependent_shapes": True},
    "with poisoned views": {"poison_views": True},
    "with devices": {"devices": [refarray.VirtualDevice("gpu")]},
}
STRICT: dict[str, dict[str, Any]] = {
    "strict": {"strict": True},
    "strict and immutable": {"strict": True, "immutable": True},
    "strict with unknown extents": {"strict": True, "lazy": True, "data_dependent_shapes": True},
}
#: The dtypes beside which a Python number of a type counts.
BESIDE: dict[type, tuple[str, ...]] = {
    bool: ("bool",),
    int: ("uint8", "float32"),
    float: ("float32", "complex128"),
    complex: ("complex64",),
    type(None): ("int64",),
}


class Index:
    """Has __index__ only."""

    def __index__(self) -> int:
        return 2


class Adds:
    """Has __radd__ and __rmatmul__ only."""

    def __radd__(self, other: Any) -> str:
        return f"{type(other).__name__} and Adds"

    __rmatmul__ = __radd__


OWN = {
    "array": array,
    "operator": operator,
    "Adds": Adds,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "Index": Index,
}


def tables() -> list[list[list[str]]]:
    """The rows of the tables of the section, without their heads."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Operators\n")[1].split("\n## ")[0]
    return [
        [
            [cell.strip() for cell in line.strip("| ").split(" | ")]
            for line in found.splitlines()[2:]
        ]
        for found in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    ]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def libraries(text: str) -> list[str]:
    return [name for name in LIBRARIES if re.search(rf"\b{name}\.", text)]


def value_of(text: str, **names: Any) -> Any:
    for name in libraries(text):
        names[name] = importlib.import_module(LIBRARIES[name][0])
    return eval(text, OWN | names)


def cases(*groups: tuple[dict[str, dict[str, Any]], list[tuple[str, Any]]]) -> list[Any]:
    """Each example of a table in each namespace, with the markers of its libraries."""
    found = []
    for spaces, rows in groups:
        for space, modes in spaces.items():
            for cell, outcomes in rows:
                for text in spans(cell):
                    marks = [getattr(pytest.mark, LIBRARIES[name][1]) for name in libraries(text)]
                    name = f"{space}: {text}"
                    found.append(pytest.param(modes, text, outcomes, id=name, marks=marks))
    return found


OPERANDS, OPERANDS_OF_STRICT, NUMPY = tables()
BESIDE_ARRAYS = cases(
    (OPEN, [(row[0], row[1:]) for row in OPERANDS]),
    (STRICT, [(row[0], row[1:]) for row in OPERANDS_OF_STRICT]),
)
WITH_NUMPY = cases(
    (OPEN, [(row[0], row[1]) for row in NUMPY]),
    (STRICT, [(row[0], row[2]) for row in NUMPY]),
)


@dataclass(frozen=True)
class Use:
    """A use of an array and the other object, and the method of the object that may answer."""

    name: str
    work: Callable[[Any, Any], Any]
    method: str = ""


def exchanged(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, o: work(o, x)


def uses_of(name: str, *, reflected: str | None = None) -> Iterator[Use]:
    """x op o and o op x."""
    work = operator.__dict__[f"__{name}__"]
    yield Use(f"x {name} o", work, f"__{reflected or 'r' + name}__")
    yield Use(f"o {name} x", exchanged(work), f"__{name}__")


def in_place(name: str) -> Use:
    return Use(f"x i{name} o", operator.__dict__[f"__i{name}__"], f"__r{name}__")


def left_in_place(name: str) -> Use:
    work = operator.__dict__[f"__i{name}__"]
    return Use(f"o i{name} x", exchanged(work), f"__i{name}__")


def functions(xp: Any) -> Iterator[Use]:
    for name in ("add", "subtract", "multiply", "divide", "maximum", "less", "equal", "isin"):
        if hasattr(xp, name):
            function = getattr(xp, name)
            yield Use(f"{name}(x, o)", function)
            yield Use(f"{name}(o, x)", exchanged(function))
    mask = xp.asarray([True, False, True])
    yield Use("where(mask, x, o)", lambda x, o: xp.where(mask, x, o))
    yield Use("searchsorted(x, o)", lambda x, o: xp.searchsorted(x, o))


def columns(xp: Any) -> list[list[Use]]:
    """The uses of each column of the table from the third one on."""
    operators = [use for name in BINARY for use in (*uses_of(name), in_place(name))]
    for name, other in ORDER.items():
        operators += uses_of(name, reflected=other)
    equality = [use for name in ("eq", "ne") for use in uses_of(name, reflected=name)]
    products = [*uses_of("matmul"), in_place("matmul")]
    return [operators, equality, products, list(map(left_in_place, BINARY)), list(functions(xp))]


def facts(value: Any) -> tuple[Any, ...]:
    """The type, dtype and elements of an array. asarray() reads those of lazy ones."""
    return type(value), value.dtype, repr(refarray.asarray(value).tolist())


def answer_of(method: str, o: Any, x: Any) -> Any:
    """What a special method of the object returns; NotImplemented if it has none, or it raises
    TypeError."""
    methods = [each.__dict__[method] for each in type(o).__mro__ if method in vars(each)]
    try:
        return methods[0](o, x) if methods else NotImplemented
    except TypeError:
        return NotImplemented


def is_array(value: Any) -> bool:
    return hasattr(value, "__array_namespace__")


def check(outcome: str, use: Use, x: Any, o: Any, number: Any) -> bool:
    """Whether the use was one: a Python number has no & with floats."""
    if isinstance(o, str | bytes) and use.method in ("__mod__", "__imod__"):
        return True  # Python's formatting of text
    before = facts(x), repr(o)
    if outcome == "number":
        other = x.__array_namespace__().asarray(x, copy=True)
        try:
            wanted = use.work(other, number)
        except TypeError:
            with pytest.raises(TypeError):
                use.work(x, o)
            return False
        got = use.work(x, o)
        assert facts(got) == facts(wanted)
        assert (got is x) == (wanted is other)
        return True
    if outcome == "False":
        assert use.work(x, o) is ("ne" in use.name)
    elif outcome == "theirs":
        answer = answer_of(use.method, o, x)
        if is_array(answer):  # of Fraction, whose method computes x ** 2
            assert facts(use.work(x, o)) == facts(answer)
        elif answer is not NotImplemented:
            assert use.work(x, o) == answer
        else:
            with pytest.raises(TypeError):
                use.work(x, o)
    else:
        with pytest.raises(TypeError, match="asarray" if outcome == "asarray" else None):
            use.work(x, o)
    assert (facts(x), repr(o)) == before
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("modes", "text", "row"), BESIDE_ARRAYS)
def test_the_table_says_what_an_operator_does(
    modes: dict[str, Any], text: str, row: list[str]
) -> None:
    xp: Any = refarray.namespace(**modes)
    number = None if row[0] == "none" else eval(spans(row[0])[0])
    for outcome, uses in zip(row[1:], columns(xp), strict=True):
        worked = 0
        for use in uses:
            for dtype in BESIDE[type(number)]:
                x = xp.asarray([1, 0, 1], dtype=getattr(xp, dtype))
                worked += check(outcome, use, x, value_of(text), number)
        assert worked, "no use of the column is defined"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.numpy
@pytest.mark.parametrize(("modes", "text", "outcome"), WITH_NUMPY)
def test_the_table_says_what_numpy_does(modes: dict[str, Any], text: str, outcome: str) -> None:
    import numpy as np

    xp = refarray.namespace(**modes)
    x = xp.ones(3, dtype=xp.float32)
    a = np.ones(3, "float32")
    if outcome == "TypeError":
        with pytest.raises(TypeError):
            value_of(text, np=np, a=a, x=x)
    else:
        kinds = {"ndarray": np.ndarray, "scalar": np.generic, "array": type(x), "None": type(None)}
        assert isinstance(value_of(text, np=np, a=a, x=x), kinds[outcome])
    assert a.tolist() == refarray.asarray(x).tolist() == [1, 1, 1]


@pytest.mark.numpy
def test_a_number_that_the_dtype_cannot_hold_overflows() -> None:
    import numpy as np

    x: Any = refarray.ones(3, dtype="int8")
    for work in (operator.add, operator.iadd, operator.eq, refarray.add, refarray.searchsorted):
        with pytest.raises(OverflowError, match="300 is out of range for int8"):
            work(x, np.int64(300))
    assert x.tolist() == [1, 1, 1]


@pytest.mark.numpy
@pytest.mark.parametrize("scalar", ["int8", "float16", "float32", "float64"])
def test_functions_take_numpy_scalars_where_they_take_numbers(scalar: str) -> None:
    import numpy as np

    two = np.dtype(scalar).type(2)
    x: Any = refarray.asarray([1.0, 2.0, 3.0])
    assert refarray.clip(x, two).tolist() == [2, 2, 3]
    assert refarray.clip(x, max=two).tolist() == [1, 2, 2]
    assert refarray.clip(x, two, two).tolist() == [2, 2, 2]
    assert refarray.full(2, two).tolist() == [2, 2]
    assert refarray.result_type(x, two) == x.dtype
    assert refarray.std(x, correction=two) == refarray.std(x, correction=2)
    assert refarray.linalg.vector_norm(x, ord=two) == refarray.linalg.vector_norm(x, ord=2)
    matrix = refarray.asarray([[1.0, 0.0], [0.0, 2.0]])
    assert refarray.linalg.matrix_norm(matrix, ord=two) == 2
    assert refarray.linalg.matrix_rank(matrix, rtol=two) == 0
    assert refarray.fft.fftfreq(2, d=two).tolist() == refarray.fft.fftfreq(2, d=2).tolist()
    assert refarray.linspace(0, two, 3).tolist() == [0, 1, 2]
    assert refarray.arange(0, two).tolist() == [0, 1]
    x[0] = two
    assert x.tolist() == [2, 2, 3]


def test_a_number_is_read_once() -> None:
    calls = []

    class Counting:
        def __index__(self) -> int:
            calls.append(1)
            return 2

    x: Any = refarray.asarray([1, 2, 3])
    for use in (
        lambda o: x + o,
        lambda o: refarray.copy(x).__iadd__(o),
        lambda o: refarray.clip(x, o),
        lambda o: refarray.where(x > 1, x, o),
        lambda o: refarray.result_type(x, o),
        lambda o: x.__setitem__(0, o),
        refarray.asarray,
    ):
        calls.clear()
        use(Counting())
        assert calls == [1]


def test_an_array_whose_index_is_a_number_is_no_scalar() -> None:
    class HasLength(Index):
        def __len__(self) -> int:
            return 1

    class HasArray(Index):
        def __array__(self) -> Any:
            raise AssertionError

    class HasInterface(Index):
        @property
        def __array_interface__(self) -> dict[str, Any]:
            return {}

    class HasDlpack(Index):
        def __dlpack__(self) -> Any:
            raise AssertionError

    class OptedOut(Index):
        __dlpack__ = None

    x: Any = refarray.ones(3)
    assert (x + Index()).tolist() == (x + OptedOut()).tolist() == [3, 3, 3]
    for unknown in (HasLength(), HasArray()):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + unknown
        assert (x == unknown) is False
    for exporter in (HasInterface(), HasDlpack()):
        with pytest.raises(TypeError, match="asarray"):
            x + exporter
        with pytest.raises(TypeError, match="asarray"):
            x == exporter  # noqa: B015


def test_what_an_attribute_raises_is_not_lost() -> None:
    class Raises:
        @property
        def __array_interface__(self) -> Any:
            raise ZeroDivisionError("on purpose")

    for work in (operator.add, operator.eq, operator.iadd, operator.matmul):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            work(refarray.ones(3), Raises())


def test_an_object_with_every_attribute_has_its_turn() -> None:
    class Anything:
        def __getattr__(self, name: str) -> Any:
            return self

        def __radd__(self, other: Any) -> str:
            return "Anything"

    assert refarray.ones(3) + Anything() == "Anything"


@pytest.mark.numpy
@pytest.mark.parametrize("modes", [{}, {"strict": True}], ids=["open", "strict"])
def test_complex_scalars_are_no_corrections(modes: dict[str, Any]) -> None:
    """They have __float__, which drops the imaginary part with a warning."""
    import numpy as np

    xp: Any = refarray.namespace(**modes)
    for wrong in (1j, np.complex64(1 + 2j), np.complex128(1j)):
        with pytest.raises(TypeError, match="correction"):
            xp.std(xp.asarray([1.0, 2.0, 4.0]), correction=wrong)
    assert xp.var(xp.asarray([1.0, 3.0]), correction=np.float64(1)) == 2
