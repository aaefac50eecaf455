"""The adapters of libraries: found by name, well formed, and answerable only for what a library
does itself."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import refarray as ra
from refarray.conformance import Outcome, Subject, checks
from refarray.conformance.adapters import OTHERS, Sent, excused
from refarray.conformance.engine import run_subject
from refarray.conformance.subjects import KINDS, SUBJECTS, subject, version_of

ALL = {**SUBJECTS, **OTHERS}


@pytest.mark.parametrize("name", ALL)
def test_an_adapter_is_well_formed(name: str) -> None:
    found = subject(name)
    assert found.name == name and set(found.arrays) <= set(KINDS)
    ast.parse(found.imports)
    texts = [*found.arrays.values(), found.dtype.format("int8"), found.big.format(3)]
    texts.append(found.from_dlpack.format("x"))
    for text in filter(None, texts):
        ast.parse(text, mode="eval")


def test_libraries_that_the_kit_has_an_adapter_for() -> None:
    assert set(ALL) >= {
        *("numpy", "torch", "jax", "tvm_ffi", "array_api_strict", "pyarrow", "refarray"),
        *("cupy", "tvm", "mpi4py", "tensorflow", "mxnet", "dgl", "dali", "mlx", "memoryview"),
    }


def test_versions() -> None:
    assert version_of("refarray") == ra.__version__
    assert version_of("dgl") == version_of("") == ""


def test_a_library_of_capsules_is_not_held_to_what_its_caller_does() -> None:
    both = Subject("x", "", takes_capsules=True, gives_capsules=True)
    for each in checks(full=True):
        reason = excused(both, each)
        family = each.id.partition("-")[0]
        if family in {"DTYPE", "TENS", "LIFE", "ABI"}:
            assert not reason
        if family in {"COPY", "PROD", "AAPI", "STRM"}:
            assert "bare capsules" in reason
        assert not excused(SUBJECTS["numpy"], each)


def test_excused_cases_are_not_applicable() -> None:
    run = run_subject("test_adapters:LEGACY", checks(ids=["COPY-04", "TENS-01", "PROD-01"]))
    assert not run.broken
    ends = {(found.id, found.outcome) for found in run.findings}
    assert ("COPY-04", Outcome.NOT_APPLICABLE) in ends and ("TENS-01", Outcome.PASS) in ends
    assert not [found for found in run.findings if found.outcome.failed]
    reasons = {found.observed for found in run.findings if found.id == "COPY-04"}
    assert all("takes bare capsules" in reason for reason in reasons)


class Old:
    """A library whose doors are two functions: to_dlpack and from_dlpack of a capsule."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def to_dlpack(self) -> object:
        return self.array.__dlpack__()


def take(x: Any) -> Sent:
    """Its import."""
    return Sent(Old(ra.from_capsule(x.__dlpack__())), "to_dlpack")


LEGACY = Subject(
    "legacy",
    "import refarray as ra; from test_adapters import Old, take; "
    "from refarray.conformance.adapters import Sent",
    arrays={"plain": "Sent(Old(ra.arange(6, dtype=ra.float32)), 'to_dlpack')"},
    from_dlpack="take({})",
    array_api=False,
    takes_capsules=True,
    gives_capsules=True,
)


@pytest.fixture(autouse=True)
def tests_are_found(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv("PYTHONPATH", str(request.path.parent), prepend=":")


def test_what_a_bare_capsule_cannot_answer_is_refused() -> None:
    sent = Sent(Old(ra.arange(3)), "to_dlpack")
    assert ra.from_dlpack(sent).tolist() == [0, 1, 2]
    for keywords in ({"copy": True}, {"dl_device": (2, 0)}, {"stream": 5}):
        with pytest.raises(BufferError):
            sent.__dlpack__(**keywords)


def test_a_library_without_dlpack_is_said_to_have_none() -> None:
    assert "has no __dlpack__" in run_subject("memoryview", checks(ids=["TENS-01"])).broken
