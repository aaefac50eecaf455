"""Import: the properties of imported arrays. tests/hostile has the corpus of malformed tensors."""

from __future__ import annotations

import struct
import sys
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.processes import python
from native import producers
from native.corpus import FLOATS

import refarray


@pytest.mark.req("FLAG-10", "FLAG-02", "FLAG-11")
def test_read_only_flag_is_kept_by_views_and_exports(adv: Any) -> None:
    """Neither the import nor its views are writable; unversioned exports are refused."""
    array = refarray.from_dlpack(adv.make(shape=(4,), data=FLOATS, flags=1))
    for view in (array, array[1:], array[::-1], array.reshape((2, 2)), array.as_readonly()):
        assert view.readonly
        with pytest.raises((BufferError, ValueError)):
            view[...] = 0
        assert adv.inspect(view.__dlpack__(max_version=(1, 3)))["flags"] == 1
        with pytest.raises(BufferError):
            view.__dlpack__()
    again = refarray.from_dlpack(array)
    assert again.readonly
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.req("FLAG-08", "FLAG-01")
@run_each("flags", [1 << 3, 1 << 63, 2, 2 | 1 << 40, 4 | 1 << 5])
def test_other_flags_are_not_re_exported(adv: Any, flags: int) -> None:
    """IS_COPIED describes one export, and unknown bits have an unknown meaning."""
    tensor = adv.make(data=FLOATS, flags=flags)
    try:
        array = refarray.from_dlpack(tensor)
    except BufferError:
        assert flags & 4, "only the padded flag may be refused: float32 is not a sub-byte type"
        return
    assert adv.inspect(array.__dlpack__(max_version=(1, 3)))["flags"] == 0


@pytest.mark.req("FLAG-11")
def test_unversioned_tensors_are_writable(adv: Any) -> None:
    tensor = adv.make(data=FLOATS, versioned=False)
    array = refarray.from_dlpack(tensor)
    assert not array.readonly
    array[0] = 7.0
    assert struct.unpack("f", tensor.bytes()[:4]) == (7.0,)


@pytest.mark.req("TENS-18", "LIFE-17")
def test_import_shares_memory(adv: Any) -> None:
    """The import sees the producer's memory, in both directions."""
    tensor = adv.make(shape=(2, 2), strides=(1, 2), data=FLOATS, byte_offset=4)
    array = refarray.from_dlpack(tensor)
    assert adv.inspect(array.__dlpack__(max_version=(1, 3)))["data"] == tensor.address + 4
    assert array.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    array[1, 0] = -1.0
    assert struct.unpack_from("f", tensor.bytes(), 8) == (-1.0,)


@pytest.mark.req("DEV-02", "DEV-03", "DEV-04", "DEV-09", "DEV-12", "COPY-02")
@pytest.mark.parametrize(("device", "name"), [((3, 0), "cuda_host"), ((11, 0), "rocm_host")])
def test_pinned_memory_keeps_its_device(adv: Any, device: tuple[int, int], name: str) -> None:
    """The device is kept by views, __dlpack_device__ and the next export."""
    array = refarray.from_dlpack(adv.make(shape=(4,), data=FLOATS, device=device))
    for view in (array, array[1:3], array.reshape((2, 2))):
        assert str(view.device) == name
        assert view.__dlpack_device__() == device
        assert adv.inspect(view.__dlpack__(max_version=(1, 3)))["device"] == device


@pytest.mark.req("DEV-07", "CONS-07")
@run_each(("kind", "name"), [(2, "cuda"), (10, "rocm"), (13, "managed"), (8, "etal"), (99, "99")])
def test_error_names_the_unsupported_device(adv: Any, kind: int, name: str) -> None:
    """Both if __dlpack_device__ announces the device and if only the struct contains it."""
    for announced in ((kind, 0), (1, 0)):
        with pytest.raises(BufferError, match=f"(?i){name}"):
            refarray.from_dlpack(adv.make(data=FLOATS, device=(kind, 0), dunder_device=announced))


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="reference counts are split"
)
def test_import_does_not_change_the_producers_reference_count(adv: Any) -> None:
    """Neither a failed import nor one whose array has died."""
    for fields in ({}, {"data": None}, {"device": (99, 0)}, {"dtype": (99, 8, 1)}):
        tensor = adv.make(**fields)
        before = sys.getrefcount(tensor)
        try:
            array = refarray.from_dlpack(tensor)
        except BufferError:
            array = None
        del array
        assert sys.getrefcount(tensor) == before


@pytest.mark.req("LIFE-16", "CONS-12")
def test_views_keep_the_managed_tensor_alive(adv: Any) -> None:
    """The tensor is deleted with the last view, even if the producer and the array die earlier."""
    tensor = adv.make(shape=(4,), data=FLOATS)
    array = refarray.from_dlpack(producers.Recorder(lambda **_: tensor.capsule()))
    view = array[1:]
    del array
    assert tensor.deleter_calls == 0
    assert view.tolist() == [1.0, 2.0, 3.0]
    last = view[::2]
    del view
    assert (last.tolist(), tensor.deleter_calls) == ([1.0, 3.0], 0)
    del last
    assert tensor.deleter_calls == 1


AUDITED = """
import sys
import refarray

class Producer:
    def __dlpack__(self, **_): return refarray.asarray([1.0]).__dlpack__()
    def __dlpack_device__(self): return (1, 0)

def show(name, values):
    if name.startswith("refarray."): print(name, values)

sys.addaudithook(show)
refarray.from_dlpack(Producer())
"""
EVENT = "refarray.from_dlpack (<class '__main__.Producer'>, 'methods')\n"


@pytest.mark.parametrize(("setting", "shown"), [(None, ""), ("0", ""), ("1", EVENT)])
def test_an_import_raises_an_audit_event_if_the_environment_asks(
    setting: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not otherwise: an event is a call into Python, and each import would pay for it."""
    monkeypatch.delenv("REFARRAY_AUDIT", raising=False)
    if setting is not None:
        monkeypatch.setenv("REFARRAY_AUDIT", setting)
    done = python("-c", AUDITED)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", shown)
