"""Lookup of `__dlpack__` and `__dlpack_device__`: on the type, with the interpreter's binding
rules."""

from __future__ import annotations

from typing import Any

import pytest
from native.corpus import FLOATS
from native.producers import Recorder

import refarray

VALUES = [0.0, 1.0, 2.0]
FIRST = {"max_version": (1, 3)}


@pytest.mark.req("CONS-02", "PROD-18")
def test_missing_methods_raise(adv: Any) -> None:
    """The AttributeError names what is missing. Instance attributes, metaclasses and __getattr__ do
    not count."""

    class Fabricates:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: adv.make().capsule()

    class Meta(type):
        def __dlpack__(cls, **_: Any) -> Any: ...
        def __dlpack_device__(cls) -> Any: ...

    class OnMeta(metaclass=Meta):
        pass

    on_instance = type("C", (), {})()
    vars(on_instance).update(__dlpack__=lambda **_: None, __dlpack_device__=lambda: (1, 0))
    for thing in (object(), Fabricates(), OnMeta(), Recorder, on_instance, 3, None):
        with pytest.raises(AttributeError, match="__dlpack__.*__dlpack_device__"):
            refarray.from_dlpack(thing)
    no_device = type("A", (), {"__dlpack__": lambda self, **_: None})()
    with pytest.raises(AttributeError, match="__dlpack_device__"):
        refarray.from_dlpack(no_device)
    no_dlpack = type("B", (), {"__dlpack_device__": lambda self: (1, 0)})()
    with pytest.raises(AttributeError, match="__dlpack__"):
        refarray.from_dlpack(no_dlpack)


@pytest.mark.req("CONS-02")
def test_a_method_that_disappears_during_the_lookup() -> None:
    """The class __dict__ contains the method at first, but not when it is read."""

    class Fickle(dict):  # type: ignore[type-arg]
        def __contains__(self, key: object) -> bool:
            return key in ("__dlpack__", "__dlpack_device__")

    class Meta(type):
        @property
        def __dict__(cls) -> Any:
            return Fickle()

    thing = Meta("Thing", (), {})()
    with pytest.raises(AttributeError, match="__dlpack__"):
        refarray.from_dlpack(thing)


class Custom:
    """A descriptor that checks that it is bound as by the interpreter."""

    def __init__(self, give: Any) -> None:
        self.give = give

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        assert instance is not None and type(instance) is owner
        return self.give


@pytest.mark.req("PROD-18")
@pytest.mark.parametrize(
    "wrap", ["function", "static", "class", "property", "custom", "callable object"]
)
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


@pytest.mark.req("CONS-03")
@pytest.mark.parametrize("name", ["__dlpack__", "__dlpack_device__"])
def test_exception_of_a_descriptor_propagates(name: str) -> None:
    """Only a missing attribute becomes refarray's AttributeError."""
    error = RuntimeError("from the property")

    def refuse(self: Any) -> Any:
        raise error

    body = {
        "__dlpack__": lambda self, **_: None,
        "__dlpack_device__": lambda self: (1, 0),
        name: property(refuse),
    }
    with pytest.raises(RuntimeError) as caught:
        refarray.from_dlpack(type("Thing", (), body)())
    assert caught.value is error


@pytest.mark.req("PROD-18")
@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_producer_may_delete_its_methods(adv: Any, method: str) -> None:
    """Row 37: a running method deletes both methods from the type; no borrowed reference is used
    afterwards."""
    tensor = adv.make(data=FLOATS)

    class Thing:
        def __dlpack__(self, **_: Any) -> Any:
            if method == "__dlpack__":
                del Thing.__dlpack__, Thing.__dlpack_device__
            return tensor.capsule()

        def __dlpack_device__(self) -> Any:
            if method == "__dlpack_device__":
                del Thing.__dlpack_device__
                Thing.__dlpack__ = lambda self, **_: tensor.capsule()  # type: ignore[method-assign]
            return (1, 0)

    assert refarray.from_dlpack(Thing()).tolist() == VALUES


@pytest.mark.req("CONS-03")
def test_recursive_producer_raises_recursion_error(forked: Any) -> None:
    """Row 37: a producer that imports itself, at linear cost."""

    class Endless:
        calls = 0

        def __dlpack__(self, **_: Any) -> Any:
            Endless.calls += 1
            return refarray.from_dlpack(self)

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    def body() -> None:
        with pytest.raises(RecursionError):
            refarray.from_dlpack(Endless())
        assert Endless.calls < 20000

    forked(body)


@pytest.mark.req("CONS-01")
def test_numpy_arrays_skip_the_device_query() -> None:
    """Only exactly numpy.ndarray; subclasses are asked."""
    np = pytest.importorskip("numpy")
    calls = []

    class Sub(np.ndarray):
        def __dlpack_device__(self) -> Any:
            calls.append("device")
            return super().__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            calls.append("dlpack")
            return super().__dlpack__(**keywords)

    plain = np.arange(3.0)
    assert refarray.from_dlpack(plain).tolist() == [0.0, 1.0, 2.0]
    assert refarray.from_dlpack(plain.view(Sub)).tolist() == [0.0, 1.0, 2.0]
    assert calls == ["device", "dlpack"]
