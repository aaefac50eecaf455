"""The module as users call it, and its memory as the conformance kit sees it."""

import gc

import example_rust
import pytest

import refarray
from refarray.conformance import Subject, check
from refarray.conformance.findings import Outcome

SUBJECT = Subject(
    "example_rust",
    imports="import example_rust, refarray",
    arrays={
        "plain": "example_rust.numbers(refarray.zeros(0), 6)",
        "empty": "example_rust.numbers(refarray.zeros(0), 0)",
    },
    array_api=False,
)


def floats(values: object, dtype: str = "float32") -> refarray.Array:
    return refarray.asarray(values, dtype=dtype)


def test_rows_are_summed() -> None:
    x = floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    sums = example_rust.row_sums(x.T)
    assert type(sums) is refarray.Array and sums.tolist() == [5.0, 7.0, 9.0]
    assert example_rust.row_sums(x[::-1, ::2].as_readonly()).tolist() == [10.0, 4.0]
    assert example_rust.row_sums(floats([[]])).tolist() == [0.0]


def test_elements_are_scaled_in_place() -> None:
    x = floats([1.0, 2.0, 3.0], "float64")
    assert example_rust.scale(x[::-2], 10.0) is None
    assert x.tolist() == [10.0, 2.0, 30.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: example_rust.row_sums([1.0]), TypeError, "'list'> has no __dlpack_c_exchange"),
        (lambda: example_rust.row_sums(floats([[1]], "int8")), ValueError, r"dtype is \(0, 8, 1\)"),
        (lambda: example_rust.row_sums(floats([1.0])), ValueError, "ndim is 1; it must be 2"),
        (
            lambda: example_rust.scale(floats([1.0], "float64").as_readonly(), 2.0),
            ValueError,
            "the elements are read-only",
        ),
        (lambda: example_rust.scale(floats([1.0], "float64"), "2"), TypeError, "real number"),
        (lambda: example_rust.numbers(floats([]), -1), ValueError, "count is -1; it must be 0"),
        (lambda: example_rust.numbers(floats([]), 2**62), MemoryError, None),
        (lambda: example_rust.numbers(3, 1), TypeError, "'int'> has no __dlpack_c_exchange"),
    ],
)
def test_bad_input_is_refused(call: object, error: type[Exception], message: str | None) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]


def test_memory_lives_as_long_as_views() -> None:
    view = example_rust.numbers(floats([]), 1000)[10:12]
    gc.collect()
    assert view.tolist() == [10.0, 11.0]


def test_exports_are_as_specified() -> None:
    findings = check("test_example:SUBJECT", devices="none").findings
    assert [each for each in findings if each.outcome in {Outcome.WARN, Outcome.FAIL}] == []
    assert sum(each.outcome is Outcome.PASS for each in findings) > 20
