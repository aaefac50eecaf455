"""Functions of namespaces with devices: by the device of the arguments, with its defaults."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import refarray
from refarray import _native
from refarray._namespaces.by_name import Choice, extension_module
from refarray._namespaces.devices import DeviceInfo, Place, Places
from refarray._namespaces.info import DEFAULTS, Info
from refarray._namespaces.names import rename

#: Functions with an argument `device` that copy arrays of other devices to it.
COPYING = frozenset({"asarray", "astype", "from_dlpack"})
#: Functions with an argument `device` that use only the dtype and the shape of an array.
LIKE = frozenset({"empty_like", "full_like", "ones_like", "zeros_like"})
#: Functions with an argument `device`. Of the rest arrays are numbers, which are read.
PLACED = (
    COPYING
    | LIKE
    | {
        *("arange", "empty", "eye", "full", "linspace", "ones", "zeros", "fftfreq", "rfftfreq"),
    }
)
#: Functions whose result has a default dtype unless `dtype` is given.
WITH_DEFAULT = PLACED - LIKE - {"astype", "from_dlpack"}
SUMS = frozenset({"sum", "prod", "cumulative_sum", "cumulative_prod", "trace"})
#: Functions whose results are indices, or have fields that are.
INDICES = frozenset(
    {"argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted"}
    | {"unique_all", "unique_counts", "unique_inverse"}
)
NARROWER = {_native.int64: _native.int32, _native.uint64: _native.uint32}


def join(
    name: str, functions: list[Callable[..., Any]], places: Places, module: str
) -> Callable[..., Any]:
    """One function out of those of all devices."""
    own = tuple(
        function if place.is_usual else limit(name, function, place)
        for function, place in zip(functions, places.all, strict=True)
    )
    signature = getattr(functions[0], "__text_signature__", None)
    if inspect.isfunction(functions[0]):
        signature = parameters_of(functions[0])
    doc = functions[0].__doc__ or ""
    text = f"{name}{signature}\n--\n\n{doc}" if signature else doc
    choice = Choice((places.types, own))
    choice.module = module
    chosen = _native._by_device(name, text, choice)
    chosen.__module__ = module
    return choose_place(name, chosen, own, places) if name in PLACED else chosen


def parameters_of(function: Callable[..., Any]) -> str:
    """The signature of a function of Python, without annotations."""
    found = inspect.signature(function).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found]
    return str(inspect.Signature(plain))


# --- the argument `device`


def choose_place(
    name: str, chosen: Callable[..., Any], functions: tuple[Callable[..., Any], ...], places: Places
) -> Callable[..., Any]:
    """A function whose argument `device` chooses the one that is called."""
    of_place = dict(zip(places.all, functions, strict=True))
    imports = name in ("asarray", "from_dlpack")

    @functools.wraps(functions[0])
    def with_device(*args: Any, device: Any = None, **keywords: Any) -> Any:
        if device is None:
            return chosen(*args, **keywords)
        place = places.find(device)
        if imports and args and not place.takes(args[0]):
            args, keywords = prepare_import(name, args, keywords, place, places)
        elif args:
            first = places.of(args[0])
            if first is not None and first is not place:
                if name == "astype":  # the other device may lack the dtype
                    return make_astype(place, *args, **keywords)
                if name in COPYING | LIKE:
                    move = place.move if name in COPYING else place.alias
                    args = (move(args[0]), *args[1:])
        return of_place[place](*args, **keywords)

    return with_device


def make_astype(place: Place, x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    """astype() to another device, which copies whatever `copy` says."""
    if copy is not True and copy is not False:
        raise TypeError(f"copy must be True or False, not {copy!r}")
    return place.move(x, dtype)


def prepare_import(
    name: str, args: tuple[Any, ...], keywords: dict[str, Any], place: Place, places: Places
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of asarray() or from_dlpack() for an object that is not on the device."""
    x = args[0]
    shares = places.of(x) is not None or not place.on_host
    is_literal = isinstance(x, (bool, int, float, complex, list, tuple))
    if not shares or (is_literal and name == "asarray"):
        return args, keywords
    if keywords.get("copy") is False:
        raise refarray.NoCopyError(f"{name}(): a transfer to {place.device!r} copies; copy=False")
    # Converted on the way: a copy besides would be counted.
    own = {key: value for key, value in keywords.items() if key not in ("copy", "dtype")}
    host = x if places.of(x) is not None else getattr(refarray, name)(x, **own)
    return (place.move(host, keywords.get("dtype")), *args[1:]), {**keywords, "copy": None}


# --- dtypes


def limit(name: str, function: Callable[..., Any], place: Place) -> Callable[..., Any]:
    """A function of a device that lacks dtypes, or has defaults of its own."""

    @functools.wraps(function)
    def with_dtypes(*args: Any, **keywords: Any) -> Any:
        dtype = keywords.get("dtype")
        if dtype is not None:
            place.require(dtype)
        out = function(*args, **keywords)
        if name in INDICES:
            return with_indices(out, place)
        if dtype is None and place.takes(out):
            wanted = default_for(name, args, out.dtype, place)
            if wanted != out.dtype:
                out = function(*args, **{**keywords, "dtype": wanted})
        if place.takes(out):
            place.require(out.dtype)
        return out

    return with_dtypes


def default_for(name: str, args: tuple[Any, ...], dtype: Any, place: Place) -> Any:
    """The dtype in the place of `dtype`, that of a result of refarray's own function."""
    if name in SUMS:
        wider = args and getattr(args[0], "dtype", dtype) != dtype
        narrow = place.defaults["integral"] == place.own(_native.int32)
        narrower = {place.own(wide): place.own(each) for wide, each in NARROWER.items()}
        return narrower.get(dtype, dtype) if wider and narrow else dtype
    if name not in WITH_DEFAULT or (name == "asarray" and not is_of_numbers(args[0])):
        return dtype
    for kind in ("real floating", "complex floating", "integral"):
        if dtype == place.own(DEFAULTS[kind]):
            return place.defaults[kind]
    return dtype


def is_of_numbers(x: Any) -> bool:
    """Whether asarray() chooses the dtype: other objects have one."""
    return isinstance(x, (bool, int, float, complex, list, tuple, range))


def with_indices(out: Any, place: Place) -> Any:
    """The result of a function, with indices of the device's default dtype."""
    wanted = place.defaults["indexing"]
    if wanted == place.own(DEFAULTS["indexing"]):
        return out

    def converted(x: Any) -> Any:
        return place.native.astype(x, wanted, copy=False)

    if not isinstance(out, tuple):
        return converted(out)
    names = getattr(out, "_fields", None)
    if names is None:  # of nonzero()
        return tuple(converted(each) for each in out)
    values = zip(names, out, strict=True)
    return type(out)(*(each if name == "values" else converted(each) for name, each in values))


def info(function: Any, places: Places, modes: Any, made: Callable[..., Info] = DeviceInfo) -> Any:
    """__array_namespace_info__() of such a namespace; `made`: the type of what it returns."""
    return rename(
        function,
        lambda: made(
            places,
            boolean_indexing=modes.boolean_indexing,
            data_dependent_shapes=modes.data_dependent_shapes,
        ),
    )


def merge(names: Any, others: Sequence[ModuleType], places: Places, module: str) -> None:
    """Put functions that choose the device into `names`, which are those of the first device.
    `module`: where pickle finds them."""
    for name in list(names.__all__):
        values = [getattr(each, name) for each in (names, *others)]
        if isinstance(values[0], ModuleType):
            merge(values[0], values[1:], places, extension_module(module, name))
        elif (
            callable(values[0])
            and not isinstance(values[0], type)
            and name != "__array_namespace_info__"
        ):
            setattr(names, name, join(name, values, places, module))
