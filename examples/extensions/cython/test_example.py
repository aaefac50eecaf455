"""The module as users call it, and its exports as the conformance kit sees them."""

import example_cython

import refarray
from refarray.conformance import Subject, check
from refarray.conformance.findings import Outcome

SUBJECT = Subject(
    "example_cython",
    imports="import example_cython",
    arrays={"plain": "example_cython.Samples(6)", "empty": "example_cython.Samples(0)"},
    array_api=False,
)


def test_rows_are_summed() -> None:
    x = refarray.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
    assert refarray.from_dlpack(example_cython.row_sums(x.T)).tolist() == [4.0, 6.0]


def test_exports_are_as_specified() -> None:
    findings = check("test_example:SUBJECT", devices="none").findings
    assert [each for each in findings if each.outcome is Outcome.WARN] == []
    assert sum(each.outcome is Outcome.PASS for each in findings) > 20
