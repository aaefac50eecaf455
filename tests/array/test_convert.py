"""astype compared with NumPy and ml_dtypes: every pair of the 27 scalar dtypes, bit for bit, at
every rounding and overflow boundary."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers.cases import run_each
from helpers.dtype_names import COMPLEX, INTEGERS, NAMES, SMALL, SUB_BYTE
from helpers.rounding import numpy_dtype, round_to_odd

import refarray
from refarray import _native

Values = npt.NDArray[Any]


def stored(name: str) -> str:
    """The refarray name of the type, in the layout ml_dtypes uses (sub-byte types padded)."""
    return name + "_padded" if name in SUB_BYTE else name


def as_refarray(name: str, values: Values) -> refarray.Array:
    return refarray.from_buffer(values.view(np.uint8), dtype=stored(name))


def raw(array: refarray.Array) -> bytes:
    """The bytes of a contiguous array, read at the address in its DLPack export."""
    capsule = refarray.to_capsule(array, max_version=(1, 0))
    seen = _native._inspect_capsule(capsule)
    return ctypes.string_at(seen["data"] + seen["byte_offset"], array.nbytes)


def codes(name: str) -> Values:
    count = 1 << SUB_BYTE.get(name, 8 * numpy_dtype(name).itemsize)
    return np.arange(count, dtype=np.uint16 if count > 256 else np.uint8).view(numpy_dtype(name))


@cache
def boundary_values() -> Values:
    """Every finite value of every small type, the midpoints between neighbours, and values around
    the limits of the ranges, as float64."""
    points = []
    for name in SMALL:
        every = codes(name).astype(np.float32).astype(np.float64)
        finite = np.unique(every[np.isfinite(every)])
        least = np.abs(finite[finite != 0]).min()
        step = finite[-1] - finite[-2]
        points += [finite, (finite[1:] + finite[:-1]) / 2, finite[-1] + step * np.array([0.5, 1.0])]
        points.append(least * np.array([0.25, 0.5, 0.75, 1.5]))
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        points.append(2.0**bits + np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0]))
    return np.unique(np.concatenate(points))


@cache
@np.errstate(all="ignore")
def floats(name: str) -> Values:
    dtype = np.dtype(name).type
    info = np.finfo(dtype)
    base = boundary_values().astype(dtype)
    ends = np.array([0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal], dtype)
    base = np.concatenate([base, ends])
    near = [base, np.nextafter(base, dtype(np.inf)), np.nextafter(base, dtype(-np.inf))]
    bits = np.random.default_rng(7).integers(0, 256, 80_000 * base.itemsize, dtype=np.uint8)
    patterns = bits.view(dtype)
    near.append(patterns[~np.isnan(patterns)])  # NaN payloads are unspecified
    every = np.concatenate(near)
    return np.concatenate([every, -every])


@cache
def integers(name: str) -> Values:
    info = np.iinfo(name)
    if info.bits <= 16:
        return np.arange(info.min, info.max + 1).astype(name)
    points = {info.min, info.max}
    for bit in range(info.bits):
        for lower in range(bit + 1):
            points |= {s * ((1 << bit) + (1 << lower) + d) for d in (-1, 0, 1) for s in (-1, 1)}
    kept = [point for point in points if info.min <= point <= info.max]
    bits = np.random.default_rng(8).integers(0, 256, 160_000, dtype=np.uint8)
    return np.concatenate([np.array(sorted(kept), name), bits.view(name)])


@cache
def complexes(name: str) -> Values:
    part = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}[name]
    real = codes(part) if part == "float16" else floats(part)[::5]
    real = np.concatenate([real, np.array([0, 0, -0.0, 1], real.dtype)])
    imaginary = np.random.default_rng(9).permutation(real)
    imaginary[-4:] = [0, 1, -0.0, 0]
    return np.stack([real, imaginary], axis=1).reshape(-1).view(np.uint8).view(numpy_dtype(name))


def values_of(name: str) -> Values:
    if name == "bool":
        return np.array([False, True])
    if name in INTEGERS:
        return integers(name)
    if name in COMPLEX:
        return complexes(name)
    return floats(name) if name in ("float32", "float64") else codes(name)


def to_integers(values: Values, name: str) -> Values:
    """Truncate towards zero, saturate, NaN to 0: refarray defines what NumPy leaves undefined."""
    info = np.iinfo(name)
    whole = np.trunc(values.astype(np.float64))
    above, below = whole >= 2.0 ** (info.max.bit_length()), whole < float(info.min)
    inside = ~(above | below | np.isnan(whole))
    out = np.zeros(len(values), name)
    out[inside] = whole[inside].astype(name)
    out[above], out[below] = info.max, info.min
    return out


def to_complex32(values: Values) -> Values:
    """Part by part, because ml_dtypes converts by complex64."""
    if values.dtype.kind == "c":
        parts = values.view(np.float64)
    else:
        parts = np.stack([values, np.zeros_like(values)], axis=1).reshape(-1)
    return parts.astype(np.float16).view(np.uint8).view(numpy_dtype("complex32"))


@np.errstate(all="ignore")
def expected(values: Values, from_: str, to: str) -> Values:
    if to in INTEGERS and from_ not in ("bool", *INTEGERS):
        return to_integers(values, to)
    if to == "bool" and from_ in COMPLEX:  # ml_dtypes tests only the real part, as an integer
        return values.astype(np.complex128) != 0
    if to == "complex32" and from_ in ("float64", "complex128"):
        return to_complex32(values)
    if to in SMALL and (from_ == "float64" or from_ in INTEGERS):
        return round_to_odd(values).astype(numpy_dtype(to))
    if "float8_e8m0fnu" in (from_, to):  # ml_dtypes lacks many of these casts; same rounding rule
        values = values if from_ == "float32" else values.astype(np.float32)
    return values.astype(numpy_dtype(to))


@np.errstate(all="ignore")
def differing(seen: Values, wanted: Values, name: str) -> Values:
    """Indices of elements whose bits differ. NaN payloads depend on the processor and are ignored;
    the sign of a NaN is compared."""
    if name in COMPLEX:
        half = {"complex64": np.float32, "complex128": np.float64, "complex32": np.float16}[name]
        parts = [a.view(np.uint8).view(half).reshape(-1, 2) for a in (seen, wanted)]
        same = parts[0].view(np.uint8).reshape(len(seen), 2, -1) == parts[1].view(np.uint8).reshape(
            len(seen), 2, -1
        )
        nan = np.isnan(parts[0]) & np.isnan(parts[1])
        return np.flatnonzero(~(same.all(axis=2) | nan).all(axis=1))
    size = seen.dtype.itemsize
    same = (seen.view(np.uint8).reshape(-1, size) == wanted.view(np.uint8).reshape(-1, size)).all(1)
    if name in ("float32", "float64", "float16", "bfloat16"):
        both = np.isnan(seen) & np.isnan(wanted)
        same |= both & (np.signbit(seen) == np.signbit(wanted))
    return np.flatnonzero(~same)


@run_each("from_", NAMES)
def test_every_dtype_pair_gives_the_same_bits(from_: str) -> None:
    values = values_of(from_)
    array = as_refarray(from_, values)
    for to in NAMES:
        if from_ in COMPLEX and to not in (*COMPLEX, "bool"):
            with pytest.raises(TypeError, match=f"{from_}.* to {to}"):
                array.astype(stored(to))
            continue
        seen = np.frombuffer(raw(array.astype(stored(to))), numpy_dtype(to))
        wanted = values if to == from_ else expected(values, from_, to)
        wrong = differing(seen, wanted, to)
        assert len(wrong) == 0, (
            f"{from_} -> {to}: {len(wrong)} of {len(values)} differ, the first from "
            f"{values[wrong[0]]!r}: {seen[wrong[0]]!r}, not {wanted[wrong[0]]!r}"
        )


@pytest.mark.parametrize("name", SUB_BYTE)
@run_each("count", [0, 1, 2, 3, 4, 5, 255, 256, 257, 1000])
def test_packed_and_padded_forms_hold_the_same_values(name: str, count: int) -> None:
    bits = SUB_BYTE[name]
    values = np.resize(np.random.default_rng(10).permutation(codes(name).view(np.uint8)), count)
    padded = as_refarray(name, values)
    packed = padded.astype(name)
    assert packed.nbytes == (count * bits + 7) // 8
    laid = np.unpackbits(values[:, None], axis=1, count=bits, bitorder="little").ravel()
    if count:
        assert raw(packed) == np.packbits(laid, bitorder="little").tobytes()
        assert raw(packed.astype(stored(name))) == values.tobytes()
        assert (
            raw(packed.astype("float64")) == values.view(numpy_dtype(name)).astype("f8").tobytes()
        )
    for start in range(min(count, 5)):  # views that start inside a byte
        assert (
            packed[start:].astype("float32").tolist() == padded[start:].astype("float32").tolist()
        )


@run_each("to", ["float64", "float16", "float8_e4m3fn", "float4_e2m1fn", "int32"])
def test_layout_does_not_change_values(to: str) -> None:
    values = np.arange(-360, 360, dtype=np.float32).reshape(8, 9, 10) / 8
    array = refarray.asarray(values)
    plain = array.astype(to).astype("float64")
    turned = refarray.permute_dims(array, (2, 0, 1)).astype(to).astype("float64")
    assert refarray.permute_dims(turned, (1, 2, 0)).tolist() == plain.tolist()
    back = refarray.flip(array, axis=1).astype(to).astype("float64")
    assert refarray.flip(back, axis=1).tolist() == plain.tolist()
