"""The kit shows type codes and device types that no release of DLPack has by name."""

from __future__ import annotations

import pytest
from helpers.cases import run_each

from refarray.conformance import checks, give, spy
from refarray.conformance.cases import CHECKS
from refarray.conformance.harness.provocation import provoked

pytestmark = pytest.mark.not_repeated


def test_cases_name_what_they_provoke() -> None:
    assert checks(ids=["ABI-04"])
    case = CHECKS["ABI-04[consumer-code18-16]"]
    assert case.expected == "dtype code 18 (bcomplex, unreleased): refused"
    assert case.provoked == "the dtype is (code 18 (bcomplex, unreleased), 16 bits, 1 lanes)"
    assert CHECKS["ABI-04[consumer-code19-8]"].expected == "dtype code 19: refused"
    assert provoked({"device": (21, 0)}) == "the device type is 21 (kDLAscend, unreleased)"
    assert provoked({"device": (18, 0)}) == "the device type is 18"


@run_each(
    ("fields", "shown"),
    [
        ({"dtype": (18, 32, 1)}, "bcomplex32 (unreleased) shape (3,)"),
        ({"device": (19, 1), "data": 0x100}, "data 0x100+0, on kDLTPU:1 (unreleased)"),
        ({"device": (8, 0), "data": 0x100, "byte_offset": 8}, "data 0x100+8, on kDLMetal:0"),
    ],
)
def test_a_trace_shows_them(fields: dict[str, object], shown: str) -> None:
    watched = spy(give(**fields))
    watched.__dlpack__(max_version=(1, 3))
    assert shown in " ".join(str(watched).split())
