"""The JSON report conforms to its published schema, and the schema rejects malformed reports."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from refarray.conformance import Finding, Outcome
from refarray.conformance.matrix.exchange import Arrival
from refarray.conformance.matrix.measure import Cell, measure
from refarray.conformance.report import data, grid
from refarray.conformance.requirements import Level, Role
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import Run, run_subject

Document = dict[str, Any]


@pytest.fixture(scope="module")
def report() -> Document:
    """A report on a subject that can be tried, and one that cannot."""
    checks = engine.selected(ids=["FLAG", "TENS-03"])
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
