"""The functions of the array API standard for the arrays of all strict namespaces, and of others.

Libraries such as opt_einsum and autoray take the functions from the module that the class of an
array names first. This one calls those of the array's namespace, or of refarray.strict if there is
no array among the arguments. It also has the functions `einsum` and `transpose` of NumPy, which
such libraries call. Programs take `x.__array_namespace__()`.
"""

from __future__ import annotations

import functools
import importlib
import string
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import refarray
from refarray._namespaces import by_name, info

__path__: list[str] = []  # a package: of modules that Finder makes

DTYPES = frozenset(info.DTYPES)
#: Its names besides those of the standard.
OWN = ("Array", "DType", "Device", "einsum", "transpose")


class Finder:
    """Makes the modules by which classes and functions are pickled, and those of the extensions."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        if package != __name__ or not rest:
            return None
        if rest in refarray._EXTENSIONS:
            return ModuleSpec(name, Finder)  # type: ignore[arg-type]
        try:
            by_name.arguments_in(rest)
        except ValueError:
            return None
        return ModuleSpec(name, Finder)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        rest = spec.name.partition(".")[2]
        return Extension(spec.name) if rest in refarray._EXTENSIONS else by_name.ByName(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing is left to do."""


class Extension(ModuleType):
    """The functions of an extension."""

    def __getattr__(self, name: str) -> Any:
        return of_arrays(name, self.__name__.partition(".")[2])


sys.meta_path.append(Finder)


def __getattr__(name: str) -> Any:
    if name in refarray._EXTENSIONS:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "Array":
        return strict()._places.types[0]
    if name == "DType":
        return type(strict().bool)
    if name == "Device":
        return type(refarray.namespace(strict=True).empty(0).device)
    if name in DTYPES:
        return getattr(strict()._places.all[0].native, name)
    if name in ("e", "inf", "nan", "newaxis", "pi"):
        return getattr(refarray, name)
    return of_arrays(name)


@functools.cache
def of_arrays(name: str, extension: str | None = None) -> Callable[..., Any]:
    """The function of the namespace of the first array among the arguments."""
    own = getattr(refarray, extension) if extension else refarray
    known = name in own.__all__ and not name.startswith("__")
    value = getattr(own, name) if known else None
    if not callable(value) or isinstance(value, type):
        where = f"{__name__}.{extension}" if extension else __name__
        raise AttributeError(f"module {where!r} has no attribute {name!r}")

    @functools.wraps(value)
    def function(*args: Any, **keywords: Any) -> Any:
        space: Any = namespace_of((*args, *keywords.values())) or strict()
        return getattr(getattr(space, extension) if extension else space, name)(*args, **keywords)

    function.__module__ = f"{__name__}.{extension}" if extension else __name__
    return function


def namespace_of(values: Iterable[Any]) -> Any:
    """That of the first array of refarray among the values, and in sequences among them."""
    for each in values:
        if type(each).__module__.partition(".")[0] == __name__ and hasattr(
            each, "__array_namespace__"
        ):
            return each.__array_namespace__()
        if type(each) in (list, tuple):
            found = namespace_of(each)
            if found is not None:
                return found
    return None


def strict() -> Any:
    return importlib.import_module("refarray.strict")


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Any:
    """numpy.transpose(): permute the axes; by default, reverse them."""
    order = tuple(reversed(range(x.ndim)) if axes is None else axes)
    return x.__array_namespace__().permute_dims(x, order)


def einsum(subscripts: str, /, *operands: Any) -> Any:
    """numpy.einsum() of a string: sums of products over letters; "..." is the axes without one.

    The products are computed before the sums. opt_einsum calls it where tensordot() will not do,
    and xarray.dot() where there is no opt_einsum.
    """
    xp = namespace_of(operands)
    if xp is None:
        raise TypeError("einsum(): none of the operands is an array of refarray")
    inputs, arrow, output = spell_out(subscripts.replace(" ", ""), operands).partition("->")
    terms = inputs.split(",")
    letters = "".join(terms)
    valid = all(each.isalpha() for each in letters + output) and set(output) <= set(letters)
    if not valid or len(set(output)) != len(output) or len(terms) != len(operands):
        raise ValueError(
            f"einsum(): {subscripts!r} must have a term of letters for each of {len(operands)} "
            "operands, and after '->' letters of them, each once"
        )
    if not arrow:
        output = "".join(sorted(each for each in set(letters) if letters.count(each) == 1))
    pairs = [diagonal_of(xp, *pair) for pair in zip(terms, operands, strict=True)]
    letters = output + "".join(sorted(set(letters) - set(output)))
    factors = [spread(xp, *pair, letters) for pair in pairs]
    product = functools.reduce(xp.multiply, factors)
    summed = tuple(range(len(output), len(letters)))
    return xp.sum(product, axis=summed, dtype=product.dtype) if summed else product


def spell_out(subscripts: str, operands: Sequence[Any]) -> str:
    """The subscripts with letters in the place of "...", aligned at its end as in broadcasting."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if "..." not in inputs or len(terms) != len(operands):
        return subscripts
    counts = [
        max(x.ndim - len(term) + 3, 0) if "..." in term else 0
        for term, x in zip(terms, operands, strict=True)
    ]
    letters = [each for each in string.ascii_letters if each not in subscripts][: max(counts)]
    further = "".join(letters)
    starts = [len(further) - count for count in counts]
    if not arrow:
        once = (each for each in set(inputs) - {",", "."} if inputs.count(each) == 1)
        output = "".join(["...", *sorted(once)])
    elif further and "..." not in output:
        raise ValueError(f"einsum(): {subscripts!r} must have '...' after '->' too")
    pairs = zip(terms, starts, strict=True)
    spelled = ",".join(term.replace("...", further[start:], 1) for term, start in pairs)
    return f"{spelled}->{output.replace('...', further, 1)}"


def diagonal_of(xp: Any, term: str, x: Any) -> tuple[str, Any]:
    """The operand with one axis for each letter."""
    if len(term) != x.ndim:
        raise ValueError(f"einsum(): {term!r} has {len(term)} letters for ndim {x.ndim}")
    for letter in set(term):
        while term.count(letter) > 1:
            axes = [i for i, each in enumerate(term) if each == letter][:2]
            extent = x.shape[axes[0]]
            if extent != x.shape[axes[1]]:
                raise ValueError(f"einsum(): {letter!r} stands for two extents of {x.shape}")
            others = [i for i in range(x.ndim) if i not in axes]
            # Functions and indices of all versions of the standard only, and of no extension.
            matrices = xp.permute_dims(x, (*others, *axes))
            rows = xp.reshape(matrices, (*(x.shape[i] for i in others), extent * extent))
            x = rows[..., :: extent + 1]
            term = "".join(term[i] for i in others) + letter
    return term, x


def spread(xp: Any, term: str, x: Any, letters: str) -> Any:
    """The operand with an axis for each of all letters, of extent 1 where it has none."""
    order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
    index = tuple(slice(None) if each in term else None for each in letters)
    return xp.permute_dims(x, tuple(order))[index]


def __dir__() -> list[str]:
    return sorted({*OWN, *refarray.namespace(strict=True).__all__})
