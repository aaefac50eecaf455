"""refarray.testing.strategies: every hard property is found, and arguments restrict the result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, find, given, settings
from hypothesis import strategies as st

import refarray as ra
from refarray.testing import (
    PRODUCERS,
    CheckedConsumer,
    HardProducer,
    assert_array_equal,
    checked,
    strategies,
)

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(strategies.arrays())
@QUICK
def test_arrays_can_be_exchanged(x: Any) -> None:
    assert_array_equal(ra.from_dlpack(x), x, device=True)
    assert_array_equal(x.copy(), x)


PROPERTIES = {
    "reversed": lambda x: min(x.strides, default=1) < 0 and x.size > 1,
    "strided": lambda x: x.ndim == 1 and x.strides[0] > 1 and x.size > 1,
    "transposed": lambda x: x.ndim == 2 and x.strides[0] < x.strides[1] and min(x.shape) > 1,
    "0-d": lambda x: x.ndim == 0,
    "empty": lambda x: x.size == 0,
    "broadcast": lambda x: any(
        step == 0 and extent > 1 for step, extent in zip(x.strides, x.shape, strict=True)
    ),
    "read-only": lambda x: x.readonly and 0 not in x.strides,
    "bfloat16": lambda x: x.dtype == "bfloat16",
    "complex": lambda x: x.dtype.kind == "complex",
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_hard_property_is_found(name: str) -> None:
    found = find(
        strategies.arrays(),
        PROPERTIES[name],
        settings=settings(max_examples=1000, database=None, derandomize=True),
    )
    assert PROPERTIES[name](found)


@given(strategies.arrays(dtype="int8", shape=(2, 3), readonly=False))
@QUICK
def test_arguments_restrict(x: Any) -> None:
    assert x.dtype == "int8" and x.shape == (2, 3) and not x.readonly


EVERY = [
    *(name for name in ra.__all__ if isinstance(getattr(ra, name), ra.DType)),
    *("float4_e2m1fn_padded", "float6_e3m2fn_padded"),
    *("float32x4", "uint64x2", "boolx2", "complex64x2", "float4_e2m1fnx2"),
]
drawn_elements = strategies.dtypes(EVERY).flatmap(
    lambda dtype: st.tuples(st.just(dtype), strategies.elements(dtype))
)


@given(drawn_elements)
@example(("uint64", 2**63))
@example(("uint64x2", (0, 2**64 - 1)))
@QUICK
def test_elements_are_exact(drawn: tuple[str, Any]) -> None:
    dtype, value = drawn
    made = ra.asarray(value, dtype=dtype)
    assert_array_equal(made.item(), value, dtype=False)
    assert_array_equal([value, value], [made.item(), made.item()], dtype=False, device=True)


@pytest.mark.parametrize("dtype", EVERY)
@given(data=st.data())
@settings(QUICK, max_examples=8)
def test_every_dtype_can_be_exchanged_checked_and_compared(dtype: str, data: Any) -> None:
    x = data.draw(strategies.arrays(dtype))
    assert_array_equal(CheckedConsumer().from_dlpack(x), x, device=True)
    producer = data.draw(strategies.producers(st.just(x), importable=True))
    with checked(producer) as watched:
        assert_array_equal(ra.from_dlpack(watched), producer.array)


@given(strategies.producers(importable=True))
@QUICK
def test_producers_can_be_imported(producer: HardProducer) -> None:
    assert PRODUCERS[producer.kind].importable
    assert_array_equal(ra.from_dlpack(producer), producer.array)


def test_packed_dtypes() -> None:
    packed = strategies.arrays(dtype="float4_e2m1fn", shape=(3, 5))
    assert find(packed, lambda _: True, settings=settings(database=None)).nbytes == 8
