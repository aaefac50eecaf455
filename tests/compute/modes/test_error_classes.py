"""Errors have the base classes that NumPy's have: code that catches these works with refarray."""

from __future__ import annotations

import inspect
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from helpers.cases import run_each

import refarray as ra

pytestmark = pytest.mark.every_python

SPACES: list[Any] = [ra, ra.namespace(strict=True), ra.namespace(immutable=True)]
spaces = run_each("xp", SPACES, ids=lambda xp: xp.__name__)

#: What functions with an axis take before it.
FIRST: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "concat": lambda x: ([x, x],),
    "linalg.cross": lambda x: (x, x),
    "moveaxis": lambda x: (x, 99, 0),
    "permute_dims": lambda x: (x, (99,)),
    "repeat": lambda x: (x, 2),
    "roll": lambda x: (x, 1),
    "stack": lambda x: ([x, x],),
    "take": lambda x: (x, indices_of(x)),
    "take_along_axis": lambda x: (x, indices_of(x)),
    "tensordot": lambda x: (x, x),
    "vecdot": lambda x: (x, x),
    "linalg.vecdot": lambda x: (x, x),
    "linalg.tensordot": lambda x: (x, x),
}
OWN = {"tensordot": ((99,), (0,)), "linalg.tensordot": ((99,), (0,))}
OWN |= {f"fft.{name}": (99,) for name in ("fftn", "ifftn", "rfftn", "irfftn")}


def indices_of(x: Any) -> Any:
    xp = x.__array_namespace__()
    return xp.zeros(1, dtype=xp.int64)


def with_axes(xp: Any) -> list[str]:
    names = [*xp.__all__, *(f"{e}.{n}" for e in ("fft", "linalg") for n in getattr(xp, e).__all__)]
    return [name for name in names if parameter_of(xp, name)] + ["moveaxis", "permute_dims"]


def parameter_of(xp: Any, name: str) -> str | None:
    try:
        own = inspect.signature(operator.attrgetter(name)(xp)).parameters
    except (TypeError, ValueError):
        return None
    found = (each for each in ("axis", "axes") if each in own and own[each].kind > 1)
    return next(found, None)


@spaces
def test_an_axis_that_is_missing(xp: Any) -> None:
    x = xp.ones((3,))
    names = with_axes(xp)
    assert len(names) > 35
    for name in names:
        first = FIRST.get(name, lambda x: (x,))
        real = name.startswith(("fft.rfft", "fft.ihfft")) or not name.startswith("fft.")
        parameter = parameter_of(xp, name)
        own = {parameter: OWN.get(name, 99)} if parameter else {}
        with pytest.raises(ra.AxisError) as caught:
            operator.attrgetter(name)(xp)(*first(x if real else x + 0j), **own)
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, IndexError), name


@spaces
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("inv", [[1.0, 1.0], [1.0, 1.0]]),
        ("solve", [[1.0, 1.0], [1.0, 1.0]]),
        ("cholesky", [[1.0, 2.0], [2.0, 1.0]]),
        *(
            (name, [[1.0, 2.0, 3.0]])
            for name in ("inv", "det", "slogdet", "eigh", "eig", "eigvals", "cholesky", "solve")
        ),
        *((name, [1.0, 2.0]) for name in ("svd", "qr", "pinv", "matrix_rank", "det")),
    ],
)
def test_a_matrix_without_a_result(xp: Any, name: str, values: Any) -> None:
    x = xp.asarray(values)
    if name not in xp.linalg.__all__:
        pytest.fail(name)
    with pytest.raises(ra.LinAlgError) as caught:
        getattr(xp.linalg, name)(x, *([x] if name == "solve" else []))
    assert isinstance(caught.value, ValueError) and not isinstance(caught.value, IndexError)


def test_the_classes_are_those_of_numpy() -> None:
    for own, theirs in (
        (ra.AxisError, numpy.exceptions.AxisError),
        (ra.LinAlgError, numpy.linalg.LinAlgError),
    ):
        bases = [each for each in theirs.__mro__[1:] if each.__module__ == "builtins"]
        assert list(own.__mro__[1:]) == bases
        assert own.__module__ == "refarray" and own.__doc__
        assert type(pickle.loads(pickle.dumps(own("x")))) is own
