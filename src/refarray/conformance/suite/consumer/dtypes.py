"""DTYPE checks of a consumer: small and packed dtypes."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from refarray._system import system
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import SUBBYTE_PADDED
from refarray.conformance.harness.consumer import Consumer, give, text
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.suite.corpus_checks import register_corpus

register_corpus("DTYPE")
NIBBLES = b"\x21\x43"
FP4 = (17, 4, 1)
FLOAT8 = {
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}


def fp4_is_kept(consumer: Consumer, flags: int, lanes: int = 1) -> CheckResult:
    """Whether fp4 data is exported again with its dtype and SUBBYTE_PADDED unchanged."""
    dtype = (*FP4[:2], lanes)
    data = b"\x21\x43\x65\x87" * lanes
    fields = {"shape": (4,), "data": data, "dtype": dtype, "flags": flags}
    held = consumer.take(give(**fields)).read_fields()
    if held.get("flags") is None:
        raise NotApplicable("its export has no flags")
    right = tuple(held["dtype"]) == dtype and held["flags"] & SUBBYTE_PADDED == flags
    observed = f"dtype {tuple(held['dtype'])}, flags {held['flags']}"
    return consumer.make_result(right, observed, text(fields))


@check("DTYPE-09", "packed", "packed fp4 stays packed, or is refused", risky=True)
def packed_fp4_stays_packed(consumer: Consumer) -> CheckResult:
    return fp4_is_kept(consumer, 0)


def copy_of_fp4(consumer: Consumer, **fields: Any) -> bytes:
    """The first two bytes of a copy of packed fp4 data. NotApplicable if there is none."""
    found = consumer.import_from(Recorder(shape=(4,), dtype=FP4, **fields), copy=True)
    held = found.read_fields()
    if tuple(held["dtype"]) != FP4 or held.get("flags", 0) & SUBBYTE_PADDED:
        raise NotApplicable(f"exported as {tuple(held['dtype'])}, flags {held.get('flags')}")
    return ctypes.string_at(int(held["data"]) + int(held["byte_offset"]), 2)


@check(
    "DTYPE-10",
    "copied",
    "a copy of packed fp4 has its elements in the same order: the low nibble first",
    risky=True,
)
def copy_keeps_nibble_order(consumer: Consumer) -> CheckResult:
    data = copy_of_fp4(consumer, data=NIBBLES + bytes(6))
    given = f"give(shape=(4,), dtype=(17, 4, 1), data={NIBBLES!r})"
    return consumer.make_result(data == NIBBLES, f"{data.hex(' ')} of 21 43", given, copy=True)


@check(
    "DTYPE-16",
    "rounded",
    "three packed fp4 elements are two bytes: nothing after them is read",
    risky=True,
)
def packed_size_is_rounded_up(consumer: Consumer) -> CheckResult:
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    if not system.forbid_access(start + mmap.PAGESIZE, mmap.PAGESIZE):
        raise NotApplicable("this system protects no pages")
    pages[mmap.PAGESIZE - 2 : mmap.PAGESIZE] = NIBBLES
    fields: dict[str, Any] = {"shape": (3,), "dtype": FP4, "data": start + mmap.PAGESIZE - 2}
    found = consumer.import_from(Recorder(**fields), copy=True)
    held = tuple(found.read_fields()["shape"]) == (3,)
    given = "give(shape=(3,), dtype=(17, 4, 1), data=two_bytes_before_a_guard_page)"
    return consumer.make_result(held, f"{found}", given, copy=True)


@check_cases("DTYPE-17", FLOAT8, "{case} is {case} when it is exported again", risky=True)
def float8_stays_itself(consumer: Consumer, code: int) -> CheckResult:
    right = (code, 8, 1)
    fields = {"shape": (4,), "data": bytes(4), "dtype": right}
    found = consumer.take(give(**fields))
    dtype = tuple(found.read_fields()["dtype"])
    return consumer.make_result(dtype == right, f"exported again as {dtype}", text(fields))
