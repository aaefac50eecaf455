"""refarray.strict: names, flags, environment variables and devices as in array-api-strict."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.processes import printed, python

import refarray
import refarray.strict

pytestmark = pytest.mark.every_python

xp: Any = refarray.strict


@pytest.fixture(autouse=True)
def flags() -> Iterator[None]:
    yield
    xp.reset_array_api_strict_flags()


def test_is_strict() -> None:
    x = xp.ones(3)
    assert x.__array_namespace__() is xp
    assert xp.__array_api_version__ == "2025.12"
    with pytest.raises(TypeError, match="no common dtype"):
        x + xp.asarray([1, 2, 3])
    with pytest.raises(TypeError, match="refarray.strict"):
        xp.add(refarray.ones(3), x)
    assert {"add", "linalg", "fft", "Device"} <= set(xp.__all__)
    assert dir(xp) == sorted(xp.__all__)
    assert repr(xp) == "<module 'refarray.strict': array API standard 2025.12>"


def test_is_not_imported_with_refarray() -> None:
    printed("import refarray, sys; assert 'refarray.strict' not in sys.modules")


def test_versions() -> None:
    x = xp.ones(3)
    with xp.ArrayAPIStrictFlags(api_version="2022.12"):
        assert not hasattr(xp, "take_along_axis")
        assert not hasattr(xp, "__array_namespace_info__")
        assert xp.__array_api_version__ == "2022.12"
        assert float(xp.sum(x)) == 3.0  # arrays outlive a change of flags
    assert hasattr(xp, "take_along_axis")
    with pytest.warns(UserWarning, match="2022.12") as caught:
        xp.set_array_api_strict_flags(api_version="2021.12")
    assert caught[0].filename == __file__  # the warning names the caller's line
    assert not hasattr(xp, "fft")


def test_flags_that_were_set_before_make_no_new_functions() -> None:
    """scikit-learn sets them each time that it looks up the namespace of an array."""
    before = xp.sum, xp.linalg, xp.fft.fft
    xp.set_array_api_strict_flags(api_version="2025.12")
    assert (xp.sum, xp.linalg, xp.fft.fft) == before
    with xp.ArrayAPIStrictFlags(api_version="2022.12"):
        old = xp.sum, xp.linalg
        assert old[0] is not before[0] and not hasattr(xp, "isin")
    assert (xp.sum, xp.linalg, xp.fft.fft) == before and hasattr(xp, "isin")
    with xp.ArrayAPIStrictFlags(api_version="2022.12", boolean_indexing=True):
        assert (xp.sum, xp.linalg) == old


def test_a_version_is_a_flag() -> None:
    x = xp.ones(3)
    assert x.__array_namespace__(api_version="2022.12") is xp
    assert xp.get_array_api_strict_flags()["api_version"] == "2022.12"
    with pytest.raises(ValueError, match="2020.12"):
        x.__array_namespace__(api_version="2020.12")


def test_what_is_optional() -> None:
    x = xp.ones(3)
    with xp.ArrayAPIStrictFlags(boolean_indexing=False, data_dependent_shapes=False):
        with pytest.raises(RuntimeError, match="boolean_indexing"):
            x[x > 0]
        for device in ("CPU_DEVICE", "no_x64"):
            with pytest.raises(RuntimeError, match="data-dependent shapes"):
                xp.nonzero(xp.ones(3, device=xp.Device(device)))
        capabilities = xp.__array_namespace_info__().capabilities()
        assert not capabilities["boolean indexing"]
    assert x[x > 0].shape == (3,)


def test_extensions() -> None:
    xp.set_array_api_strict_flags(enabled_extensions=["linalg"])
    with pytest.raises(AttributeError, match="fft"):
        xp.fft.fft(xp.ones(3))
    assert xp.get_array_api_strict_flags()["enabled_extensions"] == ("linalg",)
    xp.set_array_api_strict_flags(api_version="2022.12", enabled_extensions=["fft"])  # its first
    assert xp.fft.rfft(xp.ones(3)).shape == (2,)
    xp.reset_array_api_strict_flags()
    assert xp.fft.rfft(xp.ones(3)).shape == (2,)


@run_each(
    ("arguments", "error"),
    [
        ({"api_version": "2020.12"}, ValueError),
        ({"boolean_indexing": "no"}, TypeError),
        ({"enabled_extensions": ["random"]}, ValueError),
        ({"enabled_extensions": "fft"}, TypeError),
        ({"api_version": "2021.12", "enabled_extensions": ["fft"]}, ValueError),
    ],
)
@pytest.mark.filterwarnings("ignore:array-api-strict has the names")
def test_bad_flags_change_nothing(arguments: Any, error: Any) -> None:
    before = xp.get_array_api_strict_flags()
    with pytest.raises(error):
        xp.set_array_api_strict_flags(**arguments)
    assert xp.get_array_api_strict_flags() == before


def test_flags_can_be_set_again_after_a_failure() -> None:
    """As for lack of memory: some names are changed then, and some are not."""
    flags = xp._settings._replace(api_version="2022.12", boolean_indexing=False)
    xp._made[flags] = SimpleNamespace(__all__=["made_up", "missing"], made_up=1)
    try:
        with pytest.raises(AttributeError, match="missing"):
            xp._set(flags)
    finally:
        del xp._made[flags]
        xp.reset_array_api_strict_flags()
    assert callable(xp.abs) and not hasattr(xp, "made_up")
    assert "made_up" not in xp.__all__ and "abs" in xp.__all__


def test_environment() -> None:
    program = "import refarray.strict as xp; print(*xp.get_array_api_strict_flags().values())"
    shown = printed(
        program,
        ARRAY_API_STRICT_API_VERSION="2023.12",
        ARRAY_API_STRICT_BOOLEAN_INDEXING="False",
        ARRAY_API_STRICT_ENABLED_EXTENSIONS="",
    )
    assert shown.split() == ["2023.12", "False", "True", "()"]
    bad = python("-c", program, ARRAY_API_STRICT_API_VERSION="new")
    assert "api_version is 'new'" in bad.stderr


def test_devices() -> None:
    names = ("CPU_DEVICE", "device1", "device2", "no_float64", "no_x64")
    assert xp.__array_namespace_info__().devices() == tuple(map(xp.Device, names))
    assert xp.ones(3).device == xp.Device() == xp.Device("CPU_DEVICE")
    defaults = [xp.ones(3, device=xp.Device(name)).dtype for name in names]
    assert defaults == [xp.float64, xp.float64, xp.float32, xp.float32, xp.float32]
    with pytest.raises(ValueError, match="device9"):
        xp.Device("device9")
    with pytest.raises(BufferError):
        memoryview(xp.ones(3, device=xp.Device("device1")))
    assert memoryview(xp.ones(3)).nbytes == 24


def test_inspection_takes_names_of_devices() -> None:
    """scikit-learn passes them to dtypes(); creation functions refuse them, as array-api-strict."""
    info = xp.__array_namespace_info__()
    assert "float64" in info.dtypes(device="CPU_DEVICE", kind="real floating")
    assert "float64" not in info.dtypes(device="no_float64", kind="real floating")
    assert info.default_dtypes(device="device2")["real floating"] == xp.float32
    with pytest.raises(ValueError, match="there is no device 'gpu'"):
        info.dtypes(device="gpu")
    with pytest.raises(ValueError, match="device"):
        xp.ones(3, device="device1")


def test_pickles_and_copies() -> None:
    x = xp.asarray([1.0], device=xp.Device("device1"))
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    pickled = [pickle.loads(pickle.dumps(x, protocol=protocol)) for protocol in protocols]
    for each in (*pickled, copy.copy(x), copy.deepcopy(x)):
        assert (each.device, each.__array_namespace__()) == (x.device, xp)
    assert pickle.loads(pickle.dumps(xp)) is xp
    assert copy.copy(x.device) == x.device


def test_stand_in() -> None:
    program = """
import refarray.strict.stand_in, array_api_strict as xp, refarray.strict
assert xp is refarray.strict and xp.__name__ == "array_api_strict"
from array_api_strict import Device, linalg
from array_api_strict._devices import ALL_DEVICES
assert Device("no_x64") in ALL_DEVICES
header = refarray.strict.stand_in.pytest_report_header()
assert header.startswith("array_api_strict: refarray.strict of refarray ")
"""
    printed(program)


def test_stand_in_has_the_modules_that_suites_import() -> None:
    program = """
import pickle
import refarray.strict.stand_in, array_api_strict as xp
from array_api_strict._array_object import ALL_DEVICES, Array, Device, Dtype
from array_api_strict._typing import Array as Annotated, DType, NestedSequence, SupportsDLPack
from array_api_strict._flags import set_array_api_strict_flags
assert xp._array_object.Array is Annotated is Array and xp._flags.Flags and xp._typing.DType
for device in ALL_DEVICES:
    x = xp.ones(3, device=device)
    assert isinstance(x, Array) and isinstance(x.dtype, DType)
    assert (type(x) is Array) is (device == Device()) and x.__class__ is Array
    assert pickle.loads(pickle.dumps(type(x))) is type(x)
assert not isinstance(1.0, Array) and not issubclass(float, Array)
try:
    Array([1])
except TypeError as error:
    assert "cannot create" in str(error)
else:
    raise AssertionError
assert pickle.loads(pickle.dumps(xp.sum)) is xp.sum and xp.linalg.svd.__module__
assert pickle.loads(pickle.dumps((xp.linalg.svd, xp.asarray)))[0] is xp.linalg.svd
"""
    printed(program)


def test_stand_in_comes_first() -> None:
    program = """
import sys, types
sys.modules["array_api_strict"] = types.ModuleType("array_api_strict")
import refarray.strict.stand_in
"""
    assert "must come before" in python("-c", program).stderr
