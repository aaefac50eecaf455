"""Calls of the namespace's functions on a device, compared with the same calls on the host."""

from __future__ import annotations

from typing import Any

from properties.models import MODELS
from properties.test_every_function import UNDETERMINED, arrays, calls, run, text

import refarray as ra
from helpers.cases import cases

NAMES = sorted(set(MODELS) - set(UNDETERMINED))
CALLS = 3  # of each function


def moved(value: Any, device: str) -> Any:
    """The value with every array in it on the device."""
    if isinstance(value, ra.Array):
        return value.to_device(device)
    if isinstance(value, dict):
        return {key: moved(each, device) for key, each in value.items()}
    if isinstance(value, tuple | list):
        items = [moved(each, device) for each in value]
        return items if type(value) is list else tuple(items)
    return value


def compare_with_the_host(name: str, device: str, new: str = "") -> None:
    """Calls the function with arrays on `device`: the results are those of the host, and are there
    or, if they are no views, on `new`."""
    with cases() as case:
        for number, call in enumerate(calls(name, CALLS)):
            given = (call.arguments, dict(call.keywords))
            if not list(arrays(given)):
                continue
            with case(f"call {number}"):
                there = moved(given, device)
                got = run(name, call._replace(arguments=there[0], keywords=there[1]))
                assert {x.device for _, x in arrays(got)} <= {device, new or device}
                assert text(moved(got, "cpu")) == text(run(name, call))
