"""Every public callable, with an object whose special method calls it again, without end.

`reentry.py STACK` runs the cases in a thread with a stack of so many bytes, in the main thread for
0, and for a number below 0 in the main thread after its stack has been limited to so many bytes.
But for 0 there is no recursion limit, so that the stack ends the recursion; only the functions in
C++ are called then, since CPython does not look after the stack of others. It prints each case
before it runs, so that the last line names the one that crashed, and then the number of each
outcome."""

import collections
import inspect
import operator
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import refarray as ra
import refarray.fft
import refarray.linalg

#: Those that no object of another class reaches, take files or drivers, or make namespaces.
NOT_HERE = {"DLDeviceType", "doctor", "namespace", "empty_cache", "synchronize", "build_info"}
METHODS = (
    *("__index__", "__float__", "__complex__", "__int__", "__bool__", "__str__", "__repr__"),
    *("__len__", "__getitem__", "__iter__", "__eq__", "__hash__", "__format__", "__buffer__"),
    *("__dlpack__", "__dlpack_device__", "__array__", "__arrow_c_array__"),
)
PROPERTIES = ("__array_interface__", "__array_struct__", "__cuda_array_interface__")
#: What an object needs beside a method, for the method to be called.
BESIDE: dict[str, dict[str, Any]] = {
    "__getitem__": {"__len__": lambda self: 1},
    "__dlpack__": {"__dlpack_device__": lambda self: (1, 0)},
    "__dlpack_device__": {"__dlpack__": lambda self, **_: None},
}
MOST_CALLS = 5_000  # a case that goes on is ended by Enough


stack = int(sys.argv[1])


class Enough(BaseException):
    """Neither the recursion limit nor the stack has ended the recursion."""


def hostile_type(method: str, base: type) -> type:
    """A type whose only special method calls `again` of its instance."""
    again: Any = lambda self, *_, **__: self.again()  # noqa: E731
    called = property(again) if method in PROPERTIES else again
    return type(f"{base.__name__} {method}", (base,), BESIDE.get(method, {}) | {method: called})


#: Names, such as that of a dtype or a mode, are strs.
TYPES = [
    *(hostile_type(method, object) for method in (*METHODS, *PROPERTIES)),
    *(hostile_type(method, str) for method in ("__eq__", "__hash__", "__str__")),
]


class Case:
    """A call with one argument whose special method makes the call again."""

    def __init__(self, label: str, call: Callable[[Any], Any], kind: Any) -> None:
        self.label = f"{label} {kind.__name__}"
        self.call = call
        self.argument = kind("sum") if issubclass(kind, str) else kind()
        self.argument.again = self.again

    def again(self) -> Any:
        self.calls += 1
        if self.calls > self.most:
            raise Enough
        return self.call(self.argument)

    def run(self, most: int) -> str:
        self.calls, self.most = 0, most
        try:
            self.call(self.argument)
        except RecursionError:
            return "RecursionError"
        except Enough:  # two clauses: to look into a tuple, CPython 3.14 needs more stack
            return "Enough"
        except Exception as error:
            return type(error).__name__
        return "returned"


def plausible(name: str) -> Any:
    """A value for a required parameter of this name."""
    if name in {"x", "x1", "x2", "obj", "indices", "repeats", "condition"}:
        return ra.ones((3, 3))
    values = {"arrays": [ra.ones((3, 3))], "shape": (3, 3), "fill_value": 1, "axes": (0, 1)}
    return values.get(name, 1)


def calls_of(name: str, function: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """The calls of a function, with an argument for each of its parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # an exception, for instance
        return
    if stack and getattr(function, "__text_signature__", None) is None:
        return
    for tested in parameters:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        hole: Any = None
        for each in parameters:
            if each is not tested and each.default is not each.empty:
                continue
            if each.kind is each.VAR_KEYWORD or (
                each is not tested and each.kind is each.VAR_POSITIONAL
            ):
                continue
            key: Any = each.name
            if each.kind is each.KEYWORD_ONLY:
                keywords[each.name] = plausible(each.name)
            elif each.kind is each.POSITIONAL_OR_KEYWORD and each.default is not each.empty:
                keywords[each.name] = None
            else:
                key = len(positional)
                positional.append(plausible(each.name))
            hole = key if each is tested else hole
        if hole is None:
            continue

        def call(argument: Any, at: Any = hole, args: Any = positional, kw: Any = keywords) -> Any:
            if isinstance(at, str):
                return function(*args, **(kw | {at: argument}))
            return function(*args[:at], argument, *args[at + 1 :], **kw)

        yield f"{name}({tested.name})", call
        for shape, wrap in (("list", lambda h: [h]), ("pair", lambda h: (h, h))):
            yield f"{name}({tested.name}: {shape})", lambda h, c=call, w=wrap: c(w(h))  # type: ignore[misc]


def operators_of(name: str, xp: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    x, one = xp.ones((3, 3)), xp.ones(())
    indices: dict[str, Callable[[Any], Any]] = {
        "h": lambda h: h,
        "h, h": lambda h: (h, h),
        "h:, ::h": lambda h: (slice(h, None), slice(None, None, h)),
        "[h]": lambda h: [h],
        "h, [0]": lambda h: (h, [0]),
    }
    for text, index in indices.items():
        yield f"{name} x[{text}]", lambda h, i=index: x[i(h)]  # type: ignore[misc]
        yield f"{name} x[{text}] = 0", lambda h, i=index: operator.setitem(x, i(h), 0)  # type: ignore[misc]
    for target in (0, (0, 0), [0], ...):
        yield f"{name} x[{target}] = h", lambda h, t=target: operator.setitem(x, t, h)  # type: ignore[misc]
        yield f"{name} x[{target}] = [h]", lambda h, t=target: operator.setitem(x, t, [h])  # type: ignore[misc]
    for function in (operator.add, operator.iadd, operator.pow, operator.matmul):
        yield f"{name} {function.__name__}", lambda h, f=function: f(x, h)  # type: ignore[misc]
    yield f"{name} round(x, h)", lambda h: round(one, h)
    yield f"{name} format(x, h)", lambda h: format(one, h)


def every_call() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    devices = [ra.VirtualDevice("first", id=1), ra.VirtualDevice("second", id=2)]
    spaces = {
        "refarray": ra,
        "strict": ra.namespace(strict=True),
        "devices": ra.namespace(devices=devices),
        "poisoned": ra.namespace(poison_views=True),
    }
    for name, xp in spaces.items():
        yield from operators_of(name, xp)
    for module in (ra, ra.linalg, ra.fft):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if name[0] != "_" and name not in NOT_HERE and callable(function):
                yield from calls_of(name, function)
    for name in sorted(dir(ra.Array)):
        method = getattr(ra.ones((3, 3)), name, None)
        if name[0] != "_" and callable(method):
            yield from calls_of(f"Array.{name}", method)


def cases() -> Iterator[Case]:
    """Those of which the special method is called at all."""
    for label, call in every_call():
        for kind in TYPES:
            case = Case(label, call, kind)
            case.run(most=0)
            if case.calls:
                yield case


def run_all(found: list[Case], outcomes: collections.Counter[str]) -> None:
    for case in found:
        os.write(1, f"{case.label}\n".encode())
        outcomes[case.run(MOST_CALLS)] += 1


found = list(cases())
outcomes: collections.Counter[str] = collections.Counter()
if stack:
    sys.setrecursionlimit(10**6)
if stack < 0:
    resource.setrlimit(
        resource.RLIMIT_STACK, (-stack, resource.getrlimit(resource.RLIMIT_STACK)[1])
    )
if stack > 0:
    threading.stack_size(stack)
    thread = threading.Thread(target=run_all, args=(found, outcomes))
    thread.start()
    thread.join()
else:
    run_all(found, outcomes)
print(dict(outcomes))
