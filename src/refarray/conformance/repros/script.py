"""Turns the kit's repro of a finding into a script that needs neither refarray nor its repository.

The script prints what is expected and what it saw, and exits with status 1 if the finding shows. A
crash or a hang is caught in a forked child, so that its script can say so, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refarray._system import system
from refarray.conformance.cases import Check
from refarray.conformance.repros.ctypes_producer import CODE, CannotStandAlone, CtypesProducer
from refarray.conformance.repros.verdicts import POINTER, VERDICTS, Verdict, verdict
from refarray.conformance.subjects.subject import Library

LONGEST = 25
"""The largest number of lines of a script."""
HANG_SECONDS = 20
MODULES = ("ctypes", "gc", "mmap", "os", "signal", "struct", "sys")
"""Modules that a script imports if it uses them."""
IMPORTS = {f"import {name}" for name in MODULES}
UNMAPPED_TABLE = 'new(edge - 16, b"dlpack_exchange_api", None)'
TO_PY = (
    "api = pointer({kind}.__dlpack_c_exchange_api__, b'dlpack_exchange_api')",
    (
        "to_py = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)"
        "(ctypes.c_void_p.from_address(api + 32).value)"
    ),
    "out = ctypes.py_object()",
)
FROM_PY = (
    TO_PY[0],
    (
        "from_py = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)"
        "(ctypes.c_void_p.from_address(api + 24).value)"
    ),
    "out = ctypes.c_void_p()",
)
AT_EXIT = (
    "tensor = pointer(capsule, name)",
    "ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), used)",
    "at = 16 if b'versioned' in name else 56  # the deleter in the struct",
    "deleter = ctypes.c_void_p.from_address(tensor + at)",
    "# what a C++ static does: exit() calls the deleter when the interpreter has shut down",
    "ctypes.CDLL(None).__cxa_atexit(deleter, ctypes.c_void_p(tensor), None)",
)


class Rewriter(ast.NodeTransformer):
    """Replaces the kit's `give(…)` by the name `given`, and keeps its fields."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] | None = None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == "with_table":
            self.fields = {"table": UNMAPPED_TABLE, **table_fields(node)}
            return ast.Name("given")
        if name not in {"give", "_adversary.make"} or node.args:
            return node
        if self.fields is not None:
            raise CannotStandAlone("two producers")
        self.fields = {}
        for each in node.keywords:
            code = each.arg in CODE
            self.fields[str(each.arg)] = ast.unparse(each.value) if code else literal(each.value)
        return ast.Name("given")


def table_fields(node: ast.Call) -> dict[str, Any]:
    """The fields of a producer with the table that the kit calls unmapped."""
    if ast.unparse(node) != (
        "with_table(_adversary.table(version=(2, 0), unmapped=True).capsule())"
    ):
        raise CannotStandAlone("an exchange table")
    return {"guarded": True}


def literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise CannotStandAlone(ast.unparse(node)) from error


@dataclass(frozen=True)
class Kit:
    """The kit's repro, taken apart."""

    setup: list[str]
    """The statements before the last one, without imports."""
    call: str
    """The expression whose result the repro prints."""
    fields: Mapping[str, Any] | None
    """The fields of its producer, if it has one."""
    table: str = ""
    """The type whose exchange table is called."""


def take_apart(text: str, imports: str) -> Kit:
    """The kit's repro without imports. CannotStandAlone if it needs refarray."""
    body = text.removeprefix(imports)
    if body == text:  # they follow other imports
        body = text.replace(f"; {imports}\n", "\n", 1)
    rewriter = Rewriter()
    tree = rewriter.visit(ast.parse(body))
    table, setup = "", []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if "refarray" not in ast.unparse(node) and ast.unparse(node) not in IMPORTS:
                setup.append(ast.unparse(node))
        elif ast.unparse(node).startswith("api = _adversary.api("):
            table = ast.unparse(node.value.args[0])
        else:
            setup.append(ast.unparse(node))
    call = setup.pop() if setup else ""
    call = call[6:-1] if call.startswith("print(") else call
    kit = Kit(setup, call, rewriter.fields, table)
    if any(word in f"{kit.setup}{call}" for word in ("_adversary", "refarray", "give(", "spy(")):
        raise CannotStandAlone(call)
    return kit


def standalone(check: Check, message: Mapping[str, Any], library: Library) -> str:
    """The script of a finding; the kit's own repro where it cannot do without refarray."""
    text = str(message.get("repro", ""))
    if not text or message.get("error"):
        return text
    try:
        return "\n".join(Script(check, message, library).lines())
    except (CannotStandAlone, SyntaxError):
        return text


class Script:
    """The script of one finding."""

    def __init__(self, check: Check, message: Mapping[str, Any], library: Library) -> None:
        self.check = check
        self.library = library
        self.message = message
        self.died: str = str(message.get("died", ""))
        self.observed: str = str(message.get("observed", ""))

    def lines(self) -> list[str]:
        """The lines. CannotStandAlone if there is no way without refarray."""
        alone = self.library.alone
        if "partners." in alone or ("refarray" in alone and self.library.name != "refarray"):
            raise CannotStandAlone(alone)
        text = str(self.message["repro"])
        kit = take_apart(at_exit(text, self.library.imports), self.library.imports)
        how = self.how()
        call, table = self.by_table(kit)
        rest = [*self.write_fork(), *self.tail(call, how)]
        body: list[str] = []
        if kit.fields is not None:
            fields = {**kit.fields, **({"versioned": True} if kit.table else {})}
            reads = "\n".join([*kit.setup, *rest])
            body += CtypesProducer(fields, reads, methods=not kit.table).lines()
        if kit.table:
            body += [POINTER, *(line.format(kind=kit.table) for line in table)]
        out = [*self.head(body, kit.setup, rest), *self.write_fork(), *body, *kit.setup]
        return [*out, *(how.prepare if how else ()), *self.tail(call, how)]

    @staticmethod
    def by_table(kit: Kit) -> tuple[str, Sequence[str]]:
        """The call without the kit's object for the exchange table, and the lines that it needs."""
        if not kit.table:
            return kit.call, ()
        if kit.call == "api.to_py(given)":
            return "to_py(tensor, ctypes.byref(out))", TO_PY
        if kit.call.startswith("api.from_py("):
            array = kit.call.removeprefix("api.from_py(").removesuffix(".fields()")[:-1]
            return f"from_py({array}, ctypes.byref(out))", FROM_PY
        raise CannotStandAlone(kit.call)

    def how(self) -> Verdict | None:
        """When the script is to exit with status 1; None: when the forked child dies."""
        hung = self.observed == "it hangs" or self.observed.startswith("signal ")
        by_end = self.died or hung or self.check.exits or self.check.id in {"LIFE-16", "LIFE-18"}
        if by_end:
            return None
        found = verdict(self.check, self.observed, str(self.message.get("wrong") or ""))
        if found is None or self.reads_an_address():
            raise CannotStandAlone("no expression says when it shows")
        return found

    def reads_an_address(self) -> bool:
        """Whether the repro prints an address, which decides nothing by itself."""
        last = str(self.message["repro"]).splitlines()[-1]
        by_name = f"{self.check.id} {self.check.role}" in VERDICTS
        return not by_name and last.endswith(("# data", "# shape", "# strides"))

    def head(self, *parts: Sequence[str]) -> list[str]:
        text = "\n".join(line for part in parts for line in part)
        used = [name for name in MODULES if f"{name}." in text]
        check = self.check
        title = f"{self.library.name} {self.library.version}".strip()
        out = [
            f"# {title}: {check.id}, {check.role} {check.case}: {check.expected}",
            f"import {', '.join(used)}",
            self.library.alone,
        ]
        # A sub-interpreter imports the library first.
        return out[:2] if check.id == "LIFE-25" else out

    def write_fork(self) -> list[str]:
        """The lines that run the rest in a child and tell how it died."""
        if self.how() is not None or not system.CAN_FORK:
            return []  # an expression decides, not the end of a child, or the process shows it
        expected = self.check.expected.replace("{", "{{").replace("}", "}}").replace("'", "`")
        end = "{end}"
        return [
            "if child := os.fork():",
            "    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])",
            "    end = signal.strsignal(-status) if status < 0 else f'exit status {status}'",
            "    print(f" + repr(f"expected: {expected}; the process ended with: {end}") + ")",
            "    sys.exit(status not in (0, 1))",
            f"signal.alarm({HANG_SECONDS})  # ends a hang",
        ]

    def tail(self, call: str, how: Verdict | None) -> Iterator[str]:
        if how is None:
            yield f"print({call})" if "=" not in call.split("(")[0] else call
            return
        yield f"try: saw = {call}"
        yield "except BaseException as error: saw = error"
        yield from how.before
        values = self.library.values.format("saw")
        yield f"wrong = {how.wrong.replace('{values}', values)}"
        says = how.says.replace("{{values}}", "{" + values + "}")
        expected = self.check.expected.replace("{", "{{").replace("}", "}}").replace('"', "'")
        yield f'print(f"expected: {expected}; saw: {says}" if wrong else "as expected")'
        yield "sys.exit(wrong)"


def at_exit(text: str, imports: str) -> str:
    """The repro of a deleter that runs at exit, by ctypes; any other repro unchanged."""
    taken = "from refarray.conformance import _adversary; owned = _adversary.take("
    lines = text.splitlines()
    if (
        not system.CAN_FORK
        or len(lines) < 3
        or lines[-1] != "owned.keep_until_exit()"
        or taken not in lines[-2]
    ):
        return text
    call = lines[-2].removeprefix(taken).removesuffix(")")
    name = 'name = b"dltensor_versioned" if "versioned" in repr(capsule) else b"dltensor"'
    used = 'used = ctypes.c_char_p(b"used_" + name)'
    return "\n".join([imports, f"capsule = {call}", name, used, POINTER, *AT_EXIT])
