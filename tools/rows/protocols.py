"""The protocols of refarray.typing that follow from the rows: the namespace of the array API
standard, its extensions, and the named tuples that its functions return."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from itertools import starmap

import stubs
from rows import Row

from refarray import _results
from refarray._namespaces.info import DTYPES
from refarray._namespaces.names import CONSTANTS

FILE = stubs.PACKAGE / "typing.py"
BEGIN = "# Written by tools/rows from the rows of the functions; do not edit.\n"
END = "\n\n# The namespaces of refarray.\n"
#: Parameters that the standard does not have.
OWN = {("from_dlpack", "max_version")}
#: Types of the stubs in the standard's terms, which are narrower. Dtypes and devices are objects
#: of the library.
TYPES = {
    "Sequence[SupportsIndex]": "tuple[int, ...]",
    "Array": "A",
    "DType": "Any",
    "SupportsDLPack": "Any",
    "SupportsIndex": "int",
    "_ArrayLike": "Any",
    "_Axes": "_Ints",
    "_DTypeLike": "Any",
    "_DeviceLike": "Any",
    "_Number": "complex",
    "_Operand": "A | complex",
    "_Shape": "_Ints",
    **{name: f"{name}[A]" for name in stubs.RESULTS.values() if hasattr(_results, name)},
}
#: Parameters that the standard or other libraries declare more narrowly than refarray does.
BITS = ("and", "left_shift", "or", "right_shift", "xor")
NARROWER = {
    **{(f"bitwise_{name}", x): "A | int" for name in BITS for x in ("x1", "x2")},
    **{("clip", limit): "A | float | None" for limit in ("min", "max")},
    **dict.fromkeys([("isin", "x1"), ("isin", "x2")], "A | int"),
    ("broadcast_shapes", "shapes"): "tuple[int, ...]",
    ("broadcast_to", "shape"): "tuple[int, ...]",
    ("expand_dims", "axis"): "int",
    ("reshape", "shape"): "tuple[int, ...]",
    ("searchsorted", "x2"): "A | float",
    ("tensordot", "axes"): "int | tuple[Sequence[int], Sequence[int]]",
    ("tile", "repetitions"): "tuple[int, ...]",
}
PART = re.compile(r"\*?(\w+): (.*?)( = .*)?$")
NAMES = re.compile("|".join(rf"(?<![\w.]){re.escape(each)}(?!\w)" for each in TYPES))
NAMESPACES = {
    "fft": ("Fft", "The extension fft of the array API standard."),
    "linalg": ("Linalg", "The extension linalg of the array API standard."),
    "": ("Namespace", "The functions of the array API standard for arrays of the type A."),
}
#: Names that are no functions.
VALUES = {
    **dict.fromkeys(CONSTANTS, "float"),
    "__array_api_version__": "str",
    "newaxis": "None",
    **dict.fromkeys(DTYPES, "Any"),
}
#: Functions that return no array.
RESULTS = dict.fromkeys(("__array_namespace_info__", "finfo", "iinfo"), "Any")
INDENT = 4
HEAD = 'class {name}(Protocol[{variable}]):\n    """{doc}"""\n\n'


def result(name: str) -> str:
    """The protocol of a named tuple."""
    kind = getattr(_results, name)
    head = HEAD.format(name=name, variable="A_co", doc=kind.__doc__)
    return head + "".join(attribute(each, "A_co") for each in kind._fields)


def attribute(name: str, kind: str) -> str:
    return f"    @property\n    def {name}(self) -> {kind}: ...\n"


def standard(kind: str) -> str:
    """A parameter or a type of the stubs, in the standard's terms."""
    return NAMES.sub(lambda found: TYPES[found[0]], kind)


def part(function: str, text: str) -> str:
    """A parameter of the stubs with the type that it has in the protocol."""
    found = PART.match(text)
    if found and (kind := NARROWER.get((function, found[1]))):
        return f"{text[: found.start(2)]}{kind}{found[3] or ''}"
    return standard(text)


def method(row: Row) -> str:
    """A function as a method."""
    kept = tuple(each for each in row.parameters if (row.name, each.name) not in OWN)
    given = stubs.parts(row._replace(parameters=kept))
    parts = ["self", *(part(row.name, each) for each in given)]
    kind = RESULTS.get(row.name) or standard(stubs.RESULTS.get(row.name, "Array"))
    kind = kind.replace("tuple[A, ...]", "Sequence[A]")  # some return lists
    text = stubs.wrapped(row.name, parts, kind, stubs.WIDTH - INDENT)
    return textwrap.indent(text, " " * INDENT)


def text(rows: Iterable[Row]) -> str:
    """The module with a new section of protocols."""
    before, _, rest = FILE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    by_module: dict[str, list[Row]] = {}
    for row in rows:
        by_module.setdefault(row.module, []).append(row)
    kinds = sorted({*stubs.RESULTS.values()} & {*dir(_results)})
    parts = [result(name) for name in kinds]
    for module, (name, doc) in NAMESPACES.items():
        head = HEAD.format(name=name, variable="A", doc=doc)
        fixed = "" if module else "".join(starmap(attribute, VALUES.items()))
        parts.append(head + fixed + "".join(map(method, by_module[module])))
    return before + BEGIN + "\n\n".join(["", *parts]) + END + after
