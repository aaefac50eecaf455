"""LIFE checks of a consumer: how it treats the capsule and the tensor that it takes."""

from __future__ import annotations

import contextlib
import gc
import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    DOUBLE_FREE,
    AtExit,
    CheckResult,
    NotApplicable,
    add_harm,
    check,
    subject_code,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.consumer import GIVE, Consumer, Given, give
from refarray.conformance.harness.recorder import FIELDS, PLAIN, Recorder
from refarray.conformance.suite.consumer.tensors import import_tensor
from refarray.conformance.suite.consumer_kinds import NEGATIVE, TENSORS
from refarray.conformance.suite.corpus_checks import register_corpus
from refarray.conformance.suite.on_devices import Lender, check_on_devices, write_spy_repro

register_corpus("LIFE")


@check("LIFE-10", "renamed", "a consumed capsule is renamed used_…", risky=True)
def consumed_capsule_is_renamed(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    recorder.keep = True
    found = consumer.import_from(recorder)
    name = _adversary.name_of(recorder.capsule)
    del found
    return consumer.make_result(str(name).startswith("used_dltensor"), f"named {name}", PLAIN)


@check(
    "LIFE-12",
    "twice",
    "a consumed capsule is refused the second time; one deleter call in all",
    risky=True,
)
def consumed_capsule_is_refused(consumer: Consumer) -> CheckResult:
    def answer(**keywords: Any) -> Any:
        if recorder.capsule is None:
            Given.__dlpack__(recorder, **keywords)
        return recorder.capsule

    recorder = Recorder(answer)
    recorder.keep = True
    first = consumer.import_from(recorder)
    if not str(_adversary.name_of(recorder.capsule)).startswith("used_"):
        raise NotApplicable("it does not rename what it takes: LIFE-10 judges that")
    second = consumer.take(recorder)
    observed = f"the second time: {second}"
    refused = second.refused
    del first, second
    recorder.capsule = False
    calls = recorder.deleter_calls
    call = consumer.subject.from_dlpack
    lines = [f"{GIVE}; {consumer.subject.imports}", "x = give(returns=give().__dlpack__())"]
    repro = "\n".join([*lines, f"print({call.format('x')}, {call.format('x')})"])
    result = CheckResult(refused and calls == 1, f"{observed}; {calls} deleter calls", repro)
    return add_harm(result, DOUBLE_FREE) if calls > 1 else result


@check(
    "LIFE-13",
    "refused",
    "after a refusal the capsule is unchanged, or is used and its deleter was called",
    risky=True,
    same_as=("LIFE-10[consumer-renamed]",),
)
def refused_capsule(consumer: Consumer) -> CheckResult:
    recorder = Recorder(dtype=(99, 32, 1))
    recorder.keep = True
    found = consumer.take(recorder)
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    found.error = None
    if recorder.capsule is None:
        raise NotApplicable("it took no capsule")
    name = str(_adversary.name_of(recorder.capsule))
    calls = recorder.tensors[-1].deleter_calls
    held = calls > 0 if name.startswith("used") else calls == 0  # LIFE-03 counts them
    return consumer.make_result(
        held, f"named {name}, {calls} deleter calls", "give(dtype=(99, 32, 1))"
    )


def public_capsules(made: Any) -> list[str]:
    """The public attributes of an object that are capsules."""
    out = []
    with warnings.catch_warnings(), subject_code():
        warnings.simplefilter("ignore")
        for name in dir(made):
            try:
                value = None if name.startswith("_") else inspect.getattr_static(made, name)
            except AttributeError:
                continue
            if type(value).__name__ == "PyCapsule":
                out.append(name)
    return out


@check(
    "LIFE-23",
    "hidden",
    "from_dlpack returns with the capsule consumed, and the result exposes none",
    risky=True,
)
def result_exposes_no_capsule(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    recorder.keep = True
    found = consumer.import_from(recorder)
    capsule = type(found.array).__name__ == "PyCapsule"
    exposed = ["the result itself"] if capsule else public_capsules(found.array)
    observed = f"capsules shown: {', '.join(exposed) or 'none'}"
    return consumer.make_result(not exposed, observed, PLAIN)


@check("LIFE-24", "threads", "concurrent imports are right", risky=True)
def concurrent_imports(consumer: Consumer) -> CheckResult:
    def work(_: int) -> str:
        for _ in range(20):
            found = consumer.take(Recorder())
            if found.error is not None:
                return f"{found}"
            values = found.values
            if values != [0.0, 1.0, 2.0]:
                return f"values {values}"
            found.array = None
        return ""

    first = consumer.import_from(Recorder())
    first.read_fields()  # NotApplicable if the values cannot be read
    with ThreadPoolExecutor(4) as pool:
        wrong = [observed for observed in pool.map(work, range(4)) if observed]
    return consumer.make_result(not wrong, "; ".join(wrong) or "right in 4 threads", PLAIN)


@check_on_devices("LIFE-26", "unfinished", "the deleter is not called while work is unfinished")
def deleter_waits_for_work(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    stream, handle = fixture.stream()
    lender = Lender(fixture)
    with fixture.working_on(stream):
        found = consumer.import_from(lender)
    first = fixture.read(found.array, stream)  # creates caches
    fixture.driver.call("all")
    with fixture.driver.gate(handle) as gate:
        copied = fixture.read(found.array, stream)
        if gate.opened:
            raise NotApplicable("a copy waits for its stream")
        found.array = None
        gc.collect()
        early = bool(lender.deleter_calls) and not gate.opened
    observed = "called while a copy of it was unfinished" if early else "not called before its copy"
    use = f"with {fixture.on.use.format('s')}: y = {consumer.subject.from_dlpack.format('x')}; "
    repro = write_spy_repro(
        fixture,
        consumer,
        f"s = {fixture.on.stream.format(0)}",
        f"{use}z = {fixture.on.read.format('y')}; del y  # while s is still busy",
    )
    del first, copied
    return CheckResult(not early, observed, repro)


@check(
    "LIFE-27",
    "re-entered",
    "a deleter that calls the same library's from_dlpack does not deadlock",
    risky=True,
)
def deleter_imports_again(consumer: Consumer) -> CheckResult:
    inner: list[str] = []
    again = give(**FIELDS)
    again.text = f"give(deleter=lambda: {consumer.subject.from_dlpack.format('give()')})"

    def deleter() -> None:
        inner.append(f"{consumer.take(again)}")

    found = consumer.import_from(give(**{**FIELDS, "deleter": deleter}))
    found.array = None
    return consumer.make_result(
        True,
        f"in the deleter: {inner[0] if inner else 'not called yet'}",
        again.text,
    )


# --- deleters that run when a thread ends or the interpreter exits


@check(
    "LIFE-03",
    "exit",
    "imports of every layout and dtype, dropped: no deleter is called again at a collection, at a "
    "thread's end or when the interpreter exits",
    exits=True,
)
def deleters_at_exit(consumer: Consumer) -> CheckResult:
    legacy = ("legacy",) if consumer.takes_legacy else ()
    first = _adversary.made()

    def work() -> None:
        for name, sent in TENSORS.items():
            if name in NEGATIVE:
                continue  # a crash would be a finding of TENS-12
            for way in ("versioned", *legacy):
                with contextlib.suppress(NotApplicable):
                    import_tensor(consumer, way, name, sent).found.array = None

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    work()
    gc.collect()
    rows = _adversary.ledger(first)
    count, calls = sum(row[1] for row in rows), sum(row[2] for row in rows)
    result = consumer.make_result(
        calls == count, f"{calls} deleter calls of {count} tensors", PLAIN
    )
    return replace(result, at_exit=AtExit(first, count, late=False))
