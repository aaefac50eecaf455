"""Namespaces as values: identity, names, results, retyping, pickles, threads, bad arguments."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.processes import printed
from modes import expressions
from oracles.switches import run_together

import refarray
import refarray.strict
from refarray._namespaces import modes as _modes

pytestmark = pytest.mark.every_python

MODES = (
    {"strict": True},
    {"immutable": True},
    {"strict": True, "immutable": True},
    {"api_version": "2022.12"},
    {"strict": True, "api_version": "2023.12"},
)
modes = run_each("arguments", MODES, ids=str)


def arrays_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "__array_namespace__"):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from arrays_in(each)


@modes
def test_equal_arguments_give_one_object(arguments: dict[str, Any]) -> None:
    space: Any = refarray.namespace(**arguments)
    assert isinstance(space, ModuleType) and space is not refarray
    assert refarray.namespace(**dict(reversed(arguments.items()))) is space
    others = [refarray.namespace(**each) for each in MODES if each != arguments]
    assert space not in others and len({each.__name__ for each in (space, *others)}) == len(MODES)
    assert space.__array_api_version__ == arguments.get("api_version", "2025.12")
    assert space.__name__ in repr(space) and space.__array_api_version__ in repr(space)


def array_types() -> Iterator[type]:
    """Of each kind of namespace and device, with what their arrays return."""
    gpu = refarray.VirtualDevice("gpu")
    unknown = {"lazy": True, "data_dependent_shapes": True}
    own = ({}, *MODES, unknown, {"strict": True, **unknown}, {"poison_views": True})
    for arguments in (*own, {"devices": [gpu]}, {"strict": True, "devices": [gpu]}):
        space: Any = refarray.namespace(**arguments)
        devices = [None, *arguments.get("devices", ())]
        yield from (type(space.ones(3, device=each)) for each in devices)
    x = refarray.strict.ones(3)
    yield from (type(x), type(x.dtype), type(refarray.ones(3).device), type(iter(x)))


def test_types_of_arrays_are_immutable() -> None:
    kept = operator.add
    for each in array_types():
        for change in (
            lambda each=each: setattr(each, "__add__", kept),
            lambda each=each: setattr(each, "__array_ufunc__", None),
            lambda each=each: setattr(each, "own", 1),
            lambda each=each: delattr(each, "__eq__"),
            lambda each=each: type(each).__setattr__(each, "own", 1),
        ):
            with pytest.raises(TypeError, match="immutable type"):
                change()
        assert not hasattr(each, "own")


#: Classes in namespaces that Python lets anybody change, as those of its standard library.
MUTABLE = {
    "AxisError": "an exception",
    "DriverError": "an exception",
    "LinAlgError": "an exception",
    "NoCopyError": "an exception",
    "DLDeviceType": "an enumeration, whose members are immutable",
    "use_allocator": "a context manager",
    "use_stream": "a context manager",
    # What functions return: named tuples and dataclasses, without operators.
    **dict.fromkeys(("UniqueAllResult", "EighResult", "finfo", "iinfo"), "a result with names"),
}


def classes() -> Iterator[tuple[str, type]]:
    """The classes that namespaces have as names, with those of what else they return."""
    gpu = refarray.VirtualDevice("gpu")
    spaces: list[Any] = [refarray.namespace(**each) for each in (*MODES, {"devices": [gpu]})]
    spaces += [refarray.namespace(strict=True, devices=[gpu]), refarray.strict]
    for space in spaces:
        yield from ((n, each) for n in dir(space) if isinstance(each := getattr(space, n), type))
        if hasattr(space, "__array_namespace_info__"):
            yield "Info", type(space.__array_namespace_info__())
        if hasattr(space, "linalg"):
            yield "EighResult", type(space.linalg.eigh(space.eye(2)))
        yield "UniqueAllResult", type(space.unique_all(space.ones(2)))
        yield "finfo", type(space.finfo(space.float32))
        yield "iinfo", type(space.iinfo(space.int32))
        yield "Device", type(space.ones(1).device)
    yield "VirtualDevice", refarray.VirtualDevice


def test_classes_of_namespaces_are_immutable() -> None:
    for name, each in classes():
        if name not in MUTABLE:
            with pytest.raises(TypeError, match="immutable type"):
                each.own = 1  # type: ignore[attr-defined]
            assert not hasattr(each, "own"), name


class Flag:
    __slots__ = ()


def test_array_types_have_no_subclasses() -> None:
    for each in array_types():
        with pytest.raises(TypeError, match="is not an acceptable base type"):
            type("Derived", (each,), {})
        with pytest.raises(TypeError, match="is not an acceptable base type"):
            type("Derived", (Flag, each), {})


def test_classes_of_refarray_are_classes_in_every_namespace() -> None:
    gpu = refarray.VirtualDevice("gpu", dtypes=[refarray.float32, refarray.bool])
    unknown = {"lazy": True, "boolean_indexing": True}
    own = {"devices": [gpu]}
    for arguments in (*MODES, own, {**own, **unknown}, unknown, {"api_version": "2021.12", **own}):
        space: Any = refarray.namespace(**arguments)
        for name in dir(space):
            if isinstance(getattr(refarray, name, None), type):
                assert isinstance(getattr(space, name), type), (arguments, name)
    assert refarray.namespace(**own).DriverError is refarray.DriverError  # type: ignore[arg-type]


def test_devices_of_strict_namespaces_equal_devices_only() -> None:
    strict: Any = refarray.namespace(strict=True)
    gpu = refarray.VirtualDevice("gpu")
    virtual: Any = refarray.namespace(strict=True, devices=[gpu])
    cpu = strict.ones(1).device
    for space in (strict, virtual, refarray.namespace(strict=True, immutable=True)):
        x = space.ones(1)
        assert x.device != "cpu" and not operator.eq("cpu", x.device) and x.device != (1, 0)
        assert x.device not in ("cpu", None, gpu, 1)
        assert x.device == cpu and hash(x.device) == hash(cpu)
        assert x.device == refarray.ones(1).device and refarray.ones(1).device == x.device
        assert refarray.Device(x.device) == x.device
        assert type(x.device) is type(cpu) is not refarray.Device
        assert pickle.loads(pickle.dumps(x.device)) == copy.copy(x.device) == x.device
        assert type(pickle.loads(pickle.dumps(x.device))) is type(cpu)
        for device in (
            x.device,
            refarray.Device("cpu"),
            refarray.namespace(strict=True).ones(1).device,
        ):
            assert space.zeros(1, device=device).device == cpu
            assert x.to_device(device).device == cpu
        info = space.__array_namespace_info__()
        assert info.default_device() == cpu and info.devices()[0] == cpu
        assert type(info.default_device()) is type(info.devices()[0]) is type(cpu)
        with pytest.raises((TypeError, ValueError), match="device"):
            space.zeros(1, device="cpu")
    assert refarray.zeros(1, device=cpu).device == "cpu"


def test_an_array_on_any_device_is_an_instance_of_the_type() -> None:
    gpu = refarray.VirtualDevice("gpu")
    space: Any = refarray.namespace(devices=[gpu])
    for device in (None, gpu):
        x = space.ones(1, device=device)
        assert isinstance(x, space.Array) and x.__class__ is space.Array
        assert "shape" in dir(x) and not isinstance(x, refarray.Array | int)
        with pytest.raises((AttributeError, TypeError)):
            x.__class__ = refarray.Array
    assert type(space.ones(1, device=gpu)) is not space.Array


def test_types_tell_numpy_to_leave_its_operators() -> None:
    strict: Any = refarray.namespace(strict=True)
    for x in (strict.ones(3), refarray.strict.ones(3)):
        assert x.__array_ufunc__ is type(x).__array_ufunc__ is None
        assert not hasattr(x, "__array_priority__")
    for open_ in (refarray, refarray.namespace(immutable=True), refarray.namespace(lazy=True)):
        assert open_.ones(3).__array_priority__ == 1000
        assert not hasattr(open_.ones(3), "__array_ufunc__")


def test_without_arguments_it_is_refarray() -> None:
    assert refarray.namespace() is refarray
    assert refarray.namespace(api_version="2025.12", strict=False, immutable=False) is refarray


@run_each("version", ["2025", "2027.12", "", "2025.12 ", 2025.12, None, b"2025.12"])
def test_unknown_versions_are_refused(version: Any) -> None:
    with pytest.raises(ValueError, match=r"api_version is .*; the versions are '2021\.12'"):
        refarray.namespace(api_version=version)


@pytest.mark.parametrize("name", ["strict", "immutable"])
@run_each("value", [1, 0, None, "yes"])
def test_modes_are_bools(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be True or False, not {value!r}"):
        refarray.namespace(**{name: value})


def test_arguments_have_names_that_exist() -> None:
    function: Any = refarray.namespace
    for call in (lambda: function("2025.12"), lambda: function(stict=True)):
        with pytest.raises(TypeError):
            call()


@modes
def test_all_names_exist_and_only_strict_dtypes_differ(arguments: dict[str, Any]) -> None:
    space: Any = refarray.namespace(**arguments)
    assert set(space.__all__) <= set(dir(space)) and len(set(space.__all__)) == len(space.__all__)
    for name in space.__all__:
        assert hasattr(space, name), name
    shared = not arguments.get("strict", False)
    assert (space.float32 is refarray.float32) is (space.bool is refarray.bool) is shared
    assert space.zeros(2).device == refarray.zeros(2).device
    assert space.pi == refarray.pi and space.newaxis is None


@modes
def test_every_result_belongs_to_the_namespace(arguments: dict[str, Any]) -> None:
    """Functions, operators, indexing, methods: whatever returns arrays."""
    space: Any = refarray.namespace(**arguments)
    names = expressions.variables(space)
    kind, seen = type(names["f64"]), 0
    for part in expressions.PARTS:
        for text in part():
            for each in arrays_in(expressions.value(text, names)):
                assert type(each) is kind, text
                seen += 1
    assert seen > 4000
    x = names["f64m"]
    for each in (x.T, x.mT, x.to_device(x.device), copy.copy(x), copy.deepcopy(x), *names["f64"]):
        assert type(each) is kind and each.__array_namespace__() is space


@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_the_default_namespace() -> None:
    ours, default = refarray.namespace(immutable=True), refarray
    names, expected = expressions.variables(ours), expressions.variables(default)
    compared = 0
    for part in expressions.PARTS:
        for text in part():
            if "; " in text:  # assignments, which are refused
                continue
            mine, theirs = expressions.value(text, names), expressions.value(text, expected)
            if isinstance(theirs, Exception):
                assert type(mine) is type(theirs), text
                continue
            pairs = list(zip(arrays_in(mine), arrays_in(theirs), strict=True))
            for a, b in pairs:
                assert (a.dtype, a.shape) == (b.dtype, b.shape), text
                assert repr(a.tolist()) == repr(b.tolist()), text
                compared += 1
    assert compared > 4000


@modes
def test_an_array_names_its_namespace(arguments: dict[str, Any]) -> None:
    space: Any = refarray.namespace(**arguments)
    x = space.zeros((2, 3))
    assert x.__array_namespace__() is space
    assert x.__array_namespace__(api_version=None) is space
    assert x.__array_namespace__(api_version=space.__array_api_version__) is space
    earlier = x.__array_namespace__(api_version="2021.12")
    assert earlier.__array_api_version__ == "2021.12" and not hasattr(earlier, "take")
    assert earlier is x.__array_namespace__(api_version="2021.12")
    assert type(earlier.zeros(2)) is type(x) and type(x + earlier.ones(3)) is type(x)
    with pytest.raises(ValueError, match="the versions are"):
        x.__array_namespace__(api_version="2020.12")
    assert repr(x).startswith(f"{space.__name__}.Array([[0., 0., 0.],\n")
    assert str(x) == str(refarray.zeros((2, 3)))


@modes
def test_asarray_and_from_dlpack_take_arrays_of_others(arguments: dict[str, Any]) -> None:
    space: Any = refarray.namespace(**arguments)
    default = refarray.asarray([1.0, 2.0, 3.0])
    for function in (space.asarray, space.from_dlpack):
        mine = function(default)
        assert type(mine) is type(space.zeros(0))
        default[0] = default[0] + 1
        assert float(mine[0]) == float(default[0]), "the memory is shared"
        assert not bool((function(default, copy=True) - mine)[0])
    for function in (refarray.asarray, refarray.from_dlpack):
        back = function(space.asarray([1, 2]))
        assert type(back) is refarray.Array and back.tolist() == [1, 2]


@modes
@run_each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_keep_the_namespace(arguments: dict[str, Any], protocol: int) -> None:
    space: Any = refarray.namespace(**arguments)
    x = space.asarray([[1.5, -2.0], [0.0, 4.0]])
    for sent in (x, x.T, x[0, :], space.asarray(True), space.zeros((0, 2))):
        got = pickle.loads(pickle.dumps(sent, protocol))
        assert type(got) is type(sent) and got.dtype is sent.dtype and got.shape == sent.shape
        assert bool(space.all(got == sent))
    for module in (
        space,
        getattr(space, "linalg", space),
        x.__array_namespace__(api_version="2021.12"),
    ):
        assert pickle.loads(pickle.dumps(module, protocol)) is module
        assert copy.deepcopy(module) is module


def test_a_pickle_is_read_by_a_process_that_made_no_namespace() -> None:
    space: Any = refarray.namespace(strict=True, immutable=True, api_version="2024.12")
    sent = pickle.dumps((space.asarray([1, 2]), space.linalg))
    code = (
        f"import pickle; x, module = pickle.loads({sent!r});"
        "print(x.__array_namespace__().__name__, module.__name__, x + x)"
    )
    name = "refarray_strict_immutable_2024_12"
    assert printed(code).strip() == f"{name} {name}.linalg [2, 4]"


def test_threads_get_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_modes, "MADE", weakref.WeakValueDictionary())
    found = []

    def ask(_: int) -> None:
        space: Any = refarray.namespace(immutable=True)
        found.append((space, type(space.zeros(1))))

    run_together(ask, 8)
    assert len(found) == 8 and len(set(found)) == 1


def test_a_namespace_may_be_made_while_another_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a finalizer or a signal handler does that runs inside namespace()."""
    monkeypatch.setattr(_modes, "MADE", weakref.WeakValueDictionary())
    make, inner = _modes.make, []

    def make_twice(of: _modes.Modes) -> _modes.OwnNamespace:
        monkeypatch.setattr(_modes, "make", make)
        inner.append(refarray.namespace(immutable=True))
        return make(of)

    monkeypatch.setattr(_modes, "make", make_twice)
    assert refarray.namespace(immutable=True) is inner[0]


def test_arrays_outlive_a_namespace_that_nobody_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_modes, "MADE", weakref.WeakValueDictionary())
    space: Any = refarray.namespace(immutable=True, api_version="2024.12")
    x = space.ones(3)
    gone = weakref.ref(space)
    del space
    monkeypatch.setattr(_modes, "MADE", weakref.WeakValueDictionary())
    gc.collect()
    assert x.__array_namespace__() is gone()  # kept by the type
    assert (x + x).tolist() == [2.0, 2.0, 2.0]
    del x
    gc.collect()


def test_the_extensions_and_information_are_of_the_namespace() -> None:
    space: Any = refarray.namespace(strict=True)
    assert space.linalg.matmul is space.matmul is not refarray.matmul
    assert type(space.fft.fftfreq(4)) is type(space.zeros(1))
    info = space.__array_namespace_info__()
    assert info.dtypes(kind="bool") == {"bool": space.bool}
    assert info.default_dtypes()["real floating"] is space.float64
    assert space.finfo(space.zeros(1, dtype=space.float32)).bits == 32
    assert space.iinfo(space.int8).max == 127
    old: Any = refarray.namespace(strict=True, api_version="2021.12")
    assert not hasattr(old, "fft") and hasattr(old, "linalg") and "fft" not in old.__all__
    assert isinstance(old.meshgrid(old.zeros(2), old.zeros(2)), list)


def test_a_strict_namespace_imports_only_what_it_uses() -> None:
    """Names are not looked up to see whether they are of the standard: that imported the package,
    and with it importlib.metadata and datetime."""
    code = (
        "import sys, refarray; refarray.namespace(strict=True); "
        "print(*sorted(name for name in sys.modules if name.startswith('refarray.')))"
    )
    found = set(printed(code).split())
    assert not {"refarray._doctor", "refarray._inspect", "refarray._streams"} & found
    assert "refarray._namespaces.modes" in found


def test_numbers_of_other_namespaces_are_refused() -> None:
    """As the bounds of ranges, which may be arrays of ndim 0."""
    other: Any = refarray.namespace(strict=True).asarray(3)
    xp: Any = refarray
    for create in (lambda: xp.arange(other), lambda: xp.linspace(other, 4, 3)):
        with pytest.raises(TypeError, match="does not mix"):
            create()
    assert xp.arange(xp.asarray(2.5)).shape == (3,)
    assert xp.full(1, xp.asarray(True)).dtype == "bool"


def test_lazy_arrays_are_no_bounds() -> None:
    xp: Any = refarray.namespace(lazy=True)
    for bound in (xp.asarray(3), xp.asarray(3.0), xp.asarray(True)):
        with pytest.raises(ValueError, match="lazy"):
            xp.arange(bound)
