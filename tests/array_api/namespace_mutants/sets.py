"""Mutants of the unique functions and of isin."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import Broken, plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    complex_,
    dropping,
    first,
    ignoring_strides,
    instead,
    is_array,
    of,
    real,
    second,
    then,
    values_of,
    when,
    without_nan,
)

import refarray as xp


def field(name: str, change: Any) -> Broken:
    """One field of the result is changed."""
    return then(lambda out: out._replace(**{name: change(getattr(out, name))}))


def last_indices(f: Any, x: Any) -> Any:
    """The indices are those of the last occurrences."""
    out = f(x)
    return out._replace(indices=x.size - 1 - f(xp.flip(values_of(x))).indices)


def one_nan(f: Any, x: Any) -> Any:
    """NaN occurs once."""
    out = f(x)
    nan = xp.nonzero(xp.isnan(out))[0]
    return out if nan.size < 2 else xp.concat([out[~xp.isnan(out)], out[xp.isnan(out)][:1]])


def signed_zeros(f: Any, x: Any) -> Any:
    """-0 and +0 are two values."""
    out = f(x)
    zeros = values_of(x)[values_of(x) == 0]
    both = bool(xp.any(xp.signbit(zeros))) and not bool(xp.all(xp.signbit(zeros)))
    return xp.concat([out, -out[out == 0]]) if both else out


def adjacent(f: Any, x: Any) -> Any:
    """Only equal neighbours are joined."""
    values = values_of(x)
    return xp.concat([values[:1], values[1:][values[1:] != values[:-1]]])


def in_first(f: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """Only the first element of the second operand counts."""
    return f(x, xp.reshape(y, (-1,))[:1], **kwargs)


plant("unique_values", "nan", "NaN occurs once", when(real, one_nan))
plant("unique_values", "zeros", "-0 and +0 are two values", when(real, signed_zeros))
plant("unique_values", "adjacent", "only equal neighbours are joined", adjacent)
plant("unique_values", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "unique_values",
    "complex",
    "complex: values with equal real parts are one",
    when(complex_, lambda f, x: f(xp.astype(xp.real(x), x.dtype))),
)
plant("unique_counts", "one", "every count is 1", field("counts", lambda c: xp.ones_like(c)))
plant(
    "unique_counts",
    "dtype",
    "the counts are int32",
    field("counts", lambda c: xp.astype(c, "int32")),
)
plant(
    "unique_counts",
    "nan",
    "NaN is not counted",
    when(real, lambda f, x: f(x)._replace(counts=xp.where(xp.isnan(f(x).values), 0, f(x).counts))),
)
plant(
    "unique_counts",
    "reversed",
    "the counts come in reversed order",
    field("counts", lambda c: xp.flip(c)),
)
plant("unique_counts", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "unique_inverse", "flat", "the inverse has one dimension", field("inverse_indices", values_of)
)
plant(
    "unique_inverse",
    "reversed",
    "the values come in reversed order, the inverse does not change",
    field("values", lambda v: xp.flip(v)),
)
plant(
    "unique_inverse",
    "one-based",
    "the inverse counts from 1",
    field("inverse_indices", lambda i: i + 1),
)
plant("unique_inverse", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "unique_inverse",
    "nan",
    "every NaN has the index of the first",
    when(
        real,
        lambda f, x: f(x)._replace(
            inverse_indices=xp.where(
                xp.isnan(x), xp.min(f(x).inverse_indices[xp.isnan(x)]), f(x).inverse_indices
            )
        ),
    ),
)
plant("unique_all", "last", "the indices are those of the last occurrences", last_indices)
plant("unique_all", "flat", "the inverse has one dimension", field("inverse_indices", values_of))
plant("unique_all", "counts", "every count is 1", field("counts", lambda c: xp.ones_like(c)))
plant(
    "unique_all",
    "swapped",
    "indices and counts change places",
    then(lambda out: out._replace(indices=out.counts, counts=out.indices)),
)
plant("unique_all", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("unique_all", "tuple", "returns a plain tuple", then(tuple))
plant(
    "unique_all",
    "uint64",
    "uint64 is compared as float64",
    when(
        of("uint64"),
        lambda f, x: f(xp.astype(x, "float64"))._replace(
            values=xp.astype(f(xp.astype(x, "float64")).values, "uint64")
        ),
    ),
)
plant("isin", "invert", "invert is ignored", dropping("invert"))
plant("isin", "first", "only the first element of the second operand counts", in_first)
plant(
    "isin",
    "nan",
    "NaN is in what has NaN",
    lambda f, x, y, **k: f(x, y, **k) | (xp.isnan(x) & xp.any(xp.isnan(y))),
)
plant(
    "isin",
    "elementwise",
    "compares element by element",
    lambda f, x, y, **k: (
        x == y if is_array(x) and is_array(y) and x.shape == y.shape else f(x, y, **k)
    ),
)
plant("isin", "flat", "the result has one dimension", then(values_of))
plant("isin", "strides", "reads a strided second operand as contiguous", second(as_if_contiguous))
plant(
    "isin", "first-strides", "reads a strided first operand as contiguous", first(as_if_contiguous)
)
plant(
    "isin",
    "swapped",
    "looks for the elements of the second operand in the first",
    lambda f, x, y, **k: f(y, x, **k) if x.shape == y.shape else f(x, y, **k),
)
plant(
    "isin",
    "wraps",
    "the second operand is converted to the first one's dtype",
    lambda f, x, y, **k: f(x, xp.astype(y, x.dtype), **k),
)
plant(
    "isin",
    "zeros",
    "-0 is not in what has +0",
    when(real, lambda f, x, y, **k: f(xp.where((x == 0) & xp.signbit(x), xp.nan, x), y, **k)),
)
plant(
    "isin",
    "empty",
    "everything is in an empty array",
    lambda f, x, y, **k: ~f(x, y, **k) if y.size == 0 else f(x, y, **k),
)
plant("unique_values", "nan-lost", "NaN is lost", when(real, lambda f, x: f(x)[~xp.isnan(f(x))]))
plant(
    "unique_counts",
    "values",
    "the values are the sorted elements",
    instead(lambda x: xp.unique_counts(x)._replace(values=xp.sort(values_of(x)))),
)
plant("unique_inverse", "nan-value", "NaN becomes 0", when(real, first(without_nan(0.0))))
