"""Owns the checks of the two methods themselves: PROD-01 to PROD-05, PROD-17, PROD-18, AAPI."""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Producer, raised
from refarray.conformance.requirements import Level

KEYWORDS = ("stream", "max_version", "dl_device", "copy")


def left_out(parameter: inspect.Parameter, values: Any) -> bool:
    """Whether the default stands for nothing given: None, or an object that is no value of the
    parameter's."""
    return parameter.default is not parameter.empty and not isinstance(parameter.default, values)


@check("PROD-01", "producer", "positional", "__dlpack__ takes no positional arguments: TypeError")
def _positional(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    repro = producer.repro(f"print({text}.__dlpack__(None))")
    # Only the array API makes them keyword-only.
    level = None if producer.subject.array_api else Level.HAZARD
    try:
        type(array).__dlpack__(array, None)
    except Exception as error:
        return CheckResult(isinstance(error, TypeError), raised(error), repro, level=level)
    return CheckResult(False, "accepted", repro, level=level)


def _keyword(name: str) -> None:
    @check(
        "PROD-01",
        "producer",
        f"keyword-{name}",
        f"__dlpack__ takes the keyword {name}, None by default",
    )
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), **{name: None})
        if isinstance(export.error, BufferError):  # it may refuse the legacy struct
            export = producer.export(producer.text(), **{**VERSIONED, name: None})
        return producer.seen(export.held is not None, export)


for _name in KEYWORDS:
    _keyword(_name)


@check(
    "AAPI-02",
    "producer",
    "signature",
    "inspect.signature reads stream, max_version, dl_device, copy, each None by default",
)
def _signature(producer: Producer) -> CheckResult:
    if not producer.subject.array_api:
        raise NotApplicable(f"{producer.subject.name} does not claim the array API")
    text = producer.text()
    method = type(producer.make(text)).__dlpack__
    repro = producer.repro(f"import inspect; print(inspect.signature(type({text}).__dlpack__))")
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError) as error:
        return CheckResult(False, raised(error), repro)
    found = [signature.parameters.get(name) for name in KEYWORDS]
    if not all(parameter is not None for parameter in found):
        return CheckResult(False, str(signature), repro)
    held = all(left_out(parameter, str | int | tuple) for parameter in found if parameter)
    # Another default is a choice that PyTorch made and the standard's authors discuss.
    return CheckResult(held, str(signature), repro, level=Level.DISPUTED)


@check(
    "PROD-02",
    "producer",
    "unknown-keyword",
    "an unknown keyword is a TypeError: consumers tell old producers by it",
)
def _unknown(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), no_such_keyword=1)
    return producer.seen(isinstance(export.error, TypeError), export)


@check(
    "PROD-03", "producer", "defaults", "every default given explicitly is the same as nothing given"
)
def _defaults(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    bare = producer.export(text, array)
    full = producer.export(text, array, **dict.fromkeys(KEYWORDS))
    same: tuple[Any, ...] = (
        "name",
        "data",
        "device",
        "dtype",
        "shape",
        "strides",
        "byte_offset",
        "flags",
    )
    if bare.held is None or full.held is None:
        held = type(bare.error) is type(full.error) and bare.held is full.held
    else:
        held = all(bare[field] == full[field] for field in same)
    return producer.seen(held, full, f"bare: {bare}; every default: {full}")


@check(
    "PROD-17",
    "producer",
    "pure",
    "an export does not change the array: a second one tells the same",
)
def _pure(producer: Producer) -> CheckResult:
    text = producer.text("strided" if "strided" in producer.subject.arrays else "plain")
    array = producer.make(text)
    exports = [producer.export(text, array, **VERSIONED) for _ in range(2)]
    told = [tuple(e[f] for f in ("shape", "strides", "dtype", "device")) for e in exports]
    return producer.seen(told[0] == told[1], exports[0], f"{told[0]}, then {told[1]}")


@check("PROD-18", "producer", "subclass", "an instance of a subclass exports as its base does")
def _subclass(producer: Producer) -> CheckResult:
    if not producer.subject.subclass:
        raise NotApplicable(f"the arrays of {producer.subject.name} are not subclassed")
    text = producer.text()
    array = producer.make(text)
    kind = type("Sub", (type(array),), {})
    for make in ("as_subclass", "view"):
        if hasattr(array, make):
            export = producer.export(
                f"{text}.{make}(type('Sub', (type({text}),), {{}}))",
                getattr(array, make)(kind),
                **VERSIONED,
            )
            return producer.seen(export.held is not None, export)
    raise NotApplicable("no way to make one is known")


@check(
    "LIFE-22",
    "producer",
    "references",
    "an export takes references of its array and a dropped capsule returns them",
)
def _references(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    producer.export(text, array, **VERSIONED)  # whatever is made once is made now
    before = sys.getrefcount(array)
    exports = [producer.export(text, array, **VERSIONED) for _ in range(8)]
    during = sys.getrefcount(array)
    exports.clear()
    gc.collect()
    after = sys.getrefcount(array)
    repro = producer.repro(
        f"import sys; x = {text}; n = sys.getrefcount(x)",
        "for _ in range(8): x.__dlpack__(max_version=(1, 3))",
        "print(sys.getrefcount(x) - n)",
    )
    return CheckResult(
        after == before, f"{before} before, {during} with 8 capsules, {after} after", repro
    )


@check(
    "LIFE-21", "producer", "refused", "a refused export leaves the array's references as they were"
)
def _refused(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    before = sys.getrefcount(array)
    for _ in range(8):
        producer.export(text, array, dl_device=(9, 0), **VERSIONED)
    gc.collect()
    after = sys.getrefcount(array)
    return CheckResult(
        after == before,
        f"{before} before, {after} after 8 refusals",
        producer.repro(
            f"import sys; x = {text}; n = sys.getrefcount(x)",
            "for _ in range(8):",
            "    try: x.__dlpack__(dl_device=(9, 0), max_version=(1, 3))",
            "    except Exception: pass",
            "print(sys.getrefcount(x) - n)",
        ),
    )


@check("CONS-02", "producer", "methods", "the array type has __dlpack__ and __dlpack_device__")
def _methods(producer: Producer) -> CheckResult:
    text = producer.text()
    kind = type(producer.make(text))
    missing = [name for name in ("__dlpack__", "__dlpack_device__") if not hasattr(kind, name)]
    return CheckResult(
        not missing,
        f"missing: {', '.join(missing) or 'none'}",
        producer.repro(f"print(dir({text}))"),
    )
