"""Owns the checks of a C exchange table: to_py, the allocator, the stream."""

from __future__ import annotations

import builtins
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, about, check
from refarray.conformance.harness.consumer import text
from refarray.conformance.harness.corpus_fields import GIVEN
from refarray.conformance.harness.producer import Producer, raised
from refarray.conformance.suite.exchange_api.table import array_type, member, seen, tensor


@check(
    "CAPI-17",
    "exchange-api",
    "to-py",
    "to_py takes the tensor: an array of the type, one deleter call when it goes",
    risky=True,
)
def _to_py(producer: Producer) -> CheckResult:
    api = member(producer, "to_py")
    _, kind = array_type(producer)
    given = tensor()
    line = "print(api.to_py(_adversary.make(shape=(3,))))"
    made = api.to_py(given)
    right = isinstance(made, kind)
    during = given.deleter_calls
    del made
    calls = f"{during} deleter calls while it lives, {given.deleter_calls} after"
    observed = f"{'' if right else 'not '}of the type; {calls}"
    return seen(producer, right and during == 0 and given.deleter_calls == 1, observed, line)


@check(
    "CAPI-18",
    "exchange-api",
    "failure",
    "after a failure of to_py the tensor is still the caller's",
    risky=True,
)
def _failed(producer: Producer) -> CheckResult:
    api = member(producer, "to_py")
    given = tensor(dtype=(99, 32, 1))
    line = "api.to_py(_adversary.make(dtype=(99, 32, 1)))"
    try:
        api.to_py(given)
    except Exception as error:
        calls = given.deleter_calls
        return seen(producer, calls == 0, f"{raised(error)}; {calls} deleter calls", line)
    raise NotApplicable("it imports any dtype")


REFUSED = [
    given
    for given in GIVEN
    if given.right == "refuse"
    and given.id in {"TENS-05", "TENS-08", "TENS-09", "TENS-10", "VERS-02", "DTYPE-12"}
    and given.fields.get("versioned", True)
]


def _validated(case: str, fields: dict[str, Any], expected: str) -> None:
    @check("CAPI-19", "exchange-api", case, f"to_py, {expected}", risky=True)
    def _(producer: Producer) -> CheckResult:
        api = member(producer, "to_py")
        given = _adversary.make(**fields)
        line = f"print(api.to_py({text(fields).replace('give', '_adversary.make')}))"
        about(seen(producer, True, "", line).repro)
        try:
            made = api.to_py(given)
        except Exception as error:
            calls = given.deleter_calls
            if calls == 0:
                given.delete()  # after a failure the tensor is still ours
            return seen(producer, calls <= 1, f"{raised(error)}; {calls} deleter calls", line)
        return seen(producer, False, f"imported as {type(made).__name__}", line)


for _given in REFUSED:
    _validated(f"{_given.id}-{_given.case}".lower(), _given.fields, _given.expected)


def allocated(producer: Producer, prototype: Any, **keywords: Any) -> tuple[int, Any, list[Any]]:
    """What the allocator answered: code, owner or None, the errors that it set."""
    api = member(producer, "allocator")
    out: tuple[int, Any, list[Any]] = api.allocate(prototype, **keywords)
    return out


ALLOCATE = "print(api.allocate(_adversary.make(shape=(2, 3))))"


@check(
    "CAPI-20",
    "exchange-api",
    "prototype",
    "the allocator looks at dtype, ndim, shape and device only",
    risky=True,
)
def _prototype(producer: Producer) -> CheckResult:
    wild = _adversary.make(shape=(2, 3), data=0xDEAD0008, strides=0xDEAD0008, byte_offset=2**63)
    code, owned, errors = allocated(producer, wild)
    held = code == 0 and owned is not None and tuple(owned.fields()["shape"]) == (2, 3)
    return seen(producer, held, f"code {code}, errors {errors}", ALLOCATE)


@check(
    "CAPI-23",
    "exchange-api",
    "layout",
    "what is allocated is row-major, writable, with strides",
    risky=True,
)
def _layout(producer: Producer) -> CheckResult:
    code, owned, errors = allocated(producer, _adversary.make(shape=(2, 3)))
    if code != 0:
        raise NotApplicable(f"it allocates nothing: {errors}")
    fields = owned.fields()
    held = tuple(fields["strides"] or ()) == (3, 1) and fields["flags"] == 0
    return seen(producer, held, f"strides {fields['strides']}, flags {fields['flags']}", ALLOCATE)


@check(
    "CAPI-22",
    "exchange-api",
    "thread",
    "the allocator works in a thread without Python, another thread holding the GIL",
    risky=True,
)
def _thread(producer: Producer) -> CheckResult:
    code, owned, errors = allocated(producer, _adversary.make(shape=(2, 3)), thread=True)
    return seen(
        producer,
        code == 0 and owned is not None,
        f"code {code}, errors {errors}",
        "print(api.allocate(_adversary.make(shape=(2, 3)), thread=True))",
    )


def _refused(case: str, fields: dict[str, Any]) -> None:
    @check(
        "CAPI-21",
        "exchange-api",
        case,
        "an allocation that cannot be: reported failure, SetError called once",
        risky=True,
    )
    def _(producer: Producer) -> CheckResult:
        code, owned, errors = allocated(producer, _adversary.make(**fields))
        held = code != 0 and owned is None and len(errors) == 1
        return seen(
            producer,
            held,
            f"code {code}, SetError {errors}",
            f"print(api.allocate(_adversary.make(**{fields!r})))",
        )


_refused("dtype", {"dtype": (99, 32, 1)})
_refused("device", {"device": (9, 0)})
_refused("huge", {"shape": (2**62, 8)})
_refused("negative", {"shape": (-1,)})


@check(
    "ABI-06",
    "exchange-api",
    "no-memory",
    "an allocation that no memory can hold is a failure: nothing is thrown, the process lives",
    risky=True,
)
def _no_memory(producer: Producer) -> CheckResult:
    line = "print(api.allocate(_adversary.make(shape=(1 << 45,))))"
    about(seen(producer, True, "", line).repro)
    code, owned, errors = allocated(producer, _adversary.make(shape=(1 << 45,)))
    return seen(producer, code != 0 and owned is None, f"code {code}, SetError {errors}", line)


@check(
    "CAPI-10",
    "exchange-api",
    "many-axes",
    "to_py of 64 axes, which few libraries have: an array or an exception, the process lives",
    risky=True,
)
def _many_axes(producer: Producer) -> CheckResult:
    api = member(producer, "to_py")
    line = "print(api.to_py(_adversary.make(shape=(1,) * 64)))"
    about(seen(producer, True, "", line).repro)
    given = tensor(shape=(1,) * 64)
    try:
        made = api.to_py(given)
    except AssertionError as error:
        raise NotApplicable(f"CAPI-09 judges it: {error}") from error
    except Exception as error:
        return seen(producer, not isinstance(error, SystemError), raised(error), line)
    return seen(producer, True, f"a {type(made).__name__}", line)


@check(
    "CAPI-24",
    "exchange-api",
    "kind",
    "the kind passed to SetError is the name of a Python exception",
    risky=True,
)
def _kind_name(producer: Producer) -> CheckResult:
    code, _, errors = allocated(producer, _adversary.make(dtype=(99, 32, 1)))
    if code == 0 or not errors:
        raise NotApplicable(f"code {code}, SetError {errors}")
    kind = getattr(builtins, errors[0][0], None)
    held = isinstance(kind, type) and issubclass(kind, BaseException)
    return seen(
        producer,
        held,
        f"kind {errors[0][0]!r}",
        "print(api.allocate(_adversary.make(dtype=(99, 32, 1))))",
    )


@check(
    "CAPI-26",
    "exchange-api",
    "cpu",
    "current_work_stream writes its answer for the CPU: NULL",
    risky=True,
)
def _cpu_stream(producer: Producer) -> CheckResult:
    api = member(producer, "stream")
    stream = api.stream(1, 0)
    return seen(producer, stream == 0, f"{stream:#x}", "print(api.stream(1, 0))")


def _no_stream(case: str, kind: int, number: int) -> None:
    @check(
        "CAPI-27",
        "exchange-api",
        case,
        f"current_work_stream of device ({kind}, {number}) is an exception",
        risky=True,
    )
    def _(producer: Producer) -> CheckResult:
        api = member(producer, "stream")
        line = f"print(api.stream({kind}, {number}))"
        try:
            stream = api.stream(kind, number)
        except AssertionError:
            raise
        except Exception as error:
            return seen(producer, True, raised(error), line)
        return seen(producer, False, f"{stream:#x}", line)


_no_stream("unknown-type", 99, 0)
_no_stream("unknown-id", 2, 2**30)
