"""spy(): a producer that forwards to a real one, records calls, capsules and deleters, and reports
broken requirements."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

from refarray._describe import type_name
from refarray.conformance import _adversary
from refarray.conformance.cases import NotApplicable
from refarray.conformance.findings import Finding
from refarray.conformance.harness.consumer import Import, describe
from refarray.conformance.harness.exchange import Arrival, compare
from refarray.conformance.harness.producer import Export, keywords_text
from refarray.conformance.judgements import is_read_only
from refarray.conformance.live_validator.calls import (
    Call,
    ImportCall,
    Record,
    Step,
    lines,
    now,
    thread_name,
    timeline_lines,
)
from refarray.conformance.live_validator.rules import judge
from refarray.conformance.native_method import native_method

TABLE = "__dlpack_c_exchange_api__"
DELETER_SECONDS = 2.0
"""Seconds that finish() waits for deleter calls of other threads."""


class Spy(Record):
    """A producer that forwards to another one; made by spy().

    As a context manager it keeps every capsule alive until the block ends, so that the capsule's
    name is known even if the consumer clears its destructor.
    """

    def __init__(self, array: object, producer: str = "", consumer: str = "") -> None:
        super().__init__(producer or type(array).__module__.partition(".")[0], consumer)
        self._array: Any = array
        self._kept: list[tuple[Call, object]] = []
        self._keep = False
        self._lock = threading.Lock()
        self.listener: Callable[[Step], None] | None = None

    def __dlpack_device__(self) -> Any:
        """Forwards to the producer."""
        call = self._record_call("__dlpack_device__", (), {})
        try:
            call.answer = type(self._array).__dlpack_device__(self._array)
        except BaseException as error:
            call.error = error.with_traceback(None)
            raise
        finally:
            self._record_return(call)
        return call.answer

    @native_method
    def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any:
        """Forwards to the producer; returns its tensor in a capsule that is watched."""
        call = self._record_call("__dlpack__", arguments, keywords)
        try:
            capsule = type(self._array).__dlpack__(self._array, *arguments, **keywords)
        except BaseException as error:
            call.error = error.with_traceback(None)
            self._record_return(call)
            raise
        given = self._watch(call, capsule)
        self._record_return(call)
        return given

    def _table_called(self, name: str) -> Call:
        """The consumer calls a function of the C exchange table. Called by native code, as are the
        three methods below."""
        return self._record_call(name, (), {})

    def _table_gave(self, call: Call, capsule: Any) -> Any:
        """from_py returned a tensor, here in a capsule; wraps it in a watched one if possible."""
        given = self._watch(call, capsule)
        self._record_return(call)
        return given

    def _table_lent(self, call: Call) -> None:
        """dltensor described the array's tensor."""
        call.answer = "the array's own DLTensor"
        self._record_return(call)

    def _table_failed(self, call: Call, error: BaseException) -> None:
        call.error = error
        self._record_return(call)

    def _watch(self, call: Call, capsule: Any) -> Any:
        try:
            call.held = _adversary.fields(capsule)
            call.watched = _adversary.stand_in(capsule)
        except (TypeError, ValueError, NotImplementedError):  # forwarded unwatched
            call.answer = capsule if call.held is None else None
            return capsule
        given = call.watched.capsule()
        if self._keep and not call.by_table:
            self._kept.append((call, given))
        return given

    def _record_call(
        self, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Call:
        call = Call(method, arguments, keywords, threading.get_ident(), now())
        with self._lock:
            self.calls.append(call)
        self._tell(
            Step(call.started, thread_name(call.thread), "consumer", f"calls {call.request}")
        )
        return call

    def _record_return(self, call: Call) -> None:
        call.ended = now()
        self._tell(Step(call.ended, thread_name(call.thread), "producer", call.reply))

    def _tell(self, step: Step) -> None:
        if self.listener is not None:
            self.listener(step)

    def __enter__(self) -> Spy:
        self._keep = True
        return self

    def __exit__(self, *_: object) -> None:
        self._inspect_kept()
        self._keep = False

    def _inspect_kept(self) -> None:
        """Records the names of the kept capsules and releases them."""
        kept, self._kept = self._kept, []
        for call, capsule in kept:
            call.looked = now()
            call.left_as = _adversary.name_of(capsule)
            call.cleared = not _adversary.has_destructor(capsule)

    def take(self, function: Callable[..., Any], **keywords: Any) -> Any:
        """Calls a consumer and returns its array: `array = spy(x).take(torch.from_dlpack,
        copy=True)`. Its exceptions are propagated. The array is compared with the exported
        tensor."""
        taken = ImportCall(keywords, now(), threading.get_ident())
        self.imports.append(taken)
        call = f"from_dlpack({', '.join(['x', *filter(None, [keywords_text(keywords)])])})"
        self._tell(Step(taken.started, thread_name(taken.thread), "you", f"call {call}"))
        try:
            with self:
                out = function(self, **keywords)
        except BaseException as error:
            taken.error = error.with_traceback(None)
            raise
        finally:
            taken.ended = now()
        taken.result, taken.arrival, taken.readonly = compare_import(self.calls, out)
        return out

    def dropped(self) -> None:
        """To be called before the arrays that take() returned are released. A deleter that ran
        earlier ran too early; without this call that is not checked."""
        for taken in self.imports:
            taken.dropped = taken.dropped or now()

    def finish(self) -> list[Finding]:
        """To be called when all arrays of the consumer are gone: collects garbage, waits for other
        threads, and returns the findings. A deleter that has not run by then is reported."""
        self._inspect_kept()
        end = time.monotonic() + DELETER_SECONDS
        if self._deleter_missing():
            gc.collect()
        while self._deleter_missing() and time.monotonic() < end:
            time.sleep(0.01)
        for call in self.calls:
            if call.watched is not None:
                call.watched.release_capsule()
        self.finished = True
        return self.findings

    def _deleter_missing(self) -> bool:
        return any(
            call.watched is not None and call.watched.has_deleter and not call.watched.deleter_calls
            for call in self.calls
        )

    @property
    def findings(self) -> list[Finding]:
        """The requirements that the recorded calls kept or broke, so far."""
        return judge(self)

    def __str__(self) -> str:
        """The timeline, then the verdicts, the worst first."""
        names = {"producer": self.producer, "consumer": self.consumer}
        steps = timeline_lines(self.timeline, self.began, names)
        return "\n".join([*steps, "", *lines(self.findings)])

    def __repr__(self) -> str:
        return f"<spy on {type_name(self._array)}: {len(self.calls)} calls>"


def compare_import(calls: list[Call], array: Any) -> tuple[str, str, bool | None]:
    """(description, an Arrival or "" if unknown, whether the array is read-only or None if
    unknown)."""
    description = describe(array)
    last = next((call for call in reversed(calls) if call.held and call.held.get("dtype")), None)
    if last is None or last.held is None:
        return description, "", None
    try:
        held = Import(array).read_fields()
    except NotApplicable as reason:
        return f"{description}; {reason}", str(Arrival.UNKNOWN), None
    export = Export(last.request, held=last.held)
    read_only = is_read_only(last.held["flags"] or 0)
    arrival, observed = compare(export, held, read_only)
    flags = held.get("flags")
    return (
        f"{description}; {arrival}: {observed}",
        str(arrival),
        None if flags is None else is_read_only(flags),
    )


_with_tables: dict[type, type[Spy]] = {}


def spy_type(array_type: type) -> type[Spy]:
    """The type of spies on arrays of a type; it has an exchange table if that type has one."""
    if array_type not in _with_tables:
        try:
            table = _adversary.spy_table(array_type)
        except (AttributeError, TypeError, ValueError, NotImplementedError):
            return Spy
        _with_tables[array_type] = type("Spy", (Spy,), {TABLE: table, "__module__": __name__})
    return _with_tables[array_type]


def spy(array: object, /, *, producer: str = "", consumer: str = "", table: bool = True) -> Spy:
    """A producer to pass to any consumer instead of `array`.

    It forwards every call and result, and records the keywords, the capsule's name and end, and
    the deleter calls with their time and thread. The consumer gets copies of the struct, shape and
    strides, which shows who writes to them; the data is shared. Native code watches the deleter,
    so it may be called without the GIL and after the interpreter has ended.

    ::

        s = spy(numpy.arange(6))
        array = s.take(torch.from_dlpack)  # or torch.from_dlpack(s)
        s.dropped()
        del array
        s.finish()
        print(s)

    If the array's type has a C exchange table, so has the spy's type, and it records in the same
    way; `table=False` offers no table, so that consumers use the methods. Only from_py and the call
    of dltensor are watched: `to_py`, the allocator, `current_work_stream` and the use of a borrowed
    `DLTensor` are the real table's. A consumer that recognizes arrays by their exact type does not
    accept a spy.

    `producer` and `consumer` are their names in the report. TypeError if `array` has no
    `__dlpack__` or no `__dlpack_device__`.
    """
    missing = [n for n in ("__dlpack__", "__dlpack_device__") if not hasattr(type(array), n)]
    if missing:
        raise TypeError(
            f"spy() takes a DLPack producer; {type_name(array)} has no {' and no '.join(missing)}"
        )
    kind = spy_type(type(array)) if table else Spy
    return kind(array, producer, consumer)
