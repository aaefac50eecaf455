"""Export of packed sub-byte elements: contiguous arrays, and views that start inside a byte."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

VALUES = {
    "float4_e2m1fn": [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0],
    "float6_e2m3fn": [0.125 * i for i in range(40)],
}
SHAPES = [(3, 3), (4, 1), (1, 24, 1), (1,), (5,), (3, 1, 5), (2, 3, 3), ()]


def filled(dtype: str, shape: tuple[int, ...]) -> refarray.Array:
    values = itertools.cycle(VALUES[dtype])
    flat = [next(values) for _ in range(math.prod(shape))]
    return refarray.reshape(refarray.asarray(flat, dtype=dtype), shape)


@pytest.mark.req("DTYPE-10", "DTYPE-09", "FLAG-03")
@run_each("copy", [None, True])
@run_each("shape", SHAPES)
@run_each("dtype", VALUES)
def test_contiguous_packed_arrays_round_trip(
    adv: Any, dtype: str, shape: Any, copy: bool | None
) -> None:
    """Rows need not be whole bytes: element i is at bits [i*b, (i+1)*b) of the data."""
    x = filled(dtype, shape)
    for version in (None, (1, 3)):
        capsule = x.__dlpack__(max_version=version, copy=copy)
        fields = adv.inspect(capsule)
        assert (fields["shape"] or ()) == shape
        assert fields["flags"] == (None if version is None else 2 if copy else 0)
        y = refarray.from_capsule(capsule)
        assert (y.dtype, y.shape, y.tolist()) == (dtype, shape, x.tolist())
    assert refarray.from_dlpack(x, copy=copy).tolist() == x.tolist()
    owned = adv.take(x.__dlpack__(max_version=(1, 3), copy=copy))
    bits = bytes(x.__reduce_ex__(2)[1][0])
    assert owned.read(x.nbytes) == bits


VIEWS_INSIDE_A_BYTE: dict[str, Any] = {
    "second row": lambda x: x[1:],
    "second column": lambda x: x[:, 1:],
    "one element": lambda x: x[0, 1],
    "two columns": lambda x: x[:, :2],
    "every other column": lambda x: x[:, ::2],
    "columns": lambda x: x.T,
    "from the end": lambda x: refarray.flip(x, axis=1),
}


@pytest.mark.req("DTYPE-09", "PROD-04", "PROD-11")
@run_each("view", VIEWS_INSIDE_A_BYTE)
def test_views_inside_a_byte_are_only_exported_as_copies(adv: Any, view: str) -> None:
    """A row of three takes 12 bits, so a view of it may start inside a byte."""
    x = VIEWS_INSIDE_A_BYTE[view](filled("float4_e2m1fn", (3, 3)))
    for version in (None, (1, 3)):
        with pytest.raises(BufferError, match="copy"):
            x.__dlpack__(max_version=version)
        y = refarray.from_capsule(x.__dlpack__(max_version=version, copy=True))
        assert y.tolist() == x.tolist()


@pytest.mark.req("DTYPE-09")
def test_views_that_start_on_a_byte_are_exported(adv: Any) -> None:
    x = filled("float4_e2m1fn", (3, 3))
    whole = filled("float4_e2m1fn", (3, 4))
    for view in (x[:2], x[2:], x[0, :2], whole[1:], whole[:, 2:], whole[::2]):
        y = refarray.from_capsule(view.__dlpack__(max_version=(1, 3)))
        assert y.tolist() == view.tolist()
        y[...] = 1.0
        assert view.tolist() == y.tolist()  # shared, not copied
