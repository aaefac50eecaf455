"""refarray.testing: each hard array has the property that its name says; comparisons."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.processes import printed, python

import refarray as ra
from refarray.testing import DTYPES, LAYOUTS, HardArray, assert_array_equal, hard_array, hard_arrays

pytestmark = pytest.mark.every_python


def test_layouts_are_what_they_are_called() -> None:
    made = {name: hard_array(name) for name in LAYOUTS}
    assert [name for name, each in made.items() if each.ndim == 0] == ["0-d"]
    assert [name for name, each in made.items() if each.size == 0] == ["empty", "empty-axis"]
    assert {name for name, each in made.items() if min(each.strides, default=1) < 0} == {"reversed"}
    assert {name for name, each in made.items() if 0 in each.strides} == {"broadcast"}
    assert {name for name, each in made.items() if each.readonly} == {"broadcast", "read-only"}
    assert {name for name, each in made.items() if not each.is_contiguous()} == {
        *("strided", "row-gaps", "reversed", "transposed", "permuted", "broadcast")
    }
    addresses = {name: each.__array_interface__["data"][0] for name, each in made.items()}
    assert addresses["misaligned"] % 4 != 0
    assert addresses["offset"] % 64 != 0 and addresses["offset"] % 4 == 0


@pytest.mark.parametrize("hard", hard_arrays(), ids=lambda each: each.id)
def test_numpy_sees_the_same_elements(hard: HardArray) -> None:
    array = hard.make()
    assert array.dtype == hard.dtype
    theirs = np.asarray(array.astype("float32") if hard.dtype == "bfloat16" else array)
    assert theirs.tolist() == array.tolist()
    assert array.size < 2 or len(set(map(str, np.ravel(theirs).tolist()))) > 1  # tells places apart


def test_each_one_is_new_memory() -> None:
    hard = HardArray("contiguous")
    one, other = hard.make(), hard.make()
    one[...] = 9.0
    assert other.tolist() != one.tolist()


def test_ids_are_unique_and_default_to_float32() -> None:
    ids = [each.id for each in hard_arrays()]
    assert len(ids) == len(set(ids)) > len(LAYOUTS)
    assert "reversed" in ids and "strided-bfloat16" in ids and "contiguous-complex64" in ids


def test_packed_dtypes_have_the_layouts_that_exist() -> None:
    found = hard_arrays(dtypes=["float4_e2m1fn"], layouts=["contiguous", "strided"])
    assert [each.id for each in found] == ["contiguous", "strided", "contiguous-float4_e2m1fn"]
    assert found[-1].make().nbytes == 12
    with pytest.raises(ValueError, match="'strided' with float4_e2m1fn, whose elements share"):
        hard_array("strided", "float4_e2m1fn")


def listed(**arguments: Any) -> set[str]:
    return {each.dtype for each in hard_arrays(**arguments)}


def test_only_dtypes_that_a_library_declares_are_listed() -> None:
    everything = {"float32", *DTYPES}
    assert listed() == listed(xp="torch") == everything
    assert listed(xp="numpy") == everything - {"bfloat16"}
    assert listed(xp=ra) == everything
    strict = ra.namespace(strict=True)
    assert listed(xp=strict) == everything - {"bfloat16", "float16"}
    with pytest.raises(ValueError, match=r"'nympy' is no library .* it knows numpy, torch"):
        hard_arrays(xp="nympy")
    with pytest.raises(TypeError, match=r"xp is <module 'math'.*has no __array_namespace_info__"):
        hard_arrays(xp=math)


def test_kinds_of_dtypes_are_chosen() -> None:
    assert listed(kinds=["complex floating"]) == {"complex64", "complex128"}
    found = hard_arrays(kinds=["integral"], dtypes=["int8", "uint64"])
    assert {each.layout for each in found if each.dtype == "uint64"} == set(LAYOUTS)
    assert [each.id for each in found if each.dtype == "int8"] == [
        "contiguous-int8",
        "strided-int8",
    ]
    assert [each.id for each in hard_arrays(kinds=["bool"])] == ["contiguous-bool", "strided-bool"]
    assert hard_arrays(kinds=[]) == []
    with pytest.raises(ValueError, match="'float' is no kind; the kinds are bool, signed integer"):
        hard_arrays(kinds=["float"])


def test_wrong_names_are_told_with_the_choices() -> None:
    with pytest.raises(ValueError, match=r"layout is 'diagonal'; the layouts are contiguous, "):
        hard_array("diagonal")
    with pytest.raises(ValueError, match="float33"):
        hard_array("contiguous", "float33")
    with pytest.raises(ValueError, match="'misaligned' with int8, whose size is one byte"):
        hard_array("misaligned", "int8")


def test_pytest_and_hypothesis_are_not_imported() -> None:
    code = (
        "import sys, refarray, refarray.testing; refarray.testing.hard_arrays()[0].make();"
        "print({'pytest', 'hypothesis', 'numpy'} & set(sys.modules))"
    )
    assert printed(code) == "set()\n"


def test_strategies_name_the_missing_package() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import refarray.testing.strategies"
    message = "refarray.testing.strategies needs Hypothesis: pip install hypothesis"
    assert message in python("-c", code).stderr


# --- assert_array_equal


NAN = float("nan")


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.arange(3), ra.arange(3)),
        (ra.asarray([1.0, float("nan"), -0.0]), np.array([1.0, np.nan, 0.0])),
        ([[1, 2]], np.array([[1, 2]], dtype="int64")),
        (ra.zeros((2, 0)), np.zeros((2, 0))),
        (hard_array("0-d", "bfloat16"), ra.asarray(2.0, dtype="bfloat16")),
        (complex(0, float("nan")), np.complex128(complex(0, np.nan))),
        (2**63, np.uint64(2**63)),
        ([[0], [2**64 - 1]], np.array([[0], [2**64 - 1]], dtype="uint64")),
        (ra.asarray((NAN, 0.0), dtype="float32x2"), ra.asarray((-NAN, -0.0), dtype="float32x2")),
    ],
    ids=repr,
)
def test_equal_arrays(actual: Any, expected: Any) -> None:
    assert_array_equal(actual, expected)


def test_differences_name_index_and_values() -> None:
    wrong = np.arange(6.0).reshape(2, 3)
    wrong[1, 0] = -1
    with pytest.raises(AssertionError) as raised:
        assert_array_equal(wrong, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert str(raised.value) == "1 of 6 elements differ\n  at (1, 0): -1.0 is not the expected 3.0"
    with pytest.raises(AssertionError, match="and 3 more"):
        assert_array_equal(np.arange(8), np.arange(1, 9))


def test_shape_dtype_and_device_differ() -> None:
    with pytest.raises(AssertionError, match=r"shape: \(3,\) is not the expected \(1, 3\)"):
        assert_array_equal(ra.zeros(3), ra.zeros((1, 3)))
    with pytest.raises(AssertionError, match="dtype: float32 is not the expected float64"):
        assert_array_equal(ra.zeros(3, dtype="float32"), ra.zeros(3))
    assert_array_equal(ra.zeros(3, dtype="float32"), ra.zeros(3), dtype=False)
    assert_array_equal(ra.zeros(3), np.zeros(3), device=True)
    with pytest.raises(TypeError, match="actual of type object is no array"):
        assert_array_equal(object(), 1)
    with pytest.raises(AssertionError, match="1 is not the expected 18446744073709551616"):
        assert_array_equal(1, 2**64)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1 + 2j, 1 + 3j), (complex(0, 1), complex(1, 1)), (complex(NAN, 5), NAN)],
)
def test_complex_parts_count(one: complex, other: complex) -> None:
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        assert_array_equal(one, other, dtype=False)


def test_lanes_count() -> None:
    with pytest.raises(AssertionError, match=r"\(1.0, nan\) is not the expected \(2.0, nan\)"):
        assert_array_equal(
            ra.asarray((1.0, NAN), dtype="float32x2"), ra.asarray((2.0, NAN), dtype="float32x2")
        )


@pytest.mark.parametrize("lane", ["float32", "int8", "bool", "complex64"])
def test_lanes_are_numbered_one_by_one(lane: str) -> None:
    vectors = hard_array("odd-length", f"{lane}x3").tolist()
    numbered = [number for vector in vectors for number in vector]
    assert len(numbered) == 3 * 37 and numbered[:37] == hard_array("odd-length", lane).tolist()


@pytest.mark.parametrize("strict", [True, False])
def test_arrays_on_virtual_devices_are_compared(strict: bool) -> None:
    """By a copy on the host, which a ledger counts and may forbid."""
    gpu = ra.VirtualDevice("gpu")
    xp: Any = ra.namespace(strict=strict, devices=[gpu])
    x = xp.asarray([1.0, 2.0], device=gpu)
    for other in (x, [1.0, 2.0], xp.asarray([1.0, 2.0]), np.asarray([1.0, 2.0])):
        assert_array_equal(x, other)
        assert_array_equal(other, x)
    assert_array_equal(x, x + 0.0, device=True)
    with pytest.raises(AssertionError, match="device: refarray.VirtualDevice"):
        assert_array_equal(x, xp.asarray([1.0, 2.0]), device=True)
    with pytest.raises(AssertionError, match=r"at \(1,\): 2.0 is not the expected 3.0"):
        assert_array_equal(x, [1.0, 3.0])
    with ra.ledger() as ledger:
        assert_array_equal(x, [1.0, 2.0])
    assert (ledger.transfers, ledger.transferred_bytes) == (1, 16)
    with ra.ledger(forbid="transfer"), pytest.raises(ra.LedgerError):
        assert_array_equal(x, [1.0, 2.0])


def test_ints_that_no_dtype_holds_are_compared() -> None:
    mixed = [[2**63, -1], [0, True]]
    assert_array_equal(mixed, [[2**63, -1], [0, 1]])
    with pytest.raises(
        AssertionError, match=rf"at \(0, 0\): {2**63} is not the expected {2**63 + 1}"
    ):
        assert_array_equal(mixed, [[2**63 + 1, -1], [0, 1]])
    with pytest.raises(AssertionError, match="dtype: int is not the expected uint64"):
        assert_array_equal([2**63, -1], ra.asarray([2**63, 0], dtype="uint64"))
    with pytest.raises(AssertionError, match="-1 is not the expected 0"):
        assert_array_equal([2**63, -1], ra.asarray([2**63, 0], dtype="uint64"), dtype=False)
    assert_array_equal([2**64, -(10**400)], [2**64, -(10**400)])
    assert_array_equal(2**64, 2**64)
    with pytest.raises(TypeError, match="ragged"):
        assert_array_equal([2**63, [-1]], [2**63, [-1]])


@pytest.mark.parametrize("dtype", ["int32x2", "float32x4", "complex64x2", "boolx2"])
def test_lists_of_vectors_are_compared(dtype: str) -> None:
    for shape in ((), (3,), (2, 3), (0,)):
        x = ra.zeros(shape, dtype=dtype)
        assert_array_equal(x, x)
        if x.size:
            assert_array_equal(x, x.tolist(), dtype=False)
            assert_array_equal(x.tolist(), x, dtype=False)
    with pytest.raises(AssertionError, match=r"at \(2, 1\): 0 is not the expected 1"):
        assert_array_equal(ra.zeros(3, dtype="int32x2"), [(0, 0), (0, 0), (0, 1)], dtype=False)
    with pytest.raises(AssertionError, match="shape"):
        assert_array_equal(ra.zeros(3, dtype="int32x2"), ra.zeros((3, 2)), dtype=False)
