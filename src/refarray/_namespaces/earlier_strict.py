"""What strict namespaces of earlier versions refuse: arguments and operands that came later.

Their functions are those of today, with the signatures and operands of their version. What the
standard's changelog calls a clarification is not here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import refarray

Function = Callable[..., Any]
#: Makes a function of a version: from today's, the version that has more, and the one asked for.
Change = Callable[[Function, str, str], Function]


def came_later(function: Function, what: str, since: str, version: str) -> TypeError:
    return TypeError(
        f"{function.__name__}(): {what} came with version {since} of the standard; this "
        f"namespace is strict, of version {version}"
    )


def without_arguments(*names: str) -> Change:
    """A function that lacks keyword arguments."""

    def change(function: Function, since: str, version: str) -> Function:
        signature = inspect.signature(function)
        kept = [each for each in signature.parameters.values() if each.name not in names]

        @functools.wraps(function)
        def with_fewer(*args: Any, **keywords: Any) -> Any:
            given = next((name for name in names if name in keywords), None)
            if given is not None:
                raise came_later(function, f"the argument {given}", since, version)
            return function(*args, **keywords)

        with_fewer.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return with_fewer

    return change


def refuse(what: str, meets: Callable[..., bool]) -> Change:
    """A function that refuses calls; `meets` takes their arguments, and may raise: then the
    function itself says what is wrong with them."""

    def change(function: Function, since: str, version: str) -> Function:
        @functools.wraps(function)
        def with_less(*args: Any, **keywords: Any) -> Any:
            try:
                refused = meets(*args, **keywords)
            except Exception:  # whatever the arguments are
                refused = False
            if refused:
                raise came_later(function, what, since, version)
            return function(*args, **keywords)

        return with_less

    return change


def has_number(*args: Any, **_: Any) -> bool:
    return any(isinstance(each, (bool, int, float, complex)) for each in args)


def is_complex(x: Any, *_: Any, **__: Any) -> bool:
    return refarray.isdtype(x.dtype, "complex floating")


def is_real(x: Any, *_: Any, **__: Any) -> bool:
    return refarray.isdtype(x.dtype, ("integral", "real floating"))


def has_negative_axis(_x1: Any, _x2: Any, *, axes: Any = 2) -> bool:
    return not isinstance(axes, int) and any(each < 0 for part in axes for each in part)


def count_from_the_end(function: Function, _since: str, _version: str) -> Function:
    """A function whose axis may be nonnegative: one of the operands' common shape."""

    @functools.wraps(function)
    def with_any_axis(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
        ndims = [each.ndim for each in (x1, x2) if hasattr(each, "ndim")]
        if isinstance(axis, int) and len(ndims) == 2 and 0 <= axis < max(ndims):
            axis -= max(ndims)
        return function(x1, x2, axis=axis)

    return with_any_axis


OF_TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift"),
    *("bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal"),
    *("hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("maximum", "minimum", "multiply", "not_equal", "pow", "remainder", "subtract"),
)

#: The version that brought it, the functions, and the change that takes it away.
CHANGES: tuple[tuple[str, tuple[str, ...], Change], ...] = (
    ("2022.12", ("trace",), without_arguments("dtype")),
    (
        "2022.12",
        ("cross",),
        refuse("broadcasting", lambda x1, x2, /, **_: x1.shape != x2.shape),
    ),
    ("2023.12", ("astype",), without_arguments("device")),
    ("2023.12", ("from_dlpack",), without_arguments("device", "copy")),
    ("2023.12", ("tensordot",), refuse("a negative axis", has_negative_axis)),
    ("2023.12", ("cross", "vecdot"), count_from_the_end),
    ("2024.12", ("fftfreq", "rfftfreq"), without_arguments("dtype")),
    ("2024.12", (*OF_TWO, "result_type", "where"), refuse("a Python number", has_number)),
    ("2024.12", ("mean",), refuse("a complex array", is_complex)),
    ("2024.12", ("conj", "real"), refuse("a real-valued array", is_real)),
    ("2025.12", ("searchsorted",), refuse("a Python number", has_number)),
    (
        "2025.12",
        ("expand_dims",),
        refuse("a tuple of axes", lambda _x, /, axis: isinstance(axis, tuple)),
    ),
    (
        "2025.12",
        ("permute_dims",),
        refuse("a negative axis", lambda _x, /, axes: any(each < 0 for each in axes)),
    ),
)


def change(name: str, function: Any, version: str) -> Any:
    """The function of a strict namespace, as it was in a version."""
    for since, names, change in CHANGES:
        if name in names and version < since:
            function = change(function, since, version)
    return function
