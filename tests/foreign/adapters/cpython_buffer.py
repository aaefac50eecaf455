"""CPython's test_buffer: refarray imports every buffer that the tests verify and exports it again.

refarray as consumer: what TestBufferProtocol.verify gets is imported with from_buffer, and verify
repeats its checks on a memoryview of the array. As producer: verify_getbuf sends each of its
requests also to the array of refarray."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any

import pytest

import refarray
from foreign import exchanges

#: refarray's format for the platform's other names of the same integer.
CANONICAL = {"q": "l", "Q": "L", "n": "l", "N": "L", "c": "B"}
#: The same after a prefix that stands for the standard sizes.
STANDARD = {"l": "i", "L": "I", "q": "l", "Q": "L", "c": "B"}


def canonical(fmt: str) -> str:
    sizes = STANDARD if fmt[:1] in ("=", "<", ">", "!") else CANONICAL
    fmt = fmt.lstrip("@^=<>!").removeprefix("1")
    return sizes.get(fmt, fmt)


def numbers(items: Any) -> Any:
    """Elements of format c as refarray has them, as integers."""
    if isinstance(items, list):
        return [numbers(item) for item in items]
    return items[0] if isinstance(items, bytes) else items


def relevant(expected: dict[str, Any], of_refarray: Any) -> list[int]:
    """The expected strides, but refarray's where no element is addressed with them (policy
    A-50)."""
    shape, strides = expected["shape"], expected["strides"]
    if len(strides) != of_refarray.ndim:
        return list(strides)
    addressed = [extent > 1 and of_refarray.nbytes > 0 for extent in shape]
    own = of_refarray.strides
    return [s if used else other for used, s, other in zip(addressed, strides, own, strict=True)]


def importing(verify: Any) -> Any:
    """TestBufferProtocol.verify, and the same of refarray's import of the result."""

    @functools.wraps(verify)
    def both(self: Any, result: Any, *, fmt: str, lst: Any, **expected: Any) -> None:
        verify(self, result, fmt=fmt, lst=lst, **expected)
        try:
            direct = memoryview(result)
        except BufferError:  # it cannot give a full buffer
            with pytest.raises(BufferError):
                refarray.from_buffer(result)
            return
        if not fmt or not exchanges.is_supported(direct):
            if fmt:
                with pytest.raises(BufferError):
                    refarray.from_buffer(result)
            return
        array = exchanges.from_buffer(result)
        expected.update(obj=array, shape=direct.shape, strides=direct.strides)
        expected["strides"] = relevant(expected, memoryview(array))
        verify(self, memoryview(array), fmt=canonical(fmt), lst=numbers(lst), **expected)

    return both


class Exporter:
    """An array of refarray with the attributes of a memoryview, which verify_getbuf reads."""

    def __init__(self, array: refarray.Array) -> None:
        self.array = array
        self.view = memoryview(array)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)


def exporting(verify_getbuf: Any, ndarray: type) -> Any:
    """TestBufferProtocol.verify_getbuf, and the same of refarray's array over the exporter."""

    def unwrapping(exporter: Any, **keywords: Any) -> Any:
        exchanges.note()
        return ndarray(exporter.array, **keywords)

    replaced = {**verify_getbuf.__globals__, "ndarray": exchanges.stand_in(ndarray, unwrapping)}
    of_refarray = FunctionType(verify_getbuf.__code__, replaced, argdefs=verify_getbuf.__defaults__)

    @functools.wraps(verify_getbuf)
    def both(self: Any, orig_ex: Any, ex: Any, req: int, sliced: bool = False) -> None:
        verify_getbuf(self, orig_ex, ex, req, sliced)
        if exchanges.is_supported(memoryview(ex)):
            exporter = Exporter(refarray.from_buffer(ex))
            of_refarray(Verifier(self), exporter.view, exporter, req, sliced)

    return both


class Verifier:
    """The test case, whose verify compares the exporter with refarray's array."""

    def __init__(self, case: Any) -> None:
        self.case = case

    def verify(self, result: Any, *, obj: Exporter, **expected: Any) -> None:
        self.case.verify(result, obj=obj.array, **expected)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.case, name)


def of_the_array(verify: Any) -> Any:
    """TestBufferProtocol.verify, where the exporter may be refarray's array in place of `obj`."""

    @functools.wraps(verify)
    def adjusted(self: Any, result: Any, *, fmt: str, lst: Any, **expected: Any) -> None:
        inner = result.obj if isinstance(result.obj, memoryview) else result
        if isinstance(inner.obj, refarray.Array):
            if inner is result:
                expected["obj"] = result.obj
            if expected["shape"]:
                expected["strides"] = relevant(expected, result)
            if result.format != fmt:
                fmt, lst = canonical(fmt), numbers(lst)
        verify(self, result, fmt=fmt, lst=lst, **expected)

    return adjusted


def show(obj: Any) -> memoryview:
    """memoryview(obj), of refarray's import of the buffer; but not of the format c, which refarray
    reads as uint8 (policy A-51), because these tests compare bytes."""
    if not exchanges.is_asked_once(obj):
        direct = memoryview(obj)
        if canonical(direct.format) == "B" != direct.format:
            return direct
    return exchanges.through(obj)


def substitute(module: ModuleType, side: str) -> None:
    module.numpy_array = None  # tests of another time's NumPy
    case = module.TestBufferProtocol
    if side == "consumer":
        case.verify = importing(case.verify)
    elif side == "both":
        own = {**vars(module), "memoryview": memoryview}
        unchanged = FunctionType(case.verify.__code__, own)
        unchanged.__kwdefaults__ = case.verify.__kwdefaults__
        module.memoryview = exchanges.stand_in(memoryview, show)
        case.verify = of_the_array(unchanged)
    else:
        case.verify_getbuf = exporting(case.verify_getbuf, module.ndarray)
