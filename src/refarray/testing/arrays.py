"""Hard arrays: every layout, dtype and kind of memory that a function for arrays should handle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import refarray as ra
from refarray import Array

Make = Callable[[str, str], Array]


def lane(kind: ra.DType) -> str:
    """The name of the dtype of a vector's lanes."""
    return kind.name.removesuffix(f"x{kind.lanes}")


def ramp(shape: Sequence[int], dtype: str, device: str = "cpu") -> Array:
    """A contiguous array of 0, 1, 2 …, modulo 7 for dtypes of at most 8 bits; of bool, every third
    element is True.

    Complex elements k have the imaginary part -1 - k, so that a lost or swapped part shows. The
    lanes of vectors are numbered one by one."""
    kind = ra.DType(dtype)
    count = prod(shape)
    period = 7 if kind.bits <= 8 else count + 1
    numbers = [each % 3 == 0 if kind == "bool" else each % period for each in range(count)]
    if kind.lanes > 1:
        lanes = iter(ramp((count * kind.lanes,), lane(kind)).tolist())
        values = ra.asarray(list(zip(*[lanes] * kind.lanes, strict=True)), dtype=kind)
    elif kind.kind == "complex":
        values = ra.asarray([complex(each, -1 - each) for each in numbers], dtype="complex128")
    else:
        values = ra.asarray(numbers, dtype="float64")
    on_cpu = ra.reshape(ra.astype(values, kind), tuple(shape))
    return on_cpu if device == "cpu" else ra.to_device(on_cpu, device)


def make_misaligned(dtype: str, device: str) -> Array:
    """Six elements whose address is no multiple of their size."""
    data = ramp((6,), dtype).tobytes()
    padded = ra.asarray(list(b"\0" + data), dtype="uint8")
    moved = padded if device == "cpu" else ra.to_device(padded, device)
    return moved[1:].view(dtype)


LAYOUTS: dict[str, Make] = {
    "contiguous": lambda dtype, device: ramp((4, 6), dtype, device),
    "strided": lambda dtype, device: ramp((8, 12), dtype, device)[::2, 1::2],
    "row-gaps": lambda dtype, device: ramp((4, 8), dtype, device)[:, :6],
    "reversed": lambda dtype, device: ramp((4, 6), dtype, device)[::-1, ::-1],
    "transposed": lambda dtype, device: ramp((6, 4), dtype, device).T,
    "permuted": lambda dtype, device: ra.permute_dims(ramp((3, 4, 2), dtype, device), (2, 0, 1)),
    "0-d": lambda dtype, device: ramp((3,), dtype, device)[2],
    "one-element": lambda dtype, device: ramp((2, 3, 4), dtype, device)[1:, 2:, 3:],
    "empty": lambda dtype, device: ramp((0,), dtype, device),
    "empty-axis": lambda dtype, device: ramp((3, 0, 2), dtype, device),
    "odd-length": lambda dtype, device: ramp((37,), dtype, device),
    "offset": lambda dtype, device: ramp((7,), dtype, device)[1:],
    "broadcast": lambda dtype, device: ra.broadcast_to(ramp((6,), dtype, device), (4, 6)),
    "read-only": lambda dtype, device: ramp((4, 6), dtype, device).as_readonly(),
    "misaligned": make_misaligned,
}
"""Each layout's name, and the function that makes an array of a dtype on a device.

"offset" begins one element, not 64 bytes, after the start of an allocation; "misaligned" at an
address that is no multiple of the element's size."""

DTYPES = ("bool", "int8", "uint64", "float16", "bfloat16", "float64", "complex64", "complex128")
"""Dtypes that hard_arrays() has beside float32."""


STANDARD = tuple(ra.__array_namespace_info__().dtypes())
KINDS = (
    *("bool", "signed integer", "unsigned integer", "integral"),
    *("real floating", "complex floating", "numeric"),
)
"""The kinds of dtypes that the array API standard has."""


def is_packed(dtype: str) -> bool:
    """Whether elements share bytes, so that there are no strided views."""
    kind = ra.DType(dtype)
    return kind.bits % 8 != 0 and not kind.padded


@dataclass(frozen=True)
class HardArray:
    """One hard array: its layout, dtype and device. `make()` makes a new one."""

    layout: str
    dtype: str = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(
                f"HardArray(): layout is {self.layout!r}; the layouts are {', '.join(LAYOUTS)}"
            )
        kind = ra.DType(self.dtype)  # raises for a dtype that does not exist
        if is_packed(self.dtype) and self.layout not in {"contiguous", "empty", "read-only"}:
            raise ValueError(
                f"HardArray(): {self.layout!r} with {kind}, whose elements share bytes; "
                "use contiguous, empty or read-only"
            )
        if self.layout == "misaligned" and kind.itemsize == 1:
            raise ValueError(
                f"HardArray(): 'misaligned' with {kind}, whose size is one byte; every address "
                "is a multiple of it"
            )

    @property
    def id(self) -> str:
        """The name in test ids: "reversed", "contiguous-bfloat16", "strided-cuda:0"."""
        parts = [self.layout]
        parts += [self.dtype] if self.dtype != "float32" else []
        parts += [self.device] if self.device != "cpu" else []
        return "-".join(parts)

    def make(self) -> Array:
        """Make a new array, which shares no memory with others."""
        return LAYOUTS[self.layout](self.dtype, self.device)


def hard_array(layout: str, dtype: str = "float32", device: str = "cpu") -> Array:
    """Make one hard array.

    layout: a key of LAYOUTS.
    device: "cpu", or any device's name; "cuda_host" is pinned memory.

    The elements in memory are 0, 1, 2 …, modulo 7 for dtypes of at most 8 bits; of complex dtypes
    k - (k + 1)j, of bool True at every third place. Raises ValueError for a layout that does not
    exist or that the dtype does not have.
    """
    return HardArray(layout, dtype, device).make()


def hard_arrays(
    layouts: Iterable[str] = tuple(LAYOUTS),
    dtypes: Iterable[str] = DTYPES,
    devices: Iterable[str] = ("cpu",),
    *,
    xp: Any = None,
    kinds: Iterable[str] | None = None,
) -> list[HardArray]:
    """List every layout in float32, and a contiguous and a strided array of each dtype.

    devices: arrays of other devices come with the layouts contiguous, strided and 0-d: pass
        "cuda:0" with a GPU or a simulated one, "cuda_host" for pinned memory.
    xp: a namespace of the array API standard, or the name of a library that the conformance kit
        knows; only dtypes that it declares are listed.
    kinds: only dtypes of these kinds, as isdtype() names them, are listed.

    Without float32 among them, the layouts are listed in the first of the dtypes that has more than
    one byte. Raises ValueError for a name that does not exist, TypeError for another xp.
    """
    chosen, of_kinds, taken = list(layouts), to_kinds(kinds), declared_dtypes(xp)

    def is_listed(dtype: str) -> bool:
        kind = ra.DType(dtype)
        return (taken is None or taken(dtype)) and (of_kinds is None or ra.isdtype(kind, of_kinds))

    listed = [dtype for dtype in dict.fromkeys(("float32", *dtypes)) if is_listed(dtype)]
    whole = (each for each in listed if ra.DType(each).bits > 8 and not is_packed(each))
    base = next(whole, None)
    others = [dtype for dtype in listed if dtype != base]
    on_devices = ("contiguous", "strided", "0-d")
    out = []
    for device in devices:
        shown = [name for name in chosen if device == "cpu" or name in on_devices]
        out += [HardArray(layout, base, device) for layout in shown if base is not None]
        for dtype in others if device == "cpu" else ():
            strided = () if is_packed(dtype) else ("strided",)
            out += [
                HardArray(layout, dtype, device)
                for layout in ("contiguous", *strided)
                if layout in chosen
            ]
    return out


def to_kinds(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """The kinds as isdtype() takes them. Raises ValueError for another name."""
    if names is None:
        return None
    kinds = (names,) if isinstance(names, str) else tuple(names)
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"hard_arrays(): {kind!r} is no kind; the kinds are {', '.join(KINDS)}"
            )
    return kinds


def declared_dtypes(xp: Any) -> Callable[[str], bool] | None:
    """Whether a library declares a dtype: its adapter in the conformance kit, or the namespace
    itself, by its inspection function and, beyond the standard's dtypes, by its attributes."""
    if xp is None:
        return None
    if isinstance(xp, str):
        from refarray.conformance.subjects import lookup

        names = lookup.list_names()
        if xp not in names and ":" not in xp:
            raise ValueError(
                f"hard_arrays(): {xp!r} is no library that the conformance kit knows; it knows "
                + ", ".join(names)
            )
        return lookup.subject(xp).dtypes.__contains__
    if not hasattr(xp, "__array_namespace_info__"):
        raise TypeError(
            f"hard_arrays(): xp is {xp!r}, which has no __array_namespace_info__(); pass a "
            "namespace of the array API standard, or the name of a library"
        )
    names = xp.__array_namespace_info__().dtypes()
    return lambda dtype: dtype in names or (dtype not in STANDARD and hasattr(xp, dtype))
