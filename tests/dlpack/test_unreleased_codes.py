"""Type codes and device types of dlpack.h's main branch that no release has: errors show them by
name, and nothing is exported with them."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from native.corpus import SUPPORTED

import refarray as ra

DEVICES = {19: "kDLTPU", 20: "kDLTPUHost", 21: "kDLAscend"}


@pytest.mark.req("ABI-04", "DTYPE-13", "LIFE-03")
@run_each("bits", [16, 32, 64])
@run_each("lanes", [1, 2])
def test_bcomplex_is_refused_by_name(adv: Any, bits: int, lanes: int) -> None:
    tensor = adv.make(dtype=(18, bits, lanes), data=bytes(64), version=(1, 4))
    refusal = rf"\(code 18, bits {bits}\) is not .* \(bcomplex, unreleased\)$"
    with pytest.raises(BufferError, match=refusal):
        ra.from_dlpack(tensor)
    assert tensor.deleter_calls == 1
    of_dtype = type("BComplex", (), {"__dlpack_data_type__": lambda _: (18, bits, lanes)})()
    with pytest.raises(ValueError, match=rf"\(code 18 \(bcomplex, unreleased\), bits {bits}, "):
        ra.DType(of_dtype)


@pytest.mark.req("ABI-03", "DEV-07", "LIFE-03")
@run_each("kind", DEVICES)
def test_a_device_is_refused_by_name(adv: Any, kind: int) -> None:
    name = rf"\({kind}, 0\) = {DEVICES[kind]} \(unreleased\)"
    tensor = adv.make(device=(kind, 0), data=0xDEAD0008)
    with pytest.raises(BufferError, match=f"^device: {name} is not memory"):
        ra.from_capsule(tensor.capsule())
    assert tensor.deleter_calls == 1
    with pytest.raises(BufferError, match=f"device is {name}, which this process cannot use"):
        ra.from_dlpack(adv.make(device=(kind, 0), data=0xDEAD0008))
    for copy in (None, True):
        with pytest.raises(BufferError, match=f"^dl_device={name} cannot be served"):
            ra.ones(3).__dlpack__(max_version=(1, 4), dl_device=(kind, 0), copy=copy)


@pytest.mark.req("ABI-03")
def test_released_numbers_have_no_such_remark(adv: Any) -> None:
    for device, name in (((18, 0), "kDLTrn"), ((22, 0), "")):
        with pytest.raises(BufferError) as caught:
            ra.from_capsule(adv.make(device=device, data=0xDEAD0008).capsule())
        assert name in str(caught.value) and "unreleased" not in str(caught.value)
    with pytest.raises(BufferError) as caught:
        ra.from_capsule(adv.make(dtype=(19, 8, 1), data=bytes(64)).capsule())
    assert "unreleased" not in str(caught.value)


@pytest.mark.req("DTYPE-13", "DEV-01")
def test_nothing_is_exported_with_them(adv: Any) -> None:
    """For a consumer of any version the codes are those of releases."""
    public = (getattr(ra, name) for name in ra.__all__)
    exported = set()
    for dtype in [each for each in public if isinstance(each, ra.DType)]:
        x = ra.ones(2, dtype=dtype)
        for version in (None, (1, 0), (1, 3), (1, 4), (2, 0)):
            found = adv.inspect(x.__dlpack__(max_version=version))
            exported.add(found["dtype"][:2])
            assert found["device"] == x.__dlpack_device__() == (1, 0)
        assert dtype.__dlpack_data_type__()[0] < 18
    assert exported == SUPPORTED
    assert max(ra.DLDeviceType) == 18
    for name in ("bcomplex32", "bcomplex"):
        with pytest.raises(ValueError, match=f"'{name}'"):
            ra.DType(name)
