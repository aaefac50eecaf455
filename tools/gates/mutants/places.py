"""Finds the mutants of a source of C++ or Python, and writes the source with all of them in it.

A mutant is a piece of text with a prefix and a suffix, which choose at run time: `a < b` becomes
`(mutant(7) ? a <= b : a < b)`. Pieces nest. Its place is its file, function, operator and number
among those of the function with this operator: names of variables and lines may change.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

SWAPS = {
    "relation": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "*"},
    "bits": {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"},
    "logic": {"&&": "||", "||": "&&", "and": "or", "or": "and"},
}
OPERATOR = {text: (name, swap) for name, of in SWAPS.items() for text, swap in of.items()}


class Piece(NamedTuple):
    """A mutant before it has a number, which takes the place of `@`."""

    operator: str
    begin: int  # bytes of the source
    end: int
    prefix: str
    suffix: str
    function: str


@dataclass(frozen=True)
class Mutant:
    path: str  # relative to the root
    piece: Piece
    ordinal: int
    line: int
    last_line: int

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.path, self.piece.function, self.piece.operator, self.ordinal

    def drawn(self, seed: int) -> str:
        """A random text that stays the same when other mutants come or the folder moves."""
        key = f"{seed} {Path(self.path).name} {self.place[1:]}"
        return hashlib.sha256(key.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.path}:{self.piece.function}:{self.piece.operator}:{self.ordinal}"


# C++

#: No mutant in these: they are evaluated by the compiler, or have no value.
CONSTANT = {
    *("alignas_qualifier", "array_declarator", "concept_definition", "decltype", "enumerator"),
    *("noexcept", "requires_clause", "sizeof_expression", "static_assert_declaration", "ERROR"),
    *("template_argument_list", "template_parameter_list", "bitfield_clause", "alignof_expression"),
    *("preproc_if", "preproc_elif", "preproc_def", "preproc_function_def", "preproc_include"),
    *("requires_expression", "attribute_declaration", "trailing_return_type"),
}
CALLS = {"call_expression", "assignment_expression", "delete_expression", "update_expression"}
NUMBERS = {
    *("int", "double", "float", "std::size_t", "size_t", "std::int64_t", "std::uint64_t"),
    *("std::int32_t", "std::uint32_t", "Py_ssize_t", "long", "unsigned"),
}
ON = "::refarray_mutants::on(@)"


@cache
def parser() -> Any:
    import tree_sitter
    import tree_sitter_cpp

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def text_of(node: Any) -> str:
    """On one line and without comments, so that the compiler counts the lines of the original."""
    if node.type == "comment":
        return ""
    text: bytes = node.text
    for child in reversed(node.children):
        if child.type == "comment" or child.child_count:
            begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            text = text[:begin] + text_of(child).encode() + text[end:]
    return text.decode().replace("\n", " ")


def function_name(node: Any) -> str:
    """Of a function_definition, with the class if it is written there."""
    found = node.child_by_field_name("declarator")
    while found is not None and found.type not in {"identifier", "qualified_identifier"}:
        inner = found.child_by_field_name("declarator")
        if found.type == "reference_declarator":
            inner = found.named_child(0)
        if inner is None:
            break
        found = inner
    return "?" if found is None else " ".join(text_of(found).split())


def is_constant(node: Any) -> bool:
    """Whether it is a declaration that the compiler evaluates: constexpr, or const of literals."""
    words = {text_of(child) for child in node.children if child.type == "type_qualifier"}
    if words & {"constexpr", "constinit"}:
        return True
    values = [d.child_by_field_name("value") for d in node.children_by_field_name("declarator")]
    return (
        "const" in words
        and None not in values
        and not any(
            child.type in {"identifier", "call_expression"}
            for value in values
            for child in descendants(value)
        )
    )


def descendants(node: Any) -> Iterator[Any]:
    yield node
    for child in node.children:
        yield from descendants(child)


def choose(other: str) -> tuple[str, str]:
    return f"({ON} ? {other} : ", ")"


NEGATED = (f"({ON} != static_cast<bool>(", "))")


def binary_of(node: Any) -> tuple[str, str, str] | None:
    operator = node.child_by_field_name("operator").type
    if operator not in OPERATOR:
        return None
    name, swap = OPERATOR[operator]
    left, right = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
    return (name, *choose(f"{left} {swap} {right}"))


def condition_of(node: Any) -> tuple[str, str, str] | None:
    """Of an expression that is a condition: what its own operator already negates is left out."""
    if node.type in {"true", "false", "unary_expression"}:
        return None
    operator = node.child_by_field_name("operator")
    is_relation = operator is not None and operator.type in {"==", "!="}
    return None if is_relation else ("condition", *NEGATED)


def returned_of(node: Any, kind: str) -> tuple[str, str, str] | None:
    if node.type in {"binary_expression", "true", "false", "unary_expression", "number_literal"}:
        return None
    if kind in {"", "auto", "void"} or node.type in {"initializer_list", "null"}:
        return None
    if kind == "bool":
        return ("return", *NEGATED)
    if kind in NUMBERS:
        return ("return", *choose(f"({text_of(node)}) + 1"))
    return ("return", f"({ON} ? {kind}{{}} : {kind}(", "))")


def declared_of(node: Any) -> Iterator[tuple[Any, tuple[str, str, str]]]:
    """The value of `T name = call(...)`; that `T name(...)` is made, if nobody uses the name."""
    of_type, declarator = map(node.child_by_field_name, ("type", "declarator"))
    if of_type is None or declarator is None:
        return
    kind, value = text_of(of_type), declarator.child_by_field_name("value")
    name = declarator.child_by_field_name("declarator") or declarator
    if name.type != "identifier" or "auto" in kind:
        return
    if value is not None and value.type == "call_expression":
        yield value, ("value", f"({ON} ? {kind}{{}} : {kind}(", "))")
    # The grammar takes `T name(a)` for the declaration of a function.
    elif value is None or value.type == "argument_list":
        is_object = value is not None or "(" in text_of(declarator) or "const " in text_of(node)
        if is_object and len(re.findall(rf"\b{text_of(name)}\b", text_of(node.parent))) == 1:
            yield of_type, ("guard", "::refarray_mutants::Maybe<@, ", ">")


def unary_of(node: Any) -> tuple[str, str, str] | None:
    operator = node.child_by_field_name("operator").type
    if operator == "!":
        return ("logic", *NEGATED)
    argument = node.child_by_field_name("argument")
    if operator == "-" and argument.type != "number_literal":
        return ("arithmetic", *choose(text_of(argument)))
    return None


def of_node(node: Any, kind: str) -> Iterator[tuple[Any, tuple[str, str, str] | None]]:
    """The mutants of one node in a function that returns `kind`."""
    if node.type == "binary_expression":
        yield node, binary_of(node)
    elif node.type == "unary_expression":
        yield node, unary_of(node)
    elif node.type == "call_expression" and node.parent.type == "argument_list":
        if node.child_by_field_name("arguments").named_child_count == 0:
            yield node, ("argument", "::refarray_mutants::argument<@>(", ")")
    elif node.type == "number_literal":
        yield node, ("number", *choose(f"{text_of(node)} + 1"))
    elif node.type in {"true", "false"}:
        yield node, ("boolean", *choose("false" if node.type == "true" else "true"))
    elif node.type == "expression_statement" and node.named_child_count == 1:
        if node.named_child(0).type in CALLS:
            yield node, ("statement", f"{{ if (!{ON}) ", " }")
    elif node.type == "declaration":
        yield from declared_of(node)
    elif node.type == "return_statement" and node.named_child_count == 1:
        yield node.named_child(0), returned_of(node.named_child(0), kind)
    elif node.type == "if_statement" and node.child(1).type != "constexpr":
        value = node.child_by_field_name("condition").child_by_field_name("value")
        if value is not None and value.type not in {"declaration", "init_statement"}:
            yield value, condition_of(value)
    elif node.type == "conditional_expression":
        value = node.child_by_field_name("condition")
        if value.type not in {"binary_expression", "unary_expression"}:
            yield value, condition_of(value)


def cpp_pieces(source: bytes) -> Iterator[Piece]:
    """The mutants in function bodies."""

    def walk(node: Any, function: str, kind: str, in_body: bool) -> Iterator[Piece]:
        if node.type in CONSTANT or (node.type == "declaration" and is_constant(node)):
            return
        if node.type == "function_definition":
            function, in_body = function_name(node), False
            of_type, declarator = map(node.child_by_field_name, ("type", "declarator"))
            plain = declarator is not None and declarator.type == "function_declarator"
            kind = text_of(of_type) if plain and of_type is not None else ""
        elif node.type == "lambda_expression":
            kind = ""
        in_body = in_body or node.type == "compound_statement"
        if in_body:
            for place, found in of_node(node, kind):
                if found is not None:
                    operator, *texts = found
                    yield Piece(operator, place.start_byte, place.end_byte, *texts, function)
        is_static = node.type == "if_statement" and node.child(1).type == "constexpr"
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            constant = (node.type == "case_statement" and field == "value") or (
                is_static and field == "condition"
            )
            if not constant:
                yield from walk(child, function, kind, in_body)

    yield from walk(parser().parse(source).root_node, "", "", False)


# Python

PYTHON_WORDS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip
NOT_RUN = {"annotation", "returns", "decorator_list", "pattern", "type_params", "format_spec"}


def python_choose(other: str) -> tuple[str, str]:
    return f"(({other}) if _mutant(@) else (", "))"


def python_of(node: ast.AST) -> Iterator[tuple[ast.expr, tuple[str, str, str]]]:
    """The mutants of one node."""
    plain: Callable[[ast.AST], str] = ast.unparse
    if isinstance(node, (ast.BinOp, ast.Compare)):
        operator = node.op if isinstance(node, ast.BinOp) else node.ops[0]
        if type(operator) in PYTHON_WORDS:
            name, swap = OPERATOR[PYTHON_WORDS[type(operator)]]
            left = plain(node.left)
            right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
            if isinstance(node, ast.BinOp) or len(node.ops) == 1:
                yield node, (name, *python_choose(f"({left}) {swap} ({plain(right)})"))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:  # is, in and their negations
            yield node, ("relation", *python_choose(f"not ({plain(node)})"))
    elif isinstance(node, ast.BoolOp):
        swap = OPERATOR[PYTHON_WORDS[type(node.op)]][1]
        other = f" {swap} ".join(f"({plain(value)})" for value in node.values)
        yield node, ("logic", *python_choose(other))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, ("logic", *python_choose(plain(node.operand)))
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield node, ("boolean", *python_choose(str(not node.value)))
        elif isinstance(node.value, (int, float)):
            yield node, ("number", *python_choose(f"{node.value!r} + 1"))
    elif isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await)):
        yield node.value, ("statement", *python_choose("None"))
    elif isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
        yield node.value, ("return", *python_choose("None"))
    plain_tests = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(node.test, plain_tests):
        yield node.test, ("condition", *python_choose(f"not ({plain(node.test)})"))


def python_pieces(source: bytes) -> Iterator[Piece]:
    """The mutants in functions: what runs at import would need a process of its own."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def walk(node: ast.AST, names: tuple[str, ...]) -> Iterator[Piece]:
        if isinstance(node, (ast.JoinedStr, ast.match_case)):  # have no places of their own
            if isinstance(node, ast.match_case):
                for statement in node.body:
                    yield from walk(statement, names)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = (*names, node.name)
        if isinstance(node, (ast.expr, ast.stmt)):
            for place, (operator, *texts) in python_of(node):
                assert place.end_lineno is not None and place.end_col_offset is not None
                begin = lines[place.lineno - 1] + place.col_offset
                end = lines[place.end_lineno - 1] + place.end_col_offset
                yield Piece(operator, begin, end, *texts, ".".join(names))
        for name, value in ast.iter_fields(node):
            if name in NOT_RUN:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, names)

    def functions(node: ast.AST, names: tuple[str, ...]) -> Iterator[Piece]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for statement in child.body:
                    yield from walk(statement, (*names, child.name))
            elif isinstance(child, ast.ClassDef):
                yield from functions(child, (*names, child.name))

    yield from functions(ast.parse(source), ())


# Both

IMPORT = "from _refarray_mutants import mutant as _mutant"


def find(path: str, source: bytes) -> list[Mutant]:
    pieces = python_pieces(source) if path.endswith(".py") else cpp_pieces(source)
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for piece in pieces:
        seen[piece.function, piece.operator] += 1
        line = source.count(b"\n", 0, piece.begin) + 1
        last = line + source.count(b"\n", piece.begin, piece.end)
        ordinal = seen[piece.function, piece.operator]
        found.append(Mutant(path, piece, ordinal, line, last))
    return found


def with_import(source: str) -> str:
    """After the docstring and the imports from __future__, on one of their lines."""
    last = 0
    for node in ast.parse(source).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            last = node.end_lineno or 0
        else:
            break
    lines = source.splitlines(keepends=True)
    if last == 0:
        return f"{IMPORT}\n{source}"
    lines[last - 1] = f"{lines[last - 1].rstrip()}; {IMPORT}\n"
    return "".join(lines)


def instrument(path: str, source: bytes, numbered: Iterable[tuple[int, Mutant]]) -> bytes:
    """The source in which `mutant(number)` chooses each of these mutants."""
    inserted: list[tuple[int, int, int, str]] = []
    for number, mutant in numbered:
        piece = mutant.piece
        length = piece.end - piece.begin
        # At one place ends come first, those of inner pieces before outer ones, then beginnings.
        inserted.append((piece.end, 0, length, piece.suffix))
        inserted.append((piece.begin, 1, -length, piece.prefix.replace("@", str(number))))
    out, at = [], 0
    for place, _, _, text in sorted(inserted, key=lambda row: row[:3]):
        out += [source[at:place], text.encode()]
        at = place
    changed = b"".join([*out, source[at:]])
    return with_import(changed.decode()).encode() if path.endswith(".py") else changed
