"""Subject: the adapter of a library, as Python expressions that make and import its arrays."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType

from refarray import __version__
from refarray.conformance.subjects import devices as on_devices

KINDS = {
    "plain": "six contiguous float32 values, 0 to 5",
    "strided": "every second of the values 0 to 5",
    "reversed": "the values 0 to 5 in reverse order",
    "transposed": "the values 0 to 5 as two rows of three, transposed",
    "broadcast": "one value repeated three times, without a copy",
    "scalar": "a 0-d array",
    "empty": "no elements",
    "empty2": "shape (2, 0)",
    "one": "shape (1, 1)",
    "readonly": "the read-only values 0 to 5",
    "unaligned-strides": "strides that are not a multiple of the item size",
    "unexportable": "data that DLPack cannot describe",
    "sparse": "a sparse array",
    "swapped": "data in the other byte order",
    "offset": "the values 2, 3 and 4: a contiguous slice of the values 0 to 5",
    "inner": "the values 1, 2 and 5, 6: the two inner columns of two rows of four",
    "permuted": "the values 0 to 23 in shape (2, 3, 4), the last two axes swapped",
    "odd": "the 37 values 0 to 36, a number that no vector width divides",
    "readonly-strided": "every second of the read-only values 0 to 5",
    "frozen": "values over memory that nobody may write, such as bytes or a read-only file",
    "conjugate": "complex64 values whose conjugation is not done yet",
    "negative": "float32 values whose negation is not done yet",
    "meta": "an array that has a shape and a dtype, and no data by design",
    "fake": "an array that stands for another one while code is traced, without its data",
    "functional": "an array behind a layer that makes operations functional",
    "wrapper": "an instance of a subclass that has no memory of its own",
    "zeros": "zeros that are not stored",
    "freed": "an array whose memory was freed by the user",
    "traced": "an array inside a function that is compiled",
    "masked": "values of which some are masked",
    "gradient": "values of which derivatives are recorded",
    "quantized": "integers with a scale",
    "nested": "rows of different lengths",
    "sparse-rows": "a sparse array, by rows",
    "sharded": "an array that lies on two devices",
    "object": "Python objects",
    "text": "strings",
    "time": "points in time",
    "records": "structures",
    "long-double": "80-bit floating point",
    "nulls": "values of which some are missing",
    "bits": "booleans of one bit",
    "nibbles": "integers of four bits",
    "batched": "an array inside a function that is vectorized",
    "dual": "an array inside a function that is differentiated",
    "second-device": "six values on another device than that of new arrays",
}
"""The kinds of arrays that checks use. A subject without a kind leaves it out. What a kind contains
is in promises.py; the kit compares it with what the library says before it runs a check."""

UNUSUAL = frozenset(list(KINDS)[list(KINDS).index("frozen") :])
"""The kinds that libraries may refuse to export; a matrix of exchanges does not send them."""
CONTIGUOUS = ("plain", "scalar", "empty", "empty2", "one")
"""The kinds that are contiguous and writable."""
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
    *("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


@dataclass(frozen=True)
class SubByte:
    """An array of elements of less than a byte, alone or several in a vector."""

    text: str
    """The expression of the array."""
    dtype: tuple[int, int, int]
    """Its DLDataType: code, bits, lanes."""
    codes: tuple[int, ...]
    """The bits of each element, those of a vector one after the other."""


@dataclass(frozen=True)
class Subject:
    """The adapter of a library. All members are Python code, so that a repro is exactly the code
    that a check ran.

    `imports` are the statements that the expressions need; `arrays` maps KINDS to expressions;
    `dtype` is an expression with `{}` for the name of a dtype; `from_dlpack` an expression with
    `{}` for the producer, empty if the library imports nothing.
    """

    name: str
    imports: str
    arrays: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    dtype: str = ""
    dtypes: tuple[str, ...] = DTYPES
    ramp: str = ""
    """An expression with `{}` for the name of a dtype: the numbers 0 to 36, converted to it. If it
    is empty, the ones of `dtype` are read."""
    values: str = ""
    """An expression with `{}` for an array: its values as nested lists, as the library itself reads
    them. Without it the array's tolist(), or its elements by index."""
    strides: str = ""
    """An expression with `{}` for an array: its strides in elements, as the library states them.
    Without it strides are right if the values that they reach are."""
    big: str = ""
    """An expression with `{}` for a number of float32 elements, all initialized."""
    from_dlpack: str = ""
    distribution: str = ""
    subclass: bool = False
    """Whether its array type can be subclassed."""
    carrier: bool = False
    """Whether it accepts every dtype and device because it never reads the data."""
    array_api: bool | None = None
    """Whether it claims to follow the array API standard, including the keywords and exceptions of
    from_dlpack. None: if its arrays have `__array_namespace__`."""
    immutable: bool = False
    """Whether all of its arrays are read-only."""
    takes_capsules: bool = False
    """Whether its import function takes a capsule: its caller calls the producer's `__dlpack__`."""
    gives_capsules: bool = False
    """Whether its export function returns a legacy capsule and its arrays have no `__dlpack__`."""
    overloads: bool = False
    """Whether it imports through the arguments of overloaded functions (nanobind): it requests what
    an overload needs, and raises TypeError if no overload fits."""
    through: str = ""
    """Another library that this one imports or wraps. Results that depend on the process, such as
    sub-interpreter support, cannot be attributed to one of the two."""
    subbyte: Mapping[str, SubByte] = field(default_factory=lambda: MappingProxyType({}))
    """Its arrays of elements of less than a byte, by the name of the dtype."""
    axes: int = 0
    """The most axes that its arrays have; 0: the adapter knows no limit."""
    inherits: str = ""
    """The subject whose arrays this library's wrap, or the first subject of the same library: a
    deviation that both have is marked as inherited."""
    devices: Mapping[str, on_devices.OnDevice] = field(default_factory=lambda: MappingProxyType({}))
    """Its arrays and streams on devices, by vendor: "cuda", "rocm"."""
    there: str = ""
    """An expression that is true where the device of its arrays is; elsewhere no case applies.
    Empty: everywhere."""
    states: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The statements that the expression of a kind needs besides `imports`, by kind."""
    alone: str = ""
    """The statements that a repro without refarray begins with; `imports` if it is empty. What
    they import is read by tolist()."""
    note: str = ""
    """A remark on the adapter, shown in reports."""
    versions_differ: bool = False
    """Whether the adapter is for several versions of the library: an expression that raises makes
    its cases not applicable, and is no mistake of the adapter."""
    place: str = ""
    """The file and the line of the adapter, for messages; found by itself."""

    def __post_init__(self) -> None:
        frame = sys._getframe(1)
        while frame.f_code.co_filename in {__file__, dataclasses.__file__, "<string>"}:
            if frame.f_back is None:
                return
            frame = frame.f_back
        if not self.place:
            object.__setattr__(self, "place", f"{frame.f_code.co_filename}:{frame.f_lineno}")

    @property
    def version(self) -> str:
        """The installed version; empty if it is not known."""
        name = self.distribution or self.name
        if name == "refarray":
            return __version__  # the build may not be installed
        try:
            return metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):  # ValueError: an empty name
            others = metadata.packages_distributions().get(name)  # cupy is in cupy-cuda13x
            return metadata.version(others[0]) if others else ""


@dataclass(frozen=True)
class Library:
    """The library under test, as its worker describes it."""

    name: str
    version: str
    imports: str
    """As Subject.imports, which the kit's repros begin with."""
    alone: str
    """As Subject.alone."""
    values: str
    """An expression with `{}` for an array: its values as the library reads them."""


def array_api(module: str, **others: str) -> dict[str, str]:
    """The array expressions of a library that follows the array API; an empty string in `others`
    removes a kind."""
    arrays = {
        "plain": f"{module}.arange(6, dtype={module}.float32)",
        "strided": f"{module}.arange(6, dtype={module}.float32)[::2]",
        "reversed": f"{module}.arange(6, dtype={module}.float32)[::-1]",
        "transposed": f"{module}.reshape({module}.arange(6, dtype={module}.float32), (2, 3)).T",
        "broadcast": f"{module}.broadcast_to({module}.ones(1, dtype={module}.float32), (3,))",
        "scalar": f"{module}.asarray(1.0, dtype={module}.float32)",
        "empty": f"{module}.empty(0, dtype={module}.float32)",
        "empty2": f"{module}.empty((2, 0), dtype={module}.float32)",
        "one": f"{module}.ones((1, 1), dtype={module}.float32)",
        "offset": f"{module}.arange(6, dtype={module}.float32)[2:5]",
        "inner": f"{module}.reshape({module}.arange(8, dtype={module}.float32), (2, 4))[:, 1:3]",
        "permuted": f"{module}.reshape({module}.arange(24, dtype={module}.float32), (2, 3, 4)).mT",
        "odd": f"{module}.arange(37, dtype={module}.float32)",
    }
    arrays.update(others)
    return {kind: text for kind, text in arrays.items() if text}


def of_numpy(wrap: str, *kinds: str) -> dict[str, str]:
    """Expressions that convert NumPy's arrays of these kinds by `wrap`, an expression with `{}`."""
    return {kind: wrap.format(text) for kind, text in array_api("np").items() if kind in kinds}
