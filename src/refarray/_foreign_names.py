"""Names of NumPy and PyTorch that refarray lacks, each with the name to use instead."""

from __future__ import annotations

import refarray

#: The foreign names of each of ours, a function of the array API standard or a dtype.
_BY_OURS = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "all": "alltrue",
    "any": "sometrue",
    "asarray": "array tensor as_tensor asanyarray from_array",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bool": "bool_",
    "clip": "clamp",
    "complex128": "complex cdouble complex_",
    "complex64": "csingle cfloat",
    "concat": "concatenate cat hstack vstack dstack",
    "conj": "conjugate",
    "copy": "clone ascontiguousarray",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "divide": "true_divide div",
    "equal": "eq",
    "expand_dims": "unsqueeze",
    "flip": "fliplr flipud",
    "float16": "half",
    "float32": "single",
    "float64": "double float float_",
    "from_dlpack": "fromdlpack",
    "greater": "gt",
    "greater_equal": "ge",
    "int64": "int int_ long",
    "isin": "in1d",
    "less": "lt",
    "less_equal": "le",
    "linalg.outer": "outer",
    "linalg.vector_norm": "norm",
    "matmul": "mm bmm",
    "max": "amax",
    "min": "amin",
    "multiply": "mul",
    "nonzero": "argwhere flatnonzero",
    "not_equal": "ne",
    "permute_dims": "transpose permute swapaxes",
    "pow": "power",
    "prod": "product",
    "remainder": "mod fmod",
    "repeat": "repeat_interleave",
    "reshape": "ravel flatten view",
    "round": "rint around",
    "subtract": "sub",
    "trunc": "fix",
    "uint64": "uint ulong",
    "unique_values": "unique",
    "vecdot": "dot inner vdot",
}
FOREIGN = {name: ours for ours, names in _BY_OURS.items() for name in names.split()}


def name_missing(name: str) -> AttributeError:
    """The exception for a name that the module refarray lacks."""
    text = f"module 'refarray' has no attribute {name!r}"
    if name in FOREIGN:
        return AttributeError(f"{text}; use refarray.{FOREIGN[name]}")
    # From its attributes the interpreter suggests a similar name, when it prints the exception.
    return AttributeError(text, name=name, obj=refarray)
