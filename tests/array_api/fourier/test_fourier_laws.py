"""Laws of transforms: linearity, Parseval, shifts, symmetry and inverses, of random arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
DTYPES = ("complex64", "complex128")
lengths = st.integers(1, 70) | st.sampled_from((96, 97, 100, 127, 128, 134, 243, 256, 385))
norms = st.sampled_from(sums.NORMS)
dtypes = st.sampled_from(DTYPES)
few = settings(deadline=None, max_examples=25)
Draw = Callable[[st.SearchStrategy[Any]], Any]


def argument(seed: int, n: int, dtype: str) -> Any:
    values = sums.sample(n, seed)
    is_real = dtype.startswith("float")
    return xp.asarray([v.real for v in values] if is_real else values, dtype=dtype)


def size(x: Any) -> float:
    wide = xp.astype(x, "complex128")
    return math.sqrt(float(xp.sum(xp.real(wide) ** 2 + xp.imag(wide) ** 2)))


def assert_near(x: Any, y: Any, n: int, times: float = 1.0) -> None:
    """Each of the two may have an error of a few transforms of n elements."""
    assert x.shape == y.shape and x.dtype == y.dtype
    limit = times * (2 * sums.bound(str(x.dtype), n, 2))
    assert size(x - y) <= limit * max(size(x), size(y)), (size(x - y), limit)


seeds = st.integers(0, 1000)


@pytest.mark.parametrize("name", ["fft", "ifft"])
@few
@given(seeds, lengths, dtypes, norms)
def test_linearity(name: str, seed: int, n: int, dtype: str, norm: str) -> None:
    f = getattr(xp.fft, name)
    x, y = argument(seed, n, dtype), argument(seed + 1, n, dtype)
    a, b = 0.75 - 2j, 1j
    both = f(a * x + b * y, norm=norm)
    apart = a * f(x, norm=norm) + b * f(y, norm=norm)
    limit = 8 * sums.bound(dtype, n, 2) * (size(f(x, norm=norm)) + size(f(y, norm=norm)))
    assert size(both - apart) <= limit


@few
@given(seeds, lengths, dtypes)
def test_parseval(seed: int, n: int, dtype: str) -> None:
    x = argument(seed, n, dtype)
    for name in ("fft", "ifft"):
        f = getattr(xp.fft, name)
        limit = 4 * sums.bound(dtype, n, 2)
        assert math.isclose(size(f(x, norm="ortho")), size(x), rel_tol=limit)
        unscaled = f(x, norm="backward" if name == "fft" else "forward")
        assert math.isclose(size(unscaled), math.sqrt(n) * size(x), rel_tol=limit)


@few
@given(seeds, lengths, dtypes, norms)
def test_inverses(seed: int, n: int, dtype: str, norm: str) -> None:
    x = argument(seed, n, dtype)
    assert_near(xp.fft.ifft(xp.fft.fft(x, norm=norm), norm=norm), x, n, 2)
    assert_near(xp.fft.fft(xp.fft.ifft(x, norm=norm), norm=norm), x, n, 2)


@few
@given(seeds, lengths, st.sampled_from(("float32", "float64")), norms)
def test_inverses_of_real_transforms(seed: int, n: int, dtype: str, norm: str) -> None:
    x = argument(seed, n, dtype)
    assert_near(xp.fft.irfft(xp.fft.rfft(x, norm=norm), n=n, norm=norm), x, n, 2)
    assert_near(xp.fft.hfft(xp.fft.ihfft(x, norm=norm), n=n, norm=norm), x, n, 2)


@few
@given(seeds, st.lists(st.integers(1, 9), min_size=1, max_size=4), norms, st.data())
def test_inverses_over_several_axes(
    seed: int, shape: list[int], norm: str, data: st.DataObject
) -> None:
    n = math.prod(shape)
    axes = data.draw(st.permutations(range(len(shape))))
    axes = axes[: data.draw(st.integers(1, len(axes)))]
    s = [shape[axis] for axis in axes]
    dtype = data.draw(dtypes)
    x = xp.reshape(argument(seed, n, dtype), tuple(shape))
    count = 2 * len(axes)
    there = xp.fft.fftn(x, axes=axes, norm=norm)
    assert_near(xp.fft.ifftn(there, axes=axes, norm=norm), x, n, count)
    real = xp.real(x)
    half = xp.fft.rfftn(real, axes=axes, norm=norm)
    assert_near(xp.fft.irfftn(half, s=s, axes=axes, norm=norm), real, n, count)


@few
@given(seeds, lengths, dtypes, st.integers(-500, 500))
def test_shifts_turn_the_phase(seed: int, n: int, dtype: str, by: int) -> None:
    x = argument(seed, n, dtype)
    angles = [-2 * math.pi * (by * j % n) / n for j in range(n)]
    turn = xp.asarray([complex(math.cos(a), math.sin(a)) for a in angles], dtype=dtype)
    assert_near(xp.fft.fft(xp.roll(x, by)), xp.fft.fft(x) * turn, n, 2)


@few
@given(seeds, lengths, dtypes)
def test_reversal_and_conjugation(seed: int, n: int, dtype: str) -> None:
    """Of the argument conjugate and reverse the result; ifft() is fft() with the other sign."""
    x = argument(seed, n, dtype)
    out = xp.fft.fft(x)
    mirrored = xp.roll(xp.flip(x), 1)
    assert_near(xp.fft.fft(mirrored), xp.roll(xp.flip(out), 1), n)
    assert_near(xp.fft.fft(xp.conj(x)), xp.conj(xp.roll(xp.flip(out), 1)), n)
    assert_near(xp.fft.ifft(x, norm="forward"), xp.roll(xp.flip(out), 1), n)
    assert_near(xp.fft.ifft(x), xp.conj(xp.fft.fft(xp.conj(x))) / n, n)


@few
@given(seeds, lengths, st.sampled_from(("float32", "float64")), norms)
def test_real_transforms_are_halves(seed: int, n: int, dtype: str, norm: str) -> None:
    x = argument(seed, n, dtype)
    wide = xp.astype(x, sums.TO_COMPLEX[dtype])
    m = n // 2 + 1
    whole = xp.fft.fft(wide, norm=norm)
    assert_near(xp.fft.rfft(x, norm=norm), whole[:m], n, 2)
    assert_near(xp.fft.ihfft(x, norm=norm), xp.fft.ifft(wide, norm=norm)[:m], n, 2)
    rest = xp.conj(xp.flip(whole[1 : n - m + 1]))
    assert size(whole[m:] - rest) <= 4 * sums.bound(dtype, n, 2) * size(whole)


@few
@given(seeds, lengths, dtypes, norms)
def test_transforms_of_hermitian_sequences_are_real(
    seed: int, n: int, dtype: str, norm: str
) -> None:
    m = n // 2 + 1
    half = argument(seed, m, dtype)
    parts = [half[:1], half[1:]] if n % 2 else [half[:1], half[1 : m - 1], half[m - 1 :]]
    parts = [
        each if i == 1 else xp.astype(xp.real(each), dtype)
        for i, each in enumerate(parts)
        if each.size
    ]
    whole = xp.concat([*parts, xp.conj(xp.flip(half[1 : n - m + 1]))]) if n > 2 else None
    if whole is None:
        whole = xp.astype(xp.real(half[:n]), dtype)
    assert whole.size == n
    for name, full in (("irfft", xp.fft.ifft), ("hfft", xp.fft.fft)):
        out = getattr(xp.fft, name)(half, n=n, norm=norm)
        wanted = full(whole, norm=norm)
        assert_near(out, xp.real(wanted), n, 2)
        assert size(xp.imag(wanted)) <= 2 * sums.bound(dtype, n, 2) * size(wanted)


@few
@given(seeds, lengths, dtypes)
def test_products_of_transforms_are_convolutions(seed: int, n: int, dtype: str) -> None:
    x, y = argument(seed, n, dtype), argument(seed + 7, n, dtype)
    out = xp.fft.ifft(xp.fft.fft(x) * xp.fft.fft(y))
    place = seed % n
    a, b = x.tolist(), y.tolist()
    term = sum(a[k] * b[(place - k) % n] for k in range(n))
    limit = 16 * sums.bound(dtype, n, 2) * size(x) * size(y)
    assert abs(complex(out[place]) - term) <= limit


@few
@given(seeds, lengths, dtypes)
def test_padding_interpolates_and_folding_samples(seed: int, n: int, dtype: str) -> None:
    """Every second element of a transform of twice the length is one of the transform."""
    x = argument(seed, n, dtype)
    assert_near(xp.fft.fft(x, n=2 * n)[::2], xp.fft.fft(x), 2 * n, 2)
    wide = argument(seed, 2 * n, dtype)
    assert_near(xp.fft.fft(wide)[::2], xp.fft.fft(wide[:n] + wide[n:]), 2 * n, 2)
