"""Calls with the GIL held: reported unless the function is immediate. Every call is made once with
the GIL and once without."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import fakegpu
import pytest
from conftest import Gpu, kinds
from fakegpu.driving import Cuda, Driver, Number


class Calls:
    """Arguments of both drivers' functions, by the end of their name."""

    def __init__(self, each: Gpu) -> None:
        cuda = isinstance(each, Cuda)
        stream, event, memory, other = each.stream(), each.event(), each.memory(), each.memory()
        self.own, state = ctypes.create_string_buffer(256), ctypes.c_int()
        each.record(event, stream)
        each.synchronize(stream)
        self.immediate: dict[str, tuple[Any, ...]] = {
            "EventQuery": (event,),
            "StreamQuery": (stream,),
            "StreamIsCapturing": (stream, state),
            "StreamGetCaptureInfo": (stream, state, Number()),
            "ThreadExchangeStreamCaptureMode": (ctypes.c_int(2),),
            "DeviceGet": (state, 0),
            "CtxGetDevice" if cuda else "GetDevice": (state,),
            "PointerGetAttribute": (ctypes.c_uint(), 2, memory),
        }
        self.others: dict[str, tuple[Any, ...]] = {
            "EventRecord": (event, stream),
            "StreamWaitEvent": (stream, event, 0),
            "EventSynchronize": (event,),
            "StreamSynchronize": (stream,),
            "MemsetD8Async": (memory, 1, 256, stream),
            "MemcpyDtoDAsync_v2" if cuda else "MemcpyDtoDAsync": (memory, other, 256, stream),
            "MemcpyDtoHAsync_v2" if cuda else "MemcpyDtoHAsync": (self.own, memory, 256, stream),
            "MemAlloc_v2" if cuda else "Malloc": (Number(), 256),
            "MemHostAlloc" if cuda else "HostMalloc": (Number(), 256, 0),
            "StreamCreate": (Number(), 1) if cuda else (Number(),),
            "ModuleLoadData": (Number(), each.image),
            "MemFree_v2" if cuda else "Free": (other,),
            "EventDestroy_v2" if cuda else "EventDestroy": (event,),
            "StreamDestroy_v2" if cuda else "StreamDestroy": (stream,),
        }


def holder(each: Gpu) -> Driver:
    """The same driver; its calls keep the GIL."""
    files = fakegpu.Drivers.here()
    return Driver(files.cuda if isinstance(each, Cuda) else files.hip, with_gil=True)


@pytest.mark.parametrize("with_gil", [False, True])
def test_immediate_calls_may_hold_the_gil(each: Gpu, with_gil: bool) -> None:
    driver = holder(each) if with_gil else each
    for name, arguments in Calls(each).immediate.items():
        driver(each.prefix + name, *arguments)
    assert not kinds()


@pytest.mark.parametrize("with_gil", [False, True])
def test_all_others_release_it(each: Gpu, with_gil: bool) -> None:
    driver, told = holder(each) if with_gil else each, {}
    for name, arguments in Calls(each).others.items():
        before = len(kinds())
        driver(each.prefix + name, *arguments)
        told[name] = kinds()[before:]
    assert told == dict.fromkeys(told, ["gil-held"] if with_gil else [])


def test_the_trace_names_the_holder(each: Gpu) -> None:
    event = each.event()
    holder(each)(f"{each.prefix}EventSynchronize", event)
    [held] = fakegpu.violations("gil-held")
    assert held["second"]["call"] == f"{each.prefix}EventSynchronize"
    assert held["second"]["gil"] is True


def test_the_check_can_be_switched_off(each: Gpu) -> None:
    fakegpu.configure(check_gil=False)
    holder(each)(f"{each.prefix}EventSynchronize", each.event())
    assert not kinds()


def test_a_sub_interpreter_does_not_hide_who_holds_it(each: Gpu) -> None:
    """PyGILState_Check is always true once there has been one. The thread that runs it holds the
    GIL with a thread state of that interpreter; here a thread without the GIL calls meanwhile."""
    interpreters = pytest.importorskip(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
    event, name = each.event(), f"{each.prefix}EventSynchronize"
    library = fakegpu.Drivers.here().cuda if isinstance(each, Cuda) else fakegpu.Drivers.here().hip
    code = f"import ctypes; ctypes.{{}}({str(library)!r}).{name}(ctypes.c_uint64({event}))"
    for kind, told in (("CDLL", []), ("PyDLL", ["gil-held"])):
        fakegpu.reset()
        mine = interpreters.create()
        assert not interpreters.run_string(mine, code.format(kind))
        assert kinds() == told
        fakegpu.reset()
        each(name, event)
        assert not kinds()
        holder(each)(name, event)
        assert kinds() == ["gil-held"]
        interpreters.destroy(mine)
        fakegpu.reset()
        each(name, event)
        assert not kinds()
