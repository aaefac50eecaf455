"""What a library does to its process is reported once, and disturbs no case, whether workers fork
their cases or share one process."""

from __future__ import annotations

import functools

import pytest
from helpers.hostile_libraries import DEADLY, HARMLESS

from refarray.conformance import Outcome
from refarray.conformance.findings import Run
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject

pytestmark = [
    pytest.mark.not_repeated,
    pytest.mark.not_sanitized("libraries that end their process"),
    pytest.mark.usefixtures("mutants_are_importable"),
]
IDS = ["PROD-11[producer-versioned]", "TENS-18[producer-versioned-plain]", "VERS-05", "DEV-01"]


@pytest.fixture(params=["forks", "shared"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(engine, "MODE", request.param)
    return str(request.param)


def run(name: str, *ids: str) -> Run:
    checks = engine.select(ids=ids or IDS)
    return run_subject(f"helpers.hostile_libraries:{name}", checks, devices="none")


def outcomes(run: Run) -> dict[str, Outcome]:
    return {found.name: found.outcome for found in run.findings}


@functools.cache
def quiet_outcomes(mode: str) -> dict[str, Outcome]:
    """Those of a library that does nothing to its process, with workers in that mode."""
    return outcomes(run("quiet"))


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("when", ["import", "export"])
def test_what_a_library_does_to_its_process_is_no_crash(when: str, name: str, mode: str) -> None:
    found = run(f"{when}_{name}")
    assert not found.broken and not found.dropped
    assert outcomes(found) == quiet_outcomes(mode)
    line = HARMLESS[name][1]
    told = [each for each in found.conduct if line in each]
    if name == "forks_and_returns" and not told:
        return  # its child still runs: only one that has ended is seen
    assert len(told) == (1 if line else len(found.conduct)), found.conduct
    if line and name != "forks_and_returns":
        assert ("at its import" in told[0]) is (when == "import")


@pytest.mark.parametrize("name", DEADLY)
def test_a_process_that_ends_in_a_case_is_the_crash_of_that_case(name: str, mode: str) -> None:
    found = run(f"copy_{name}", "PROD-11[producer-versioned]", "DEV-01", "VERS-05")
    crashed = [each for each in found.findings if each.outcome is Outcome.CRASH]
    assert [each.name for each in crashed] == ["PROD-11[producer-versioned]"]
    assert DEADLY[name][1] in crashed[0].observed and not found.dropped


def test_a_process_that_ends_later_is_no_crash_of_the_next_case() -> None:
    found = run("copy_exits_later", "PROD", "TENS", "DEV", "ABI")
    crashed = [each.name for each in found.findings if each.outcome is Outcome.CRASH]
    assert all("copy" in each.repro for each in found.findings if each.name in crashed), crashed
    assert any("ends its process" in each for each in found.conduct) or crashed
