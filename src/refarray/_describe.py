"""Names for the raw numbers in a managed tensor: flags, devices, dtypes, layouts."""

from __future__ import annotations

import math

from refarray._devices import DLDeviceType

FLAGS = {1: "READ_ONLY", 2: "IS_COPIED", 4: "IS_SUBBYTE_TYPE_PADDED"}
PADDED = 4
# Names by DLDataTypeCode; the number of bits is appended.
CODES = ("int", "uint", "float", "opaque_handle", "bfloat", "complex")
# Codes with a fixed number of bits: (name, bits).
SIZED_CODES = {
    6: ("bool", 8),
    7: ("float8_e3m4", 8),
    8: ("float8_e4m3", 8),
    9: ("float8_e4m3b11fnuz", 8),
    10: ("float8_e4m3fn", 8),
    11: ("float8_e4m3fnuz", 8),
    12: ("float8_e5m2", 8),
    13: ("float8_e5m2fnuz", 8),
    14: ("float8_e8m0fnu", 8),
    15: ("float6_e2m3fn", 6),
    16: ("float6_e3m2fn", 6),
    17: ("float4_e2m1fn", 4),
}
# What dlpack.h's main branch has and no release: shown by name, never exported.
UNRELEASED_CODES = {18: "bcomplex"}
UNRELEASED_DEVICES = {19: "kDLTPU", 20: "kDLTPUHost", 21: "kDLAscend"}
MAX_ALIGNMENT = 4096


def version_text(version: tuple[int, int] | None) -> str:
    """Return " 1.3" for (1, 3), and "" for a legacy struct."""
    return "" if version is None else f" {version[0]}.{version[1]}"


def flag_names(flags: int) -> tuple[str, ...]:
    """Return the names of the bits that are set; unknown bits by number."""
    bits = [1 << i for i in range(flags.bit_length()) if flags >> i & 1]
    return tuple(FLAGS.get(bit, f"unknown bit {bit:#x}") for bit in bits)


def flags_text(flags: int) -> str:
    """Return the flags by name, with their value."""
    return f"{' | '.join(flag_names(flags)) or 'none set'} ({flags})"


def device_name(device: tuple[int, int]) -> str:
    """Return refarray's name of a DLDevice ("cuda:0"), or else DLPack's ("kDLVulkan:0")."""
    kind, number = device
    unnumbered = {1: "cpu", 3: "cuda_host", 11: "rocm_host"}
    if kind in unnumbered:
        return unnumbered[kind]
    numbered = {2: "cuda", 10: "rocm", 13: "cuda_managed"}
    if kind in numbered:
        return f"{numbered[kind]}:{number}"
    if kind in UNRELEASED_DEVICES:
        return f"{UNRELEASED_DEVICES[kind]}:{number} (unreleased)"
    known = {int(member): member.name for member in DLDeviceType}
    return f"{known.get(kind, f'unknown type {kind}')}:{number}"


def code_text(code: int) -> str:
    """Return the number of a type code, with the name of one that no release of DLPack has."""
    return _numbered(code, UNRELEASED_CODES)


def device_type_text(kind: int) -> str:
    """Return the number of a device type, with the name of one that no release of DLPack has."""
    return _numbered(kind, UNRELEASED_DEVICES)


def _numbered(number: int, unreleased: dict[int, str]) -> str:
    return f"{number} ({unreleased[number]}, unreleased)" if number in unreleased else f"{number}"


def dtype_name(dtype: tuple[int, int, int], padded: bool) -> str:
    """Return the name of a DLDataType, including those that refarray does not support."""
    code, bits, lanes = dtype
    if code in SIZED_CODES:
        base, expected = SIZED_CODES[code]
        name = base if bits == expected else f"{base} of {bits} bits"
    elif code in UNRELEASED_CODES:
        name = f"{UNRELEASED_CODES[code]}{bits}"
    else:
        name = (
            f"{CODES[code]}{bits}" if code < len(CODES) else f"unknown code {code} of {bits} bits"
        )
    name += (f"x{lanes}" if lanes != 1 else "") + ("_padded" if padded else "")
    return f"{name} (unreleased)" if code in UNRELEASED_CODES else name


def packed_strides(shape: tuple[int, ...], axes: range) -> dict[int, int]:
    """Return the strides of contiguous data; `axes` goes from the fastest-varying axis outwards."""
    strides, stride = {}, 1
    for axis in axes:
        strides[axis] = stride
        stride *= shape[axis]
    return strides


def layout_text(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> str:
    """Describe the memory layout. Axes of extent 1 are ignored."""
    if math.prod(shape) == 0:
        return "empty"
    if strides is None:
        return "row-major"
    ndim = len(shape)
    significant = [axis for axis in range(ndim) if shape[axis] != 1]
    rows = packed_strides(shape, range(ndim - 1, -1, -1))
    columns = packed_strides(shape, range(ndim))
    if all(strides[axis] == rows[axis] for axis in significant):
        return "row-major" if len(significant) > 1 else "contiguous"
    if all(strides[axis] == columns[axis] for axis in significant):
        return "column-major"
    if any(strides[axis] == 0 for axis in significant):
        return "strided, elements repeated (stride 0)"
    return (
        "strided, backwards on some axis"
        if any(strides[axis] < 0 for axis in significant)
        else "strided"
    )


def element_bytes(shape: tuple[int, ...], dtype: tuple[int, int, int], padded: bool) -> int:
    """Return the bytes of a compact copy; packed elements are rounded once, in total (A-05)."""
    bits = dtype[1] * dtype[2]
    if padded:
        bits = (bits + 7) // 8 * 8
    return (math.prod(shape) * bits + 7) // 8


def alignment_of(address: int) -> int:
    """Return the largest power of two that divides an address, at most MAX_ALIGNMENT."""
    return min(address & -address, MAX_ALIGNMENT)


def type_name(obj: object) -> str:
    """Return the qualified name of an object's type, without the module for builtins."""
    return f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")
