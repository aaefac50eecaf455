"""All out-of-memory recipes, and the list of public calls that need one, read from the package."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from native.corpus import FLOATS
from native.producers import foreign

import adversary
import refarray
from refarray import _native, _partners

from . import c_table, files, ledgers, namespaces, packages, shared  # noqa: F401
from .devices import NEEDS_DRIVER
from .recipe import NOT_CALLABLE, RECIPES, Recipe, capsule, recipe, refused

__all__ = ["NEEDS_DRIVER", "RECIPES", "Recipe", "namespaces", "of_kinds", "public_calls", "share"]

#: The other modules add their recipes when they are imported.
for name in namespaces.MODULES:
    import_module(f"{__package__}.{name}")

# --- written in Python ---

recipe("finfo", lambda _: repr(refarray.finfo("float32")), python=True)
recipe("iinfo", lambda _: repr(refarray.iinfo("int8")), python=True)
recipe("get_include", lambda _: ignore_missing_headers(refarray.get_include), python=True,
       instead=(TypeError,))  # fmt: skip
for function in (refarray.get_cmake_dir, refarray.get_pkgconfig_dir):
    recipe(function.__name__, lambda _, function=function: ignore_missing_headers(function),
           python=True, instead=(TypeError,))  # fmt: skip
recipe("build_info", lambda _: refarray.build_info(), python=True)
recipe("inspect", lambda x: repr(refarray.inspect(x)), python=True)
recipe("inspect", lambda c: repr(refarray.inspect(c)), capsule, "capsule", python=True)


def ignore_missing_headers(function: Callable[[], Any]) -> None:
    """Ignores FileNotFoundError: a plain CMake build installs no headers."""
    with contextlib.suppress(FileNotFoundError):
        function()


def repr_with_options(x: Any) -> str:
    with refarray.printoptions(precision=3, threshold=2):
        return repr(x)


recipe("printoptions", repr_with_options, python=True)


def diagnose(_: Any) -> str:
    """doctor() without the partners, which only the standard library looks for."""
    before, _partners.PARTNERS = _partners.PARTNERS, ()
    try:
        return repr(refarray.doctor(partners=False))
    finally:
        _partners.PARTNERS = before


recipe("doctor", diagnose, python=True)
recipe("namespace", lambda _: refarray.namespace(strict=True), python=True)
refused("namespace", ValueError, lambda _: refarray.namespace(api_version="2020.12"), python=True)

recipe("VirtualDevice", lambda _: refarray.VirtualDevice("gpu"), python=True)
refused("VirtualDevice", ValueError, lambda _: refarray.VirtualDevice("gpu", id=-1), python=True)

recipe("ledger", lambda _: refarray.ledger(forbid="copy"), python=True)
refused("ledger", ValueError, lambda _: refarray.ledger(forbid="all"), python=True)
recipe("Ledger", lambda _: str(refarray.Ledger()), python=True)
recipe("LedgerError", lambda _: refarray.LedgerError("a copy"), python=True)


def count_in_ledger(x: Any) -> None:
    with refarray.ledger() as ledger, refarray.ledger():
        refarray.copy(x)
    repr(ledger)


def forbid_copies(x: Any) -> None:
    with refarray.ledger(forbid="copy"):
        refarray.copy(x)


recipe("ledger", count_in_ledger, label="counting", python=True)
refused("ledger", refarray.LedgerError, forbid_copies, label="forbidding", python=True)


def poisoned() -> Any:
    return refarray.namespace(poison_views=True).ones(4)


def write_to_view(x: Any) -> None:
    x[1:3] = 2.0
    x[1:] += 1.0
    x[0] = x[1]
    memoryview(x).release()


def write_to_shared(x: Any) -> None:
    view = x[1:]
    x[2] = view[0]


recipe("namespace", write_to_view, poisoned, "poisoned views")
refused("namespace", ValueError, write_to_shared, label="shared views", make=poisoned)

# --- private native functions ---

recipe("_native._ledger_new", lambda _: _native._ledger_new(15))
refused("_native._ledger_new", ValueError, lambda _: _native._ledger_new(16))
recipe("_native._ledger_open", lambda ledger: _native._ledger_open(ledger),
       lambda: _native._ledger_new(0))  # fmt: skip
refused("_native._ledger_open", TypeError, lambda _: _native._ledger_open(None))
recipe("_native._ledger_close", lambda ledger: _native._ledger_close(ledger),
       lambda: _native._ledger_new(0))  # fmt: skip
recipe("_native._ledger_counts", lambda ledger: _native._ledger_counts(ledger),
       lambda: _native._ledger_new(0))  # fmt: skip
recipe("_native._note_copy", lambda _: _native._note_copy(8))
recipe("_native._note_read", lambda _: _native._note_read(8))

recipe("_native._noop", _native._noop)
recipe("_native._find_on_type", _native._find_on_type, lambda: (bool, "__dlpack__"))
recipe("_native._extension_functions", lambda _: _native._extension_functions("fft"))
recipe("_native._make_namespace",
       lambda module: _native._make_namespace(ModuleSpec("made", None), module, (True,) * 8, None),
       lambda: ModuleType("made"), makes_type=True)  # fmt: skip
refused(
    "_native._make_namespace", TypeError, lambda _: _native._make_namespace(None, None, (), None)
)
recipe("_native._by_device", lambda _: _native._by_device("f", "", ((int,), (len,))))
refused("_native._by_device", TypeError, lambda _: _native._by_device("f", "", ((), ())))
recipe(
    "_native._extension_functions", lambda _: _native._extension_functions("linalg"), label="linalg"
)
refused("_native._extension_functions", ValueError, lambda _: _native._extension_functions("none"))
recipe("_native._use_isa", lambda _: _native._use_isa(refarray.build_info()["isa"]), python=True)
refused("_native._use_isa", ValueError, lambda _: _native._use_isa("z80"))
recipe("_native._copy_into", lambda x: _native._copy_into(refarray.empty((2, 3)), x))
recipe("_native._memcpy", lambda x: _native._memcpy(refarray.empty((2, 3), dtype=x.dtype), x))
recipe("_native._plan_copies", lambda x: _native._plan_copies(x, x[::-1], 3))
recipe("_native._build_info", lambda _: _native._build_info())
recipe("_native._inspect_capsule", _native._inspect_capsule, capsule)
recipe("_native._inspect_exchange_api", lambda x: _native._inspect_exchange_api(type(x)))
recipe("_native._probe_drivers", lambda _: _native._probe_drivers())
recipe("_native._from_exchange_api", _native._from_exchange_api,
       lambda: foreign(adversary, adversary.make(data=FLOATS)))  # fmt: skip
recipe("_native._rebuild", lambda b: _native._rebuild(b, "float32", (2,), "cpu", False, "big"),
       lambda: bytearray(8))  # fmt: skip


def of_kinds() -> list[Recipe]:
    """The recipes on arrays of other namespaces and under ledgers."""
    return [*namespaces.recipes(), *ledgers.recipes()]


def sample(recipes: Iterable[Recipe]) -> list[Recipe]:
    """One recipe of each name. The kinds take turns."""
    by_name: dict[str, dict[str, Recipe]] = {}
    for each in recipes:
        by_name.setdefault(each.name, {}).setdefault(each.kind, each)
    groups = enumerate(list(kinds.values()) for _, kinds in sorted(by_name.items()))
    return [group[number % len(group)] for number, group in groups]


def share() -> list[Recipe]:
    """The third of RECIPES and of a sample of the others that `make test` runs on this CPython: it
    runs on three, and `make gate G=trust` runs all recipes on one."""
    return [*RECIPES, *sample(of_kinds())][sys.version_info.minor % 3 :: 3]


def public_calls() -> set[str]:
    """The names of everything public that can be called, read from the package."""
    out = {f"_native.{name}" for name, value in vars(_native).items() if is_private(name, value)}
    out |= {f"table.{name}" for name in ("allocator", "from_py", "to_py", "dltensor", "stream")}
    out |= c_table.NAMES | packages.public_names()
    for name in refarray.__all__:
        value = getattr(refarray, name)
        if isinstance(value, type):
            if value is not refarray.Array:  # has no constructor
                out.add(name)
            if value.__module__ == "refarray" and not issubclass(value, ValueError):
                out |= {f"{name}.{member}" for member in vars(value) if member not in NOT_CALLABLE}
        elif callable(value):
            out.add(name)
    out |= {f"fft.{name}" for name in refarray.fft.__all__}
    own = (name for name in refarray.linalg.__all__ if not hasattr(refarray, name))
    out |= {f"linalg.{name}" for name in own}
    return out


def is_private(name: str, value: object) -> bool:
    return name.startswith("_") and not name.startswith("__") and callable(value)
