"""The type annotations of the functions that have a row: parameters and defaults are those of the
row, types follow from the parameters' names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from inspect import Parameter
from pathlib import Path

from rows import Row

PACKAGE = Path(__file__).parents[2] / "src/refarray"
STUB = PACKAGE / "_native.pyi"
BEGIN = (
    "# Functions of the array API standard, written by tools/rows from their rows; do not edit.\n"
)
END = "\n# Other functions.\n"
WIDTH = 100
#: The private names of the main stub file that others import.
ALIASES = ("_Axes", "_Bool", "_DeviceLike", "_DTypeLike", "_Name")
EXTENSION_HEAD = """\
# Written by tools/rows from the rows of the functions; do not edit.

{imports}
__all__ = [
{all}]

"""

#: Where the default is None, "| None" is added; where it is a bool, the type is bool.
TYPES = {
    **dict.fromkeys(("x", "indices", "condition", "sorter", "prepend", "append"), "Array"),
    **dict.fromkeys(("x1", "x2", "min", "max"), "_Operand"),
    **dict.fromkeys(("axis", "num", "k", "n", "n_rows", "n_cols", "offset"), "SupportsIndex"),
    **dict.fromkeys(("shift", "repetitions", "source", "destination"), "_Axes"),
    **dict.fromkeys(("start", "stop", "step", "correction", "ord"), "float"),
    **dict.fromkeys(("dtype", "to"), "_DTypeLike"),
    **dict.fromkeys(("shape", "shapes"), "_Shape"),
    **dict.fromkeys(("s", "axes"), "Sequence[SupportsIndex]"),
    "api_version": "str",
    "arrays": "tuple[Array, ...] | list[Array]",
    "arrays_and_dtypes": "_Operand | _DTypeLike",
    "copy": "builtins.bool",
    "d": "float",
    "device": "_DeviceLike",
    "fill_value": "_Number",
    "from_": "Array | _DTypeLike",
    "indexing": 'Literal["xy", "ij"]',
    "kind": "_DTypeLike | tuple[_DTypeLike, ...]",
    "max_version": "_Version",
    "mode": 'Literal["reduced", "complete"]',
    "norm": 'Literal["backward", "ortho", "forward"]',
    "obj": "_ArrayLike",
    "repeats": "SupportsIndex | Array",
    "rtol": "float | Array",
    "side": 'Literal["left", "right"]',
    "type": "Array | _DTypeLike",
}
SEVERAL_AXES = (
    *("all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"),
    *("expand_dims", "flip", "roll", "squeeze"),
)
PRODUCTS = ("cross", "matmul", "outer", "solve", "tensordot", "vecdot")
#: Types of single parameters.
OF_FUNCTION = {
    **{(name, "axis"): "_Axes" for name in SEVERAL_AXES},
    ("broadcast_arrays", "arrays"): "Array",
    **{(name, "axes"): "_Axes" for name in ("fftshift", "ifftshift")},
    ("concat", "axis"): "SupportsIndex | None",
    ("from_dlpack", "x"): "SupportsDLPack",
    ("linspace", "start"): "complex",
    ("linspace", "stop"): "complex",
    ("meshgrid", "arrays"): "Array",
    **{(name, x): "Array" for name in PRODUCTS for x in ("x1", "x2")},
    ("matrix_norm", "ord"): 'Literal["fro", "nuc"] | float | None',
    ("searchsorted", "x1"): "Array",
    ("searchsorted", "x2"): "_Operand",
    ("vector_norm", "axis"): "_Axes",
    ("tensordot", "axes"): "SupportsIndex | tuple[_Axes, _Axes] | list[_Axes]",
}
NAMED_TUPLES = {"eig": "Eig", "eigh": "Eigh", "qr": "QR", "slogdet": "Slogdet", "svd": "SVD"}
RESULTS = {
    **dict.fromkeys(("broadcast_arrays", "meshgrid", "nonzero", "unstack"), "tuple[Array, ...]"),
    **dict.fromkeys(("can_cast", "isdtype"), "builtins.bool"),
    **{name: f"{head}Result" for name, head in NAMED_TUPLES.items()},
    "broadcast_shapes": "tuple[int, ...]",
    "result_type": "DType",
    "unique_all": "UniqueAll",
    "unique_counts": "UniqueCounts",
    "unique_inverse": "UniqueInverse",
}


#: Functions whose results have the dtype of x, the first parameter.
SAME_DTYPE = (
    *("bitwise_invert", "ceil", "conj", "floor", "negative", "positive", "round", "sign", "square"),
    *("trunc", "broadcast_to", "expand_dims", "flip", "matrix_transpose", "moveaxis"),
    *("permute_dims", "repeat", "reshape", "roll", "squeeze", "tile", "tril", "triu"),
    *("fftshift", "ifftshift", "diagonal", "max", "min", "sort", "take", "take_along_axis"),
    *("unique_values",),
)
#: Functions whose results are bool.
TRUTH = (
    *("all", "any", "equal", "greater", "greater_equal", "isfinite", "isin", "isinf", "isnan"),
    *("less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor"),
    *("not_equal", "signbit"),
)


def annotated(function: str, parameter: Parameter) -> str:
    """A parameter with its type and default."""
    default = parameter.default
    kind = OF_FUNCTION.get((function, parameter.name)) or TYPES.get(parameter.name)
    if isinstance(default, bool):
        kind = "builtins.bool"
    if kind is None:
        raise SystemExit(f"{function}(): tools/rows/stubs.py has no type for {parameter.name!r}")
    if default is None and not kind.endswith("None"):
        kind += " | None"
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    text = f"{star}{parameter.name}: {kind}"
    if default is not parameter.empty:
        text += f' = "{default}"' if isinstance(default, str) else f" = {default!r}"
    return text


def parts(row: Row) -> Iterator[str]:
    """The parameters, with "/" and "*" between them."""
    plain = (
        each if each.default is each.empty else each.replace(default=1) for each in row.parameters
    )
    kinds = iter(row.parameters)
    for part in filter(None, str(inspect.Signature([*plain])).strip("()").split(", ")):
        yield part if part in ("/", "*") else annotated(row.name, next(kinds))


def stub(row: Row) -> str:
    """The function's lines. An array's dtype is known if a dtype object was passed, or follows
    from that of x."""
    each = list(parts(row))
    result = RESULTS.get(row.name) or ("Array[_Bool]" if row.name in TRUTH else "Array")
    of_x = [part.replace("x: Array", "x: Array[_Name]") for part in each]
    if row.name in SAME_DTYPE:
        return wrapped(row.name, of_x, "Array[_Name]", WIDTH)
    variants = [(each, result)]
    [dtype] = [part for part in each if part.startswith("dtype: ")] or [None]
    if result == "Array" and dtype:
        if row.name.endswith("_like"):
            variants.insert(0, ([dtype_as(part, "None = None") for part in of_x], "Array[_Name]"))
        variants.insert(0, ([dtype_as(part, "DType[_Name]") for part in each], "Array[_Name]"))
    overload = "@overload\n" if len(variants) > 1 else ""
    return "".join(overload + wrapped(row.name, *variant, WIDTH) for variant in variants)


def dtype_as(part: str, kind: str) -> str:
    """The parameter, with another type if it is the dtype."""
    return f"dtype: {kind}" if part.startswith("dtype: ") else part


def wrapped(name: str, each: list[str], result: str, width: int) -> str:
    """The lines of a function, wrapped as the formatter does."""
    head, inner, end = f"def {name}(", ", ".join(each), f") -> {result}: ..."
    if len(head + inner + end) <= width:
        return f"{head}{inner}{end}\n"
    if len(inner) + 4 <= width:
        return f"{head}\n    {inner}\n{end}\n"
    return head + "\n" + "".join(f"    {part},\n" for part in each) + end + "\n"


def text(rows: Iterable[Row]) -> str:
    """The stub file with a new section of the rows of the main namespace."""
    before, _, rest = STUB.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    made = "".join(stub(row) for row in rows if row.is_native and not row.module)
    return before + BEGIN + made + END + after


def extension_texts(rows: Iterable[Row]) -> dict[Path, str]:
    """The stub files of the extensions."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.module:
            found.setdefault(row.module, []).append(row)
    return {PACKAGE / f"{name}.pyi": extension_text(each) for name, each in found.items()}


def extension_text(rows: list[Row]) -> str:
    # Only the main namespace has a dtype of this name.
    body = "".join(stub(row) for row in rows).replace("builtins.bool", "bool")
    names = "".join(f'    "{row.name}",\n' for row in rows)
    return EXTENSION_HEAD.format(imports=imports(body), all=names) + body


def imports(body: str) -> str:
    """The imports of what the stubs of an extension name."""
    results = sorted(set(re.findall(r"\w+Result\b", body)), key=str.lower)
    places = (
        ("collections.abc", ["Sequence"]),
        ("typing", ["Literal", "SupportsIndex", "overload"]),
        ("refarray._native", ["Array", "DType", *ALIASES]),
        ("refarray._results", results),
    )
    lines = []
    for module, candidates in places:
        names = [name for name in candidates if re.search(rf"\b{name}\b", body)]
        if module == "refarray._native" and lines:
            lines.append("")
        if names:
            lines.append(f"from {module} import {', '.join(names)}")
    return "\n".join(lines) + "\n"
