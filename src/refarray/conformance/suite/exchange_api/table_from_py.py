"""CAPI checks of the table's exports: managed_tensor_from_py_object and dltensor_from_py_object."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.dlpack import READ_ONLY
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exchange_table import attempt, table_result, table_with
from refarray.conformance.suite.on_devices import SYNCHRONISES, check_on_devices

FROM_PY = "print(api.from_py({text}).fields())"


def table_export(
    producer: Producer, kind: str, foreign_version: bool = False
) -> tuple[Any, dict[str, Any]]:
    """The tensor that from_py gives for a kind of array, and its fields. NotApplicable for a struct
    version whose fields are unknown, unless `foreign_version` is set."""
    api = table_with(producer, "from_py")
    return export_by(api, producer.make(producer.text(kind)), foreign_version)


def export_by(api: Any, array: Any, foreign_version: bool = False) -> tuple[Any, dict[str, Any]]:
    """The same for an array."""
    try:
        owned = api.from_py(array)
    except AssertionError:  # the native caller saw a broken contract
        raise
    except Exception as error:
        raise NotApplicable(f"from_py refuses: {describe_error(error)}") from error
    fields = owned.fields()
    if "shape" not in fields and not foreign_version:
        raise NotApplicable(f"CAPI-11 judges it: version {fields['version']}")
    return owned, fields


@check("CAPI-09", "failure", "a failure is -1 with an exception set", risky=True)
def failure_sets_an_exception(producer: Producer) -> CheckResult:
    api = table_with(producer, "from_py")
    line = "api.from_py(7)"
    try:
        api.from_py(7)
    except AssertionError as error:
        # The header does not settle what *out is after a failure.
        return table_result(producer, str(error).startswith("A-32"), str(error), line)
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    raise NotApplicable("from_py takes an int")


@check(
    "CAPI-11",
    "owned",
    "from_py gives a versioned tensor of the table's version, deleted once",
    risky=True,
)
def tensor_is_owned(producer: Producer) -> CheckResult:
    owned, fields = table_export(producer, "plain", foreign_version=True)
    version = fields["version"]
    with subject_code():
        owned.drop()
    held = version is not None and version[0] == 1
    return table_result(producer, held, f"version {version}", FROM_PY.format(text=producer.text()))


@check_on_devices("CAPI-12", "unfinished", "the table's functions synchronise nothing")
def functions_do_not_synchronise(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    api = table_with(producer, "from_py")
    with fixture.pending() as pending, fixture.working_on(pending.stream):
        before = fixture.calls(*SYNCHRONISES)
        owned = api.from_py(pending.array)
        if api.members()["dltensor"]:
            api.dltensor(pending.array)
        again = api.to_py(owned)
        made = fixture.calls(*SYNCHRONISES)[len(before) :]
        blocked = pending.gate.opened
        del again
    observed = ", ".join([*made, *["the host waited"] * blocked]) or "nothing was synchronised"
    repro = fixture.repro_pending(
        "from refarray.conformance import _adversary; api = _adversary.api(type(x))",
        f"with {fixture.on.use.format('s')}: api.to_py(api.from_py(x))",
    )
    return CheckResult(not made and not blocked, observed, repro)


@check_cases(
    "CAPI-13",
    {"int": 7, "text": "array"},
    "from_py of {value!r} fails with an exception",
    risky=True,
)
def foreign_object_is_refused(producer: Producer, value: Any) -> CheckResult:
    api = table_with(producer, "from_py")
    line = f"api.from_py({value!r})"
    error = attempt(api.from_py, value)
    if isinstance(error, Exception):
        return table_result(
            producer, not isinstance(error, SystemError), describe_error(error), line
        )
    return table_result(producer, False, "accepted", line)


KINDS = ("plain", "strided", "transposed", "broadcast", "scalar", "empty", "one")


@check_cases("CAPI-14", KINDS, "from_py describes the array as __dlpack__ does", risky=True)
def from_py_equals_dlpack(producer: Producer, kind: str) -> CheckResult:
    text = producer.text(kind)
    _, fields = table_export(producer, kind)
    plain = producer.export(text, max_version=(1, 3))
    names = ("shape", "dtype", "device")
    by_table = {name: tuple(fields[name] or ()) for name in names}
    by_method = {name: tuple(plain[name] or ()) for name in names}
    strides = fields["ndim"] == 0 or fields["strides"] is not None
    observed = f"{by_table}, strides {fields['strides']}"
    held = by_table == by_method and strides
    return table_result(producer, held, observed, FROM_PY.format(text=text))


@check(
    "CAPI-14", "read-only", "from_py sets READ_ONLY on data that must not be written", risky=True
)
def from_py_marks_read_only(producer: Producer) -> CheckResult:
    line = FROM_PY.format(text=producer.text("readonly"))
    _, fields = table_export(producer, "readonly")
    held = bool(fields["flags"] & READ_ONLY)
    return table_result(producer, held, f"flags {fields['flags']}", line)


@check("CAPI-15", "borrowed", "dltensor_from_py fills in the array's own description", risky=True)
def borrowed_tensor(producer: Producer) -> CheckResult:
    text = producer.text("transposed" if "transposed" in producer.subject.arrays else "plain")
    api = table_with(producer, "dltensor")
    array = producer.make(text)
    lent = api.dltensor(array)
    plain = producer.export(text, array, max_version=(1, 3))
    address = int(lent["data"]) + int(lent["byte_offset"])
    held = address == plain.address and tuple(lent["shape"]) == tuple(plain["shape"])
    observed = f"shape {lent['shape']}, data {lent['data']:#x}"
    return table_result(producer, held, observed, f"print(api.dltensor({text}))")


@check(
    "CAPI-16",
    "borrowed",
    "dltensor_from_py refuses data that must not be written: a DLTensor has no flags",
    risky=True,
)
def borrowed_read_only_is_refused(producer: Producer) -> CheckResult:
    text = producer.text("readonly")
    api = table_with(producer, "dltensor")
    array = producer.make(text)
    line = f"api.dltensor({text})"
    try:
        api.dltensor(array)
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    return table_result(producer, False, "lent as writable", line)
