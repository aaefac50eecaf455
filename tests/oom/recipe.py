"""Recipe: one call of something public, for the out-of-memory sweep; and objects recipes use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from native.corpus import FLOATS
from native.producers import Recorder, knowing

import adversary
import refarray


@dataclass(frozen=True)
class Recipe:
    """`call(make())` calls the public function `name`.

    raises: the exceptions the call ends with even when memory suffices; empty if it returns. None:
        a call with enough memory tells, and tells `python` too.
    python: the call also runs refarray's Python code.
    instead: exceptions that the standard library or NumPy raises in place of a MemoryError.
    makes_type: the call makes a type, which CPython may leak.
    kind: of the arrays or the circumstances, for calls that have recipes of several kinds."""

    name: str
    label: str
    call: Callable[[Any], Any]
    make: Callable[[], Any]
    raises: tuple[type[BaseException], ...] | None
    python: bool = False
    instead: tuple[type[BaseException], ...] = ()
    makes_type: bool = False
    kind: str = ""

    def __str__(self) -> str:
        text = f"{self.name} ({self.label})" if self.label else self.name
        return f"{self.kind}: {text}" if self.kind else text

    @property
    def family(self) -> str:
        return self.kind or FAMILIES.get(self.name.partition(".")[0], "creation, views, copies")

    def measured(self) -> Recipe:
        """The recipe with what a call with enough memory tells."""
        if self.raises is not None:
            return self
        state, raises, ran = self.make(), (), []
        sys.setprofile(lambda frame, *_: ran.append(frame.f_code.co_filename.startswith(PYTHON)))
        try:
            self.call(state)
        except REFUSALS as error:
            raises = (type(error),)
        finally:
            sys.setprofile(None)
        return replace(self, raises=raises, python=self.python or any(ran))


#: Where refarray's Python code is.
PYTHON = str(Path(refarray.__file__).parent)
#: What a call may raise where a namespace or a ledger refuses it.
REFUSALS = (
    *(AttributeError, BufferError, IndexError, OverflowError, TypeError, ValueError),
    *(ImportError, NotImplementedError, refarray.LedgerError),
)


#: Row of the table that `make gate G=trust` prints, by the first part of the recipe's name.
FAMILIES = {
    **dict.fromkeys(
        ["from_dlpack", "from_capsule", "from_buffer", "to_capsule", "asarray"],
        "exchange functions",
    ),
    "table": "exchange table",
    "Array": "Array methods",
    **dict.fromkeys(["DType", "Device", "DLDeviceType"], "dtypes, devices, errors"),
    **dict.fromkeys(["AxisError", "LinAlgError", "NoCopyError"], "dtypes, devices, errors"),
    **dict.fromkeys(
        ["build_info", "doctor", "finfo", "get_cmake_dir", "get_include", "get_pkgconfig_dir"],
        "written in Python",
    ),
    **dict.fromkeys(
        ["iinfo", "inspect", "printoptions", "Ledger", "VirtualDevice"],
        "written in Python",
    ),
    **dict.fromkeys(["open", "memmap", "save", "NamedArrays"], "written in Python"),
    "_native": "private functions",
    "strict": "refarray.strict",
    "testing": "refarray.testing",
}
RECIPES: list[Recipe] = []
#: Members of a type that cannot be called. CPython makes those of annotations when a tool asks.
NOT_CALLABLE = {"__annotations__", "__annotate_func__", "__annotations_cache__"}
NOT_CALLABLE |= {"__doc__", "__module__", "__weakref__", "__dict__"}
NOT_CALLABLE |= {"__static_attributes__", "__firstlineno__"}  # of classes in Python, from 3.13 on


def recipe(
    name: str,
    call: Callable[[Any], Any],
    make: Callable[[], Any] | None = None,
    label: str = "",
    raises: tuple[type[BaseException], ...] = (),
    python: bool = False,
    instead: tuple[type[BaseException], ...] = (),
    makes_type: bool = False,
) -> None:
    RECIPES.append(Recipe(name, label, call, make or matrix, raises, python, instead, makes_type))


def refused(
    name: str,
    raises: type[BaseException] | tuple[type[BaseException], ...],
    call: Callable[[Any], Any],
    label: str = "bad",
    **more: Any,
) -> None:
    """A recipe of a call that raises also when memory suffices."""
    recipe(name, call, label=label, raises=raises if type(raises) is tuple else (raises,), **more)


def matrix() -> Any:
    return refarray.reshape(refarray.arange(6, dtype=refarray.float32), (2, 3))


def producer(**fields: Any) -> Any:
    """A producer of one tensor, which is allocated here, before any allocation fails."""
    tensor = adversary.make(**{"shape": (2, 3), "data": FLOATS, **fields})

    class Producer:
        __slots__ = ()

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            return tensor.capsule()

    return Producer()


def capsule(**fields: Any) -> Any:
    return adversary.make(**{"shape": (2, 3), "data": FLOATS, **fields}).capsule()


def old(known: str = "") -> Any:
    tensor = adversary.make(shape=(2, 3), data=FLOATS)
    return Recorder(knowing(known, lambda **_: tensor.capsule()))


def failing() -> Any:
    def fail(**_: Any) -> Any:
        raise TypeError("always")

    return Recorder(fail)


def in_threads(call: Callable[[Any], Any], x: Any) -> Any:
    before = refarray.get_copy_threads()
    refarray.set_copy_threads(2)
    try:
        return call(x)
    finally:
        refarray.set_copy_threads(before)
