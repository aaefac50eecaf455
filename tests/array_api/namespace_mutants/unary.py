"""Mutants of the elementwise functions of one floating-point or complex operand."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import Broken, plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    complex_,
    first,
    ignoring_strides,
    in_precision,
    instead,
    integer,
    last_as_first,
    longer,
    next_up,
    of,
    real,
    reshaped,
    same,
    signed,
    strided,
    then,
    values_of,
    when,
    without_nan,
    without_negative_zero,
)

import refarray as xp


def of_reals(broken: Broken) -> Broken:
    return when(real, broken)


def of_complex(broken: Broken) -> Broken:
    return when(complex_, broken)


def parts(x: Any, real_part: Any, imaginary: Any) -> Any:
    """A complex array like x with these parts."""
    values = [complex(a, b) for a, b in zip(listed(real_part), listed(imaginary), strict=True)]
    return reshaped(xp.asarray(values or [0j], dtype=x.dtype)[: x.size], x)


def listed(x: Any) -> list[Any]:
    return list(values_of(x).tolist())


plant("acos", "is-asin", "computes the arc sine", instead(lambda x: xp.asin(x)))
plant(
    *("acos", "clips", "operands outside [-1, 1] are clipped instead of giving NaN"),
    of_reals(first(lambda x: xp.clip(x, -1.0, 1.0))),
)
plant("acos", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("acosh", "clips", "operands below 1 give 0, not NaN", first(lambda x: xp.maximum(x, 1.0)))
plant("acosh", "branch", "complex: the other side of the branch", of_complex(then(xp.conj)))
plant("asin", "minus-zero", "the sign of zero is lost", of_reals(then(without_negative_zero)))
plant("asin", "float16", "computed with float16 operands", in_precision("float16"))
plant("asinh", "even", "negative operands give positive results", first(xp.abs))
plant(
    *("asinh", "naive", "log(x + sqrt(x * x + 1)), which cancels for negative x"),
    of_reals(instead(lambda x: xp.log(x + xp.sqrt(x * x + 1.0)))),
)
plant(
    *("atan", "infinite", "infinities give NaN"),
    of_reals(first(lambda x: xp.where(xp.isinf(x), xp.nan, x))),
)
plant("atan", "is-tanh", "the hyperbolic tangent", instead(lambda x: xp.tanh(x)))
plant(
    *("atanh", "poles", "1 and -1 give large finite numbers instead of infinities"),
    of_reals(then(lambda x: xp.where(xp.isinf(x), xp.copysign(xp.full_like(x, 3e4), x), x))),
)
plant("atanh", "tail", "the last element repeats the first", then(last_as_first))
plant("ceil", "is-round", "rounds to the nearest", instead(lambda x: xp.round(x)))
plant("ceil", "minus-zero", "-0.5 gives +0", of_reals(then(without_negative_zero)))
plant("ceil", "adds-one", "floor(x) + 1, also of integers", then(lambda x: xp.floor(x) + 1))
plant("conj", "same", "returns the operand", instead(same))
plant("conj", "negates", "the whole number is negated", of_complex(instead(lambda x: -x)))
plant("cos", "is-sin", "computes the sine", instead(lambda x: xp.sin(x)))
plant(
    *("cos", "large", "operands above 1000 are reduced by an inexact 2 pi"),
    when(real, first(lambda x: xp.where(xp.abs(x) > 1000, xp.remainder(x, 6.283185307), x))),
)
plant(
    "cos", "conjugate", "complex: the imaginary part has the other sign", of_complex(then(xp.conj))
)
plant(
    "cosh",
    "odd",
    "negative operands give negative results",
    of_reals(lambda f, x: xp.copysign(f(x), x)),
)
plant(
    *("cosh", "minus-infinity", "-inf gives -inf"),
    of_reals(lambda f, x: xp.where(x == -xp.inf, x, f(x))),
)
plant("exp", "base-2", "2 to the power of x", of_reals(instead(lambda x: xp.pow(2.0, x))))
plant(
    *("exp", "subnormal", "subnormal results are flushed to 0"),
    of_reals(then(lambda x: xp.where(x < xp.finfo(x.dtype).smallest_normal, 0.0, x))),
)
plant("exp", "nan", "NaN gives 0", of_reals(then(without_nan(0.0))))
plant("expm1", "naive", "exp(x) - 1, inexact near 0", of_reals(instead(lambda x: xp.exp(x) - 1.0)))
plant("expm1", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant(
    *("expm1", "complex-naive", "complex: exp(x) - 1, inexact near 0"),
    of_complex(instead(lambda x: xp.exp(x) - 1.0)),
)
plant("floor", "is-trunc", "rounds toward 0", instead(lambda x: xp.trunc(x)))
plant(
    *("floor", "int64", "goes through int64: larger numbers become 2^63"),
    of_reals(then(lambda x: xp.clip(x, -(2.0**63), 2.0**63))),
)
plant("floor", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant("imag", "real", "returns the real part", instead(lambda x: xp.real(x)))
plant("imag", "negated", "returns the negated part", then(lambda x: -x))
plant("imag", "dtype", "returns float64 for complex64", then(lambda x: xp.astype(x, xp.float64)))
plant("real", "imag", "returns the imaginary part", instead(lambda x: xp.imag(x)))
plant("real", "abs", "returns the magnitude", of_complex(instead(lambda x: xp.abs(x))))
plant("real", "strides", "of strided complex operands reads contiguous memory", ignoring_strides)
plant(
    "log",
    "of-abs",
    "negative operands give the logarithm of the magnitude",
    of_reals(first(xp.abs)),
)
plant(
    *("log", "zero", "0 gives the smallest number instead of -inf"),
    of_reals(then(lambda x: xp.where(x == -xp.inf, xp.finfo(x.dtype).min, x))),
)
plant(
    "log",
    "branch",
    "complex: negative zero imaginary parts count as +0",
    of_complex(first(lambda x: parts(x, xp.real(x), xp.imag(x) + 0.0))),
)
plant("log1p", "naive", "log(1 + x), inexact near 0", of_reals(instead(lambda x: xp.log(x + 1.0))))
plant("log1p", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant("log2", "is-log10", "the logarithm to base 10", instead(lambda x: xp.log10(x)))
plant("log2", "float16", "computed with float16 operands", in_precision("float16"))
plant("log10", "natural", "the natural logarithm", instead(lambda x: xp.log(x)))
plant(
    *("log10", "float32", "float64 operands are rounded to float32"),
    when(of("float64"), in_precision("float32")),
)
plant("reciprocal", "negated", "-1 / x", then(lambda x: -x))
plant(
    *("reciprocal", "zero", "-0 gives +inf"),
    of_reals(then(lambda x: xp.where(x == -xp.inf, xp.inf, x))),
)
plant(
    *("reciprocal", "infinite", "-inf gives +0"),
    of_reals(then(without_negative_zero)),
)
plant(
    "round",
    "away",
    "halves are rounded away from 0",
    of_reals(instead(lambda x: xp.copysign(xp.floor(xp.abs(x) + 0.5), x))),
)
plant("round", "up", "halves are rounded up", of_reals(instead(lambda x: xp.floor(x + 0.5))))
plant("round", "minus-zero", "-0.4 gives +0", of_reals(then(without_negative_zero)))
plant(
    "round",
    "complex",
    "complex: only the real part is rounded",
    of_complex(lambda f, x: parts(x, xp.real(f(x)), xp.imag(x))),
)
plant("sign", "nan", "NaN gives 0", of_reals(then(without_nan(0.0))))
plant(
    "sign",
    "complex",
    "complex: the sign of the real part",
    of_complex(instead(lambda x: xp.astype(xp.sign(xp.real(x)), x.dtype))),
)
plant("sign", "abs", "negative integers give 1", when(signed, then(xp.abs)))
plant("signbit", "below-zero", "x < 0: wrong for -0", instead(lambda x: x < 0))
plant("signbit", "nan", "False for every NaN", lambda f, x: f(x) & ~xp.isnan(x))
plant("sin", "is-cos", "computes the cosine", instead(lambda x: xp.cos(x)))
plant("sin", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant(
    "sin",
    "tail",
    "the last element of more than 16 repeats the first",
    when(longer(16), then(last_as_first)),
)
plant(
    "sinh",
    "naive",
    "(exp(x) - exp(-x)) / 2, inexact near 0",
    of_reals(instead(lambda x: (xp.exp(x) - xp.exp(-x)) * 0.5)),
)
plant("sinh", "even", "negative operands give positive results", of_reals(then(xp.abs)))
plant("sqrt", "next", "one unit in the last place too large", of_reals(then(next_up)))
plant("sqrt", "of-abs", "negative operands give the root of the magnitude", of_reals(first(xp.abs)))
plant("sqrt", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant("sqrt", "branch", "complex: the other root", of_complex(then(lambda x: -x)))
plant("square", "signed", "x * |x|", of_reals(instead(lambda x: x * xp.abs(x))))
plant(
    "square", "complex", "complex: x times its conjugate", of_complex(lambda f, x: x * xp.conj(x))
)
plant(
    "square",
    "integers",
    "integers saturate instead of wrapping",
    when(
        integer,
        lambda f, x: xp.where(
            xp.abs(x) > 2 ** (xp.iinfo(x.dtype).bits // 2 - 1), xp.iinfo(x.dtype).max, f(x)
        ),
    ),
)
plant("tan", "cotangent", "computes the reciprocal", then(lambda x: xp.reciprocal(x)))
plant("tan", "minus-zero", "-0 gives +0", of_reals(then(without_negative_zero)))
plant(
    "tan", "strides", "reads strided operands as contiguous", when(strided, first(as_if_contiguous))
)
plant(
    "tanh",
    "saturates",
    "above 4 the result is 1",
    of_reals(lambda f, x: xp.where(xp.abs(x) > 4, xp.sign(x), f(x))),
)
plant(
    "tanh",
    "swapped",
    "complex: real and imaginary part change places",
    of_complex(then(lambda x: parts(x, xp.imag(x), xp.real(x)))),
)
plant("trunc", "is-floor", "rounds down", instead(lambda x: xp.floor(x)))
plant("trunc", "minus-zero", "-0.5 gives +0", of_reals(then(without_negative_zero)))
plant("abs", "same", "negative numbers stay negative", instead(same))
plant("abs", "minus-zero", "-0 stays -0", of_reals(lambda f, x: xp.where(x == 0, x, f(x))))
plant(
    "abs",
    "overflow",
    "complex: sqrt(re^2 + im^2), which overflows",
    of_complex(instead(lambda x: xp.sqrt(xp.real(x) * xp.real(x) + xp.imag(x) * xp.imag(x)))),
)
plant(
    "abs",
    "complex-dtype",
    "complex: the result is complex",
    of_complex(lambda f, x: xp.astype(f(x), x.dtype)),
)
plant("negative", "zero", "0 - x: +0 gives +0", of_reals(instead(lambda x: 0.0 - x)))
plant(
    "negative",
    "unsigned",
    "unsigned integers give 0, not 2^n - x",
    when(lambda x: xp.isdtype(x.dtype, "unsigned integer"), instead(xp.zeros_like)),
)
plant("positive", "abs", "returns the magnitude", instead(lambda x: xp.abs(x)))
plant("isfinite", "nan", "True for NaN", lambda f, x: f(x) | xp.isnan(x))
plant("isfinite", "complex", "complex: only the real part counts", of_complex(first(xp.real)))
plant("isinf", "positive", "False for -inf", of_reals(instead(lambda x: x == xp.inf)))
plant(
    "isinf",
    "complex",
    "complex: False if the other part is NaN",
    of_complex(lambda f, x: f(x) & ~xp.isnan(x)),
)
plant("isnan", "infinite", "True for infinities also", of_reals(instead(lambda x: ~xp.isfinite(x))))
plant("isnan", "complex", "complex: only the real part counts", of_complex(first(xp.real)))
plant("isnan", "integers", "True for the integer 0", when(integer, instead(lambda x: x == 0)))
