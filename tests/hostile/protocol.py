"""Hostile Python producers: missing or fabricated methods, errors, false answers about copies and
devices."""

from __future__ import annotations

from typing import Any

from native.corpus import FLOATS
from native.producers import Recorder, check_independent, knowing

import refarray

from .case import OUT_OF_RANGE, add, case, expect, expect_deleter_calls, refused

VALUES = [0.0, 1.0, 2.0]


def producer_of(adv: Any, announced: Any = (1, 0), /, **fields: Any) -> Any:
    """A producer of one new tensor per call; its `tensors` lists them."""
    tensors: list[Any] = []

    def answer(**_: Any) -> Any:
        tensors.append(adv.make(**{"data": FLOATS, **fields}))
        return tensors[-1].capsule()

    out = Recorder(answer, announced)
    out.tensors = tensors  # type: ignore[attr-defined]
    return out


def new_instance(name: str, /, **members: Any) -> Any:
    return type(name, (), members)()


# --- R59-R61: where the methods are looked up ---


@case("R59 CONS-02 PROD-18", "no-methods", "protocol")
def no_methods(adv: Any) -> int:
    half = {"__dlpack__": lambda self, **_: None, "__dlpack_device__": lambda self: (1, 0)}
    for missing in half:
        members = {name: value for name, value in half.items() if name != missing}
        with refused(AttributeError, message=missing):
            refarray.from_dlpack(new_instance("Half", **members))
    for thing in (object(), Recorder, type("Meta", (type,), half)("Thing", (), {})(), 3, None):
        with refused(AttributeError, message="__dlpack__ and __dlpack_device__"):
            refarray.from_dlpack(thing)
    return 7


@case("R60", "on-the-instance", "protocol")
def on_the_instance(adv: Any) -> None:
    thing = new_instance("Thing")
    thing.__dlpack__ = lambda **_: adv.make().capsule()
    thing.__dlpack_device__ = lambda: (1, 0)
    with refused(AttributeError, message="__dlpack__ and __dlpack_device__"):
        refarray.from_dlpack(thing)


@case("R60 CONS-03", "raising-property", "protocol")
def raising_property(adv: Any) -> int:
    def refuse(self: Any) -> Any:
        raise ZeroDivisionError("from a property")

    device = {"__dlpack_device__": lambda self: (1, 0)}
    with refused(ZeroDivisionError, message="property"):
        refarray.from_dlpack(new_instance("Thing", __dlpack__=property(refuse), **device))
    with refused(ZeroDivisionError, message="property"):
        refarray.from_dlpack(
            new_instance("Thing", __dlpack__=lambda self: None, __dlpack_device__=property(refuse))
        )
    return 2


@case("R61", "fabricates-everything", "protocol")
def fabricates(adv: Any) -> int:
    class Mock:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: adv.make().capsule()

    class MetaMock(type):
        def __getattr__(cls, name: str) -> Any:
            return lambda *_, **__: adv.make().capsule()

    with refused(AttributeError, message="__dlpack__ and __dlpack_device__"):
        refarray.from_dlpack(Mock())
    with refused(AttributeError):
        refarray.from_dlpack(MetaMock("Thing", (), {})())
    return 2


# --- R62-R64: exceptions ---


def import_with_error(adv: Any, error: BaseException, where: str) -> None:
    def fail(**keywords: Any) -> Any:
        if where == "retry" and keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        raise error

    producer = Recorder(fail)
    if where == "__dlpack_device__":
        producer.device = fail
    with refused(type(error)):
        try:
            refarray.from_dlpack(producer)
        except BaseException as caught:
            expect(caught is error, f"{caught!r} is another exception")
            raise
    error.__traceback__ = None
    wanted = {"__dlpack_device__": 0, "__dlpack__": 1, "retry": 2}[where]
    expect(len(producer.asked) == wanted, "called again")


for _error in (
    ValueError("own"),
    BufferError("own"),
    KeyboardInterrupt("own"),
    SystemExit("own"),
    MemoryError("own"),
    GeneratorExit("own"),
    StopIteration("own"),
    RecursionError("own"),
    NotImplementedError("own"),
    AttributeError("own"),
    type("OwnError", (Exception,), {})("own"),
):
    _row = "R63" if not isinstance(_error, (ValueError, BufferError)) else "R62 R76"
    for _where in ("__dlpack__", "__dlpack_device__", "retry"):
        _name = f"{type(_error).__name__}-in-{_where.strip('_')}"
        _rows = f"{_row} C36 CONS-03 DEV-08 TENS-17"
        add(_rows, _name, "protocol", import_with_error, _error, _where)


@case("R64 C35 CONS-04", "genuine-type-error", "protocol")
def genuine_type_error(adv: Any) -> None:
    """At most one retry; the second error has the first as its context."""
    errors: list[TypeError] = []

    def fail(**_: Any) -> Any:
        errors.append(TypeError(f"number {len(errors)}"))
        raise errors[-1]

    producer = Recorder(fail)
    with refused(TypeError, message="number 1"):
        try:
            refarray.from_dlpack(producer)
        except TypeError as caught:
            expect(caught is errors[1] and caught.__context__ is errors[0], "the first was lost")
            raise
    expect(len(producer.asked) == 2, f"asked {len(producer.asked)} times")
    errors.clear()


@case("R64", "cyclic-context", "protocol")
def cyclic_context(adv: Any) -> None:
    """The second error's context chain is a cycle: attaching the first error must terminate."""

    def fail(**keywords: Any) -> Any:
        first, second = TypeError("a"), TypeError("b")
        first.__context__, second.__context__ = second, first
        raise first

    with refused(TypeError):
        refarray.from_dlpack(Recorder(fail))


# --- R65-R68: old producers and false answers ---


def import_old(adv: Any, known: str, copy: bool | None) -> int:
    """One retry drops the unknown keywords; refarray then copies for copy=True itself."""
    for device in (None, "cpu"):
        source = producer_of(adv, versioned="max_version" in known)
        producer = Recorder(knowing(known, source.answer))
        x = refarray.from_dlpack(producer, copy=copy, device=device)
        expect(x.tolist() == VALUES, "values differ")
        expect(len(source.tensors) == 1, "exported more than once")
        first = {"max_version": (1, 3), "copy": copy, "dl_device": device and (1, 0)}
        first = {name: value for name, value in first.items() if value is not None}
        retry = {"max_version": (1, 3)} if "max_version" in known else {}
        asked = [first] if set(first) <= set(known.split()) else [first, retry]
        expect(producer.asked == asked, f"asked with {producer.asked}")
        if copy:
            expect_deleter_calls(source.tensors[0], 1)
            check_independent(x, source.tensors[0])
    return 2


for _known in ("", "stream", "stream max_version", "max_version", "max_version dl_device"):
    for _copy in (None, True):
        _rows = "R65 C35 VERS-09 CONS-04 COPY-09"
        _name = f"old-({_known.replace(' ', ',')})-copy-{_copy}"
        add(_rows, _name, "protocol", import_old, _known, _copy)


@case("R65 C35", "old-copy-false", "protocol")
def old_copy_false(adv: Any) -> int:
    """A producer that cannot take copy=False or dl_device is not asked again without it."""
    source = producer_of(adv)
    with refused(refarray.NoCopyError):
        refarray.from_dlpack(Recorder(knowing("max_version", source.answer)), copy=False)
    cuda = Recorder(knowing("max_version", source.answer), (2, 0))
    with refused(BufferError):
        refarray.from_dlpack(cuda, device="cpu")
    expect(source.tensors == [], "asked again without the request")
    return 2


@case("R66 C40 COPY-07 COPY-05", "ignores-copy-true", "protocol")
def ignores_copy(adv: Any) -> int:
    """Without IS_COPIED, refarray copies, pinned memory too (A-25)."""
    of: list[dict[str, Any]] = [{}, {"versioned": False}, {"flags": 1}, {"flags": 3}]
    for fields in (*of, {"device": (3, 0)}, {"device": (11, 0)}):
        producer = producer_of(adv, fields.get("device", (1, 0)), **fields)
        x = refarray.from_dlpack(producer, copy=True)
        expect(x.tolist() == VALUES, "values differ")
        expect_deleter_calls(producer.tensors[0], 1)
        check_independent(x, producer.tensors[0])
    return 6


@case("R66 COPY-10 COPY-03 CONS-10", "ignores-dl-device", "protocol")
def ignores_dl_device(adv: Any) -> int:
    for device in ((2, 0), (13, 0), (10, 0)):
        producer = producer_of(adv, device=device)
        with refused(BufferError):
            refarray.from_dlpack(producer, device="cpu")
    pinned = producer_of(adv, (3, 0))
    pinned.answer = producer_of(adv, versioned=True).answer
    for producer in (pinned, producer_of(adv, device=(3, 0))):
        x = refarray.from_dlpack(producer, device="cpu")
        expect(x.device == "cpu" and x.tolist() == VALUES, "not the CPU")
    return 5


@case("R67 C40 COPY-08 COPY-06", "copied-although-false", "protocol")
def copied_although_false(adv: Any) -> None:
    producer = producer_of(adv, flags=2)
    with refused(refarray.NoCopyError):
        refarray.from_dlpack(producer, copy=False)
    expect_deleter_calls(producer.tensors[0], 1)


@case("R68 R66", "ignores-max-version", "protocol")
def ignores_max_version(adv: Any) -> int:
    for asked in (None, (0, 8), (1, 0), (99, 0)):
        for versioned in (True, False):
            x = refarray.from_dlpack(producer_of(adv, versioned=versioned), max_version=asked)
            expect(x.tolist() == VALUES, "values differ")
    return 8


# --- R69-R71: capsules and devices of other producers ---


@case("R69 C39", "the-same-capsule", "protocol")
def the_same_capsule(adv: Any) -> None:
    tensor = adv.make(data=FLOATS)
    capsule = tensor.capsule()
    producer = Recorder(lambda **_: capsule)
    x = refarray.from_dlpack(producer)
    for _ in range(3):
        with refused(BufferError, message="consumed"):
            refarray.from_dlpack(producer)
    expect(x.tolist() == VALUES, "values differ")
    expect_deleter_calls(tensor, 0)


@case("R70 C31", "struct-on-another-device", "protocol")
def another_device(adv: Any) -> int:
    """The struct's device decides: CUDA is refused; CPU is accepted as CPU."""
    producer = producer_of(adv)
    producer.answer = producer_of(adv, device=(2, 0)).answer
    with refused(BufferError, message="device"):
        refarray.from_dlpack(producer)
    pinned = producer_of(adv, (3, 0))
    expect(refarray.from_dlpack(pinned).device == "cpu", "__dlpack_device__ overrode the struct")
    return 2


class IntLike:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def _raise(**_: Any) -> Any:
    raise ZeroDivisionError("from a device")


def import_from_device(adv: Any, device: Any, *kinds: type[BaseException]) -> None:
    producer = producer_of(adv, device)
    with refused(*kinds, message="__dlpack_device__" if kinds == (TypeError,) else ""):
        refarray.from_dlpack(producer)
    expect(
        TypeError not in kinds or producer.asked == [],
        "__dlpack__ was called although the device is invalid",
    )


for _label, _device, *_kinds in (
    ("list", [1, 0], TypeError),
    ("three", (1, 0, 0), TypeError),
    ("one", (1,), TypeError),
    ("empty", (), TypeError),
    ("none-id", (2, None), TypeError),  # only the CPU may lack one
    ("str", ("cpu", 0), TypeError),
    ("str-none", ("cpu", None), TypeError),
    ("str-id", (1, "0"), TypeError),
    ("int", 1, TypeError),
    ("text", "cpu", TypeError),
    ("none", None, TypeError),
    ("float", (1.0, 0), TypeError),
    ("float-id", (1, 0.5), TypeError),
    ("dict", {1: 0}, TypeError),
    ("nested", ((1,), 0), TypeError),
    ("huge", (2**70, 0), TypeError, *OUT_OF_RANGE),
    ("huge-id", (1, 2**70), TypeError, *OUT_OF_RANGE),
    ("40-bits", (2**40, 0), TypeError, *OUT_OF_RANGE),
    ("40-bits-id", (1, 2**40), TypeError, *OUT_OF_RANGE),
    ("negative-34-bits", (-(2**33), 0), TypeError, *OUT_OF_RANGE),
    ("unknown", (99, 0), BufferError),
    ("negative", (-1, 0), BufferError),
    ("raising", _raise, ZeroDivisionError),
):
    _rows = "R71 C36 DEV-01 CONS-07 ABI-03 DEV-07"
    add(_rows, f"device-{_label}", "protocol", import_from_device, _device, *_kinds)


@case("R71 DEV-01", "device-like-ints", "protocol")
def device_like_ints(adv: Any) -> int:
    for device in ((refarray.DLDeviceType.kDLCPU, 0), (True, False), (IntLike(1), IntLike(0))):
        expect(refarray.from_dlpack(producer_of(adv, device)).tolist() == VALUES, "values differ")
    return 3
