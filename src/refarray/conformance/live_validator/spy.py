"""Owns spy: a live validator between a real producer and a real consumer. It passes everything on,
writes down calls, capsules and deleters, and judges them."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from refarray import _native
from refarray._describe import type_name
from refarray.conformance import _adversary
from refarray.conformance.findings import Finding
from refarray.conformance.harness.producer import keywords_text, raised
from refarray.conformance.live_validator.calls import (
    Call,
    Step,
    Taking,
    deletions,
    now,
    renamed,
    thread_name,
)

TABLE = "__dlpack_c_exchange_api__"
PATIENCE = 2.0
"""Seconds that finish() waits for a deleter that another thread has to call."""


class Spy:
    """A producer that passes on what another one says; made by spy().

    As a context manager it keeps every capsule until the block ends, so that its name is seen even
    where the consumer has taken its destructor away.
    """

    def __init__(self, array: object, producer: str = "", consumer: str = "") -> None:
        self._array: Any = array
        self._kept: list[tuple[Call, object]] = []
        self._keep = False
        self._lock = threading.Lock()
        self.calls: list[Call] = []
        self.takings: list[Taking] = []
        self.finished = False
        self.began = now()
        self.producer = producer or type(array).__module__.partition(".")[0]
        self.consumer = consumer or "consumer"
        self.listener: Callable[[Step], None] | None = None

    def __dlpack_device__(self) -> Any:
        """The producer's own answer."""
        call = self._called("__dlpack_device__", (), {})
        try:
            call.answer = type(self._array).__dlpack_device__(self._array)
        except BaseException as error:
            call.error = error.with_traceback(None)
            raise
        finally:
            self._returned(call)
        return call.answer

    def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any:
        """The producer's own tensor, in a capsule that is watched."""
        call = self._called("__dlpack__", arguments, keywords)
        try:
            capsule = type(self._array).__dlpack__(self._array, *arguments, **keywords)
        except BaseException as error:
            call.error = error.with_traceback(None)
            self._returned(call)
            raise
        given = self._watched(call, capsule)
        self._returned(call)
        return given

    def _table_called(self, name: str) -> Call:
        """A function of the C exchange table is called with us, which stand for the array."""
        return self._called(name, (), {})

    def _table_gave(self, call: Call, capsule: Any) -> Any:
        """The tensor that it made: in a capsule that is watched, if it can be."""
        given = self._watched(call, capsule)
        self._returned(call)
        return given

    def _table_lent(self, call: Call) -> None:
        """It has described the array's own tensor."""
        call.answer = "the array's own DLTensor"
        self._returned(call)

    def _table_failed(self, call: Call, error: BaseException) -> None:
        """It has raised."""
        call.error = error
        self._returned(call)

    def _watched(self, call: Call, capsule: Any) -> Any:
        try:
            call.held = _native._inspect_capsule(capsule)
            call.watched = _adversary.stand_in(capsule)
        except (TypeError, ValueError, NotImplementedError):  # passed on as it is
            call.answer = capsule if call.held is None else None
            return capsule
        given = call.watched.capsule()
        if self._keep and not call.by_table:
            self._kept.append((call, given))
        return given

    def _called(self, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        call = Call(method, arguments, keywords, threading.get_ident(), now())
        with self._lock:
            self.calls.append(call)
        self._tell(
            Step(call.started, thread_name(call.thread), "consumer", f"calls {call.request}")
        )
        return call

    def _returned(self, call: Call) -> None:
        call.ended = now()
        self._tell(Step(call.ended, thread_name(call.thread), "producer", call.reply))

    def _tell(self, step: Step) -> None:
        if self.listener is not None:
            self.listener(step)

    def __enter__(self) -> Spy:
        self._keep = True
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        self._keep = False

    def look(self) -> None:
        """Writes down what the kept capsules are called now, and lets them go."""
        kept, self._kept = self._kept, []
        for call, capsule in kept:
            call.looked = now()
            call.left_as = _adversary.name_of(capsule)
            call.cleared = not _adversary.has_destructor(capsule)

    def take(self, function: Callable[..., Any], **keywords: Any) -> Any:
        """Lets a consumer import: `array = spy(x).take(torch.from_dlpack, copy=True)`. What it
        raises comes through. What arrived is compared with what left."""
        from refarray.conformance.live_validator.arrivals import arrived

        taking = Taking(keywords, now(), threading.get_ident())
        self.takings.append(taking)
        words = f"from_dlpack({', '.join(['x', *filter(None, [keywords_text(keywords)])])})"
        self._tell(Step(taking.started, thread_name(taking.thread), "you", f"call {words}"))
        try:
            with self:
                out = function(self, **keywords)
        except BaseException as error:
            taking.error = error.with_traceback(None)
            raise
        finally:
            taking.ended = now()
        taking.result, taking.arrival, taking.readonly = arrived(self.calls, out)
        return out

    def dropped(self) -> None:
        """Says that the arrays which take() gave are let go of from now on: a deleter that has run
        by then ran too early. Without it nothing is said of that."""
        for taking in self.takings:
            taking.dropped = taking.dropped or now()

    def finish(self) -> list[Finding]:
        """Says that no array of the consumer's is left, waits for what garbage collection and other
        threads have to do, and judges: a deleter that has not run by then is missed."""
        self.look()
        end = time.monotonic() + PATIENCE
        if self._owed():
            gc.collect()
        while self._owed() and time.monotonic() < end:
            time.sleep(0.01)
        for call in self.calls:
            if call.watched is not None:
                call.watched.release_capsule()
        self.finished = True
        return self.findings

    def _owed(self) -> bool:
        return any(
            call.watched is not None and call.watched.has_deleter and not call.watched.deleter_calls
            for call in self.calls
        )

    @property
    def findings(self) -> list[Finding]:
        """Every requirement that could be judged from what was seen so far."""
        from refarray.conformance.live_validator.rules import judged

        return judged(self)

    @property
    def timeline(self) -> list[Step]:
        """What happened, in its order."""
        return sorted(self._steps(), key=lambda step: step.nanoseconds)

    def _steps(self) -> Iterator[Step]:
        for taking in self.takings:
            name = thread_name(taking.thread)
            words = keywords_text(taking.keywords)
            yield Step(taking.started, name, "you", f"call from_dlpack(x{words and f', {words}'})")
            done = f"raises {raised(taking.error)}" if taking.error else f"returns {taking.result}"
            yield Step(taking.ended, name, "consumer", done)
            if taking.dropped is not None and not taking.error:
                yield Step(taking.dropped, name, "you", "drop the array")
        watched = [call for call in self.calls if call.watched is not None]
        for call in self.calls:
            name = thread_name(call.thread)
            yield Step(call.started, name, "consumer", f"calls {call.request}")
            yield Step(call.ended, name, "producer", call.reply)
            if call.cleared is not None and call.held is not None:
                yield Step(call.looked, name, "consumer", renamed(call))
            which = f" of tensor {watched.index(call)}" if call in watched and watched[1:] else ""
            yield from deletions(call, which)

    def __str__(self) -> str:
        from refarray.conformance.report.timeline import text

        return text(self)

    def __repr__(self) -> str:
        return f"<spy on {type_name(self._array)}: {len(self.calls)} calls>"


_with_tables: dict[type, type[Spy]] = {}


def spy_type(array_type: type) -> type[Spy]:
    """The type of the spies on arrays of a type: with an exchange table where that type has one."""
    if array_type not in _with_tables:
        try:
            table = _adversary.spy_table(array_type)
        except (AttributeError, TypeError, ValueError, NotImplementedError):
            return Spy
        _with_tables[array_type] = type("Spy", (Spy,), {TABLE: table, "__module__": __name__})
    return _with_tables[array_type]


def spy(array: object, /, *, producer: str = "", consumer: str = "", table: bool = True) -> Spy:
    """A producer to hand to any consumer instead of `array`.

    It passes every call and answer on, and writes down the keywords, the capsule's name and end,
    and the deleter: when it was called, in which thread, how often. The consumer gets a struct,
    shape and strides that are copies, so that whoever writes to them is known; data is shared as
    it is. The deleter is watched by native code: it may be called without the GIL, and after the
    interpreter.

    ::

        s = spy(numpy.arange(6))
        array = s.take(torch.from_dlpack)  # or torch.from_dlpack(s)
        s.dropped()
        del array
        s.finish()
        print(s)

    A type of arrays with a C exchange table is stood for by a type of spies with one, which passes
    on and writes down in the same way; with `table=False` there is none, and a consumer that
    prefers it comes by the methods. What a consumer does with a borrowed `DLTensor` (`dltensor`),
    with `to_py`, the allocator and `current_work_stream` is the real table's own and is not
    watched. A consumer that knows arrays by their exact type does not take a spy for one.

    `producer` and `consumer` are the names that the report gives them. TypeError for what has no
    `__dlpack__` and `__dlpack_device__`.
    """
    missing = [n for n in ("__dlpack__", "__dlpack_device__") if not hasattr(type(array), n)]
    if missing:
        raise TypeError(
            f"spy() takes a DLPack producer; {type_name(array)} has no {' and no '.join(missing)}"
        )
    kind = spy_type(type(array)) if table else Spy
    return kind(array, producer, consumer)
