"""The end of interpreters: of the process, with daemon threads inside refarray, and of
sub-interpreters."""

from __future__ import annotations

from typing import Any

import pytest

MODES = [
    *("daemon_copy", "daemon_astype", "daemon_producer", "daemon_producer_asked"),
    *("daemon_index", "daemon_position", "daemon_assign", "daemon_number", "daemon_sequence"),
    *("daemon_property", "daemon_buffer", "daemon_repr"),
]


@pytest.mark.req("LIFE-05")
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("mode", MODES)
def test_daemon_threads(isolated: Any, mode: str, attempt: int) -> None:
    """CPython before 3.14 unwinds a thread that comes back to a finalizing interpreter; our frames
    must not turn that into std::terminate, whose text would be on stderr."""
    # What such a thread had in its hands stays there (`leaks`).
    assert isolated("finalization.py", mode, leaks=True) == "alive until here\n"


@pytest.mark.req("LIFE-05", "LIFE-03")
@pytest.mark.parametrize(
    "mode",
    [
        "module_global",
        "import_in_global",
        "unconsumed",
        "cycle",
        "static",
        "static_of_import",
        "thread_during",
        "thread_after",
        "daemon",
        "buffer_static",
        "buffer_thread",
        "interface_static",
        "interface_thread",
        "atexit",
    ],
)
def test_finalization(isolated: Any, mode: str) -> None:
    """Arrays, capsules and managed tensors that outlive the interpreter are let go or leaked,
    never a crash."""
    # Releasing a Python object needs an interpreter, and a daemon thread never comes to its end.
    leaks = mode.startswith(("buffer_", "interface_", "daemon"))
    assert "alive until here\n" in isolated("finalization.py", mode, leaks=leaks)


@pytest.mark.req("LIFE-25")
@pytest.mark.parametrize(
    "mode",
    ["round_trip", "many", "outlives", "drivers", "buffer_of_the_living", "buffer_of_the_dead"],
)
def test_subinterpreters(isolated: Any, mode: str) -> None:
    """Each interpreter imports its own module, with its own GIL from 3.12 on; tensors may outlive
    theirs."""
    leaks = mode == "buffer_of_the_dead"  # PyBuffer_Release needs its interpreter
    assert "main goes on\n" in isolated("subinterpreters.py", mode, leaks=leaks)


@pytest.mark.req("LIFE-05")
def test_a_module_goes_before_its_interpreter(isolated: Any) -> None:
    """Memory that it borrowed is let go as long as the interpreter is there to do so."""
    assert isolated("module_teardown.py") == "given back\n"


@pytest.mark.req("LIFE-05", "LIFE-02")
@pytest.mark.parametrize(
    ("mode", "calls"),
    [("unused", 3), ("busy", 3), ("lent", 3), ("module", 3), ("thread", 3), ("failing", 3),
     ("unloaded", 3), ("capture", 0), ("unregistered", 0)],
)  # fmt: skip
def test_producers_that_wait_for_a_device(isolated: Any, mode: str, calls: int) -> None:
    """Each deleter behind work of ours is called once, at the latest at the end; not that of memory
    whose capture never ends, nor where atexit cannot be had."""
    said = isolated("gpu_exit.py", mode, leaks=True, seconds=300)
    assert said.count("\x01\n") == calls, said
    waits = mode not in ("unused", "unregistered")
    assert ("waited []\n" if waits else "did not wait []\n") in said
