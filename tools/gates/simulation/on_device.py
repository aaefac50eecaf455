"""A namespace whose arrays are on a simulated device unless another is named, for the official
suite of the array API standard."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import fakegpu

import refarray

#: Creation functions that take the device of no array.
CREATION = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


def on_device(function: Any, device: Any) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        made_of_array = any(hasattr(each, "__array_namespace__") for each in arguments[:1])
        if keywords.get("device") is None and not made_of_array:
            keywords["device"] = device
        return function(*arguments, **keywords)

    return call


def copy_of(module: Any) -> Any:
    out = ModuleType(module.__name__)
    out.__dict__.update({name: getattr(module, name) for name in dir(module)})
    return out


def namespace(device: str, **options: Any) -> Any:
    """The names of a namespace; its creation functions use `device`."""
    fakegpu.load(cuda=1, hip=1, reuse=True)  # a process has room for some 30,000 new addresses
    space = refarray.namespace(**options)
    place = refarray.empty(0, device=device).device  # strict namespaces take no str
    out = copy_of(space)
    out.fft = copy_of(space.fft)
    for owner, names in ((out, CREATION), (out.fft, ("fftfreq", "rfftfreq"))):
        for name in names:
            setattr(owner, name, on_device(getattr(owner, name), place))
    return out
