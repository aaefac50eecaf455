"""Exit of the process and of sub-interpreters with live arrays, daemon threads and device work."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import words

pytestmark = pytest.mark.not_repeated

MODES = [
    *("daemon_copy", "daemon_astype", "daemon_producer", "daemon_producer_asked"),
    *("daemon_index", "daemon_position", "daemon_assign", "daemon_number", "daemon_sequence"),
    *("daemon_property", "daemon_buffer", "daemon_repr"),
    *("daemon_weakref", "daemon_item", "daemon_capsule", "daemon_consumer", "daemon_native"),
    *("daemon_detached", "daemon_deleter", "daemon_message", "daemon_refusal"),
]


@pytest.mark.req("LIFE-05")
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("mode", MODES)
def test_daemon_threads_inside_refarray_do_not_abort_the_exit(
    isolated: Any, mode: str, attempt: int
) -> None:
    """CPython before 3.14 unwinds a thread that re-enters a finalizing interpreter; in refarray's
    frames that must not become std::terminate, whose text would be on stderr."""
    # Such a thread leaks the objects it uses.
    assert isolated("finalization.py", mode, leaks=True) == "alive until here\n"


@pytest.mark.req("LIFE-05", "LIFE-03")
@pytest.mark.parametrize(
    "mode",
    words(
        "module_global import_in_global unconsumed cycle static static_of_import thread_during"
        " thread_after daemon buffer_static buffer_thread interface_static interface_thread atexit"
    ),
)
def test_objects_that_outlive_the_interpreter_do_not_crash(isolated: Any, mode: str) -> None:
    """Arrays, capsules and managed tensors that outlive the interpreter are released or leaked."""
    # Releasing a Python object needs an interpreter, and a daemon thread is never joined.
    leaks = mode.startswith(("buffer_", "interface_", "daemon"))
    assert "alive until here\n" in isolated("finalization.py", mode, leaks=leaks)


@pytest.mark.req("CAPI-04")
def test_the_exchange_table_works_while_the_interpreter_is_finalized(isolated: Any) -> None:
    assert isolated("finalization.py", "table", leaks=True) == "alive until here\n(3,)\n"


@pytest.mark.req("LIFE-25")
@pytest.mark.parametrize(
    "mode",
    ["round_trip", "many", "outlives", "drivers", "buffer_of_the_living", "buffer_of_the_dead"],
)
def test_arrays_in_subinterpreters(isolated: Any, mode: str) -> None:
    """Each interpreter imports its own module, with its own GIL from 3.12 on; tensors may outlive
    their interpreter."""
    leaks = mode == "buffer_of_the_dead"  # PyBuffer_Release needs its interpreter
    assert "main goes on\n" in isolated("subinterpreters.py", mode, leaks=leaks)


@pytest.mark.req("LIFE-05")
def test_arrays_outlive_their_module(isolated: Any) -> None:
    """A buffer borrowed by such an array is released as long as the interpreter lives."""
    assert isolated("module_teardown.py") == "given back\n"


@pytest.mark.req("LIFE-05", "LIFE-02")
@pytest.mark.parametrize(
    ("mode", "calls"),
    [("unused", 3), ("busy", 3), ("lent", 3), ("module", 3), ("thread", 3), ("failing", 3),
     ("unloaded", 3), ("capture", 0), ("unregistered", 0)],
)  # fmt: skip
def test_exit_waits_for_pending_device_work(isolated: Any, mode: str, calls: int) -> None:
    """Each deleter with pending device work is called once, at exit at the latest; never for memory
    in an unfinished graph capture, nor if atexit cannot be imported."""
    output = isolated("gpu_exit.py", mode, leaks=True, seconds=300)
    assert output.count("\x01\n") == calls, output
    waits = mode not in ("unused", "unregistered", "unloaded")  # driver: deinitialized
    assert ("waited []\n" if waits else "did not wait []\n") in output
