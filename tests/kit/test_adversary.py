"""The adversary module: its tensors have the given fields, and each of its traps catches a planted
fault."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from typing import Any

import pytest
from native.corpus import FLOATS

pytestmark = pytest.mark.every_python

SHAPE_AT = 32 + 24  # offset of dl_tensor.shape in the versioned struct
NDIM_AT = 32 + 16


def read_pointer(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


@pytest.mark.parametrize("versioned", [True, False])
def test_every_field_is_exported(adv: Any, versioned: bool) -> None:
    fields = {
        "device": (-5, 2**31 - 1),
        "dtype": (255, 254, 65533),
        "shape": (2**62, -3),
        "strides": (-(2**63), 7),
        "byte_offset": 2**64 - 1,
    }
    tensor = adv.make(
        data=0xDEAD0000, versioned=versioned, version=(2**32 - 1, 9), flags=2**63, **fields
    )
    capsule = tensor.capsule()
    found = adv.inspect(capsule)
    if versioned:  # an unknown major version: inspect does not read the body
        assert (found["version"], found["flags"], "shape" in found) == (
            (2**32 - 1, 9),
            2**63,
            False,
        )
        return
    assert {name: found[name] for name in fields} == fields
    assert (found["data"], found["ndim"], bool(found["deleter"])) == (0xDEAD0000, 2, True)
    assert (found["version"], found["flags"], found["name"]) == (None, None, "dltensor")


def test_null_and_wild_pointers(adv: Any) -> None:
    found = adv.inspect(adv.make(shape=None, ndim=0, strides=None, data=None).capsule())
    assert (found["shape"], found["strides"], found["data"]) == ((), None, 0)
    capsule = adv.make(shape=0xDEAD0008, ndim=0, deleter=None, manager_ctx=False).capsule()
    managed = adv.inspect(capsule)["managed"]
    assert read_pointer(managed + SHAPE_AT) == 0xDEAD0008
    assert (read_pointer(managed + 8), read_pointer(managed + 16)) == (0, 0)
    for wrong in ({"shapes": (1,)}, {"flags": -1}, {"dtype": (256, 0, 0)}, {"device": (1,)}):
        with pytest.raises((TypeError, OverflowError)):
            adv.make(**wrong)


def test_numpy_reads_well_formed_tensors(adv: Any) -> None:
    np = pytest.importorskip("numpy")
    for fields in ({}, {"versioned": False}, {"guarded": True}, {"frozen": True}):
        tensor = adv.make(shape=(2, 3), data=FLOATS, **fields)
        array = np.from_dlpack(tensor)
        assert array.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        assert tensor.deleter_calls == 0
        del array
        assert tensor.deleter_calls == 1
    backwards = adv.make(shape=(3,), strides=(-1,), data=FLOATS, data_offset=8)
    assert np.from_dlpack(backwards).tolist() == [2.0, 1.0, 0.0]


def test_memory_is_poisoned(adv: Any) -> None:
    tensor = adv.make(shape=(3,), data=FLOATS)
    capsule = tensor.capsule()
    managed = adv.inspect(capsule)["managed"]
    del capsule
    assert tensor.deleter_calls == 1
    assert tensor.bytes() == b"\xdd" * len(FLOATS)
    assert read_pointer(managed + 8) == 0xDDDDDDDDDDDDDDDD  # all members but the deleter, at 16


def plant(adv: Any, fault: str) -> None:
    """Commits a fault that a consumer must not commit."""
    if fault == "read behind the shape":
        capsule = adv.make(shape=(2, 3), guarded=True).capsule()
        shape = read_pointer(adv.inspect(capsule)["managed"] + SHAPE_AT)
        assert ctypes.c_int64.from_address(shape + 8).value == 3
        read_pointer(shape + 16)
    elif fault == "write the shape":
        capsule = adv.make(shape=(2, 3), frozen=True).capsule()
        ctypes.c_int64.from_address(
            read_pointer(adv.inspect(capsule)["managed"] + SHAPE_AT)
        ).value = 1
    elif fault == "read a foreign body":
        capsule = adv.make(version=(2, 0), unmapped_body=True).capsule()
        read_pointer(adv.inspect(capsule)["managed"] + NDIM_AT)
    elif fault == "call a foreign table":
        table = adv.table(version=(2, 0), unmapped=True)
        read_pointer(table.address + 16)


@pytest.mark.not_sanitized("crashes on purpose, and would be reported")
@pytest.mark.parametrize(
    "fault",
    [
        "read behind the shape",
        "write the shape",
        "read a foreign body",
        "call a foreign table",
    ],
)
def test_a_trap_catches_a_fault(adv: Any, forked: Any, fault: str) -> None:
    """Each planted fault kills the child process, and `forked` reports it."""
    with pytest.raises(pytest.fail.Exception, match="SIGSEGV|SIGBUS|SIGABRT"):
        forked(lambda: plant(adv, fault))


def test_forked_reports(forked: Any) -> None:
    """An exception, an exit status and a child process that hangs are failures."""
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        forked(lambda: 1 / 0)
    with pytest.raises(AssertionError):
        forked(lambda: os._exit(3))
    with pytest.raises(pytest.fail.Exception, match="timed out"):
        forked(lambda: time.sleep(60), seconds=0.2)


def test_ledger_shows_a_missing_deleter_call(adv: Any) -> None:
    before = adv.made()
    owned = adv.take(adv.make().capsule())
    assert [row[1:] for row in adv.ledger(before)] == [(1, 0)]
    owned.drop()
    assert [row[1:] for row in adv.ledger(before)] == [(1, 1)]


@pytest.mark.parametrize("versioned", [True, False])
def test_ledger_shows_a_second_deleter_call(adv: Any, versioned: bool) -> None:
    before = adv.made()
    tensor = adv.make(versioned=versioned)
    for calls in (1, 2):
        tensor.delete()
        assert [row[1:] for row in adv.ledger(before)] == [(0, calls)]
    tensor.expect_deletes(2)


def test_drop_pending_detects_a_lost_exception(adv: Any) -> None:
    """The adversary's capsule destructors do not save the pending exception, so a deleter that
    raises replaces it."""

    def refuse() -> None:
        raise RuntimeError("from a deleter")

    pending = KeyError()
    assert adv.drop_pending([adv.make(deleter=refuse).capsule()], pending) is not pending
    assert adv.drop_pending([adv.make().capsule()], pending) is pending


def test_owned_reads_and_writes(adv: Any) -> None:
    tensor = adv.make(data=FLOATS, byte_offset=4)
    owned = adv.take(tensor.capsule())
    assert struct.unpack("2f", owned.read(8)) == (1.0, 2.0)
    owned.write(struct.pack("f", 9.0))
    assert struct.unpack_from("f", tensor.bytes(), 4) == (9.0,)
    owned.drop_in_thread(True)
    with pytest.raises(RuntimeError, match="dropped before"):
        owned.drop()


@pytest.mark.parametrize("how", ["silent", "null", "untouched", "give_and_raise", "positive"])
def test_api_detects_broken_table_functions(adv: Any, how: str) -> None:
    class Foreign:
        __dlpack_c_exchange_api__ = adv.table(from_py=how).capsule()
        tensor = adv.make().expect_deletes(0)

    with pytest.raises(AssertionError):
        adv.api(Foreign).from_py(Foreign())
