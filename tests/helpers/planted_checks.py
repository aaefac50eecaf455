"""Checks with a planted bug, and subjects that raise strange exceptions. Both run in workers."""

from __future__ import annotations

from typing import Any

import refarray as ra
from refarray.conformance import Subject, give
from refarray.conformance.cases import CHECKS, Check, CheckResult, subject_code
from refarray.conformance.requirements import Role


def divides_by_zero(producer: Any) -> CheckResult:
    return CheckResult(1 // 0 == 0, "", "")


def looks_up_a_missing_key(producer: Any) -> CheckResult:
    return CheckResult({}["held"], "", "")


def returns_no_text(producer: Any) -> CheckResult:
    return CheckResult(True, 3, "")  # type: ignore[arg-type]


def fails_in_a_callback(consumer: Any) -> CheckResult:
    """The kit's own producer fails while the subject calls it."""
    found = consumer.take(give(shape="three"))
    return consumer.make_result(found.error is None, f"{found}", "")


def passes(producer: Any) -> CheckResult:
    with subject_code():
        producer.make(producer.text()).__dlpack__(max_version=(1, 0))
    return CheckResult(True, "", "")


PLANTED = [
    Check("VERS-01", "planted-zero", Role.PRODUCER, "-", divides_by_zero),
    Check("VERS-01", "planted-key", Role.PRODUCER, "-", looks_up_a_missing_key, risky=True),
    Check("VERS-01", "planted-text", Role.PRODUCER, "-", returns_no_text),
    Check("VERS-01", "planted-callback", Role.CONSUMER, "-", fails_in_a_callback),
    Check("VERS-01", "planted-right", Role.PRODUCER, "-", passes),
]


def register() -> None:
    """Adds the planted checks to a worker's register."""
    CHECKS.update({each.name: each for each in PLANTED})


class Unprintable(Exception):
    """An exception without a text, to which no attribute can be added."""

    def __str__(self) -> str:
        raise KeyError("no text")

    def __setattr__(self, name: str, value: object) -> None:
        raise ZeroDivisionError


class Raises:
    """A producer whose methods raise an exception, except where the adapter is tried: an array that
    cannot be exported at all is a mistake of the adapter."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __dlpack_device__(self) -> tuple[int, int]:
        raise self.error

    def __dlpack__(self, **keywords: Any) -> object:
        if keywords.keys() <= {"max_version"}:
            return ra.arange(6, dtype="float32").__dlpack__(**keywords)
        raise self.error


def subject(name: str, plain: str) -> Subject:
    imports = "import refarray as ra; from helpers import planted_checks as p; p.register()"
    from_dlpack = "ra.from_dlpack({})"
    return Subject(name, imports, arrays={"plain": plain}, from_dlpack=from_dlpack)


right = subject("right", "ra.arange(6, dtype=ra.float32)")
unprintable = subject("unprintable", "p.Raises(p.Unprintable())")
key_error = subject("key_error", "p.Raises(KeyError('held'))")
zero_division = subject("zero_division", "p.Raises(ZeroDivisionError())")
interrupt = subject("interrupt", "p.Raises(KeyboardInterrupt())")
system_exit = subject("system_exit", "p.Raises(SystemExit(3))")
