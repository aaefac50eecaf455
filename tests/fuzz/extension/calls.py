"""What the bytes of an input of the extension's fuzz target mean: calls of public functions.

An input chooses the functions, their arguments, and what each special method of a hostile argument
does when it is called: return a value or a wrong type, raise, change its class, clear the lists and
the arrays in use, or call another function. `run` raises for what must never happen: a SystemError
(a result with an exception set, or neither), an entry of an index or a producer that is asked
twice. Memory errors are found by the sanitizer.
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import operator
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import refarray
import refarray.strict
from refarray import fft, linalg

MOST_STATEMENTS = 6  # of one input
MOST_NESTED = 40  # calls from special methods, unless they recur endlessly
MOST_ANSWERS = 5000  # of special methods: loops that ask for ever end, recursion ends before
MOST_ELEMENTS = 4096  # of an array that later statements use
#: Functions with effects outside the arrays: they print, write files, or change settings of the
#: process.
NOT_CALLED = {
    *("doctor", "ledger", "namespace", "printoptions", "save", "set_copy_threads"),
    *("set_host_computation", "use_allocator", "use_stream"),
}

GPU = refarray.VirtualDevice("gpu")
NAMESPACES = [
    refarray,
    refarray.strict,
    refarray.namespace(immutable=True),
    refarray.namespace(lazy=True),
    refarray.namespace(poison_views=True),
    refarray.namespace(strict=True, devices=[GPU]),
]
NUMBERS: list[Any] = [
    *(0, 1, 2, 3, -1, -2, 5, 63, 64, 65, 127, -128, 300, 2**31, -(2**31), 2**53),
    *(2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, 2**1100, -(2**1100)),
    *(0.0, -0.0, 0.5, -2.5, 1e300),
    *(float("nan"), float("inf"), 1j, complex(1e300, -1), True, False, None, ...),
]
TEXTS = ["float64", "uint8", "complex64", "cpu", "ij", "reduced", "left", "C", "", "\0", "é" * 70]
DTYPES = [name for name in dir(refarray) if isinstance(getattr(refarray, name), refarray.DType)]


class Wrong(Exception):
    """A result that the extension must never give."""


class Input:
    """Numbers from the bytes of an input; zeros after the last."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def below(self, limit: int) -> int:
        value = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return value % limit

    def one_of(self, choices: Any) -> Any:
        if len(choices) <= 256:
            return choices[self.below(len(choices))]
        return choices[(self.below(256) * 256 + self.below(256)) % len(choices)]


def functions_of(module: Any) -> list[tuple[str, Callable[..., Any]]]:
    names = [name for name in getattr(module, "__all__", dir(module)) if name not in NOT_CALLED]
    found = [(name, getattr(module, name)) for name in names if not name.startswith("__")]
    return [
        (name, value) for name, value in found if callable(value) and not isinstance(value, type)
    ]


def callables() -> list[list[tuple[str, Callable[..., Any]]]]:
    """The callables of each namespace, and those of Python that call special methods of arrays."""
    methods = [
        (name, getattr(refarray.Array, name))
        for name in dir(refarray.Array)
        if callable(getattr(refarray.Array, name))
        and name
        not in ("__class__", "__init_subclass__", "__new__", "__subclasshook__", "__init__")
    ]
    of_python = [(function.__name__, function) for function in OF_PYTHON]
    extensions = functions_of(linalg) + functions_of(fft)
    return [functions_of(module) + extensions + methods + of_python for module in NAMESPACES]


OPERATORS = [
    *("add", "and_", "concat", "contains", "delitem", "eq", "floordiv", "ge", "getitem", "gt"),
    *("iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "index", "invert", "ior"),
    *("ipow", "irshift", "isub", "itruediv", "ixor", "le", "lshift", "lt", "matmul", "mod", "mul"),
    *("ne", "neg", "or_", "pos", "pow", "rshift", "setitem", "sub", "truediv", "xor", "abs"),
]


def shown(value: Any) -> str:
    """repr(), but not of nested lists, in which one array may stand a million times."""
    return "" if isinstance(value, (list, tuple)) else repr(value)


OF_PYTHON: list[Callable[..., Any]] = [
    *(getattr(operator, name) for name in OPERATORS),
    *(copy.copy, copy.deepcopy, pickle.dumps, bytes, memoryview, iter, list, len, float, int),
    *(complex, bool, shown, divmod, round),
]
CALLABLES = callables()
INDEXING = {"getitem", "setitem", "delitem", "__getitem__", "__setitem__", "__delitem__"}
IMPORTING = {"from_dlpack", "asarray", "inspect"}


def keywords_of(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


KEYWORDS = {id(function): keywords_of(function) for group in CALLABLES for _name, function in group}


class Run:
    """One input: its arrays and lists, and how deep its calls are."""

    def __init__(self, data: bytes) -> None:
        self.input = Input(data)
        self.group = self.input.below(len(CALLABLES))
        self.arrays: list[Any] = []
        self.lists: list[list[Any]] = []
        self.nested = 0
        self.answers = 0
        self.endless = False
        self.asked: Counter[tuple[int, str]] = Counter()
        self.chosen = self.input.below(4)  # of the hostile classes

    # --- Arguments.

    @functools.cached_property
    def hostile(self) -> type:
        return hostile_class(self, self.chosen)

    @functools.cached_property
    def sequence(self) -> type:
        length, item = sequence_methods(self)
        return type("Sequence", (), {"__len__": length, "__getitem__": item})

    def array(self) -> Any:
        xp = NAMESPACES[self.group]
        choice = self.input.below(9)
        if self.arrays and choice < 4:
            return self.input.one_of(self.arrays)
        dtype = getattr(xp, self.input.one_of(DTYPES), None) or xp.float64
        shape = tuple(self.input.below(4) for _ in range(self.input.below(5)))
        if choice == 4:
            shape = (1,) * self.input.below(65)
        made = xp.zeros(shape, dtype=dtype) if choice < 8 else xp.arange(self.input.below(9))
        self.keep(made)
        return made

    def argument(self, depth: int = 0) -> Any:
        choice = self.input.below(16)
        if choice < 5:
            return self.array()
        if choice < 8:
            return self.input.one_of(NUMBERS)
        if choice < 10:
            return self.hostile()
        if choice == 10:
            return self.sequence()
        if choice == 11:
            return slice(*(self.small(depth) for _ in range(3)))
        if choice == 12:
            return getattr(NAMESPACES[self.group], self.input.one_of(DTYPES), None)
        if choice == 13:
            return self.input.one_of(TEXTS)
        if depth > 2:
            return 0
        length = self.input.below(5) if self.input.below(8) else self.input.below(140)
        made = [self.argument(depth + 1) for _ in range(min(length, 5))]
        made += made[-1:] * (length - len(made))
        if choice == 14:
            return tuple(made)
        self.lists.append(made)
        return made

    def option(self) -> Any:
        """The value of a keyword: most take a number, a text, a flag, or None."""
        choice = self.input.below(4)
        if choice < 2:
            return self.argument()
        return self.input.one_of(NUMBERS if choice == 2 else TEXTS)

    def small(self, depth: int) -> Any:
        return None if self.input.below(3) == 0 else self.argument(max(depth, 3))

    def keep(self, value: Any) -> None:
        size = getattr(value, "size", None)
        if hasattr(value, "__array_namespace__") and (size or 0) <= MOST_ELEMENTS:
            self.arrays.append(value)

    # --- Statements.

    def statement(self) -> Any:
        name, function = self.input.one_of(CALLABLES[self.group])
        arguments = [self.argument() for _ in range(self.input.below(4))]
        if function in OF_PYTHON or self.input.below(4):  # Python's are ours to test with an array
            arguments.insert(self.input.below(len(arguments) + 1), self.array())
        keywords = {}
        known = KEYWORDS[id(function)]
        for _ in range(self.input.below(3) if known else 0):
            keywords[self.input.one_of(known)] = self.option()
        return self.call(name, function, arguments, keywords)

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> Any:
        self.again = functools.partial(function, *arguments, **keywords)
        before, self.asked = self.asked, Counter()
        try:
            value = function(*arguments, **keywords)
            if name in ("iter", "__iter__"):
                value = list(value)
            self.keep(value)
            return value
        finally:
            asked, self.asked = self.asked, before
            if name in INDEXING | IMPORTING and not self.recurred:
                self.refuse_questions_asked_twice(name, arguments, asked)

    def refuse_questions_asked_twice(
        self, name: str, arguments: list[Any], asked: Counter[tuple[int, str]]
    ) -> None:
        method = "__dlpack__" if name in IMPORTING else "__index__"
        once = 2 if name == "inspect" else 1  # it asks for both kinds of capsule
        places = Counter(map(id, leaves(arguments)))
        for (owner, what), times in asked.items():
            if what == method and times > once * max(places[owner], 1):
                raise Wrong(f"{name}() called {what} of one object {times} times")

    def run(self) -> None:
        for _ in range(MOST_STATEMENTS):
            if self.input.at >= len(self.input.data):
                break
            self.nested = 0
            self.recurred = False
            try:
                self.statement()
            except (SystemError, Wrong):
                raise
            except BaseException as error:
                error.__traceback__ = None
            len(())  # raises SystemError if an exception is still set


def leaves(value: Any) -> Iterator[Any]:
    """The objects of nested lists and tuples, each as often as it occurs."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


def act(run: Run, self: Any, name: str, plain: Any) -> Any:
    """What a special method does; the input decides."""
    run.asked[id(self), name] += 1
    run.answers += 1
    if run.answers > MOST_ANSWERS:
        raise RuntimeError("asked too often")
    choice = run.input.below(16)
    if choice < 6:
        return plain
    if choice == 6:
        raise run.input.one_of([ValueError, TypeError, KeyError, StopIteration, BufferError])
    if choice == 7:
        return run.argument(3)
    if choice == 8:
        for made in run.lists:
            made.clear()
    elif choice == 9:
        for made in run.lists:
            made.extend([self] * 70)
    elif choice == 10:
        run.arrays.clear()
        gc.collect(0)
    elif choice == 11:
        other = type(self)
        if hasattr(other, "__len__"):
            del other.__len__, other.__getitem__
        else:
            other.__len__, other.__getitem__ = sequence_methods(run)
    elif choice == 12 and not run.recurred and run.nested < MOST_NESTED:
        run.endless = run.recurred = True
        try:
            return run.again()
        finally:
            run.endless = False
    elif choice > 12 and run.nested < MOST_NESTED:
        run.nested += 1
        return run.statement()
    return plain


#: Special methods and a plain result. A producer gives what another array gives.
PLAIN: dict[str, Any] = {
    "__index__": 1,
    "__int__": 1,
    "__float__": 1.0,
    "__complex__": 1j,
    "__bool__": True,
    "__eq__": True,
    "__hash__": 7,
    "__radd__": 0,
    "__str__": "float64",
    "__dlpack_device__": (1, 0),
}


def sequence_methods(run: Run) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """__len__ and __getitem__ of a sequence of two numbers."""

    def item(self: Any, index: Any) -> Any:
        if isinstance(index, int) and index >= 2:
            raise IndexError(index)
        return run.again() if run.endless else act(run, self, "__getitem__", 0)

    return lambda self: run.again() if run.endless else act(run, self, "__len__", 2), item


def hostile_class(run: Run, chosen: int) -> type:
    """A class with all special methods, or with some."""

    def method(name: str, plain: Any) -> Callable[..., Any]:
        # Endless recursion has one Python function a level, so that the recursion limit comes late.
        return lambda self, *_args, **_keywords: (
            run.again() if run.endless else act(run, self, name, plain)
        )

    def export(self: Any, **keywords: Any) -> Any:
        return act(run, self, "__dlpack__", refarray.zeros(3).__dlpack__(**keywords))

    hostile = {name: method(name, plain) for name, plain in PLAIN.items()}
    hostile["__dlpack__"] = export
    if chosen == 0:  # a number only
        hostile = {name: hostile[name] for name in ("__index__", "__float__")}
    elif chosen == 1:  # an index only, whose class may become a sequence
        hostile = {"__index__": hostile["__index__"]}
    return type("Hostile", (), hostile)


def run(data: bytes) -> None:
    """Makes the calls of an input; raises SystemError or Wrong for a wrong result."""
    Run(data).run()
