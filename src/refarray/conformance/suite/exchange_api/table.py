"""Owns the checks of a library's C exchange table: CAPI."""

from __future__ import annotations

import gc
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, about, check
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.producer import Producer, raised

NAME = "__dlpack_c_exchange_api__"
NEEDED = ("allocator", "from_py", "to_py", "stream")


def array_type(producer: Producer) -> tuple[str, Any]:
    """An expression for the array type, and the type."""
    text = producer.text()
    return f"type({text})", type(producer.make(text))


def table(producer: Producer) -> Any:
    """A caller for the table. NotApplicable when the type offers none that can be called."""
    text, kind = array_type(producer)
    if getattr(kind, NAME, None) is None:
        raise NotApplicable(f"{text} has no {NAME}")
    try:
        api = _adversary.api(kind)
    except Exception as error:
        raise NotApplicable(f"{text}.{NAME} is no table: {raised(error)}") from error
    if api.members()["version"][0] != 1:
        raise NotApplicable(f"the table is of version {api.members()['version']}")
    return api


def member(producer: Producer, name: str) -> Any:
    """The caller, when the table has that member."""
    api = table(producer)
    about(seen(producer, True, "").repro)
    if not api.members()[name]:
        raise NotApplicable(f"the table's {name} is NULL")
    return api


def seen(producer: Producer, held: bool, observed: str, line: str = "") -> CheckResult:
    """What a case showed. Calling a C table takes more than a few lines: refarray does it."""
    text, _ = array_type(producer)
    return CheckResult(
        held,
        observed,
        producer.repro(
            "from refarray.conformance import _adversary",
            f"api = _adversary.api({text})",
            line or "print(api.members())",
        ),
    )


def tensor(**fields: Any) -> Any:
    """A managed tensor for to_py and the allocator."""
    return _adversary.make(**{"shape": (3,), "data": FLOATS, **fields})


@check("CAPI-02", "exchange-api", "name", "the attribute is a capsule named dlpack_exchange_api")
def _name(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    value = getattr(kind, NAME, None)
    if value is None:
        raise NotApplicable(f"{text} has no {NAME}")
    repro = producer.repro(f"print({text}.{NAME})")
    return CheckResult('"dlpack_exchange_api"' in repr(value), repr(value), repro)


@check(
    "CAPI-29",
    "exchange-api",
    "older",
    "the name of 1.2, when it is there too, holds the address of a table as an int, or a capsule",
)
def _older(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    value = getattr(kind, "__c_dlpack_exchange_api__", None)
    if value is None:
        raise NotApplicable(f"{text} has no __c_dlpack_exchange_api__")
    held = type(value).__name__ in {"int", "PyCapsule"} and bool(value)
    return CheckResult(
        held, repr(value), producer.repro(f"print({text}.__c_dlpack_exchange_api__)")
    )


@check("CAPI-03", "exchange-api", "type", "the table is found on the type, the same at every look")
def _type(producer: Producer) -> CheckResult:
    _, kind = array_type(producer)
    first = table(producer).members()["address"]
    second = _adversary.api(kind).members()["address"]
    return seen(producer, first == second, f"{first:#x} and {second:#x}")


@check(
    "CAPI-07",
    "exchange-api",
    "members",
    "allocator, from_py, to_py and current_work_stream are not NULL",
)
def _members(producer: Producer) -> CheckResult:
    members = table(producer).members()
    missing = [name for name in NEEDED if not members[name]]
    return seen(producer, not missing, f"NULL: {', '.join(missing) or 'none'}")


@check("CAPI-01", "exchange-api", "there", f"the array's type has {NAME}")
def _there(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    held = getattr(kind, NAME, None) is not None
    repro = producer.repro(f"print(hasattr({text}, {NAME!r}))")
    return CheckResult(held, "there" if held else "not there", repro)


@check(
    "CAPI-04",
    "exchange-api",
    "static",
    "the table stays when every capsule of it has gone",
    risky=True,
)
def _static(producer: Producer) -> CheckResult:
    api = table(producer)
    gc.collect()
    before = api.members()
    churn = [producer.make(producer.text()) for _ in range(64)]
    after = api.members()
    del churn
    return seen(producer, before == after, f"version {after['version']}")


@check(
    "CAPI-05", "exchange-api", "version", "header.version is of a major version that there is: 1"
)
def _version(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    if getattr(kind, NAME, None) is None:
        raise NotApplicable(f"{text} has no {NAME}")
    try:
        api = _adversary.api(kind)
    except Exception as error:
        raise NotApplicable(f"CAPI-02 judges it: {raised(error)}") from error
    version = api.members()["version"]
    return seen(producer, version[0] == 1 and version[1] < 1000, f"version {version}")


def exported(
    producer: Producer, kind: str, foreign_version: bool = False
) -> tuple[Any, dict[str, Any]]:
    """What from_py gives for a kind of array: who owns it, and its fields. NotApplicable for a
    version without fields that we know, unless that is what is asked."""
    api = member(producer, "from_py")
    array = producer.make(producer.text(kind))
    try:
        owned = api.from_py(array)
    except AssertionError:
        raise
    except Exception as error:
        raise NotApplicable(f"from_py refuses: {raised(error)}") from error
    fields = owned.fields()
    if "shape" not in fields and not foreign_version:
        raise NotApplicable(f"CAPI-11 judges it: version {fields['version']}")
    return owned, fields


FROM_PY = "print(api.from_py({text}).fields())"


def _same(kind: str) -> None:
    @check(
        "CAPI-14", "exchange-api", kind, "from_py describes what __dlpack__ describes", risky=True
    )
    def _(producer: Producer) -> CheckResult:
        text = producer.text(kind)
        _, fields = exported(producer, kind)
        plain = producer.export(text, max_version=(1, 3))
        names = ("shape", "dtype", "device")
        told = {name: tuple(fields[name] or ()) for name in names}
        said = {name: tuple(plain[name] or ()) for name in names}
        strides = fields["ndim"] == 0 or fields["strides"] is not None
        return seen(
            producer,
            told == said and strides,
            f"{told}, strides {fields['strides']}",
            FROM_PY.format(text=text),
        )


for _kind in ("plain", "strided", "transposed", "broadcast", "scalar", "empty", "one"):
    _same(_kind)


@check(
    "CAPI-11",
    "exchange-api",
    "owned",
    "from_py gives a versioned tensor of the table's version, that is given back once",
    risky=True,
)
def _owned(producer: Producer) -> CheckResult:
    owned, fields = exported(producer, "plain", foreign_version=True)
    version = fields["version"]
    owned.drop()
    return seen(
        producer,
        version is not None and version[0] == 1,
        f"version {version}",
        FROM_PY.format(text=producer.text()),
    )


@check(
    "CAPI-14",
    "exchange-api",
    "read-only",
    "from_py sets READ_ONLY on data that must not be written",
    risky=True,
)
def _read_only(producer: Producer) -> CheckResult:
    text = producer.text("readonly")
    _, fields = exported(producer, "readonly")
    return seen(
        producer, bool(fields["flags"] & 1), f"flags {fields['flags']}", FROM_PY.format(text=text)
    )


@check(
    "CAPI-16",
    "exchange-api",
    "borrowed",
    "dltensor_from_py refuses data that must not be written: it cannot say so",
    risky=True,
)
def _borrowed_read_only(producer: Producer) -> CheckResult:
    text = producer.text("readonly")
    api = member(producer, "dltensor")
    array = producer.make(text)
    try:
        api.dltensor(array)
    except Exception as error:
        return seen(producer, True, raised(error), f"api.dltensor({text})")
    return seen(producer, False, "lent as writable", f"api.dltensor({text})")


@check(
    "CAPI-15",
    "exchange-api",
    "borrowed",
    "dltensor_from_py fills in the array's own description",
    risky=True,
)
def _borrowed(producer: Producer) -> CheckResult:
    text = producer.text("transposed" if "transposed" in producer.subject.arrays else "plain")
    api = member(producer, "dltensor")
    array = producer.make(text)
    lent = api.dltensor(array)
    plain = producer.export(text, array, max_version=(1, 3))
    held = int(lent["data"]) + int(lent["byte_offset"]) == plain.address and tuple(
        lent["shape"]
    ) == tuple(plain["shape"])
    return seen(
        producer,
        held,
        f"shape {lent['shape']}, data {lent['data']:#x}",
        f"print(api.dltensor({text}))",
    )


def _foreign(case: str, value: Any) -> None:
    @check(
        "CAPI-13", "exchange-api", case, f"from_py of {value!r} fails with an exception", risky=True
    )
    def _(producer: Producer) -> CheckResult:
        api = member(producer, "from_py")
        line = f"api.from_py({value!r})"
        try:
            api.from_py(value)
        except AssertionError as error:
            raise NotApplicable(f"CAPI-09 judges it: {error}") from error
        except Exception as error:
            return seen(producer, not isinstance(error, SystemError), raised(error), line)
        return seen(producer, False, "accepted", line)


_foreign("int", 7)
_foreign("text", "array")


@check("CAPI-09", "exchange-api", "failure", "a failure is -1 with an exception set", risky=True)
def _failure(producer: Producer) -> CheckResult:
    api = member(producer, "from_py")
    try:
        api.from_py(7)
    except AssertionError as error:
        # What it leaves in *out is another question, which the header does not settle.
        return seen(producer, str(error).startswith("A-32"), str(error), "api.from_py(7)")
    except Exception as error:
        return seen(producer, True, raised(error), "api.from_py(7)")
    raise NotApplicable("from_py takes an int")
