"""Mutants of what functions of linalg do with rare arguments: large, tiny, read-only, empty."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import Change, first, when
from array_api.namespace_mutants.linalg.alike import ANY_SHAPE, SQUARE
from array_api.namespace_mutants.linalg.kinds import FLOATING, each

import refarray as xp

Condition = Change


def extents(count: int) -> Condition:
    """A matrix has more rows or columns than this."""
    return lambda x, *_, **__: max(x.shape[-2:]) > count


def one_by_one(x: Any, *_: Any, **__: Any) -> bool:
    return bool(x.shape[-2:] == (1, 1))


def last_disturbed(x: Any) -> Any:
    """The last element is wrong in the upper half of its digits."""
    out = xp.copy(x)
    if out.size and xp.isdtype(out.dtype, FLOATING):
        out[(-1,) * out.ndim] += (1 + abs(out[(-1,) * out.ndim])) * xp.finfo(x.dtype).eps ** 0.5
    elif out.size:
        out[(-1,) * out.ndim] -= 1
    return out


def spreading(f: Any, x: Any, *args: Any, **keywords: Any) -> Any:
    """An element that is not finite makes all matrices of a stack NaN."""
    if x.ndim < 3 or xp.all(xp.isfinite(x)):
        return f(x, *args, **keywords)
    return f(xp.full_like(x, xp.nan), *args, **keywords)


def without_subnormals(x: Any) -> Any:
    """Subnormal numbers count as 0."""
    if not xp.isdtype(x.dtype, FLOATING):
        return x
    least = xp.finfo(x.dtype).smallest_normal
    return xp.where(xp.abs(x) < least, xp.zeros_like(x), x)


def refusing(condition: Condition, text: str) -> Any:
    """Raises ValueError for arguments that are right."""

    def broken(f: Any, x: Any, *args: Any, **keywords: Any) -> Any:
        if condition(x, *args, **keywords):
            raise IntendedError(ValueError(text))
        return f(x, *args, **keywords)

    return broken


def saturating(x: Any) -> Any:
    """Infinity is the largest number."""
    if not xp.isdtype(x.dtype, "real floating"):
        return x
    top = float(xp.finfo(x.dtype).max)
    return xp.where(xp.isnan(x), x, xp.clip(x, -top, top))


def negated(x: Any) -> Any:
    return -x


for name in (*SQUARE, *ANY_SHAPE, "solve", "matrix_power"):
    target = f"linalg.{name}"
    plant(
        target, "large", "from 65 rows on the end is wrong", when(extents(64), each(last_disturbed))
    )
    plant(target, "33", "from 33 rows on the end is wrong", when(extents(32), each(last_disturbed)))
    plant(target, "spreads", "NaN spreads to the whole stack", spreading)
    plant(target, "subnormal", "subnormal elements count as 0", first(without_subnormals))
    plant(
        target,
        "frozen",
        "read-only arguments are refused",
        refusing(lambda x, *_, **__: x.readonly, "read-only"),
    )
    plant(
        target,
        "no-stack",
        "empty stacks are refused",
        refusing(lambda x, *_, **__: 0 in x.shape[:-2], "an empty stack"),
    )
    plant(
        target,
        "deep",
        "stacks of more than two axes are refused",
        refusing(lambda x, *_, **__: x.ndim > 4, "ndim"),
    )
for name in ("det", "inv", "solve", "matrix_power", "slogdet", "matrix_norm", "vector_norm"):
    plant(f"linalg.{name}", "saturates", "infinity is the largest number", each(saturating))
for name in ("det", "inv", "solve", "svd", "svdvals", "eigh", "eig", "cholesky", "pinv"):
    plant(f"linalg.{name}", "one-by-one", "1 x 1: another sign", when(one_by_one, each(negated)))
