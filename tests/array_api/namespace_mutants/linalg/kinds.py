"""Common kinds of breaks of functions of matrices."""

from __future__ import annotations

import re
from typing import Any

from array_api.namespace_mutants.base import Broken, IntendedError
from array_api.namespace_mutants.kinds import Change, is_array, is_square

import refarray as xp

NARROW = {"float64": "float32", "complex128": "complex64"}
WIDE = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float64",
    "complex64": "complex128",
}
FLOATING = ("real floating", "complex floating")


def each(change: Change) -> Broken:
    """Every array of the result is changed."""

    def broken(f: Any, *args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        return type(out)(*map(change, out)) if isinstance(out, tuple) else change(out)

    return broken


def field(name: str, change: Change) -> Broken:
    """One field of the named tuple is changed."""

    def broken(f: Any, *args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        return out._replace(**{name: change(getattr(out, name))})

    return broken


def outside_in(out: Any) -> Any:
    """The first and the last field of a named tuple change places."""
    return type(out)(*out[::-1])


def adjoint(x: Any) -> Any:
    return xp.conj(x.mT)


def wide(x: Any) -> Any:
    return xp.astype(x, WIDE.get(x.dtype.name, x.dtype))


def in_single(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Double precision is computed in single precision."""
    low = [xp.astype(x, NARROW[x.dtype.name]) if is_array(x) else x for x in args]
    return each(wide)(f, *low, **kwargs)


def inexact(x: Any) -> Any:
    """Errors as if the narrow formats were not computed in double precision."""
    narrow = x.dtype.name in WIDE
    return x * (1 + 2 * xp.finfo(x.dtype).eps) if narrow else x


def finite(value: float) -> Change:
    """NaN and infinities are replaced."""

    def change(x: Any) -> Any:
        if not xp.isdtype(x.dtype, FLOATING):
            return x
        return xp.where(xp.isfinite(x), x, xp.full_like(x, value))

    return change


def first_matrix(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Of a stack only the first matrix counts."""
    return f(xp.broadcast_to(x[(0,) * (x.ndim - 2)], x.shape), *args, **kwargs)


def ninth_as_first(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The last matrix of a stack is taken for the first."""
    flat = xp.copy(xp.reshape(x, (-1, *x.shape[-2:])))
    if flat.shape[0] > 1:
        flat[-1, ...] = flat[0, ...]
    return f(xp.reshape(flat, x.shape), *args, **kwargs)


def stack_transposed(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The two axes of a stack change places."""
    if x.ndim != 4 or x.shape[0] != x.shape[1]:
        return f(x, *args, **kwargs)
    return f(xp.moveaxis(x, 0, 1), *args, **kwargs)


def overwriting(number: int) -> Broken:
    """An argument is work memory."""

    def broken(f: Any, *args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        if not args[number].readonly:
            args[number][...] = 0
        return out

    return broken


def column_major(x: Any) -> Any:
    """The matrices are in column-major order."""
    return x if x.ndim < 2 else xp.copy(x.mT).mT


def other_error(was: type[Exception], now: type[Exception]) -> Broken:
    """Raises an exception of another class."""

    def broken(f: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except was as error:
            raise IntendedError(now(*error.args)) from error

    return broken


def next_number(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Messages of errors count from 1."""
    try:
        return f(*args, **kwargs)
    except ValueError as error:
        text = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), str(error))
        raise IntendedError(ValueError(text)) from error


def accepting(value: float) -> Broken:
    """A matrix that has to be refused gives a result of one value."""

    def broken(f: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except ValueError:
            if not is_square(args[0]):
                raise
            return xp.full_like(args[-1] if is_array(args[-1]) else args[0], value)

    return broken


def without_matrix(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A vector is a matrix with one row."""
    return f(xp.reshape(x, (1, -1)) if x.ndim == 1 else x, *args, **kwargs)


def through_floats(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Arrays of integers and bool are converted to float64."""
    floating = xp.isdtype(x.dtype, FLOATING)
    return f(x if floating else xp.astype(x, "float64"), *args, **kwargs)


def huge(x: Any, *_: Any, **__: Any) -> bool:
    """The square of an element overflows."""
    large = xp.abs(xp.astype(x, "complex128"))
    return bool(xp.any(xp.isfinite(large) & (large > 1e155)))


def tiny(x: Any, *_: Any, **__: Any) -> bool:
    """The squares of all elements underflow, and some element is not 0."""
    large = xp.abs(xp.astype(x, "complex128"))
    return bool(xp.any(large > 0) and xp.all(large < 1e-165))


def empty(x: Any, *_: Any, **__: Any) -> bool:
    """Matrices without rows or columns."""
    return 0 in x.shape[-2:]
