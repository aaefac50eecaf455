"""What a mutant of the array API namespace is, the list of all, and how one gets into refarray."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import refarray
from refarray import copy

#: Takes the original function and the arguments of a call; returns the wrong result.
Broken = Callable[..., Any]
Original = Callable[..., Any]

IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


@dataclass(frozen=True)
class Mutant:
    target: str  # a function of refarray, "fft.name" of an extension, or "Array.name"
    name: str
    wrong: str  # what is wrong, in one line
    broken: Broken
    lenient: bool = False  # the fault is that it accepts what has to raise

    @property
    def id(self) -> str:
        return f"{self.target}:{self.name}"

    @property
    def words(self) -> set[str]:
        """Names by which tests of the target are found: `__radd__` is tested by tests of `add`."""
        plain = self.target.rpartition(".")[2]
        return {plain, plain.strip("_"), OPERATORS.get(plain, plain)}


#: Methods of operators → functions that compute the same.
OPERATORS = {
    f"__{prefix}{method}__": function
    for method, function in {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "matmul": "matmul",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "neg": "negative",
        "pos": "positive",
        "abs": "abs",
        "invert": "bitwise_invert",
    }.items()
    for prefix in ("", "r", "i")
}

MUTANTS: dict[str, Mutant] = {}


def plant(target: str, name: str, wrong: str, broken: Broken, *, lenient: bool = False) -> None:
    """Adds a mutant to the list."""
    mutant = Mutant(target, name, wrong, broken, lenient)
    assert mutant.id not in MUTANTS, mutant.id
    MUTANTS[mutant.id] = mutant


NOT_IN_PLACE = ("Array.__int__", "Array.__index__", "Array.__invert__")


def refused(target: str, original: Original, args: Any, kwargs: Any) -> bool:
    """Raises what the original raises; returns whether it returns NotImplemented.

    What changes an array is called with a copy of it.
    """
    if target == "from_dlpack":  # may be called once with an object
        return False
    in_place = target.startswith("Array.__i") and target not in NOT_IN_PLACE
    if (in_place or target == "Array.__setitem__") and not args[0].readonly:
        args = (copy(args[0]), *args[1:])
    return original(*args, **kwargs) is NotImplemented


class IntendedError(Exception):
    """Wraps the exception of a mutant whose fault is that it raises."""


class Switch:
    """Which mutant is on, how often it has given a result, and which targets were called."""

    def __init__(self) -> None:
        self.mutant: Mutant | None = None
        self.results = 0
        self.called: set[str] = set()
        self.local = threading.local()

    def call(self, target: str, original: Original, *args: Any, **kwargs: Any) -> Any:
        """Calls the original, or the mutant's function if it is of this target."""
        if getattr(self.local, "inside", False):  # what a mutant calls is not mutated
            return original(*args, **kwargs)
        self.called.add(target)
        mutant = self.mutant
        if mutant is None or mutant.target != target:
            return original(*args, **kwargs)
        if not mutant.lenient and refused(target, original, args, kwargs):
            return NotImplemented
        self.local.inside = True
        try:
            result = mutant.broken(original, *args, **kwargs)
        except IntendedError as error:
            result = error
        except Exception:  # a mutant never dies of an accident
            return original(*args, **kwargs)
        finally:
            self.local.inside = False
        self.results += 1
        if isinstance(result, IntendedError):
            raise result.args[0]
        return result


SWITCH = Switch()


def unlock(kind: type) -> None:
    """Makes the attributes of an immutable type assignable: clears its flag in the type object."""
    words = (ctypes.c_ulong * 40).from_address(id(kind))
    (index,) = (i for i, word in enumerate(words) if word == kind.__flags__)
    words[index] &= ~IMMUTABLE_TYPE


def wrapped(target: str, original: Original) -> Original:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return SWITCH.call(target, original, *args, **kwargs)

    return call


def wrap_attribute(name: str) -> None:
    """Replaces a method, operator or property of Array by one that asks the switch."""
    original = refarray.Array.__dict__[name]
    target = f"Array.{name}"
    new: Any = wrapped(target, original) if callable(original) else None
    if new is None:
        new = property(functools.partial(SWITCH.call, target, original.__get__))
    setattr(refarray.Array, name, new)


def install() -> None:
    """Wraps every target in refarray, with all mutants off. To be called before tests import it."""
    unlock(refarray.Array)
    for target in sorted({mutant.target for mutant in MUTANTS.values()}):
        if target.startswith("Array."):
            wrap_attribute(target.removeprefix("Array."))
        else:
            module, _, name = target.rpartition(".")
            place = getattr(refarray, module) if module else refarray
            original = getattr(place, name)
            setattr(place, name, wrapped(target, original))
            if getattr(refarray.linalg, name, None) is original:  # has it under the same name
                setattr(refarray.linalg, name, getattr(place, name))
