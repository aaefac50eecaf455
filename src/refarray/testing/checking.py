"""Checks of one side of an exchange: a producer that judges consumers, a consumer that judges
producers and the way it is called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import refarray as ra
from refarray import Array
from refarray.conformance.findings import Finding
from refarray.conformance.live_validator.spy import Spy, spy
from refarray.conformance.requirements import requirement


def raise_broken(findings: list[Finding], role: str) -> None:
    """Raises AssertionError if the findings contain a broken MUST of that role."""
    broken = [found for found in findings if found.role == role and found.outcome.failed]
    if broken:
        raise AssertionError(
            f"the {role} broke {len(broken)} of DLPack's requirements\n"
            + "\n".join(
                f"  {found.id}: expected {found.expected}\n"
                f"    observed {found.observed}\n    {requirement(found.id).source}"
                for found in broken
            )
        )


@contextmanager
def checked(array: Any, *, table: bool = True) -> Iterator[Spy]:
    """A producer for your consumer, which checks how it is asked and the life of its tensor.

    ::

        with checked(refarray.arange(6)) as x:
            mylib.total(x)

    When the block ends it raises AssertionError if the consumer broke a MUST of the standards:
    wrong keywords or stream, a capsule that is not renamed, a deleter that is not called, or is
    called twice. What your consumer keeps of the array has to be released by then. An exception of
    the block goes on instead.

    table: whether the producer offers DLPack's C exchange table, if the array's type has one;
        without it the consumer has to call the methods.

    Raises TypeError if `array` is no DLPack producer.
    """
    watched = spy(array, consumer="your consumer", table=table)
    with watched:
        yield watched
    findings = watched.finish()
    if not watched.calls:
        raise AssertionError("the consumer never asked: it called neither method of the producer")
    raise_broken(findings, "consumer")


@dataclass(frozen=True)
class Request:
    """How CheckedConsumer.from_dlpack was called."""

    x: Any
    device: Any = None
    copy: bool | None = None


class CheckedConsumer:
    """A consumer that checks how it is asked, and what the producer answers.

    Its `from_dlpack` has the standard's signature, so that it can take the place of a namespace in
    code that imports arrays, or test a producer on its own.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        """The calls of from_dlpack, in order."""

    def from_dlpack(self, x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
        """Import an array as `refarray.from_dlpack` does.

        Raises TypeError if x lacks one of the two methods, has them on the instance only, or if
        `copy` is no bool or None; ValueError for a device that does not exist; AssertionError if
        the producer breaks a MUST of the standards; and the producer's own exceptions.
        """
        self.requests.append(Request(x, device, copy))
        for name in ("__dlpack__", "__dlpack_device__"):
            if not hasattr(type(x), name):
                on_instance = ", which looks it up on the type" if hasattr(x, name) else ""
                raise TypeError(f"from_dlpack(): {type(x).__name__} has no {name}{on_instance}")
        if copy is not None and not isinstance(copy, bool):
            raise TypeError(f"from_dlpack(): copy must be True, False or None, not {copy!r}")
        to = None if device is None else ra.Device(device)
        watched = spy(x, producer=type(x).__name__, consumer="refarray")
        out: Array = watched.take(ra.from_dlpack, device=to, copy=copy)
        raise_broken(watched.findings, "producer")
        return out
