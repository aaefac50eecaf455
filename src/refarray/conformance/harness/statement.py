"""What a library itself says of its arrays: shape, values and strides, read without DLPack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.memory import extents, flat
from refarray.conformance.subjects.subject import Subject

CONVERSIONS: dict[str, Callable[[Any], bool | int | complex]] = {
    "bool": bool,
    "int": int,
    "uint": int,
    "complex": complex,
}
"""What a dtype's name begins with → the conversion of one of its elements."""

UNKNOWN_TO_PYTHON = ("bfloat16", "float8")
"""What the dtypes begin with that some libraries' tolist() shows as integers, their bits."""


@dataclass(frozen=True)
class Statement:
    """The library's statement on an array."""

    shape: tuple[int, ...]
    values: Any
    """Nested lists."""
    strides: tuple[int, ...] | None
    """In elements; None if the adapter cannot tell."""
    promised: Any = None
    """The values that the adapter promises, if it does."""

    def agrees(self, found: Any) -> bool:
        """Whether elements are the array's: as the library reads them, or as promised, since
        tolist() of a dtype that Python lacks may show its bits."""
        return equal(found, self.values) or (
            self.promised is not None and equal(found, self.promised)
        )


def by_index(array: Any, convert: Any) -> Any:
    """The values of an array as nested lists, element by element."""
    if len(array.shape) == 0:
        return convert(array)
    return [by_index(array[index], convert) for index in range(array.shape[0])]


def read_values(subject: Subject, namespace: Mapping[str, Any], array: Any, dtype: str) -> Any:
    """The values as the library reads them. NotApplicable if it cannot, or shows their bits."""
    try:
        if subject.values:
            read = eval(subject.values.format("_array"), {**namespace, "_array": array})
        elif hasattr(array, "tolist"):
            read = array.tolist()
        else:
            name = next((each for each in CONVERSIONS if dtype.startswith(each)), "")
            read = by_index(array, CONVERSIONS.get(name, float))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise NotApplicable(f"the library's own values cannot be read: {reason}") from error
    if dtype.startswith(UNKNOWN_TO_PYTHON) and {type(each) for each in flat(read)} == {int}:
        raise NotApplicable(f"the library shows the bits of {dtype}, not its values")
    return read


def read_strides(subject: Subject, namespace: Mapping[str, Any], array: Any) -> Any:
    """The strides in elements as the library states them; None if the adapter cannot tell."""
    if not subject.strides:
        return None
    try:
        return tuple(eval(subject.strides.format("_array"), {**namespace, "_array": array}))
    except Exception:
        return None


def read_shape(array: Any) -> tuple[int, ...] | None:
    """The shape that an array states; None if it has none, or one of another form."""
    try:
        return tuple(int(extent) for extent in array.shape)
    except Exception:
        return None


def equal(first: Any, second: Any) -> bool:
    """Whether two nested lists are equal; False if they cannot be compared."""
    try:
        return bool(first == second)
    except Exception:
        return False


def statement(
    subject: Subject,
    namespace: Mapping[str, Any],
    array: Any,
    dtype: str = "float32",
    promised: Any = None,
) -> Statement:
    """The library's statement on an array. `promised` are the values that the adapter promises;
    they stand in for the library's own if these cannot be read. NotApplicable without both."""
    shape = read_shape(array)
    try:
        read = read_values(subject, namespace, array, dtype)
    except NotApplicable:
        if promised is None or shape not in {None, extents(promised)}:
            raise
        read = promised
    if shape is None:
        shape = extents(read)
    return Statement(shape, read, read_strides(subject, namespace, array), promised)
