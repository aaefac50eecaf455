"""Lookup of `__dlpack__` and `__dlpack_device__`: on the type, with the interpreter's binding
rules."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from helpers.cases import run_each
from native.corpus import FLOATS
from native.producers import Recorder

import refarray
from refarray import _native

VALUES = [0.0, 1.0, 2.0]
FIRST = {"max_version": (1, 3)}


NAMES = ("__dlpack__", "__dlpack_device__")


def fabricating() -> list[type]:
    """Metaclasses that claim every attribute, for classes that have no method."""

    class Fickle(dict):  # type: ignore[type-arg]
        def __contains__(self, key: object) -> bool:
            return True

        def __getitem__(self, key: object) -> Any:
            return lambda *_, **__: (1, 0)

    class Dict(type):
        @property
        def __dict__(cls) -> Any:
            return Fickle()

    class Mro(type):
        @property
        def __mro__(cls) -> Any:
            return (Recorder, object)

    class Getattr(type):
        def __getattr__(cls, name: str) -> Any:
            return lambda *_, **__: (1, 0)

    class Getattribute(type):
        def __getattribute__(cls, name: str) -> Any:
            return lambda *_, **__: (1, 0)

    class Own(type):
        __dlpack__ = __dlpack_device__ = lambda *_, **__: (1, 0)

    return [Dict, Mro, Getattr, Getattribute, Own]


@pytest.mark.req("CONS-02")
@run_each("meta", fabricating(), ids=lambda meta: meta.__name__)
def test_a_metaclass_fabricates_no_method(adv: Any, meta: Any) -> None:
    with pytest.raises(AttributeError, match="__dlpack__"):
        refarray.from_dlpack(meta("Thing", (), {})())
    tensor = adv.make(data=FLOATS)
    real = meta("Real", (Recorder,), {})
    thing = object.__new__(real)
    Recorder.__init__(thing, lambda **_: tensor.capsule())
    assert refarray.from_dlpack(thing).tolist() == VALUES


@pytest.mark.req("CONS-02")
@run_each("kind", [type, *fabricating()], ids=lambda kind: kind.__name__)
def test_the_type_cache_and_the_walk_find_the_same(kind: Any) -> None:
    """Every change of a class or of its bases is seen at once."""
    base = type("Base", (), {})
    middle = kind("Middle", (base,), {})
    other = type("Other", (), {"__dlpack__": 5})
    leaf = kind("Leaf", (middle, other), {"__slots__": ("__dlpack_device__",)})

    def find(name: str) -> Any:
        by_cache, by_walk = _native._find_on_type((leaf, name))
        assert by_cache == by_walk
        assert all(one is two for one, two in zip(by_cache, by_walk, strict=True))
        return by_cache

    assert find("__dlpack__") == [5]
    assert [type(each).__name__ for each in find("__dlpack_device__")] == ["member_descriptor"]
    for value in (property(), staticmethod(len), len, None):
        for owner in (base, middle, leaf):
            type.__setattr__(owner, "__dlpack__", value)
            assert find("__dlpack__")[0] is value
        for owner in (leaf, middle, base):
            type.__delattr__(owner, "__dlpack__")
        assert find("__dlpack__") == [5]
    other.__dlpack__ = staticmethod(len)  # type: ignore[attr-defined]
    assert find("__dlpack__")[0] is vars(other)["__dlpack__"]
    del other.__dlpack__
    assert find("__dlpack__") == []


@pytest.mark.req("CONS-02")
def test_a_class_may_change_between_imports(adv: Any) -> None:
    """Each import sees the methods of the moment, also after a change from one kind to another."""
    first, second = adv.make(data=FLOATS), adv.make(data=FLOATS)

    class Base:
        def __dlpack_device__(self) -> Any:
            return (1, 0)

    class Thing(Base):
        def __dlpack__(self, **_: Any) -> Any:
            return first.capsule()

    thing = Thing()
    assert refarray.from_dlpack(thing).tolist() == VALUES

    def alone(**_: Any) -> Any:
        return second.capsule()

    Thing.__dlpack__ = staticmethod(alone)  # type: ignore[assignment]
    assert refarray.from_dlpack(thing).tolist() == VALUES
    Base.__dlpack_device__ = lambda self: (2, 0)  # type: ignore[method-assign]
    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        refarray.from_dlpack(thing)
    del Thing.__dlpack__
    with pytest.raises(AttributeError, match="has no __dlpack__$"):
        refarray.from_dlpack(thing)


@pytest.mark.req("CONS-01")
def test_only_the_exact_ndarray_is_not_asked_for_its_device() -> None:
    """Its memory is always the CPU's. Every other type is asked once, before its data: also
    subclasses and objects that hand out methods of an ndarray."""
    np = pytest.importorskip("numpy")
    data, calls = np.arange(3.0), []

    class Sub(np.ndarray):  # type: ignore[misc,name-defined]
        def __dlpack_device__(self) -> Any:
            calls.append("device")
            return super().__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            calls.append("data")
            return super().__dlpack__(**keywords)

    class Property:
        __dlpack__ = property(lambda self: calls.append("data") or data.__dlpack__)
        __dlpack_device__ = property(lambda self: calls.append("device") or data.__dlpack_device__)

    class Borrowed:
        __dlpack__ = property(lambda self: data.__dlpack__)
        __dlpack_device__ = property(lambda self: lambda: (8, 0))

    assert refarray.from_dlpack(data).tolist() == VALUES
    for thing in (data.view(Sub), Property()):
        calls.clear()
        assert refarray.from_dlpack(thing).tolist() == VALUES
        assert calls == ["device", "data"]
    with pytest.raises(BufferError, match="kDLMetal"):
        refarray.from_dlpack(Borrowed())


@pytest.mark.req("CONS-01")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("jax._src.array", "ArrayImpl"),
        ("torch._tensor", "Tensor"),
        ("tvm_ffi.core", "Tensor"),
        ("pyarrow.lib", "Array"),
        ("array_api_strict._array_object", "Array"),
    ],
)
def test_the_name_of_a_library_changes_nothing(
    adv: Any, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    """A class whose methods are those of a library by every name is asked as any other, and no
    attribute but the two methods is read."""
    source = f"""
class {name}:
    def __dlpack__(self, **keywords):
        log.append("__dlpack__")
        return answer(**keywords)
    def __dlpack_device__(self):
        log.append("__dlpack_device__")
        return (1, 0)
    def __getattr__(self, name):
        log.append(name)
        raise AttributeError(name)
    platform = requires_grad = property(lambda self: log.append("private"))
"""
    library = types.ModuleType(module)
    log: list[str] = []
    vars(library).update(log=log, answer=lambda **_: adv.make(data=FLOATS).capsule())
    exec(source, vars(library))
    monkeypatch.setitem(sys.modules, module, library)
    for _ in range(3):
        log.clear()
        assert refarray.from_dlpack(vars(library)[name]()).tolist() == VALUES
        assert log == ["__dlpack_device__", "__dlpack__"]


@pytest.mark.req("CONS-02")
def test_none_in_the_place_of_a_method_is_no_method(adv: Any) -> None:
    """A class opts out of a protocol as it opts out of hashing by `__hash__ = None`."""
    for names in (NAMES, NAMES[:1], NAMES[1:]):
        opted_out = type("Out", (Recorder,), dict.fromkeys(names))
        with pytest.raises(AttributeError, match=f"has no {' and '.join(names)}"):
            refarray.from_dlpack(opted_out(lambda **_: adv.make().capsule()))
        with pytest.raises(TypeError, match=f"has no {' and no '.join(names)}"):
            refarray.inspect(opted_out(lambda **_: adv.make().capsule()))


class Custom:
    """A descriptor that checks that it is bound as by the interpreter."""

    def __init__(self, give: Any) -> None:
        self.give = give

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        assert instance is not None and type(instance) is owner
        return self.give


@pytest.mark.req("PROD-18")
@run_each("wrap", ["function", "static", "class", "property", "custom", "callable object"])
def test_any_descriptor_is_bound_on_the_type(adv: Any, wrap: str) -> None:
    """Functions, static and class methods, properties, other descriptors and callable objects."""
    tensor = adv.make(data=FLOATS)

    def dlpack(**keywords: Any) -> Any:
        assert keywords == FIRST
        return tensor.capsule()

    def device() -> Any:
        return (1, 0)

    wrapped = {
        "function": lambda give: lambda self, **keywords: give(**keywords),
        "static": staticmethod,
        "class": lambda give: classmethod(lambda cls, **keywords: give(**keywords)),
        "property": lambda give: property(lambda self: give),
        "custom": Custom,
        "callable object": lambda give: type(
            "Callable", (), {"__call__": lambda self, **k: give(**k)}
        )(),
    }[wrap]
    thing = type(
        "Thing", (), {"__dlpack__": wrapped(dlpack), "__dlpack_device__": wrapped(device)}
    )()
    vars(thing)["__dlpack__"] = None
    assert refarray.from_dlpack(thing).tolist() == VALUES


@run_each("value", [[1, 2], (1.0,), 3, 2.5, b"ab", memoryview(b"ab"), None])
def test_objects_without_dlpack_are_referred_to_asarray(value: object) -> None:
    with pytest.raises(
        AttributeError, match=r"has no __dlpack__ and __dlpack_device__; use asarray\(\) for"
    ):
        refarray.from_dlpack(value)
