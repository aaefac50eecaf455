"""Recipes of refarray.strict and refarray.testing, and of the members of classes in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import refarray
import refarray.strict
import refarray.testing
import refarray_strict
from refarray import strict, testing
from refarray.conformance.live_validator import spy

from .recipe import NOT_CALLABLE, matrix, recipe, refused

# --- refarray.strict ---


def without_extensions(_: Any) -> None:
    with strict.ArrayAPIStrictFlags(enabled_extensions=()):
        strict.get_array_api_strict_flags()


def in_old_version(_: Any) -> None:
    with strict.ArrayAPIStrictFlags(api_version="2022.12", boolean_indexing=False):
        strict.reset_array_api_strict_flags()


#: Functions of the module refarray_strict.
OF_THE_TOP_LEVEL = {"strict.einsum", "strict.sum", "strict.transpose"}


def strict_matrix() -> Any:
    return strict.asarray([[0.5, 0.25], [0.75, 0.125]])


recipe("strict.ArrayAPIStrictFlags", without_extensions, python=True)
recipe("strict.reset_array_api_strict_flags", in_old_version, python=True)
recipe(
    "strict.get_array_api_strict_flags", lambda _: strict.get_array_api_strict_flags(), python=True
)
recipe("strict.set_array_api_strict_flags",
       lambda _: strict.set_array_api_strict_flags(boolean_indexing=True), python=True)  # fmt: skip
refused("strict.set_array_api_strict_flags", ValueError,
        lambda _: strict.set_array_api_strict_flags(api_version="1"), python=True)  # fmt: skip
recipe("strict.Device", lambda _: strict.Device("device1"), python=True)
refused("strict.Device", ValueError, lambda _: strict.Device("toaster"), python=True)
recipe(
    "strict.einsum", lambda x: refarray_strict.einsum("ij,kj->ik", x, x), strict_matrix, python=True
)
recipe("strict.transpose", refarray_strict.transpose, strict_matrix, python=True)
recipe("strict.sum", lambda x: refarray_strict.sum(x), strict_matrix, python=True)

# --- refarray.testing ---


def judged(call: Callable[[Any], Any], x: Any) -> None:
    """Calls what judges an exchange; without the wait for deleters of other threads, and without
    what the standard library reads about installed libraries."""
    before = spy.DELETER_SECONDS, metadata.version, metadata.entry_points
    spy.DELETER_SECONDS, metadata.version, metadata.entry_points = 0.0, str, no_entry_points
    try:
        call(x)
    finally:
        spy.DELETER_SECONDS, metadata.version, metadata.entry_points = before


def no_entry_points(**_: Any) -> tuple[()]:
    return ()


def check_consumer(x: Any) -> None:
    with testing.checked(x) as producer:
        refarray.from_dlpack(producer)


def check_producer(x: Any) -> None:
    testing.CheckedConsumer().from_dlpack(x)


recipe("testing.checked", partial(judged, check_consumer), python=True)
recipe("testing.CheckedConsumer", lambda _: testing.CheckedConsumer(), python=True)
recipe("testing.CheckedConsumer.from_dlpack", partial(judged, check_producer), python=True)
recipe("testing.Request", testing.Request, python=True)
recipe("testing.hard_producers", lambda x: testing.hard_producers(array=x), python=True)
recipe("testing.hard_arrays", lambda _: testing.hard_arrays(), python=True)
recipe(
    "testing.assert_array_equal", lambda x: testing.assert_array_equal(x, x.T.copy().T), python=True
)
refused("testing.assert_array_equal", AssertionError,
        lambda x: testing.assert_array_equal(x, [[0, 1, 2], [3, 4, 6]], dtype=False),
        label="different", python=True)  # fmt: skip
refused("testing.assert_array_equal", AssertionError,
        lambda x: testing.assert_array_equal(x, x.T, device=True), label="facts",
        python=True)  # fmt: skip
refused("testing.assert_array_equal", TypeError, lambda x: testing.assert_array_equal(x, "text"),
        python=True)  # fmt: skip
recipe("testing.HardArray", lambda _: testing.HardArray("permuted", "complex64"), python=True)
recipe("testing.HardProducer", lambda x: testing.HardProducer("copying", x), python=True)
for _layout in testing.LAYOUTS:
    recipe("testing.hard_array", lambda _, name=_layout: testing.hard_array(name), label=_layout,
           python=True)  # fmt: skip
for _kind in testing.PRODUCERS:
    if _kind == "slow":  # as the first one, with a sleep
        continue
    _raises = () if testing.PRODUCERS[_kind].importable else (BufferError, RuntimeError)
    recipe("testing.hard_producer",
           lambda x, kind=_kind: refarray.from_dlpack(testing.hard_producer(kind, x)), label=_kind,
           raises=_raises, python=True)  # fmt: skip

STRATEGIES: list[tuple[str, Callable[[], Any]]] = []
if find_spec("hypothesis"):
    from refarray.testing import strategies

    STRATEGIES += [
        ("testing.strategies.arrays", strategies.arrays),
        ("testing.strategies.dtypes", strategies.dtypes),
        ("testing.strategies.elements", lambda: strategies.elements("float16")),
        ("testing.strategies.producers", strategies.producers),
        ("testing.strategies.shapes", strategies.shapes),
    ]
for _name, _strategy in STRATEGIES:  # Hypothesis draws from them elsewhere
    recipe(_name, lambda _, make=_strategy: make(), python=True)

# --- members of classes ---


def used_ledger() -> Any:
    with refarray.ledger(forbid="transfer") as out:
        matrix().copy()
    return out


#: By class: how an instance is made.
INSTANCES: dict[str, Callable[[], Any]] = {
    "Ledger": used_ledger,
    "VirtualDevice": lambda: refarray.VirtualDevice("gpu"),
    "strict.ArrayAPIStrictFlags": lambda: strict.ArrayAPIStrictFlags(boolean_indexing=True),
    "strict.Device": lambda: strict.Device("no_x64"),
    "testing.CheckedConsumer": lambda: testing.CheckedConsumer(),
    "testing.HardArray": lambda: testing.HardArray("strided"),
    "testing.HardProducer": lambda: testing.HardProducer("legacy"),
    "testing.Request": lambda: testing.Request(None),
}
#: Arguments of members that need some.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "__delattr__": ("x",),
    "__eq__": (None,),
    "__exit__": (None, None, None),
    "__setattr__": ("x", 1),
    "testing.HardArray.__init__": ("strided",),
    "testing.HardProducer.__init__": ("legacy",),
    "testing.Request.__init__": (None,),
    "VirtualDevice.__init__": ("gpu",),
}


def classes_in_python() -> dict[str, Any]:
    """The public classes that are written in Python and have members, by name."""
    own = {name: getattr(refarray, name) for name in refarray.__all__}
    own |= {f"strict.{name}": getattr(strict, name) for name in strict._OWN}
    own |= {f"testing.{name}": getattr(testing, name) for name in testing.__all__}
    return {
        name: value
        for name, value in own.items()
        if isinstance(value, type)
        and value.__module__.startswith("refarray.")
        and not issubclass(value, (int, Exception))
    }


def members(cls: type) -> list[str]:
    """What can be called or computes, without the private ones."""
    return [
        name
        for name, value in vars(cls).items()
        if (callable(value) or isinstance(value, property))
        and name not in (*NOT_CALLABLE, "__replace__")
        and (name.startswith("__") or not name.startswith("_"))
    ]


def call_member(name: str, arguments: tuple[Any, ...], instance: Any) -> None:
    value = getattr(instance, name)
    if callable(value):
        value(*arguments)


for _name, _class in classes_in_python().items():
    for _member in members(_class) if _name in INSTANCES else ():
        _full = f"{_name}.{_member}"
        if _full == "testing.CheckedConsumer.from_dlpack":  # above
            continue
        _arguments = ARGUMENTS.get(_full, ARGUMENTS.get(_member, ()))
        recipe(_full, lambda x, name=_member, arguments=_arguments: call_member(name, arguments, x),
               INSTANCES[_name],
               raises=(AttributeError,) if _member in ("__delattr__", "__setattr__") else (),
               python=True)  # fmt: skip


def public_names() -> set[str]:
    """The functions and classes of the two packages, and the members of classes in Python."""
    out = {
        f"{module}.{name}"
        for module, names in (("strict", strict._OWN), ("testing", testing.__all__))
        for name in names
        if callable(getattr(getattr(refarray, module), name))
    }
    out |= {name for name, _ in STRATEGIES} | OF_THE_TOP_LEVEL
    for name, cls in classes_in_python().items():
        out |= {f"{name}.{member}" for member in members(cls)}
    return out
