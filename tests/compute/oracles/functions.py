"""The elementwise functions of the standard: which dtypes each accepts, and what it returns."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from oracles.formats import ALL, COMPONENT, KINDS

#: Signatures, attributes and constants from the stubs of the standard.
TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[2] / "package/array_api_signatures.toml").read_text(encoding="utf-8")
)


class Function(NamedTuple):
    """The kind of dtypes that a function accepts, and its result: the promoted dtype ("same"),
    "bool", or the real component of a complex dtype ("component")."""

    accepts: str
    result: str = "same"

    @property
    def dtypes(self) -> tuple[str, ...]:
        return KINDS[self.accepts]

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(name for name in ALL if name not in self.dtypes)

    def result_of(self, dtype: str) -> str:
        if self.result == "component":
            return COMPONENT.get(dtype, dtype)
        return dtype if self.result == "same" else self.result


FLOATING = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"),
    *("log1p", "log2", "log10", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"),
)
#: Those of them that are not exact.
INEXACT = tuple(name for name in FLOATING if name != "reciprocal")
UNARY: dict[str, Function] = {
    **dict.fromkeys(FLOATING, Function("floating")),
    **dict.fromkeys(("ceil", "floor", "trunc"), Function("real")),
    **dict.fromkeys(
        ("conj", "negative", "positive", "round", "sign", "square"), Function("numeric")
    ),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), Function("numeric", "bool")),
    **dict.fromkeys(("abs", "real"), Function("numeric", "component")),
    "imag": Function("complex", "component"),
    "bitwise_invert": Function("integer or bool"),
    "logical_not": Function("bool", "bool"),
    "signbit": Function("real floating", "bool"),
}
BINARY: dict[str, Function] = {
    **dict.fromkeys(("add", "subtract", "multiply", "pow"), Function("numeric")),
    "divide": Function("floating"),
    **dict.fromkeys(("floor_divide", "remainder", "maximum", "minimum"), Function("real")),
    **dict.fromkeys(
        ("atan2", "copysign", "hypot", "logaddexp", "nextafter"), Function("real floating")
    ),
    **dict.fromkeys(("equal", "not_equal"), Function("any", "bool")),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), Function("real", "bool")),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), Function("integer or bool")),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), Function("integer")),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), Function("bool", "bool")),
}
#: Operators by the names of the module `operator`, with the function that they call.
OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARING = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
