"""Exports that the producer's checks share: by kind of array, on the CPU, taken by a consumer."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, subject_code
from refarray.conformance.dlpack import CPU
from refarray.conformance.harness.producer import VERSIONED, Export, Producer

LAYOUTS = (
    "plain",
    "strided",
    "reversed",
    "transposed",
    "broadcast",
    "scalar",
    "empty",
    "empty2",
    "one",
)
"""Kinds of arrays that differ in shape, strides or data only."""
BYTES = 16  # read from the plain array's 24
TAKE = "from refarray.conformance import _adversary; owned = _adversary.take({call})"


def newest(producer: Producer) -> dict[str, Any]:
    """The keywords that ask for the newest struct: none for a producer of the old signature."""
    return {} if producer.lacks_keywords else VERSIONED


def export_kind(producer: Producer, kind: str, **keywords: object) -> Export:
    """The export of a kind of array; NotApplicable if the producer raises BufferError."""
    export = producer.export(producer.text(kind), **(keywords or newest(producer)))
    if isinstance(export.error, BufferError):
        raise NotApplicable(f"{export.call} raised {export}")
    return export


def host_export(producer: Producer, array: Any = None, text: str = "") -> Export:
    """A versioned export in CPU memory (legacy if the producer has no other). NotApplicable if the
    producer raises, or its data is elsewhere."""
    text = text or producer.text()
    array = producer.make(text) if array is None else array
    export = producer.export(text, array, **newest(producer)).require()
    if export["device"][0] != CPU:
        raise NotApplicable("its data cannot be read from the host")
    return export


class SubjectCalls:
    """A native object whose methods call the subject, such as a deleter or an exchange table.
    Exceptions of these methods are marked as the subject's."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> Any:
        """A method, wrapped, or another attribute as it is."""
        value = getattr(self._native, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **keywords: Any) -> Any:
            with subject_code():
                return value(*arguments, **keywords)

        return call


class Taken:
    """An export that a consumer has taken, with the data it had then."""

    def __init__(self, export: Export, **how: bool) -> None:
        self.export = export
        self.owned: SubjectCalls = SubjectCalls(_adversary.take(export.capsule, **how))
        self.data: bytes = self.owned.read(BYTES)

    @property
    def intact(self) -> bool:
        """Whether the data is unchanged."""
        return bool(self.owned.read(BYTES) == self.data)


def take_plain(producer: Producer, **how: bool) -> Taken:
    return Taken(host_export(producer), **how)


def report_taken(
    producer: Producer, held: bool, export: Export, observed: str, *lines: str
) -> CheckResult:
    """The result of a case that takes the export natively; `lines` continue its repro."""
    return CheckResult(held, observed, producer.repro(TAKE.format(call=export.call), *lines))


def intact_result(producer: Producer, intact: bool, export: Export) -> CheckResult:
    """The result of a case that compares the data before and after."""
    observed = "the data is still there" if intact else "other data"
    return report_taken(producer, intact, export, observed)
