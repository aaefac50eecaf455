"""`refarray trace`: one exchange in a separate process, its timeline and findings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from refarray.__main__ import main
from refarray.conformance import Outcome, trace
from refarray.conformance.live_validator.trace import Trace

pytestmark = pytest.mark.usefixtures("mutants_are_importable")


def traced(producer: str, consumer: str, **keywords: Any) -> Iterator[tuple[str, Outcome]]:
    """The failed requirements of one exchange."""
    seen = trace(producer, consumer, **keywords)
    assert not seen.broken and seen.steps
    yield from ((f.id, f.outcome) for f in seen.findings if f.outcome is not Outcome.PASS)


@pytest.mark.parametrize(
    ("producer", "consumer", "ids"),
    [
        ("refarray", "refarray", set()),
        ("mutants.producer_fields:structsayspinned", "refarray", {"DEV-03"}),
        ("mutants.producer_fields:devicelist", "refarray", {"DEV-01"}),
        ("mutants.producer_fields:unknownflag", "refarray", {"FLAG-01"}),
        ("refarray", "mutants.consumer_negotiation:passes_default_keywords_", {"CONS-09"}),
        ("refarray", "mutants.consumer_negotiation:asks_without_version_first_", {"VERS-09"}),
    ],
)
def test_trace_finds_mutants(producer: str, consumer: str, ids: set[str]) -> None:
    assert {id for id, _ in traced(producer, consumer)} == ids


@pytest.mark.parametrize(
    ("producer", "consumer", "route"),
    [
        ("numpy", "refarray", "numpy.ndarray, not asked for its device"),
        ("mutants.producer_fields:unknownflag", "refarray", "methods"),
        ("refarray", "numpy", ""),
    ],
)
def test_trace_tells_the_route_without_the_spy(producer: str, consumer: str, route: str) -> None:
    seen = trace(producer, consumer)
    assert seen.route == route
    assert ("without the spy" in str(seen)) is bool(route)


def test_trace_of_read_only_data() -> None:
    assert not list(traced("refarray", "refarray", array="readonly"))
    laundered = dict(
        traced(
            "refarray",
            "mutants.consumer_negotiation:exports_read_only_as_writable_",
            array="readonly",
        )
    )
    assert laundered["FLAG-10"] is Outcome.WARN


@pytest.mark.not_sanitized("ASAN answers a SIGSEGV itself, and aborts")
def test_trace_reports_a_crash() -> None:
    seen = trace("mutants.misbehaving:crashing", "numpy")
    assert isinstance(seen, Trace) and seen.failed
    assert seen.died.startswith("SIGSEGV")
    assert seen.steps[-1].text.startswith("calls __dlpack__(")
    assert "then the process died: SIGSEGV" in str(seen)


def test_trace_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "refarray", "refarray", "--array", "strided"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("refarray ") and "calls the deleter" in out
    assert main(["trace", "refarray", "refarray", "--copy", "true", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert any("copy=True" in step["text"] for step in document["steps"])
    assert {found["outcome"] for found in document["findings"]} == {"pass"}
    assert main(["trace", "refarray", "refarray", "--methods"]) == 0
    out = capsys.readouterr().out
    assert "calls __dlpack__(" in out and "the table's" not in out
    assert main(["trace", "no_such_module", "refarray"]) == 3
    assert "No module named 'no_such_module'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("consumer", "array", "reason"),
    [
        ("compact", "ra.arange(6, dtype='float32')[::2]", "refused because its strides are (2,)"),
        ("compact", "ra.arange(6).as_readonly()", "refused because it is read-only"),
        ("compact", "ra.arange(6, dtype='int8')", "refused because its dtype is (0, 8, 1)"),
        ("compact", "np.zeros((2, 3))", "refused because its shape is (2, 3)"),
        ("aligned", "ra.arange(99, dtype='float32')[1:]", "copied because its data is 4 bytes"),
        ("aligned", "ra.zeros(99)", ""),
    ],
)
@pytest.mark.usefixtures("mutants_are_importable")
def test_why_an_array_was_copied_or_refused(consumer: str, array: str, reason: str) -> None:
    pytest.importorskip("numpy")
    seen = trace("refarray", f"helpers.picky_consumers:{consumer}", array)
    assert not seen.broken, seen.broken
    shown = " ".join(str(seen).split())
    assert reason in shown if reason else not seen.reason
