"""Models of the extension fft: transforms by exact sums, frequencies, and shifts."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import fourier
from oracles.checks import assert_dtype, flat
from oracles.nested import Nested, Shape, made

import refarray
from properties.arrays import Draw, array
from properties.models.registry import Call, Near, Result, models

xp: Any = refarray
lengths = st.sampled_from((1, 2, 3, 4, 5, 6, 8, 9, 11, 13, 16, 20))
norms = st.sampled_from(("backward", "ortho", "forward"))
INVERSE = ("ifft", "ifftn", "irfft", "irfftn", "ihfft")
COMPLEX = {"float32": "complex64", "float64": "complex128"}
REAL = {name: real for real, name in COMPLEX.items()}


def number(is_complex: bool) -> Callable[[Any], Any]:
    """A random number of which exact transforms are known."""

    def draw(source: Any) -> Any:
        parts = [source.randint(-(2**12), 2**12) / 2**8 for _ in range(2)]
        return complex(*parts) if is_complex else parts[0]

    return draw


def line(x: Nested, index: Shape, axis: int) -> list[complex]:
    return [x.at((*index[:axis], k, *index[axis + 1 :])) for k in range(x.shape[axis])]


def exact_line(name: str, x: list[complex], n: int) -> list[fourier.Exact]:
    if name == "fft":
        return fourier.dft(x, n)
    if name == "ifft":
        return fourier.dft(x, n, 1)
    if name == "rfft":
        return fourier.dft(x, n)[: n // 2 + 1]
    if name == "ihfft":
        return fourier.dft(x, n, 1)[: n // 2 + 1]
    return fourier.dft(fourier.hermitian(x, n), n, 1 if name == "irfft" else -1)


def factor(norm: str, name: str, n: int) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == (name in INVERSE) else 1.0


def close(wanted: Nested, dtype: str, n: int) -> Callable[[Any], None]:
    """A check by the error of all elements together."""
    epsilon = fourier.EPSILON[dtype]

    def check(out: Any) -> None:
        assert_dtype(out, dtype)
        assert out.shape == wanted.shape
        got = [complex(v) for v in flat(out)] if out.size else []
        size = math.sqrt(sum(abs(v) ** 2 for v in wanted.values))
        error = math.sqrt(sum(abs(a - b) ** 2 for a, b in zip(got, wanted.values, strict=True)))
        assert error <= 4 * epsilon * max(1.0, math.log2(n)) * size, (got, wanted.values)

    return check


@models("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft")
def along_axis(name: str, draw: Draw) -> Call:
    name = name.removeprefix("fft.")
    takes_real = name in ("rfft", "ihfft")
    dtype = draw(st.sampled_from(tuple(COMPLEX if takes_real else REAL)))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    axis = draw(st.integers(0, len(shape) - 1))
    extent = draw(lengths) + (name in ("irfft", "hfft"))
    shape = (*shape[:axis], extent, *shape[axis + 1 :])
    x = array(draw, dtype, shape, number(not takes_real))
    gives_real = name in ("irfft", "hfft")
    keywords: dict[str, Any] = {"axis": draw(st.sampled_from((axis, axis - len(shape))))}
    n = 2 * (extent - 1) if gives_real else extent
    if draw(st.booleans()):
        n = keywords["n"] = draw(lengths)
    norm = keywords["norm"] = draw(norms)
    length = n // 2 + 1 if takes_real else n
    lines: dict[Shape, list[complex]] = {}

    def at(index: Shape) -> Any:
        key = (*index[:axis], 0, *index[axis + 1 :])
        if key not in lines:
            exact = exact_line(name, line(x.model, key, axis), n)
            lines[key] = fourier.scaled(exact, factor(norm, name, n))
        return lines[key][index[axis]]

    wanted = made((*shape[:axis], length, *shape[axis + 1 :]), at)
    result = REAL[dtype] if gives_real else COMPLEX.get(dtype, dtype)
    return Call((x.array,), close(wanted, result, n), keywords)


@models("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn")
def over_axes(name: str, draw: Draw) -> Call:
    """The same transforms along one axis after the other."""
    name = name.removeprefix("fft.")
    takes_real = name == "rfftn"
    dtype = draw(st.sampled_from(tuple(COMPLEX if takes_real else REAL)))
    shape = tuple(draw(st.lists(st.sampled_from((2, 3, 4, 6)), min_size=1, max_size=3)))
    x = array(draw, dtype, shape, number(not takes_real))
    axes = draw(st.permutations(range(len(shape))))
    axes = axes[: draw(st.integers(1, len(axes)))]
    s = [draw(st.sampled_from((-1, 1, 2, 3, 4, 5))) for _ in axes]
    norm = draw(norms)
    keywords: dict[str, Any] = {"norm": norm, "axes": tuple(axes)}
    if draw(st.booleans()):
        keywords["s"] = tuple(s)
    else:
        s = [-1] * len(axes)

    def along(function: str, y: Any, i: int) -> Any:
        length = {} if s[i] == -1 else {"n": s[i]}
        return getattr(xp.fft, function)(y, axis=axes[i], norm=norm, **length)

    def check(out: Any) -> None:
        wanted = xp.astype(x.array, REAL.get(dtype, dtype) if takes_real else dtype)
        last = len(axes) - 1
        if takes_real:
            wanted = along("rfft", wanted, last)
        inner = "fft" if name in ("fftn", "rfftn") else "ifft"
        for i in range(last if name in ("rfftn", "irfftn") else len(axes)):
            wanted = along(inner, wanted, i)
        if name == "irfftn":
            wanted = along("irfft", wanted, last)
        assert_dtype(out, str(wanted.dtype))
        assert out.shape == wanted.shape
        size = float(xp.max(xp.abs(wanted)))
        error = float(xp.max(xp.abs(out - wanted)))
        assert error <= 64 * fourier.EPSILON[dtype] * max(size, 1e-300)

    return Call((x.array,), check, keywords)


@models("fft.fftfreq", "fft.rfftfreq")
def frequencies(name: str, draw: Draw) -> Call:
    n, d = draw(st.integers(1, 40)), draw(st.sampled_from((1.0, 0.5, 3.0, -0.1, 1e-3)))
    dtype = draw(st.sampled_from(("float64", "float32", "float16", "bfloat16")))
    if name == "fft.fftfreq":
        steps = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    else:
        steps = list(range(n // 2 + 1))
    exact = [Near(Fraction(k) / (n * Fraction(d)), 1.0) if k else 0.0 for k in steps]
    if d < 0:
        exact[0] = (0.0, -0.0)  # type: ignore[call-overload]
    wanted = Result(Nested(exact, (len(exact),)), dtype)
    return Call((n,), wanted, {"d": d, "dtype": dtype})


@models("fft.fftshift", "fft.ifftshift")
def shifts(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(("float16", "float32", "float64", "complex64", "complex128")))
    x = array(draw, dtype)
    ndim = len(x.shape)
    axes = sorted(draw(st.sets(st.integers(0, ndim - 1)))) if ndim else []
    sign = 1 if name == "fft.fftshift" else -1

    def source(index: Shape) -> Any:
        moved = [
            (i - sign * (extent // 2)) % extent if axis in axes else i
            for axis, (i, extent) in enumerate(zip(index, x.shape, strict=True))
        ]
        return x.model.at(tuple(moved))

    keywords: dict[str, Any] = {"axes": tuple(axes)}
    if len(axes) == ndim and draw(st.booleans()):
        keywords = {"axes": None}
    elif len(axes) == 1 and draw(st.booleans()):
        keywords = {"axes": axes[0]}
    return Call((x.array,), Result(made(x.shape, source), dtype), keywords)
