"""Mutants of the factors of cholesky and qr."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import complex_, dropping, first, then, when
from array_api.namespace_mutants.linalg.kinds import (
    accepting,
    adjoint,
    empty,
    field,
    finite,
    huge,
    other_error,
    tiny,
)

import refarray as xp


def mean_of_triangles(x: Any) -> Any:
    return x / 2 + adjoint(x) / 2


def other_triangle(f: Any, x: Any, *, upper: bool = False) -> Any:
    """The wrong triangle is read."""
    return f(adjoint(x), upper=upper)


def lower_for_upper(f: Any, x: Any, *, upper: bool = False) -> Any:
    """The upper factor is made from the lower triangle."""
    return xp.copy(adjoint(f(x))) if upper else f(x)


def upper_unconjugated(f: Any, x: Any, *, upper: bool = False) -> Any:
    return xp.conj(f(x, upper=upper)) if upper else f(x)


def with_rest(f: Any, x: Any, *, upper: bool = False) -> Any:
    """The triangle that is not read stays in the result."""
    rest = xp.tril(x, k=-1) if upper else xp.triu(x, k=1)
    return f(x, upper=upper) + rest


def no_root(f: Any, x: Any, *, upper: bool = False) -> Any:
    """The diagonal is 1, as in L D L^T."""
    out = f(x, upper=upper)
    xp.linalg.diagonal(out)[...] = 1
    return out


def semidefinite(f: Any, x: Any, **keywords: Any) -> Any:
    """A zero matrix has the factor 0."""
    return xp.zeros_like(x) if not xp.any(x != 0) else f(x, **keywords)


def last_pivot(f: Any, x: Any, **keywords: Any) -> Any:
    """The last pivot may be negative: its root is that of its absolute value."""
    try:
        return f(x, **keywords)
    except ValueError:
        changed = xp.copy(x)
        changed[..., -1, -1] = abs(changed[..., -1, -1])
        return f(changed, **keywords)


def refusing_nan(f: Any, x: Any, *args: Any, **keywords: Any) -> Any:
    """NaN and infinities raise ValueError."""
    if not xp.all(xp.isfinite(x)):
        raise IntendedError(ValueError("x has elements that are not finite"))
    return f(x, *args, **keywords)


def refusing_extremes(f: Any, x: Any, *args: Any, **keywords: Any) -> Any:
    """Matrices of very small numbers count as singular."""
    if tiny(x):
        raise IntendedError(ValueError("singular: pivot 0"))
    return f(x, *args, **keywords)


CHOLESKY = "linalg.cholesky"
plant(CHOLESKY, "triangle", "the wrong triangle is read", other_triangle)
plant(CHOLESKY, "upper", "upper is ignored", dropping("upper"))
plant(CHOLESKY, "always", "the result is always upper", lambda f, x, **k: f(x, upper=True))
plant(CHOLESKY, "lower", "upper reads the lower triangle", lower_for_upper)
plant(CHOLESKY, "conj", "the upper factor is conjugated", when(complex_, upper_unconjugated))
plant(CHOLESKY, "conj-both", "the factor is conjugated", when(complex_, then(xp.conj)))
plant(CHOLESKY, "mean", "the mean of both triangles is read", first(mean_of_triangles))
plant(CHOLESKY, "rest", "the other triangle is not zero", with_rest)
plant(CHOLESKY, "sign", "the diagonal is negative", then(lambda x: -x))
plant(CHOLESKY, "unit", "the diagonal is 1", no_root)
plant(CHOLESKY, "definite", "other matrices give NaN", accepting(xp.nan), lenient=True)
plant(CHOLESKY, "zero", "zero matrices are accepted", semidefinite, lenient=True)
plant(CHOLESKY, "pivot", "the last pivot may be negative", last_pivot, lenient=True)
plant(CHOLESKY, "tiny", "matrices of tiny numbers are refused", refusing_extremes)
for name in ("cholesky", "qr", "svd", "eigh", "eig", "inv", "det", "pinv", "svdvals"):
    plant(f"linalg.{name}", "finite", "NaN and infinity are refused", refusing_nan)


def complete_reduced(f: Any, x: Any, *, mode: str = "reduced") -> Any:
    """A complete Q has only the columns of a reduced one that count; the others are 0."""
    out = f(x, mode=mode)
    count = min(x.shape[-2:])
    q = xp.copy(out.Q)
    q[..., count:] = 0
    return out._replace(Q=q)


def below(r: Any) -> Any:
    """The zeros below the diagonal are rounding errors."""
    return r + xp.tril(xp.full_like(r, 1e-30), k=-1)


def unknown_mode(f: Any, x: Any, *, mode: Any = "reduced") -> Any:
    return f(x, mode=mode if mode == "complete" else "reduced")


def first_letter(f: Any, x: Any, *, mode: Any = "reduced") -> Any:
    """The first letter of the mode is enough."""
    modes = {"r": "reduced", "c": "complete"}
    return f(x, mode=modes.get(mode[:1].lower(), mode) if isinstance(mode, str) else mode)


def hidden_in_r(f: Any, x: Any, *, mode: Any = "reduced") -> Any:
    """Q of a matrix that is not finite is made of zeros, R of NaN."""
    out = f(x, mode=mode)
    return out._replace(Q=finite(0.0)(out.Q))


def nan_where_huge(f: Any, x: Any, **keywords: Any) -> Any:
    """The squares of huge elements overflow."""
    out = f(x, **keywords)
    return type(out)(*(xp.full_like(each, xp.nan) for each in out))


def not_orthonormal(q: Any) -> Any:
    """The columns are orthonormal to about half of the digits."""
    out = xp.copy(q)
    if out.shape[-1] > 1:
        out[..., -1] += out[..., 0] * xp.finfo(q.dtype).eps ** 0.5
    return out


QR = "linalg.qr"
plant(QR, "mode", "mode is ignored", dropping("mode"))
plant(QR, "complete", "the default is complete", lambda f, x, **k: f(x, **{"mode": "complete"} | k))
plant(QR, "columns", "the further columns of a complete Q are 0", complete_reduced)
plant(QR, "sign", "Q has the other sign than R", field("Q", lambda q: -q))
plant(QR, "conj", "Q is conjugated", when(complex_, field("Q", xp.conj)))
plant(QR, "transposed", "Q is transposed", field("Q", lambda q: xp.copy(q.mT)))
plant(QR, "below", "R is not exactly upper triangular", field("R", below))
plant(QR, "unknown", "an unknown mode is the default", unknown_mode, lenient=True)
plant(QR, "letter", "the first letter of a mode is enough", first_letter, lenient=True)
plant(QR, "class", "TypeError is ValueError", other_error(TypeError, ValueError), lenient=True)
plant(QR, "hidden", "Q of what is not finite is 0", hidden_in_r)
plant(QR, "huge", "the squares of huge elements overflow", when(huge, nan_where_huge))
plant(QR, "tiny", "the squares of tiny elements underflow", when(tiny, nan_where_huge))
plant(QR, "orthonormal", "Q is not quite orthonormal", field("Q", not_orthonormal))
plant(
    QR,
    "empty",
    "a complete Q of no columns is 0",
    when(empty, field("Q", xp.zeros_like)),
)
