"""Laws of transforms: linearity, Parseval, shifts, symmetry and inverses, of random arrays."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import direct_sums as sums

import refarray

xp: Any = refarray
DTYPES = ("complex64", "complex128")
lengths = st.integers(1, 70) | st.sampled_from((96, 97, 100, 127, 128, 134, 243, 256, 385))
dtypes = st.sampled_from(DTYPES)
few = settings(deadline=None, max_examples=25)


def argument(seed: int, n: int, dtype: str) -> Any:
    values = sums.sample(n, seed)
    is_real = dtype.startswith("float")
    return xp.asarray([v.real for v in values] if is_real else values, dtype=dtype)


def size(x: Any) -> float:
    wide = xp.astype(x, "complex128")
    return math.sqrt(float(xp.sum(xp.real(wide) ** 2 + xp.imag(wide) ** 2)))


seeds = st.integers(0, 1000)


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
