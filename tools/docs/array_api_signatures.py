"""Writes the names and signatures of the array API standard, for the tests.

usage: python tools/docs/array_api_signatures.py FOLDER

FOLDER is a checkout of github.com/data-apis/array-api, whose stubs are the standard's own text. No
released package holds the stubs of this version. Only names, parameter kinds and defaults are kept.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

VERSION = "2025.12"
TABLE = Path(__file__).parents[2] / "tests/package/array_api_signatures.toml"
NOT_LISTED = {"data_types"}
"""Stub files without functions or constants of the namespaces that the package has."""
EXTENSIONS = {"fft", "linalg"}
"""Stub files of extensions: their functions are listed as "fft.ifft"."""
INFO_METHODS = ("capabilities", "default_device", "default_dtypes", "devices", "dtypes")
"""Methods of the result of __array_namespace_info__(), which the stubs show as functions."""


def signature(function: ast.FunctionDef) -> str:
    """The parameters without annotations: "(x, /, *, axis=None)"."""
    arguments = function.args
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    return f"({ast.unparse(arguments)})"


def is_property(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list
    )


def public(module: ast.Module) -> list[str]:
    for statement in module.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
                return list(ast.literal_eval(statement.value))
    return []


def functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The functions among the statements."""
    return (each for each in body if isinstance(each, ast.FunctionDef))


def array_members(module: ast.Module) -> tuple[dict[str, str], list[str]]:
    """The methods and the attributes of the array object."""
    (described,) = (each for each in module.body if isinstance(each, ast.ClassDef))
    methods = {f.name: signature(f) for f in functions(described.body) if not is_property(f)}
    attributes = [f.name for f in functions(described.body) if is_property(f)]
    return {name: text for name, text in methods.items() if name != "__init__"}, attributes


def key(name: str) -> str:
    """A key of the table: a name with a dot is quoted."""
    return f'"{name}"' if "." in name else name


def table(stubs: Path) -> str:
    names: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    methods: dict[str, str] = {}
    for path in sorted(stubs.glob("[!_]*.py")):
        module = ast.parse(path.read_text())
        if path.stem == "array_object":
            methods, lists["attributes"] = array_members(module)
        elif path.stem == "constants":
            lists["constants"] = public(module)
        elif path.stem not in NOT_LISTED:
            listed = public(module)
            prefix = f"{path.stem}." if path.stem in EXTENSIONS else ""
            found = (f for f in functions(module.body) if f.name in listed)
            names |= {prefix + f.name: signature(f) for f in found}
    for method in INFO_METHODS:
        del names[method]
    lines = [
        f"# Names and signatures of the array API {VERSION}, generated from the standard's stubs",
        "# by tools/docs/array_api_signatures.py. Do not edit.",
        *(f"{name} = {sorted(entries)}".replace("'", '"') for name, entries in lists.items()),
    ]
    for title, entries in (("functions", names), ("methods", methods)):
        lines += [
            "",
            f"[{title}]",
            *(f'{key(name)} = "{entries[name]}"' for name in sorted(entries)),
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = f"_{VERSION.replace('.', '_')}"
    TABLE.write_text(table(Path(sys.argv[1]) / "src/array_api_stubs" / folder))


if __name__ == "__main__":
    main()
