"""The corpus of managed tensors for consumers: fields, the requirement each one tests, and the
expected result. This file: empty tensors, ndim, arithmetic, layouts."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

FLOATS = struct.pack("16f", *range(16))
CPU, CUDA, CUDA_HOST, ROCM = 1, 2, 3, 10
WILD = 0xDEAD0008  # an unmapped address: access faults
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

    @property
    def foreign(self) -> bool:
        """Whether a consumer that supports the dtype or device may import it. fp6 and fp4 of a
        wrong width are never valid, as dlpack.h fixes their widths."""
        code, bits, _ = self.fields.get("dtype", (2, 32, 1))
        device = self.fields.get("device", (1, 0))[0]
        return self.right == "refuse" and (
            (code not in (15, 17) and (code, bits) not in ((2, 32), (2, 64)))
            or self.fields.get("dtype", (2, 32, 1))[2] == 0
            or device > 3
            or device == 0
        )

    def shows_support(self, device: str) -> bool:
        """Whether an imported array on `device` shows that the consumer supports that device."""
        return self.id in {"DEV-07", "DEV-10"} and device not in {"", "cpu"}


GIVEN: list[Given] = []


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
    fields.setdefault("data", FLOATS)
    given = Given(name, case, "import", fields, right_shape, values, may_refuse, level, expected)
    GIVEN.append(given)


def refuse(name: str, case: str, expected: str, /, *, level: str = "", **fields: Any) -> None:
    """Adds a tensor that has to be refused."""
    fields.setdefault("data", FLOATS)
    GIVEN.append(Given(name, case, "refuse", fields, level=level, expected=expected))


def either(
    name: str, case: str, expected: str, right_shape: Any, values: Any = None, /, **fields: Any
) -> None:
    """Adds a tensor that may be refused, but has to have the right values if it is imported."""
    fields.setdefault("data", FLOATS)
    GIVEN.append(Given(name, case, "either", fields, right_shape, values, expected=expected))


ROW = ((3,), [0.0, 1.0, 2.0])
MATRIX = ((2, 3), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])

# Tensors without elements.
EMPTY = "no elements: imported for any data and strides"
accept("TENS-04", "null-data", EMPTY, (0,), [], shape=(0,), data=None)
accept("TENS-04", "null-data-legacy", EMPTY, (0,), [], shape=(0,), data=None, versioned=False)
# The texts say that data should be NULL, and nothing of a consumer that refuses something else.
accept("TENS-04", "wild-data", EMPTY, (0,), [], level="DISPUTED", shape=(0,), data=1)
accept(
    "TENS-04",
    "wild-strides",
    EMPTY,
    (3, 0, 2),
    level="DISPUTED",
    shape=(3, 0, 2),
    strides=(2**40, -5, 7),
    data=None,
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
    shape=(2, 2),
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
accept("TENS-01", "offset-scalar", OFFSET, (), 2.0, shape=(), byte_offset=8, may_refuse=True)
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
    shape=(4,),
    strides=(-1,),
    data_offset=12,
)
either(
    "TENS-13", "zero", "stride 0: repeated, or refused", (4,), [0.0] * 4, shape=(4,), strides=(0,)
)
UNIT = "strides of axes of extent 1 are ignored"
accept(
    "TENS-14", "row", UNIT, (1, 5), [[0.0, 1.0, 2.0, 3.0, 4.0]], shape=(1, 5), strides=(12345, 1)
)
accept(
    "TENS-14",
    "column",
    UNIT,
    (5, 1),
    [[0.0], [1.0], [2.0], [3.0], [4.0]],
    shape=(5, 1),
    strides=(1, -7),
)
accept("TENS-14", "one-min", UNIT, (1,), [0.0], shape=(1,), strides=(INT64_MIN,))
COLUMNS = "strides count elements: column-major data"
accept(
    "ABI-05",
    "columns",
    COLUMNS,
    (2, 3),
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]],
    shape=(2, 3),
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
