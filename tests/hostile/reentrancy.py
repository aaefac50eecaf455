"""Hostile producers: re-entrancy and side effects during an import, and types that resist
inspection."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from typing import Any

from native.corpus import FLOATS
from native.producers import Recorder

import refarray

from .case import add, case, expect, expect_deleter_calls, refused
from .protocol import VALUES, producer_of

# --- R72-R76: side effects during an import ---


@case("R72 C37 CONS-03", "asks-us-about-itself", "protocol", repeats=1)
def asks_itself(adv: Any) -> int:
    """A producer that imports itself: RecursionError, with linear cost in the depth."""
    calls = 0

    def again(**_: Any) -> Any:
        nonlocal calls
        calls += 1
        return refarray.from_dlpack(producer).__dlpack__()

    producer = Recorder(again)
    with refused(RecursionError):
        refarray.from_dlpack(producer)
    expect(calls <= sys.getrecursionlimit(), f"{calls} calls")
    producer.answer = None  # type: ignore[assignment]
    return 1


def import_with_side_effect(adv: Any, work: Any) -> None:
    source = producer_of(adv)

    class Busy:
        def __dlpack_device__(self) -> Any:
            work(self)
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            work(self)
            return source.answer()

    x = refarray.from_dlpack(Busy())
    gc.collect()
    expect(x.tolist() == VALUES, "values differ")
    del x
    expect_deleter_calls(source.tensors[0], 1)


def _mutate(self: Any) -> None:
    cls = type(self)
    for name in ("__dlpack__", "__dlpack_device__"):
        if name in vars(cls):
            original = vars(cls)[name]
            delattr(cls, name)
            setattr(cls, name, original)
    cls.__dlpack_c_exchange_api__ = None


def _delete(self: Any) -> None:
    """No borrowed reference is used afterwards."""
    for name in ("__dlpack__", "__dlpack_device__"):
        if name in vars(type(self)):
            delattr(type(self), name)


def _rebase(self: Any) -> None:
    """Assigns another class to the object: the methods already looked up must stay alive."""
    old = type(self)
    self.__class__ = type("Other", (), {name: vars(old)[name] for name in ("__dlpack__",)})


def _thread(self: Any) -> None:
    thread = threading.Thread(target=lambda: refarray.from_dlpack(refarray.arange(2)))
    thread.start()
    thread.join()


def _fork(self: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns about forking a multi-threaded process
        child = os.fork()
    if child == 0:
        os._exit(0 if refarray.from_dlpack(refarray.arange(3)).tolist() == [0, 1, 2] else 1)
    expect(os.waitpid(child, 0)[1] == 0, "the child failed")


for _label, _work in {
    "collects-garbage": lambda self: gc.collect(),
    "mutates-its-class": _mutate,
    "deletes-its-methods": _delete,
    "changes-its-class": _rebase,
    "starts-a-thread": _thread,
    "imports": lambda self: refarray.from_dlpack(refarray.arange(9)),
    "forgets-itself": lambda self: vars(self).clear(),
}.items():
    add("R73 C37 PROD-18", f"meanwhile-{_label}", "protocol", import_with_side_effect, _work)
add("R73", "meanwhile-forks", "protocol", import_with_side_effect, _fork, repeats=1)


@case("R73 C37", "mutates-its-tensor", "protocol")
def mutates_its_tensor(adv: Any) -> None:
    tensor = adv.make(shape=(3,), data=FLOATS)
    capsule = tensor.capsule()
    tensor.scramble()  # sets ndim to -77 before the import
    with refused(BufferError, message="-77"):
        refarray.from_dlpack(Recorder(lambda **_: capsule))
    expect_deleter_calls(tensor, 1)


def import_type_without_name(adv: Any, attribute: str, value: Any) -> int:
    """The error message is built although the type's name cannot be read."""

    Meta: Any = type("Meta", (type,), {attribute: value})
    thing = Meta("Thing", (), {"__dlpack_device__": lambda self: (1, 0)})()
    with refused(AttributeError, TypeError, ZeroDivisionError):
        refarray.from_dlpack(thing)
    whole = Meta(
        "Thing", (), {"__dlpack__": lambda s, **_: 5, "__dlpack_device__": lambda s: (1, 0)}
    )()
    with refused(TypeError, AttributeError, ZeroDivisionError):
        refarray.from_dlpack(whole)
    with refused(TypeError, ZeroDivisionError):
        refarray.from_buffer(thing)
    with refused(TypeError, ZeroDivisionError):
        refarray.inspect(thing)
    return 4


def _divide(self: Any, *_: Any) -> Any:
    raise ZeroDivisionError("unnameable")


for _label, _attribute, _value in (
    ("raising-name", "__name__", property(_divide)),
    ("raising-module", "__module__", property(_divide)),
    ("number-as-module", "__module__", 5),
    ("raising-repr", "__repr__", _divide),
    ("number-as-repr", "__repr__", lambda self: 5),
    ("raising-class", "__class__", property(_divide)),
    ("raising-mro", "__mro__", property(_divide)),
    ("number-as-mro", "__mro__", 5),
    ("raising-dict", "__dict__", property(_divide)),
):
    add("R74", _label, "protocol", import_type_without_name, _attribute, _value)


@case("R75", "overrides-half", "protocol")
def overrides_half(adv: Any) -> int:
    """Methods follow the MRO; a subclass that overrides __dlpack__ disables the base's table."""
    source = producer_of(adv)

    class Base:
        __dlpack_c_exchange_api__ = adv.table(from_py="raise").capsule()

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            raise AssertionError("the base class was called")

    class Export(Base):
        def __dlpack__(self, **_: Any) -> Any:
            return source.answer()

    class Device(Export):
        def __dlpack_device__(self) -> Any:
            return (2, 0)

    expect(refarray.from_dlpack(Export()).tolist() == VALUES, "values differ")
    with refused(BufferError, message="(2, 0)"):
        refarray.from_dlpack(Device())
    return 2
