"""Reports: the JSON's schema, harm and causes in every format, summaries, versions, profiles, rule
sets."""

from __future__ import annotations

import copy
import hashlib
import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from refarray.conformance import Finding, Outcome, profiles
from refarray.conformance.cases import CHECKS
from refarray.conformance.findings import Run
from refarray.conformance.harness.exchange import Arrival
from refarray.conformance.harness.provocation import provoked
from refarray.conformance.matrix.measure import Cell, measure
from refarray.conformance.profiles import PROFILES, RULES
from refarray.conformance.report import (
    data,
    grid,
    history,
    html,
    junit,
    markdown,
    summary,
    text,
)
from refarray.conformance.report.totals import totals
from refarray.conformance.requirements import Level, Role, requirement
from refarray.conformance.runner import engine, expectations
from refarray.conformance.runner.engine import run_subject, with_causes, with_origin
from refarray.conformance.suite import load

Document = dict[str, Any]


@pytest.fixture(scope="module")
def report() -> Document:
    """A report on a subject that can be tried, and one that cannot."""
    checks = engine.select(ids=["FLAG", "TENS-03"])
    runs = [run_subject(name, checks) for name in ("refarray", "no_such_module")]
    document: Document = json.loads(data.text(runs))
    return document


@pytest.fixture(scope="module")
def validator() -> Any:
    kind = jsonschema.validators.validator_for(data.schema())
    kind.check_schema(data.schema())
    return kind(data.schema(), format_checker=kind.FORMAT_CHECKER)


def test_the_schema_has_its_version_in_its_id() -> None:
    assert data.schema()["$id"] == f"urn:refarray:conformance-report:{data.SCHEMA}"


def test_a_report_conforms(report: Document, validator: Any) -> None:
    validator.validate(report)
    assert report["findings"] and report["subjects"][1]["broken"]


def test_a_matrix_conforms(validator: Any) -> None:
    rows = [[measure("refarray", "refarray"), Cell("refarray", "x", broken="it does not import")]]
    document = json.loads(grid.as_json(rows))
    validator.validate(document)
    assert {found["role"] for found in document["findings"]} == {"pair"}
    assert len(document["pairs"]) == 2


def test_the_enumerations_are_those_of_the_kit() -> None:
    fields = data.schema()["$defs"]["finding"]["properties"]
    assert set(fields["outcome"]["enum"]) == set(Outcome)
    assert set(fields["level"]["enum"]) == set(Level)
    assert set(fields["role"]["enum"]) == set(Role)
    assert set(Finding.__dataclass_fields__) <= set(fields)
    pair = data.schema()["$defs"]["pair"]["properties"]
    assert set(pair["exchanges"]["items"]["properties"]["arrival"]["enum"]) == set(Arrival)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("findings"),
        lambda d: d.update(schema=2),
        lambda d: d.update(date=3),
        lambda d: d["environment"].pop("python"),
        lambda d: d["findings"][0].pop("repro"),
        lambda d: d["findings"][0].update(id="flag-1"),
        lambda d: d["findings"][0].update(outcome="bad"),
        lambda d: d["findings"][0].update(level="WISH"),
        lambda d: d["findings"][0].update(role="bystander"),
        lambda d: d["findings"][0].update(observed=None),
        lambda d: d["subjects"][0].update(seconds=-1),
    ],
)
def test_a_malformed_report_is_rejected(
    report: Document, validator: Any, spoil: Callable[[Document], object]
) -> None:
    bad = copy.deepcopy(report)
    spoil(bad)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(bad)


def test_new_fields_are_allowed(report: Document, validator: Any) -> None:
    more = copy.deepcopy(report)
    more["findings"][0]["mood"] = "fine"
    validator.validate(more)


def test_findings_of_every_outcome_conform(validator: Any) -> None:
    findings = [
        Finding("VERS-01", Level.MUST, "x", "", Role.PRODUCER, "a", outcome, "b", "c", "d")
        for outcome in Outcome
    ]
    validator.validate(json.loads(data.text([Run("x", "1", findings=findings)])))


# --- harm, causes, coverage


def found(name: str, outcome: str, **more: Any) -> Finding:
    """A finding on "lib"; `name` is "TENS-09[consumer-ndim-1]"."""
    asked, _, rest = name.partition("[")
    role, _, case = rest.removesuffix("]").partition("-")
    if rest.startswith("exchange-api-"):
        role, case = "exchange-api", rest.removesuffix("]").removeprefix("exchange-api-")
    level = requirement(asked).level
    told = {"expected": "e", "observed": "o", "repro": "", **more}
    return Finding(asked, level, "lib", "1.0", role, case, Outcome(outcome), **told)


@pytest.mark.parametrize(
    ("held", "harm", "outcome"),
    [
        (False, "", Outcome.INFO),
        (False, "wrong data", Outcome.FAIL),
        (False, "double free", Outcome.FAIL),
        (True, "wrong data", Outcome.PASS),
        (None, "wrong data", Outcome.NOT_APPLICABLE),
    ],
)
def test_harm_is_a_failure_at_every_level(held: bool | None, harm: str, outcome: Outcome) -> None:
    """Also of a HAZARD, which breaks no rule."""
    load()
    check = CHECKS["TENS-05[consumer-null-data]"]
    assert requirement(check.id).level == "HAZARD"
    message = {"held": held, "harm": harm, "observed": "", "level": None}
    assert engine.outcome(check, message) is outcome
    assert engine.harm(outcome, message) == (harm if outcome is Outcome.FAIL else "")
    for died, kind, what in (
        ("SIGABRT: Aborted", Outcome.CRASH, "abort"),
        ("SIGSEGV: Segmentation fault", Outcome.CRASH, "crash"),
        ("hang", Outcome.HANG, "hang"),
    ):
        end = {"died": died}
        assert engine.outcome(check, end) is kind and engine.harm(kind, end) == what


def test_one_cause_is_counted_once() -> None:
    load()
    first, second = "TENS-09[consumer-ndim-1]", "CAPI-19[exchange-api-tens-09-ndim-1]"
    alone = with_causes([found(second, "crash")])
    assert alone[0].same_as == ""
    passed = with_causes([found(first, "pass"), found(second, "crash")])
    assert [each.same_as for each in passed] == ["", ""]
    both = with_causes([found(first, "crash"), found(second, "crash")])
    assert [each.same_as for each in both] == ["", first]
    assert "2 broken (1 of them with the cause of another)" in str(totals(both))


def test_inherited_deviations_are_those_that_the_other_library_has_too() -> None:
    load()
    own = [found("TENS-09[consumer-ndim-1]", "crash"), found("TENS-05[consumer-null-data]", "info")]

    def again(checks: Any) -> Run:
        assert [each.name for each in checks] == [
            "TENS-05[consumer-null-data]",
            "TENS-09[consumer-ndim-1]",
        ]
        other = [found("TENS-09[consumer-ndim-1]", "pass"), own[1]]
        return Run("base", "2.0", findings=other)

    assert [each.inherited for each in with_origin(own, again)] == ["", "base 2.0"]


@pytest.mark.parametrize(
    ("error", "inherited"), [("ValueError: b", "base 2.0"), ("OSError: a", "")]
)
def test_another_exception_is_not_inherited(error: str, inherited: str) -> None:
    load()
    own = [replace(found("DEV-07[consumer-class]", "warn"), observed="ValueError: a")]
    other = Run("base", "2.0", findings=[replace(own[0], observed=error)])
    assert [each.inherited for each in with_origin(own, lambda _: other)] == [inherited]


def test_the_input_that_provoked_a_crash_is_named() -> None:
    load()
    said = {name: check.provoked for name, check in CHECKS.items() if check.provoked}
    assert said["TENS-09[consumer-ndim-1]"] == (
        "shape and strides end at a page without access; ndim says -1, while shape has 1 entries"
    )
    assert "page without access; the version is 2.3" in said["VERS-02[consumer-major2]"]
    assert said["TENS-05[consumer-null-data]"] == "data is NULL"
    assert said["CAPI-19[exchange-api-tens-08-null]"].startswith("shape is NULL, while ndim says 2")
    assert provoked({"shape": (3,), "data": b"1234"}) == ""
    assert provoked({"shape": (0,), "data": None}) == ""  # a valid empty tensor


def test_every_format_tells_harm_cause_and_coverage() -> None:
    more = {"harm": "crash", "provoked": "shape is NULL", "inherited": "base 2.0"}
    cases = [
        found("TENS-08[consumer-null]", "crash", **more),
        found("TENS-05[consumer-null-data]", "not-applicable"),
        found("TENS-03[producer-empty]", "pass"),
    ]
    run = Run("lib", "1.0", findings=cases)
    quote = requirement("TENS-08").quote
    for form in (text, html, markdown, summary, junit):
        shown = " ".join(form.text([run]).split())
        assert "base 2.0" in shown, form
        if form not in {summary, markdown}:
            assert quote in shown and "shape is NULL" in shown, form
    assert "2 of 3 cases tried (66 %)" in " ".join(summary.text([run]).split())
    document = data.document([run])
    jsonschema.validate(document, data.schema())
    assert document["subjects"][0]["tried"] == 2
    assert document["requirements"]["TENS-08"]["quotes"][0]["text"] == quote
    assert document["findings"][0]["provoked"] == "shape is NULL"
    assert len(summary.text([run]).splitlines()) < 60


def test_versions_stand_side_by_side() -> None:
    old = Run("lib", "1.0", findings=[found("TENS-03[producer-empty]", "warn")])
    new = Run("lib", "2.0", findings=[found("TENS-03[producer-empty]", "pass")])
    table = history.text([data.document([old]), data.document([new])])
    head, _, row, total = table.splitlines()
    assert head == "| | requirement | lib 1.0 | lib 2.0 |"
    assert row.startswith("| TENS-03 SHOULD |") and row.endswith("| warn | pass |")
    assert total.endswith("| 1 | 0 |")


def test_what_is_written_is_expected() -> None:
    """The file of --write-expect forgives exactly the failures of the run, and keeps reasons."""
    cases = [
        found("TENS-08[consumer-null]", "crash", observed='a "quoted"\nline'),
        found("TENS-03[producer-empty]", "warn"),
    ]
    run = Run("lib", "1.0+cpu", findings=[replace(each, version="1.0+cpu") for each in cases])
    entries = expectations.parse(expectations.write([run]))
    assert [(e.id, e.case, e.versions, e.reason) for e in entries] == [
        ("TENS-08", "null", ">=1.0", 'a "quoted" line')
    ]
    verdict = expectations.compare([run], entries)
    assert not verdict.unexpected and not verdict.stale and not verdict.untried
    kept = [replace(entries[0], reason="known", issue="https://example.org/1", versions="")]
    again = expectations.parse(expectations.write([run], kept))
    assert (again[0].reason, again[0].issue) == ("known", "https://example.org/1")


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_a_selection(name: str) -> None:
    every, chosen = engine.select(full=True), engine.select(full=True, profile=name)
    assert 20 < len(chosen) < len(every)
    assert [each for each in every if each in chosen] == chosen


def test_profiles_hold_what_they_are_for() -> None:
    def ids(profile: str) -> set[str]:
        return {each.id for each in engine.select(full=True, profile=profile)}

    assert "VERS-02" in ids("versioned") and "VERS-02" not in ids("legacy")
    assert "FLAG-03" not in ids("legacy") and "LIFE-06" in ids("legacy")
    assert {"CAPI-11", "STRM-06"} & ids("table") == {"CAPI-11"}
    assert {"CAPI-12", "STRM-06", "TENS-01"} & ids("streams") == {"CAPI-12", "STRM-06"}
    assert {"TENS-09", "VERS-02", "CAPI-19"} <= ids("hostile") and "COPY-01" not in ids("hostile")
    with pytest.raises(ValueError, match="no profile 'hard'; there are legacy, versioned"):
        engine.select(profile="hard")


def test_a_rule_set_is_frozen() -> None:
    """A new case belongs to a new set, so that `--rules` means the same in every release."""
    every = engine.select(full=True)
    names = {set_: sorted(each.name for each in every if each.rules == set_) for set_ in RULES}
    assert sum(map(len, names.values())) == len(every)
    found = {
        set_: {"cases": len(of), "digest": hashlib.sha256("\n".join(of).encode()).hexdigest()}
        for set_, of in names.items()
    }
    assert found == tomllib.loads(Path(__file__).with_name("rule_sets.toml").read_text("utf-8"))


def test_a_rule_set_has_no_later_cases() -> None:
    first, second, *_ = engine.select()
    early, late = replace(first, rules="1"), replace(second, rules="2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "RULES", ("1", "2"))
        assert profiles.frozen("1", [early, late]) == [early]
        assert profiles.frozen("2", [early, late]) == [early, late]
    with pytest.raises(ValueError, match="no rules '1'; there are 2026.1"):
        engine.select(rules="1")
