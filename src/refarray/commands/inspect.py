"""`refarray inspect`: evaluate an expression and inspect the result."""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from refarray.commands import Subparsers

if TYPE_CHECKING:
    from refarray._inspect import Inspection

DESCRIPTION = """\
Evaluate a Python expression and show what the resulting DLPack producer exports, or what the
resulting capsule contains, without consuming it. Modules that the expression names are imported;
np, jnp, cp and ra are short for numpy, jax.numpy, cupy and refarray.
"""
ALIASES = {"np": "numpy", "jnp": "jax.numpy", "cp": "cupy", "ra": "refarray"}


class Failure(Exception):
    """An error message and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "inspect", help="show what an object exports through DLPack", description=DESCRIPTION
    )
    parser.add_argument(
        "expression", metavar="EXPRESSION", help="for example 'numpy.arange(6)[::2]'"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--html",
        metavar="PATH",
        type=Path,
        help="also write an HTML page with a picture of the memory layout",
    )
    parser.set_defaults(run=run)


def free_names(tree: ast.AST) -> list[str]:
    """Return the names that an expression reads and does not bind, in order of appearance."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = (node.id for node in nodes)
    return [
        name for name in dict.fromkeys(names) if name not in bound and not hasattr(builtins, name)
    ]


def split_dotted(node: ast.expr) -> list[str]:
    """Return ["a", "b", "c"] for a.b.c, and [] if the expression does not start with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (parts := split_dotted(node.value)):
        return [*parts, node.attr]
    return []


def import_submodules(tree: ast.AST, namespace: dict[str, object]) -> None:
    """Import a.b if the expression contains a.b, and b is a submodule that is not imported yet."""
    for node in ast.walk(tree):
        parts = split_dotted(node) if isinstance(node, ast.Attribute) else []
        value = namespace.get(parts[0]) if parts else None
        for part in parts[1:]:
            if not hasattr(value, "__path__"):
                break
            if not hasattr(value, part):
                try:
                    import_module(f"{getattr(value, '__name__', '')}.{part}")
                except ModuleNotFoundError:
                    break  # evaluation will raise AttributeError
            value = getattr(value, part, None)


def evaluate(expression: str) -> object:
    """Return the value of an expression. Raises Failure."""
    try:
        tree = ast.parse(expression.strip(), "EXPRESSION", "eval")
    except SyntaxError as error:
        raise Failure(f"{expression!r} is not an expression: {error.msg}", 2) from None
    namespace: dict[str, object] = {}
    for name in free_names(tree):
        try:
            namespace[name] = import_module(ALIASES.get(name, name))
        except ModuleNotFoundError as error:
            raise Failure(
                f"{name!r} is neither a builtin nor an importable module: {error}", 1
            ) from None
        except Exception as error:  # an import may raise any exception
            raise Failure(f"importing {name} raised {type(error).__name__}: {error}", 1) from error
    try:
        import_submodules(tree, namespace)
        return eval(compile(tree, "EXPRESSION", "eval"), namespace)
    except Exception as error:  # as may an expression
        raise Failure(
            f"evaluating the expression raised {type(error).__name__}: {error}", 1
        ) from error


def write_page(found: Inspection, expression: str, path: Path) -> None:
    """Write the page of --html. Raises Failure."""
    from refarray._layout_picture.page import page

    try:
        path.write_text(page(found, expression), encoding="utf-8")
    except OSError as error:
        raise Failure(f"--html: {error}", 1) from error


def run(arguments: argparse.Namespace) -> int:
    from refarray._inspect import inspect

    folder = str(Path.cwd())
    if "" not in sys.path and folder not in sys.path:
        sys.path.insert(0, folder)  # as for `python -m refarray`, so that local modules are found
    try:
        try:
            found = inspect(evaluate(arguments.expression))
        except (TypeError, ValueError) as error:
            raise Failure(str(error), 1) from error
        if arguments.html is not None:
            write_page(found, arguments.expression, arguments.html)
    except Failure as failure:
        print(f"refarray inspect: {failure}", file=sys.stderr)
        return failure.status
    print(json.dumps(found.to_dict(), indent=2) if arguments.json else found)
    return 0
