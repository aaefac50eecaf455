"""What a library itself says of its arrays: shape, values and strides, read without DLPack."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.memory import extents
from refarray.conformance.subjects.subject import Subject

CONVERSIONS: dict[str, Callable[[Any], bool | int | complex]] = {
    "bool": bool,
    "int": int,
    "uint": int,
    "complex": complex,
}
"""What a dtype's name begins with → the conversion of one of its elements."""


@dataclass(frozen=True)
class Statement:
    """The library's statement on an array."""

    shape: tuple[int, ...]
    values: Any
    """Nested lists."""
    strides: tuple[int, ...] | None
    """In elements; None if the adapter cannot tell."""


def by_index(array: Any, convert: Any) -> Any:
    """The values of an array as nested lists, element by element."""
    if len(array.shape) == 0:
        return convert(array)
    return [by_index(array[index], convert) for index in range(array.shape[0])]


def read_values(subject: Subject, namespace: Mapping[str, Any], array: Any, dtype: str) -> Any:
    """The values as the library reads them. NotApplicable if it cannot."""
    try:
        if subject.values:
            return eval(subject.values.format("_array"), {**namespace, "_array": array})
        if hasattr(array, "tolist"):
            return array.tolist()
        name = next((each for each in CONVERSIONS if dtype.startswith(each)), "")
        return by_index(array, CONVERSIONS.get(name, float))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise NotApplicable(f"the library's own values cannot be read: {reason}") from error


def read_strides(subject: Subject, namespace: Mapping[str, Any], array: Any) -> Any:
    """The strides in elements as the library states them; None if the adapter cannot tell."""
    if not subject.strides:
        return None
    try:
        return tuple(eval(subject.strides.format("_array"), {**namespace, "_array": array}))
    except Exception:
        return None


def statement(
    subject: Subject, namespace: Mapping[str, Any], array: Any, dtype: str = "float32"
) -> Statement:
    """The library's statement on an array. NotApplicable if its values cannot be read."""
    read = read_values(subject, namespace, array, dtype)
    shape = extents(read)
    with contextlib.suppress(Exception):  # no shape, or one of another form: that of the values
        shape = tuple(int(extent) for extent in array.shape)
    return Statement(shape, read, read_strides(subject, namespace, array))
