"""The corpus of managed tensors for consumers: fields, the requirement each one tests, and the
expected result."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from refarray._describe import code_text
from refarray.conformance.dlpack import HANDLES

FLOATS = struct.pack("16f", *range(16))
CPU, CUDA, CUDA_HOST, ROCM = 1, 2, 3, 10
WILD = 0xDEAD0008  # an unmapped address: access faults
HANDLE = 0x100  # of a device: a multiple of 256, as the header has it, and no address of a process
INT64_MIN = -(2**63)


@dataclass(frozen=True)
class Given:
    """One managed tensor and the expected result: `import` it with this shape and these values,
    `refuse` it, or `either`, as long as imported values are right."""

    id: str
    case: str
    right: str
    """"import", "refuse" or "either"."""
    fields: dict[str, Any]
    shape: tuple[int, ...] | None = None
    values: Any = None
    may_refuse: bool = False
    """For `import`: a refusal is a limit of the consumer and breaks no requirement."""
    level: str = ""
    """The level of this tensor, if it is not the requirement's."""
    expected: str = ""
    rules: str = "2026.1"
    """The first rule set with this tensor."""

    @property
    def is_handle(self) -> bool:
        """Whether its data is a handle, which an import has to keep."""
        return self.fields.get("data") == HANDLE

    @property
    def foreign(self) -> bool:
        """Whether a consumer that supports the dtype or device may import it. fp6 and fp4 of a
        wrong width are never valid, as dlpack.h fixes their widths."""
        code, bits, _ = self.fields.get("dtype", (2, 32, 1))
        device = self.fields.get("device", (CPU, 0))[0]
        return self.right == "refuse" and (
            (code not in (15, 17) and (code, bits) not in ((2, 32), (2, 64)))
            or self.fields.get("dtype", (2, 32, 1))[2] == 0
            or device not in (CPU, CUDA_HOST)
        )

    @property
    def for_readers(self) -> bool:
        """Whether only a consumer that reads the data has to refuse it."""
        return self.foreign or self.id in {"DTYPE-07", "DTYPE-08"}


GIVEN: list[Given] = []
ROW = ((3,), [0.0, 1.0, 2.0])
MATRIX = ((2, 3), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def complete(fields: dict[str, Any], shape: Any = None) -> dict[str, Any]:
    """The fields with the shape that the import has, unless that is give()'s own, and the data."""
    known = {} if shape in (None, ROW[0]) else {"shape": shape}
    return {**known, **fields, "data": fields.get("data", FLOATS)}


def accept(
    name: str,
    case: str,
    expected: str,
    right_shape: Any,
    values: Any = None,
    /,
    *,
    may_refuse: bool = False,
    level: str = "",
    **fields: Any,
) -> None:
    """Adds a tensor that has to be imported."""
    fields = complete(fields, right_shape)
    given = Given(name, case, "import", fields, right_shape, values, may_refuse, level, expected)
    GIVEN.append(given)


def refuse(
    name: str,
    case: str,
    expected: str,
    /,
    *,
    level: str = "",
    rules: str = "2026.1",
    **fields: Any,
) -> None:
    """Adds a tensor that has to be refused."""
    fields = complete(fields)
    GIVEN.append(Given(name, case, "refuse", fields, level=level, expected=expected, rules=rules))


def either(
    name: str, case: str, expected: str, right_shape: Any, values: Any = None, /, **fields: Any
) -> None:
    """Adds a tensor that may be refused, but has to have the right values if it is imported."""
    fields = complete(fields, right_shape)
    GIVEN.append(Given(name, case, "either", fields, right_shape, values, expected=expected))


# Tensors without elements.
EMPTY = "no elements: imported for any data and strides"
accept("TENS-04", "null-data", EMPTY, (0,), [], data=None)
accept("TENS-04", "null-data-legacy", EMPTY, (0,), [], data=None, versioned=False)
# The texts say that data should be NULL, and nothing of a consumer that refuses something else.
accept("TENS-04", "wild-data", EMPTY, (0,), [], level="DISPUTED", data=1)
accept("TENS-04", "stride-0", EMPTY, (0,), [], level="DISPUTED", strides=(0,))
accept(
    "TENS-04", "wild-strides", EMPTY, (3, 0, 2), level="DISPUTED", strides=(2**40, -5, 7), data=None
)
refuse("TENS-05", "null-data", "elements at NULL: refused", shape=(3,), data=None)
refuse(
    "TENS-05",
    "null-data-offset",
    "elements at NULL + byte_offset: refused",
    shape=(3,),
    data=None,
    byte_offset=64,
)
refuse("TENS-05", "null-data-scalar", "an element at NULL: refused", shape=(), data=None)
# ndim and shape.
SCALAR = "ndim 0: one element; shape and strides are not read"
accept("TENS-08", "scalar-null", SCALAR, (), 0.0, shape=None, strides=None, ndim=0)
accept("TENS-08", "scalar-wild", SCALAR, (), 0.0, shape=WILD, strides=WILD, ndim=0)
for _ndim in (-1, 65536, 2**31 - 1, -(2**31)):
    refuse(
        "TENS-09",
        f"ndim{_ndim}",
        f"ndim={_ndim}: refused before shape is read",
        shape=(1,),
        ndim=_ndim,
        guarded=True,
    )
# The texts allow NULL to producers for ndim 0 only; no sentence tells consumers to look for it.
refuse(
    "TENS-08",
    "null",
    "shape NULL with ndim 2: refused",
    level="HAZARD",
    shape=None,
    strides=None,
    ndim=2,
)
refuse(
    "TENS-08",
    "null-legacy",
    "shape NULL with ndim 1: refused",
    level="HAZARD",
    shape=None,
    strides=None,
    ndim=1,
    versioned=False,
)
# Arithmetic.
for _shape in ((-1,), (2, -3), (INT64_MIN,), (0, -1)):
    refuse(
        "TENS-10",
        "extent" + "x".join(map(str, _shape)),
        f"shape {_shape}: refused",
        shape=_shape,
        strides=(1,) * len(_shape),
    )
refuse("TENS-10", "product", "a product of extents above 2**63: refused", shape=(2**62, 8))
refuse(
    "TENS-10",
    "product-wraps-to-0",
    "a product that is 0 modulo 2**64: refused",
    shape=(2**32, 2**32),
    strides=(0, 0),
)
refuse(
    "TENS-10",
    "bytes",
    "a size of more than 2**63 bytes: refused",
    shape=(2**61,),
    strides=(0,),
    dtype=(2, 64, 1),
)
refuse(
    "TENS-10",
    "stride",
    "a stride of more than 2**63 bytes: refused",
    shape=(2,),
    strides=(2**62,),
)
refuse(
    "TENS-10",
    "stride-min",
    "stride -2**63: refused",
    shape=(2,),
    strides=(INT64_MIN,),
)
refuse("TENS-10", "offset-2**63", "byte_offset=2**63: refused", byte_offset=2**63)
refuse("TENS-10", "offset-2**64-1", "byte_offset=2**64-1: refused", byte_offset=2**64 - 1)
# Legal layouts.
OFFSET = "the first element is at data + byte_offset"
accept("TENS-01", "offset8", OFFSET, (3,), [2.0, 3.0, 4.0], byte_offset=8, may_refuse=True)
accept(
    "TENS-01",
    "offset8-matrix",
    OFFSET,
    (2, 2),
    [[2.0, 3.0], [4.0, 5.0]],
    byte_offset=8,
    may_refuse=True,
)
accept(
    "TENS-01",
    "offset8-legacy",
    OFFSET,
    (3,),
    [2.0, 3.0, 4.0],
    byte_offset=8,
    versioned=False,
    may_refuse=True,
)
accept("TENS-01", "offset-scalar", OFFSET, (), 2.0, byte_offset=8, may_refuse=True)
either(
    "TENS-20",
    "offset1",
    "misaligned data: right values, or refused",
    (3,),
    list(struct.unpack_from("3f", FLOATS, 1)),
    byte_offset=1,
)
either(
    "TENS-12",
    "negative",
    "stride -1: reversed, or refused",
    (4,),
    [3.0, 2.0, 1.0, 0.0],
    strides=(-1,),
    data_offset=12,
)
either("TENS-13", "zero", "stride 0: repeated, or refused", (4,), [0.0] * 4, strides=(0,))
UNIT = "strides of axes of extent 1 are ignored"
accept("TENS-14", "row", UNIT, (1, 5), [[0.0, 1.0, 2.0, 3.0, 4.0]], strides=(12345, 1))
accept("TENS-14", "column", UNIT, (5, 1), [[0.0], [1.0], [2.0], [3.0], [4.0]], strides=(1, -7))
accept("TENS-14", "one-min", UNIT, (1,), [0.0], strides=(INT64_MIN,))
COLUMNS = "strides count elements: column-major data"
accept(
    "ABI-05",
    "columns",
    COLUMNS,
    (2, 3),
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]],
    strides=(1, 2),
    may_refuse=True,
)
accept(
    "ABI-05",
    "every-second",
    "strides count elements: every second element",
    (3,),
    [0.0, 2.0, 4.0],
    shape=(3,),
    strides=(2,),
    may_refuse=True,
)
# NULL strides, versions, NULL members.
accept(
    "TENS-07", "legacy", "legacy NULL strides: row-major", *MATRIX, strides=None, versioned=False
)
accept(
    "VERS-11", "minor0", "NULL strides before 1.2: row-major", *MATRIX, strides=None, version=(1, 0)
)
accept(
    "VERS-11", "minor1", "NULL strides before 1.2: row-major", *MATRIX, strides=None, version=(1, 1)
)
either(
    "VERS-11",
    "minor3",
    "NULL strides are invalid since 1.2: row-major, or refused",
    *MATRIX,
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
NO_DELETER = "a NULL deleter: imported, never called"
accept("LIFE-02", "no-deleter", NO_DELETER, *ROW, deleter=None)
accept("LIFE-02", "no-deleter-legacy", NO_DELETER, *ROW, deleter=None, versioned=False)
refuse(
    "LIFE-02",
    "no-deleter-refused",
    "a NULL deleter of a refused tensor: never called",
    shape=(3,),
    dtype=(99, 32, 1),
    deleter=None,
)
accept("LIFE-28", "no-context", "manager_ctx NULL: imported", *ROW, manager_ctx=False)
# Dtypes.
for _code, _bits in ((18, 16), (19, 8), (99, 8), (255, 8), (255, 255)):
    refuse(
        "ABI-04",
        f"code{_code}-{_bits}",
        f"dtype code {code_text(_code)}: refused",
        dtype=(_code, _bits, 1),
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
# The values are those of a consumer that makes one more axis of the lanes.
either(
    "DTYPE-12",
    "lanes2",
    "lanes=2: vectors, or refused; never scalars",
    None,
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
    dtype=(2, 32, 2),
)
for _name, _dtype, _values in (
    ("lanes4", (2, 32, 4), [[0.0, 1.0, 2.0, 3.0]]),
    ("lanes16", (2, 32, 16), [list(map(float, range(16)))]),
    ("int8x4", (0, 8, 4), [[0, 0, 0, 0]]),
    ("fp4x2", (17, 4, 2), None),
    ("fp6x4", (16, 6, 4), None),
):
    either(
        "DTYPE-12",
        _name,
        f"lanes={_dtype[2]}: vectors, or refused; never scalars",
        None,
        _values,
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
for _kind, _word in ((CUDA, "CUDA"), (ROCM, "ROCm")):
    refuse(
        "DEV-07",
        f"device{_kind}",
        f"invalid memory of {_word}: refused, or kept on that device; the data is not read",
        device=(_kind, 0),
        data=WILD,
        rules="2026.2",
    )
either(
    "DEV-12",
    "rocm-host",
    "ROCm pinned memory, which the array API does not list: right values, or refused",
    *ROW,
    device=(11, 0),
)
# A consumer that carries a handle may add nothing to it, and has to keep byte_offset beside it.
for _kind, _name in HANDLES.items():
    GIVEN.append(
        Given(
            "DEV-10",
            f"handle-{_name}",
            "either",
            {"device": (_kind, 0), "data": HANDLE, "byte_offset": 8},
            expected=f"a handle of device type {_kind}: exported again as it came, or not imported",
            rules="2026.2",
        )
    )
# `guarded`: shape and strides end at a guard page. `frozen`: the struct is on read-only pages.
accept(
    "TENS-16", "guarded", "nothing past the end of shape and strides is read", *MATRIX, guarded=True
)
accept(
    "LIFE-19",
    "frozen",
    "the producer's struct, shape and strides are not written",
    *MATRIX,
    frozen=True,
)
accept(
    "LIFE-19",
    "frozen-no-strides",
    "NULL strides are not replaced in the producer's struct",
    *MATRIX,
    strides=None,
    frozen=True,
    versioned=False,
)
