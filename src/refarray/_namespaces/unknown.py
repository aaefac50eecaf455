"""Unknown extents: lazy namespaces whose shapes may depend on elements.

An array has its elements, as every lazy array, and two probes: arrays that have other extents in
the place of the unknown ones. Functions are called with the array and with its probes. Where the
shapes of the results differ, the extent is unknown; where the large probe raises, the call needs
an extent that is unknown, or two unknown extents to be equal. Each unknown extent is another prime
in the large probe, so that equal ones combine. In the small probe they are 1, which tells apart
results such as min(n, 3). The elements of probes are those of the array, repeated, so that indices
stay valid.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import refarray
from refarray._namespaces.lazy_array import LazyArray, fresh_extent, probe_key, probes_of
from refarray._namespaces.versions import Namespace

BINARY = (
    *("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub"),
    *("truediv", "xor"),
)
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
UNARY = ("abs", "invert", "neg", "pos")


def method(name: str) -> Callable[..., Any]:
    """A function that calls the special method of an array, and so returns NotImplemented where the
    method does; those of `operator` would call the other operand's method with the elements."""
    return lambda x, *args: getattr(x, name)(*args)


class Unknowns:
    """The functions and the array type of a namespace with unknown extents, around those of another
    namespace."""

    def __init__(self, inner: Any, namespace: Any, *, strict: bool, immutable: bool) -> None:
        self.inner = inner
        self.namespace = namespace
        self.natives = inner._places.types
        operators = itertools.chain(
            ((f"__{name}__", self.plain(f"__{name}__")) for name in (*BINARY, *COMPARISONS)),
            ((f"__{name}__", self.plain(f"__{name}__")) for name in UNARY),
            ((f"__r{name}__", self.plain(f"__r{name}__")) for name in (*BINARY, "divmod")),
            (("__divmod__", self.plain("__divmod__")),),
            ((f"__i{name}__", self.in_place(f"__i{name}__")) for name in BINARY if not immutable),
        )
        own = {"__slots__": (), "__module__": namespace._module, "_space": self, **dict(operators)}
        own |= {"__array_ufunc__": None} if strict else {"__array_priority__": 1000.0}
        self.Array: Any = type("Array", (LazyArray,), own)

    # --- arrays, and what functions get in their place

    def make(self, real: Any, probes: tuple[Any, ...]) -> Any:
        out = self.Array.__new__(self.Array)
        out._real = real
        known = all(each is None or each.shape == real.shape for each in probes)
        out._probes = () if known else probes
        return out

    def lower(self, value: Any, probe: int | None = None) -> Any:
        """The value with the elements, or the probes, in the place of arrays."""
        if isinstance(value, LazyArray):
            if probe is None or type(value) is not self.Array or not value._probes:
                return value._real
            found = value._probes[probe]
            if found is None:
                raise NoProbe
            return found
        if type(value) in (tuple, list):
            # No generator, which CPython 3.13 may call for ever once one had no memory.
            return type(value)([self.lower(each, probe) for each in value])
        if isinstance(value, slice):
            parts = value.start, value.stop, value.step
            return slice(*(self.lower(each, probe) for each in parts))
        return value

    def has_unknown(self, value: Any) -> bool:
        if isinstance(value, self.Array):
            return bool(value._probes)
        return type(value) in (tuple, list) and any(map(self.has_unknown, value))

    def lift(self, real: Any, probes: tuple[Any, ...]) -> Any:
        """Arrays in the place of those that functions returned."""
        if isinstance(real, self.natives):
            return self.make(real, probes)
        if not isinstance(real, tuple | list):
            return real
        parts = [
            self.lift(each, tuple(None if probe is None else probe[i] for probe in probes))
            for i, each in enumerate(real)
        ]
        return type(real)(*parts) if hasattr(real, "_fields") else type(real)(parts)

    # --- calls

    def call(self, name: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        values = [*args, *keywords.values()]

        def called(probe: int | None) -> Any:
            own = [self.lower(each, probe) for each in values]
            return function(*own[: len(args)], **dict(zip(keywords, own[len(args) :], strict=True)))

        if not any(map(self.has_unknown, values)):
            return self.lift(called(None), ())
        real, large = self.both(name, lambda: called(None), lambda: called(0))
        return self.lift(real, (large, attempt(lambda: called(1))))

    def both(self, name: str, real: Callable[[], Any], large: Callable[[], Any]) -> tuple[Any, Any]:
        """The results for the array and for the large probe."""
        try:
            out = real()
        except (ValueError, IndexError) as error:
            try:
                large()
            except (ValueError, IndexError) as other:
                if str(other) != str(error):  # it is about extents, which are not to be known
                    raise refusal(name) from other
            raise
        return out, self.probe(name, large)

    def probe(self, name: str, use: Callable[[], Any]) -> Any:
        try:
            return use()
        except (ValueError, IndexError) as error:
            raise refusal(name) from error

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        special = getattr(self, f"call_{name}", None)

        @functools.wraps(function)
        def of_namespace(*args: Any, **keywords: Any) -> Any:
            if special is not None:
                return special(function, *args, **keywords)
            return self.call(name, function, *args, **keywords)

        return of_namespace

    def plain(self, name: str) -> Callable[..., Any]:
        return lambda *args: self.call(name, method(name), *args)

    def in_place(self, name: str) -> Callable[[Any, Any], Any]:
        function = method(name)

        def use(x: Any, other: Any) -> Any:
            # The large probe first: the elements must not change if the call is refused. The small
            # one keeps its extents; nobody reads its elements.
            if self.has_unknown((x, other)):
                self.probe(name, lambda: function(self.lower(x, 0), self.lower(other, 0)))
            if function(x._real, self.lower(other)) is NotImplemented:
                return NotImplemented
            return x

        return use

    # --- functions whose results have unknown extents

    def resize(self, array: Any, axis: int, extent: int) -> Any:
        """A probe: the elements along an axis, repeated or left out."""
        xp, shape = self.inner, list(array.shape)
        if shape[axis] == extent:
            return array
        if shape[axis] == 0:
            shape[axis] = extent
            return xp.zeros(tuple(shape), dtype=array.dtype, device=array.device)
        index = [i % shape[axis] for i in range(extent)]
        return xp.take(array, xp.asarray(index, device=array.device), axis=axis)

    def with_unknown(
        self, real: Any, extent: int, probes: tuple[Any, ...] = (), axis: int = 0
    ) -> Any:
        """An array that has an unknown extent in an axis, and those of `probes` in others."""
        large, small = probes or (real, real)
        return self.make(
            real,
            (
                self.resize(large, axis, extent),
                None if small is None else attempt(lambda: self.resize(small, axis, 1)),
            ),
        )

    def call_nonzero(self, function: Any, x: Any, /) -> Any:
        found = function(self.lower(x))
        extent = fresh_extent(found[0].shape[0])
        return tuple(self.with_unknown(each, extent) for each in found)

    def unique(self, function: Any, x: Any, /) -> Any:
        found = function(self.lower(x))
        if isinstance(found, self.natives):
            return self.with_unknown(found, fresh_extent(found.shape[0]))
        extent = fresh_extent(found.values.shape[0])
        zeros = functools.partial(self.inner.zeros_like, dtype=found[-1].dtype)
        like_x = tuple(None if each is None else zeros(each) for each in probes_of(x))
        return type(found)(
            *(
                self.make(each, like_x)
                if name == "inverse_indices"
                else self.with_unknown(each, extent)
                for name, each in zip(found._fields, found, strict=True)
            )
        )

    call_unique_values = call_unique_counts = call_unique_inverse = call_unique_all = unique

    def call_repeat(self, function: Any, x: Any, repeats: Any, /, *, axis: Any = None) -> Any:
        if not isinstance(repeats, LazyArray):
            return self.call("repeat", functools.partial(function, axis=axis), x, repeats)

        def repeated(probe: int | None = None) -> Any:
            return function(self.lower(x, probe), self.lower(repeats, probe), axis=axis)

        if self.has_unknown((x, repeats)):
            real, _ = self.both("repeat", repeated, lambda: repeated(0))
        else:
            real = repeated()
        at = 0 if axis is None else axis
        others = probes_of(x) if axis is not None else ()
        return self.with_unknown(real, fresh_extent(real.shape[at]), others, at)

    # --- indexing

    def getitem(self, x: Any, key: Any) -> Any:
        entries = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, LazyArray) and each.dtype == self.inner.bool for each in entries):
            return self.select(x, key, entries)
        if not self.has_unknown((x, *entries)):
            return self.make(x._real[self.lower(key)], ())
        plain, extents = probe_key(x, entries)

        def selected(probe: int) -> Any:
            out = self.lower(x, probe)[self.lower(plain, probe)]
            for axis, extent in extents.items():
                out = self.resize(out, axis, 1 if probe else extent)
            return out

        real, large = self.both("indexing", lambda: x._real[self.lower(key)], lambda: selected(0))
        return self.make(real, (large, attempt(lambda: selected(1))))

    def select(self, x: Any, key: Any, entries: tuple[Any, ...]) -> Any:
        """The elements that a mask selects: their number is unknown."""
        if len(entries) > 1:
            raise IndexError("with unknown extents, a mask is the only entry of its index")

        def masked(probe: int | None = None) -> Any:
            return self.lower(x, probe)[self.lower(key, probe)]

        if not self.has_unknown((x, *entries)):
            real = masked()
            return self.with_unknown(real, fresh_extent(real.shape[0]))
        real, large = self.both("a mask", masked, lambda: masked(0))
        small = attempt(lambda: masked(1))
        return self.with_unknown(real, fresh_extent(real.shape[0]), (large, small))

    def setitem(self, x: Any, key: Any, value: Any) -> None:
        entries = key if isinstance(key, tuple) else (key,)
        if self.has_unknown((x, *entries, value)):
            plain, extents = probe_key(x, entries)
            masked = any(isinstance(each, LazyArray) for each in entries)
            number = not isinstance(value, LazyArray) or value.ndim == 0
            if not extents and (number or not masked):
                self.probe("assignment", lambda: self.assign_probe(x, plain, value))
        x._real[self.lower(key)] = self.lower(value)

    def assign_probe(self, x: Any, key: Any, value: Any) -> None:
        self.lower(x, 0)[self.lower(key, 0)] = self.lower(value, 0)


def names_of(names: ModuleType, unknowns: Unknowns) -> Namespace:
    """The names of a namespace, with functions of arrays that may have unknown extents."""
    out = Namespace(names.__name__, names.__doc__)
    out.__all__ = list(names.__all__)
    for name in out.__all__:
        value = getattr(names, name)
        if name == "Array":
            value = unknowns.Array
        elif isinstance(value, ModuleType):
            value = names_of(value, unknowns)
        elif callable(value) and not isinstance(value, type | refarray.DType):
            value = unknowns.wrap(name, value)
        setattr(out, name, value)
    return out


def refusal(name: str) -> ValueError:
    text = name.strip("_")
    return ValueError(f"{text}(): needs an extent that is unknown, or unknown extents to be equal")


class NoProbe(Exception):
    """The small probe of an argument could not be made."""


def attempt(use: Callable[[], Any]) -> Any:
    """The result, or None: the small probe only tells shapes apart."""
    try:
        return use()
    except refarray.LedgerError:
        raise
    except Exception:
        return None
