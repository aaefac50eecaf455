"""The recorded limits: well formed, shown by tests, and their checker can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.processes import python

from . import limits

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
JAX = pytest.mark.jax


def refuse() -> None:
    raise limits_exception("JaxRuntimeError")


def limits_exception(name: str) -> Exception:
    return type(name, (RuntimeError,), {})("refused")


def test_every_limit_names_a_case_of_the_grid() -> None:
    assert {limit.facet for limit in limits.LIMITS} <= limits.known_facets()
    keys = [
        (limit.partner, limit.direction, limit.facet, limit.versions) for limit in limits.LIMITS
    ]
    assert len(keys) == len(set(keys))


def test_every_quirk_has_a_test_that_shows_it() -> None:
    tables = re.findall(r"^\[\w+\.quirk\.", limits.DATA.read_text("utf-8"), re.MULTILINE)
    assert len(limits.QUIRKS) == len(tables)
    sources = [path.read_text(encoding="utf-8") for path in HERE.glob("**/*.py")]
    shown = {id for text in sources for id in re.findall(r'mark\.quirk\(\s*"([\w-]+)"', text)}
    assert shown == set(limits.QUIRKS)


def test_every_partner_with_limits_has_tests_that_meet_them() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("**/*.py"))
    for limit in limits.LIMITS:
        call = (
            rf'attempt\(\s*"{limit.partner}", "{limit.direction}"|take_ours\(\s*"{limit.partner}"'
        )
        assert re.search(call, sources), limit


def test_the_manual_is_generated_from_the_data() -> None:
    done = python(ROOT / "tools" / "docs" / "partners_page.py", "--check")
    assert done.returncode == 0, "run tools/docs/partners_page.py"


@JAX
def test_attempt_returns_none_for_a_met_limit() -> None:
    assert limits.attempt("jax", "to", ("layout:stepped",), refuse) is None


@JAX
def test_an_unexpected_pass_fails() -> None:
    with pytest.raises(AssertionError, match="remove"):
        limits.attempt("jax", "to", ("layout:stepped",), lambda: 1)


@JAX
def test_another_exception_than_the_recorded_one_fails() -> None:
    with pytest.raises(KeyError):
        limits.attempt("jax", "to", ("layout:stepped",), lambda: {}["x"])


@JAX
def test_an_unrecorded_refusal_fails() -> None:
    with pytest.raises(RuntimeError):
        limits.attempt("jax", "to", ("layout:flat",), refuse)


def test_limits_of_other_versions_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    limits.concerns.cache_clear()
    monkeypatch.setattr(limits, "installed", lambda _: "0.9.0")
    assert limits.find("jax", "to", "layout:stepped") is None
    limits.concerns.cache_clear()
    monkeypatch.setattr(limits, "installed", lambda _: "0.10.2")
    assert limits.find("jax", "to", "layout:stepped") is not None
    limits.concerns.cache_clear()


@pytest.mark.parametrize(
    ("version", "is_gone"), [("0.10.2", False), ("0.11.0", True), ("0.12.0.1", True), (None, False)]
)
def test_a_quirk_is_gone_from_the_release_named(
    monkeypatch: pytest.MonkeyPatch, version: str | None, is_gone: bool
) -> None:
    """The tests of a partner that is not installed run, and fail."""
    monkeypatch.setattr(limits, "installed", lambda _: version)
    limits.concerns.cache_clear()
    assert limits.QUIRKS["jax-legacy-only"].is_gone is is_gone
    assert not limits.QUIRKS["jax-copies-unaligned"].is_gone
    limits.concerns.cache_clear()
