"""The rest of the corpus: versions, NULL members, dtypes, devices, guard pages."""

from __future__ import annotations

from refarray.conformance.harness.corpus import GIVEN, MATRIX, ROW, WILD, accept, either, refuse

__all__ = ["GIVEN"]
"""The whole corpus: importing this module adds its tensors."""

# NULL strides, versions, NULL members.
accept(
    "TENS-07",
    "legacy",
    "legacy NULL strides: row-major",
    *MATRIX,
    shape=(2, 3),
    strides=None,
    versioned=False,
)
accept(
    "VERS-11",
    "minor0",
    "NULL strides before 1.2: row-major",
    *MATRIX,
    shape=(2, 3),
    strides=None,
    version=(1, 0),
)
accept(
    "VERS-11",
    "minor1",
    "NULL strides before 1.2: row-major",
    *MATRIX,
    shape=(2, 3),
    strides=None,
    version=(1, 1),
)
either(
    "VERS-11",
    "minor3",
    "NULL strides are invalid since 1.2: row-major, or refused",
    *MATRIX,
    shape=(2, 3),
    strides=None,
    version=(1, 3),
)
for _major in (0, 2, 2**32 - 1):
    refuse(
        "VERS-02",
        f"major{_major}",
        f"major version {_major}: refused; only the deleter is used",
        version=(_major, 3),
        unmapped_body=True,
    )
accept(
    "VERS-03",
    "minor99",
    "an unknown minor version with known fields: imported",
    *ROW,
    version=(1, 99),
    may_refuse=True,
)
refuse(
    "VERS-03",
    "minor99-code",
    "an unknown minor version with an unknown dtype code: refused",
    version=(1, 99),
    dtype=(99, 32, 1),
)
accept("LIFE-02", "no-deleter", "a NULL deleter: imported, never called", *ROW, deleter=None)
refuse(
    "LIFE-02",
    "no-deleter-refused",
    "a NULL deleter of a refused tensor: never called",
    shape=(3,),
    dtype=(99, 32, 1),
    deleter=None,
)
accept(
    "LIFE-28",
    "no-context",
    "manager_ctx NULL: imported",
    *ROW,
    manager_ctx=False,
)
# Dtypes.
for _code, _bits in ((18, 16), (19, 8), (99, 8), (255, 8), (255, 255)):
    refuse(
        "ABI-04", f"code{_code}-{_bits}", f"dtype code {_code}: refused", dtype=(_code, _bits, 1)
    )
for _code, _bits in ((2, 0), (2, 7), (2, 24), (0, 7), (0, 12), (5, 8), (2, 255), (0, 255)):
    refuse(
        "DTYPE-13",
        f"code{_code}-bits{_bits}",
        f"dtype (code {_code}, {_bits} bits): refused",
        dtype=(_code, _bits, 1),
    )
# The texts give bool 8 bits, and tell consumers nothing of other widths.
refuse("DTYPE-01", "bool1", "bool of 1 bit: refused", level="HAZARD", dtype=(6, 1, 1), shape=(8,))
refuse("DTYPE-14", "opaque", "an opaque handle: refused", dtype=(3, 64, 1))
refuse("DTYPE-12", "lanes0", "lanes=0: refused", dtype=(2, 32, 0))
either(
    "DTYPE-12",
    "lanes2",
    "lanes=2: vectors, or refused; never scalars",
    None,
    None,
    dtype=(2, 32, 2),
)
for _name, _dtype in {
    "lanes4": (2, 32, 4),
    "lanes16": (2, 32, 16),
    "int8x4": (0, 8, 4),
    "fp4x2": (17, 4, 2),
    "fp6x4": (16, 6, 4),
}.items():
    either(
        "DTYPE-12",
        _name,
        f"lanes={_dtype[2]}: vectors, or refused; never scalars",
        None,
        None,
        shape=(1,),
        dtype=_dtype,
    )
refuse("DTYPE-07", "fp6-bits8", "fp6 of 8 bits: refused", dtype=(15, 8, 1))
refuse("DTYPE-08", "fp4-bits8", "fp4 of 8 bits: refused", dtype=(17, 8, 1))
# Devices that a CPU build cannot access: data must not be read.
for _kind in (-1, 0, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 22, 2**31 - 1):
    _name = (
        "DEV-10"
        if _kind in (4, 7, 8)
        else "ABI-03"
        if _kind in (-1, 0, 5, 6, 22, 2**31 - 1)
        else "DEV-07"
    )
    refuse(
        _name,
        f"device{_kind}",
        f"device type {_kind}: refused without reading data",
        device=(_kind, 0),
        data=WILD,
    )
either(
    "DEV-12",
    "rocm-host",
    "ROCm pinned memory, which the array API does not list: right values, or refused",
    *ROW,
    device=(11, 0),
)
# `guarded`: shape and strides end at a guard page. `frozen`: the struct is on read-only pages.
accept(
    "TENS-16",
    "guarded",
    "nothing past the end of shape and strides is read",
    *MATRIX,
    shape=(2, 3),
    guarded=True,
)
accept(
    "LIFE-19",
    "frozen",
    "the producer's struct, shape and strides are not written",
    *MATRIX,
    shape=(2, 3),
    frozen=True,
)
accept(
    "LIFE-19",
    "frozen-no-strides",
    "NULL strides are not replaced in the producer's struct",
    *MATRIX,
    shape=(2, 3),
    strides=None,
    frozen=True,
    versioned=False,
)
