"""What an adapter promises: the values of each kind of array and of each dtype."""

from __future__ import annotations

import re
from typing import Any

DTYPE = re.compile(r"bfloat16|bool|u?int\d+|float\d+(?:_\w+)?|complex\d+")
COUNT = 37  # values of a ramp
SIX = list(range(6))
VALUES: dict[str, Any] = {
    "plain": SIX,
    "strided": [0, 2, 4],
    "reversed": SIX[::-1],
    "transposed": [[0, 3], [1, 4], [2, 5]],
    "empty": [],
    "empty2": [[], []],
    "readonly": SIX,
    "readonly-strided": [0, 2, 4],
    "offset": [2, 3, 4],
    "inner": [[1, 2], [5, 6]],
    "permuted": [[[row, row + 4, row + 8] for row in range(b, b + 4)] for b in (0, 12)],
    "odd": list(range(COUNT)),
}
"""The kinds whose values are promised."""
ONE_VALUE: dict[str, tuple[int, ...]] = {"broadcast": (3,), "scalar": (), "one": (1, 1)}
"""The kinds that hold any one value → their shape."""
EXACT = ("int", "uint", "float16", "float32", "float64", "bfloat16", "complex")
"""What the dtypes begin with in which the numbers 0 to 36 are exact."""


def values_of_dtype(dtype: str, ramp: bool) -> Any:
    """The values of an array of that dtype: three ones, or the ramp. None for a ramp of a dtype
    that rounds them."""
    if not ramp:
        return [1, 1, 1]
    if dtype == "bool":
        return [each > 0 for each in range(COUNT)]
    return list(range(COUNT)) if dtype.startswith(EXACT) else None


def dtype_named(array: Any) -> str:
    """The dtype that an array names, such as "float32"; empty if it names none."""
    try:
        found = DTYPE.search(str(array.dtype))
    except Exception:
        return ""
    return found[0] if found else ""
