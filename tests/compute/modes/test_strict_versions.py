"""Strict namespaces of each version of the standard: its names, signatures, dtypes and operands.

From the stubs and the changelog of the standard's repository (data-apis/array-api, array_api_stubs/
_2021_12 to _draft).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.cases import run_each, words
from oracles.functions import TABLE

import refarray
import refarray.strict

pytestmark = pytest.mark.every_python

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12", "2026.12")
#: Arguments that a version added.
ARGUMENTS = {
    "2022.12": {"linalg.trace": ["dtype"]},
    "2023.12": {"astype": ["device"], "from_dlpack": ["device", "copy"]},
    "2024.12": {"fft.fftfreq": ["dtype"], "fft.rfftfreq": ["dtype"]},
}
#: Functions of two arrays that take a Python number from 2024.12 on.
OF_TWO = words(
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign"
    " divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and"
    " logical_or logical_xor maximum minimum multiply not_equal pow remainder subtract"
)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


def drop_in(version: str) -> Iterator[Any]:
    module: Any = refarray.strict
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.set_array_api_strict_flags(api_version=version)
    assert len(caught) == (version in ("2021.12", "2026.12"))
    yield module
    module.reset_array_api_strict_flags()


@pytest.fixture(params=["namespace", "of arrays", "drop-in"])
def xp(request: pytest.FixtureRequest, version: str) -> Iterator[Any]:
    """The three ways to a strict namespace of a version."""
    if request.param == "namespace":
        yield refarray.namespace(strict=True, api_version=version)
    elif request.param == "of arrays":
        array = refarray.namespace(strict=True).ones(1)  # type: ignore[attr-defined]
        yield array.__array_namespace__(api_version=version)
    else:
        yield from drop_in(version)


def function(xp: Any, name: str) -> Any:
    for part in name.split("."):
        xp = getattr(xp, part, None)
    return xp


def parameters(of: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(of).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


def test_signatures_are_those_of_the_version(xp: Any, version: str) -> None:
    compared = 0
    for name, text in TABLE["functions"].items():
        ours = function(xp, name)
        if ours is None or name == "to_device":
            continue
        names: dict[str, Any] = {}
        exec(f"def f{text}: ...", names)
        later = [
            argument
            for since, added in ARGUMENTS.items()
            if since > version
            for argument in added.get(name, ())
        ]
        expected = [each for each in parameters(names["f"]) if each[0] not in later]
        assert [each[:2] for each in parameters(ours)] == [each[:2] for each in expected], name
        compared += 1
    assert compared > 120


def assert_since(since: str, version: str, call: Callable[[], Any], *errors: Any) -> None:
    """The call works from a version on, and raises before, or the name is missing."""
    if version >= since:
        call()
        return
    with pytest.raises(errors or TypeError) as raised:
        call()
    if not errors:
        assert since in str(raised.value) and version in str(raised.value)


def test_arguments(xp: Any, version: str) -> None:
    x = xp.ones((2, 2))
    assert_since("2022.12", version, lambda: xp.linalg.trace(x, dtype=xp.float64))
    assert_since("2023.12", version, lambda: xp.astype(x, xp.float32, device=x.device))
    assert_since("2023.12", version, lambda: xp.from_dlpack(x, copy=True))
    assert_since("2023.12", version, lambda: xp.from_dlpack(x, device=None))
    if version >= "2022.12":
        assert_since("2024.12", version, lambda: xp.fft.fftfreq(4, dtype=xp.float32))
        assert_since("2024.12", version, lambda: xp.fft.rfftfreq(4, dtype=xp.float32))
    xp.from_dlpack(x), xp.astype(x, xp.float32, copy=False), xp.linalg.trace(x, offset=1)


@run_each("name", OF_TWO)
def test_numbers_as_operands(xp: Any, version: str, name: str) -> None:
    if not hasattr(xp, name):
        assert name in ("copysign", "hypot", "maximum", "minimum") and version < "2023.12"
        return
    works, number = getattr(xp, name), 2
    dtype = xp.int64
    if name in ("atan2", "copysign", "divide", "hypot", "logaddexp"):
        dtype, number = xp.float64, 2.0
    if name.startswith("logical"):
        dtype, number = xp.bool, True
    x = xp.ones(3, dtype=dtype)
    works(x, x)
    assert_since("2024.12", version, lambda: works(x, number))
    assert_since("2024.12", version, lambda: works(number, x))


def test_numbers_elsewhere(xp: Any, version: str) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    assert_since("2024.12", version, lambda: xp.where(x > 1, x, 0.0))
    assert_since("2024.12", version, lambda: xp.where(x > 1, 0.0, x))
    assert_since("2024.12", version, lambda: xp.result_type(x, 1.0))
    if version >= "2023.12":
        assert_since("2025.12", version, lambda: xp.searchsorted(x, 2.0))
        xp.searchsorted(x, x), xp.clip(x, 1.5, 2.5)
    assert float(xp.sum(x + 1)) == 9, "operators always took numbers"


def test_dtypes_of_operands(xp: Any, version: str) -> None:
    if version == "2021.12":
        return
    x = xp.asarray([1 + 1j, 2])
    assert_since("2024.12", version, lambda: xp.mean(x))
    assert_since("2024.12", version, lambda: xp.conj(xp.real(x)))
    assert_since("2024.12", version, lambda: xp.real(xp.real(x)))
    assert xp.mean(xp.real(x)).dtype == xp.float64 and xp.conj(x).dtype == xp.complex128


def test_axes(xp: Any, version: str) -> None:
    x = xp.reshape(xp.arange(6, dtype=xp.float64), (2, 3))
    assert_since("2025.12", version, lambda: xp.expand_dims(x, axis=(0, 1)))
    assert_since("2025.12", version, lambda: xp.permute_dims(x, (-1, 0)))
    assert_since("2023.12", version, lambda: xp.tensordot(x, x, axes=((-1,), (-1,))))
    assert xp.expand_dims(x, axis=0).shape == (1, 2, 3)
    assert xp.permute_dims(x, (1, 0)).shape == (3, 2)
    assert xp.tensordot(x, x, axes=((1,), (1,))).shape == (2, 2)


def test_axes_counted_from_the_front(xp: Any, version: str) -> None:
    """vecdot() and cross() took them before 2023.12."""
    x = xp.reshape(xp.arange(9, dtype=xp.float64), (3, 3))
    for name in ("vecdot", "linalg.cross"):
        of = function(xp, name)
        expected = of(x, x, axis=-2)
        if version < "2023.12":
            assert bool(xp.all(of(x, x, axis=0) == expected))
        else:
            with pytest.raises(IndexError, match="axis"):
                of(x, x, axis=0)
    row = xp.reshape(x[0, :], (1, 3))
    assert_since("2022.12", version, lambda: xp.linalg.cross(x, row))


def test_inspection(xp: Any, version: str) -> None:
    if version < "2023.12":
        assert not hasattr(xp, "__array_namespace_info__")
        return
    info = xp.__array_namespace_info__()
    assert ("max dimensions" in info.capabilities()) == (version >= "2024.12")
    assert type(info.devices()) is (tuple if version >= "2025.12" else list)
    assert info.dtypes(kind="complex floating") == {
        "complex64": xp.complex64,
        "complex128": xp.complex128,
    }


# --- arrays, which belong to the version only if the namespace does


@pytest.fixture(params=["namespace", "drop-in"])
def own(request: pytest.FixtureRequest, version: str) -> Iterator[Any]:
    if request.param == "namespace":
        yield refarray.namespace(strict=True, api_version=version)
        return
    yield from drop_in(version)


def test_integer_arrays_as_indices(own: Any, version: str) -> None:
    x, i = own.asarray([1.0, 2.0, 3.0]), own.asarray([2, 0])
    assert_since("2024.12", version, lambda: x[i], IndexError)
    assert float(own.sum(x[x > 1])) == 5, "masks are in every version"


def test_arguments_of_dlpack(own: Any, version: str) -> None:
    x = own.ones(3)
    x.__dlpack__(), x.__dlpack__(stream=None)
    for keywords in ({"max_version": (1, 0)}, {"dl_device": (1, 0)}, {"copy": True}):
        assert_since("2023.12", version, lambda: x.__dlpack__(**keywords), TypeError)  # noqa: B023
    assert refarray.from_dlpack(x).tolist() == [1.0, 1.0, 1.0]


def test_numpy_reads_arrays_of_every_version(own: Any) -> None:
    numpy = pytest.importorskip("numpy")
    assert numpy.from_dlpack(own.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_complex_dtypes_came_with_2022() -> None:
    xp: Any = refarray.namespace(strict=True, api_version="2021.12")
    assert not hasattr(xp, "complex64") and not hasattr(xp, "complex128")
    x = xp.ones(3)
    later: Any = refarray.namespace(strict=True)
    for call in (
        lambda: xp.asarray([1j]),
        lambda: xp.astype(x, later.complex64),
        lambda: xp.zeros(3, dtype=later.complex128),
        lambda: xp.asarray(refarray.asarray([1j])),
        lambda: xp.full(3, 1j),
    ):
        with pytest.raises(ValueError, match="complex"):
            call()
    assert float(xp.sum(xp.exp(x))) > 8 and xp.arange(3).dtype == xp.int64
    assert type(x + 1) is type(x) and xp.asarray([1, 2]).dtype == xp.int64


def test_arguments_that_contradict_the_version() -> None:
    for arguments, what in (
        ({"extensions": ["fft"]}, "'fft', which came with 2022.12; api_version is '2021.12'"),
        ({"default_dtypes": {"complex floating": refarray.complex64}}, "'complex floating'"),
    ):
        with pytest.raises(ValueError, match=what):
            refarray.namespace(strict=True, api_version="2021.12", **arguments)  # type: ignore[arg-type]
        refarray.namespace(strict=True, api_version="2022.12", **arguments)  # type: ignore[arg-type]
    old: Any = refarray.namespace(strict=True, api_version="2021.12", extensions=["linalg"])
    assert hasattr(old, "linalg") and not hasattr(old, "fft")


# --- the draft


def test_the_draft_has_two_names() -> None:
    draft: Any = refarray.namespace(strict=True, api_version="draft")
    assert refarray.namespace(strict=True, api_version="2026.12") is draft
    assert draft is not refarray.namespace(strict=True)
    assert draft.__array_api_version__ == "2026.12"
    assert draft.ones(1).__array_namespace__(api_version="2026.12") is draft
    newest: Any = refarray.namespace(strict=True)
    assert set(draft.__all__) == set(newest.__all__)
    open_draft: Any = refarray.ones(1).__array_namespace__(api_version="2026.12")
    assert open_draft.__array_api_version__ == "2026.12" and open_draft.add is refarray.add


def test_versions_that_are_none() -> None:
    for wrong in ("2027.12", "Draft", "2026", "", None):
        with pytest.raises(ValueError, match=r"'2026\.12', 'draft'"):
            refarray.namespace(strict=True, api_version=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the draft, '2026.12'"):
        refarray.ones(1).__array_namespace__(api_version="draft")
