"""Hostile exchange tables: not a table, missing functions, false answers; and hostile callers of
refarray's own table."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.processes import python, python_path
from native.corpus import FLOATS
from native.producers import Recorder, foreign, table_only

import refarray
from refarray import _native

from .case import Violation, add, case, expect, expect_deleter_calls, refused
from .structs import UnraisableLog

VALUES = [0.0, 1.0, 2.0]
ISOLATED = Path(__file__).resolve().parent.parent / "isolated"

# --- R82-R86: unusable tables: from_dlpack falls back to the Python protocol ---


def import_falls_back(adv: Any, make: Callable[[Any], Any]) -> int:
    value = make(adv)
    tensor = adv.make(data=FLOATS)
    members = {"__dlpack_c_exchange_api__": value}
    thing = type("Thing", (Recorder,), members)(lambda **_: tensor.capsule())
    adv.from_py_calls()
    expect(refarray.from_dlpack(thing).tolist() == VALUES, "values differ")
    expect(adv.from_py_calls() == 0, "a function of the table was called")
    asked = [("__dlpack_device__", {}), ("__dlpack__", {"max_version": (1, 3)})]
    expect(thing.calls == asked, f"{thing.calls}")
    with refused(TypeError):
        _native._from_exchange_api(thing)
    other = type("Thing", (Recorder,), members)(lambda **_: adv.make().capsule())
    refarray.inspect(other)
    for each in (thing, other):  # free-threaded CPython 3.13 never frees a class
        del type(each).__dlpack_c_exchange_api__
    return 3


POISONED = {"from_py": "give", "poisoned": "from_py"}
TABLES: dict[str, tuple[str, Any]] = {
    "an-int": ("R82", lambda adv: 0xDEAD0008),
    "zero": ("R82", lambda adv: 0),
    "none": ("R82", lambda adv: None),
    "text": ("R82", lambda adv: "dlpack_exchange_api"),
    "another-capsule": ("R82", lambda adv: adv.table().capsule("dlpack_exchange")),
    "a-longer-name": ("R82", lambda adv: adv.table().capsule("dlpack_exchange_api_")),
    "a-tensor": ("R82", lambda adv: adv.make().capsule()),
    "raises": ("R82", lambda adv: property(lambda self: 1 / 0)),
    "a-property": ("R82", lambda adv: property(lambda self: adv.table().capsule())),
    "major-2": ("R84", lambda adv: adv.table(version=(2, 0), unmapped=True).capsule()),
    "major-0": ("R84", lambda adv: adv.table(version=(0, 9), unmapped=True).capsule()),
    "major-max": ("R84", lambda adv: adv.table(version=(2**32 - 1, 0), unmapped=True).capsule()),
    "major-2-poisoned": ("R84", lambda adv: adv.table(version=(2, 0), **POISONED).capsule()),
    "cycle": ("R84", lambda adv: adv.table(version=(2, 0), prev="self", unmapped=True).capsule()),
    "long-cycle": (
        "R84",
        lambda adv: adv.table(
            version=(3, 0), prev=adv.table(version=(2, 0), prev="self"), unmapped=True
        ).capsule(),
    ),
    "too-deep": ("R84", lambda adv: deep(adv, 40)),
    **{
        f"no-{name}": ("R85", lambda adv, name=name: adv.table(missing=name).capsule())
        for name in ("allocator", "from_py", "to_py", "stream")
    },
}
for _label, (_row, _make) in TABLES.items():
    _row += " C41 CAPI-02 CAPI-05 CAPI-06 CAPI-07 CAPI-28"
    add(_row, _label, "table", import_falls_back, _make)


def deep(adv: Any, depth: int) -> Any:
    """A usable table behind `depth` tables of another major version."""
    table = adv.table()
    for _ in range(depth):
        table = adv.table(version=(2, 0), prev=table, unmapped=True)
    return table.capsule()


def import_uses_table(adv: Any, make: Callable[[Any], Any]) -> None:
    table = make(adv)
    adv.from_py_calls()
    tensor = adv.make(data=FLOATS)
    x = refarray.from_dlpack(table_only(adv, tensor, table))
    expect(x.tolist() == VALUES and adv.from_py_calls() == 1, "the table was not used")
    x = _native._from_exchange_api(foreign(adv, adv.make(data=FLOATS), table))
    expect(x.tolist() == VALUES and adv.from_py_calls() == 1, "the table was not used")


for _label, _row, _table in (
    ("behind-others", "R84 C41", lambda adv: adv.table(
        version=(3, 0), prev=adv.table(version=(2, 0), prev=adv.table()), unmapped=True)),
    ("plain", "R86", lambda adv: adv.table()),
    ("newer-minor", "R84", lambda adv: adv.table(version=(1, 99))),
    ("no-dltensor", "R86", lambda adv: adv.table(missing="dltensor")),
    ("poisoned-dltensor", "R91", lambda adv: adv.table(poisoned="dltensor")),
    ("poisoned-stream", "R92", lambda adv: adv.table(poisoned="stream")),
    ("poisoned-allocator", "R93", lambda adv: adv.table(poisoned="allocator")),
    ("poisoned-to_py", "R85", lambda adv: adv.table(poisoned="to_py")),
):  # fmt: skip
    _row += " CAPI-06 CAPI-08 CAPI-30"
    add(_row, f"used-{_label}", "table", import_uses_table, _table)


@case("R83 CAPI-03", "on-the-instance", "table")
def on_the_instance(adv: Any) -> None:
    tensor = adv.make(data=FLOATS)
    thing = Recorder(lambda **_: tensor.capsule())
    thing.__dlpack_c_exchange_api__ = adv.table(from_py="raise").capsule()  # type: ignore[attr-defined]
    expect(refarray.from_dlpack(thing).tolist() == VALUES, "values differ")


@case("R83", "withdrawn-by-a-subclass", "table")
def withdrawn(adv: Any) -> None:
    base = type(table_only(adv, adv.make(data=FLOATS).expect_deletes(0)))
    sub = type("Sub", (base,), {"__dlpack_c_exchange_api__": None})()
    adv.from_py_calls()
    with refused(AttributeError):
        refarray.from_dlpack(sub)
    expect(adv.from_py_calls() == 0, "the base's table was used")


@case("R83", "raising-metaclass", "table")
def raising_metaclass(adv: Any) -> int:
    class Meta(type):
        def __getattr__(cls, name: str) -> Any:
            raise error

    for error in (ZeroDivisionError("a"), KeyboardInterrupt("b")):
        with refused(type(error)):
            refarray.from_dlpack(Meta("Thing", (), {})())
    tensor = adv.make(data=FLOATS)
    thing = Meta("Thing", (Recorder,), {})(lambda **_: tensor.capsule())
    expect(refarray.from_dlpack(thing).tolist() == VALUES, "the metaclass was asked")
    return 2


# --- R87-R90: answers of a table's function ---


def answers(adv: Any, how: str, message: str) -> int:
    for take in (refarray.from_dlpack, _native._from_exchange_api):
        tensor = adv.make(data=FLOATS)
        with refused(BufferError, message=message):
            take(table_only(adv, tensor, adv.table(from_py=how)))
        expect_deleter_calls(tensor, 0)
    return 2


for _row, _how, _message in (
    ("R87", "silent", "without setting an exception"),
    ("R88", "positive", "refuses with 1"),
    ("R89", "null", "no tensor"),
    ("R89", "untouched", "no tensor"),
    ("R87", "raise", "the table refuses"),
):
    add(f"{_row} CAPI-09 CAPI-11", f"answers-{_how}", "table", answers, _how, _message)


@case("R88 CAPI-09", "producer_of-and-raises", "table")
def gives_and_raises(adv: Any) -> None:
    with UnraisableLog() as log:
        tensor = adv.make(data=FLOATS)
        x = refarray.from_dlpack(table_only(adv, tensor, adv.table(from_py="give_and_raise")))
    expect(x.tolist() == VALUES, "values differ")
    expect("raised although it succeeded" in "".join(log.seen), f"{log.seen}")
    del x
    expect_deleter_calls(tensor, 1)


@case("R90", "same-tensor-twice", "table")
def same_tensor_twice(adv: Any) -> None:
    """The adversary refuses to give the same tensor twice; refarray passes its error on."""
    tensor = adv.make(data=FLOATS)
    thing = table_only(adv, tensor)
    x = refarray.from_dlpack(thing)
    with refused(RuntimeError):
        refarray.from_dlpack(thing)
    expect(x.tolist() == VALUES, "values differ")


# --- R93-R96: callers of our own table ---

PROTOTYPES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "negative-extent": ({"shape": (-1,)}, ("BufferError", "ValueError")),
    "min-extent": ({"shape": (-(2**63),)}, ("BufferError", "ValueError")),
    "negative-beside-zero": ({"shape": (0, -1)}, ("BufferError", "ValueError")),
    "product-overflow": ({"shape": (2**32, 2**32)}, ("BufferError", "ValueError", "MemoryError")),
    "bytes-overflow": ({"shape": (2**61,), "dtype": (2, 64, 1)}, ("BufferError", "MemoryError")),
    "no-such-memory": ({"shape": (2**50,), "dtype": (0, 8, 1)}, ("MemoryError",)),
    "null-shape": ({"shape": None, "ndim": 2}, ("BufferError", "ValueError")),
    "negative-ndim": ({"ndim": -1}, ("BufferError", "ValueError")),
    "ndim65": ({"ndim": 65}, ("BufferError", "ValueError")),
    "ndim-max": ({"ndim": 2**31 - 1}, ("BufferError", "ValueError")),
    "code99": ({"dtype": (99, 8, 1)}, ("BufferError", "TypeError", "ValueError")),
    "opaque": ({"dtype": (3, 64, 1)}, ("BufferError", "TypeError", "ValueError")),
    "bits7": ({"dtype": (0, 7, 1)}, ("BufferError", "TypeError", "ValueError")),
    "lanes0": ({"dtype": (2, 32, 0)}, ("BufferError", "TypeError", "ValueError")),
    "cuda": ({"device": (2, 0)}, ("BufferError", "ValueError")),
    "device99": ({"device": (99, 0)}, ("BufferError", "ValueError")),
    "device-negative": ({"device": (-1, 0)}, ("BufferError", "ValueError")),
}


def allocate_from_prototype(adv: Any, fields: dict[str, Any], kinds: tuple[str, ...]) -> int:
    """The allocator returns -1, no tensor, and one report that names a builtin exception, from any
    thread; without a SetError callback it only returns -1."""
    api = adv.api(refarray.Array)
    spec = {"data": 0xDEAD0008, "strides": None, "guarded": True, **fields}
    for with_error in (True, False):
        for thread in (True, False):
            prototype = adv.make(versioned=False, **spec)
            code, owned, errors = api.allocate(prototype, set_error=with_error, thread=thread)
            if code == 0 or owned is not None:
                raise Violation("silent accept", f"{code} {owned}")
            expect(code == -1, f"{code}")
            expect(len(errors) == int(with_error), f"reported {errors}")
            for kind, message in errors:
                expect(kind in kinds and hasattr(builtins, kind) and message, f"{kind}: {message}")
    return 4


for _label, (_fields, _names) in PROTOTYPES.items():
    _rows = "R93 R94 ABI-06 CAPI-10 CAPI-21 CAPI-22 CAPI-24"
    add(_rows, f"prototype-{_label}", "table", allocate_from_prototype, _fields, _names)


@case("R94 R93", "prototype-ignores-the-rest", "table")
def ignores_the_rest(adv: Any) -> int:
    """Only dtype, ndim, shape and device are read (CAPI-20)."""
    api = adv.api(refarray.Array)
    for thread in (True, False):
        wild = {"data": 0xDEAD0008, "strides": 0xDEAD0008, "byte_offset": 2**64 - 1}
        prototype = adv.make(versioned=False, guarded=True, **wild)
        code, owned, errors = api.allocate(prototype, thread=thread)
        expect((code, errors) == (0, []), f"{code} {errors}")
        found = owned.fields()
        expect(
            (found["shape"], found["strides"], found["byte_offset"]) == ((3,), (1,), 0), f"{found}"
        )
        owned.drop()
    return 2


def run_isolated(adv: Any, script: str, *arguments: str) -> None:
    """Run a script in a new process, which must exit with status 0 and an empty stderr."""
    path = python_path(Path(adv.__file__).parent)
    command = ("-X", "faulthandler", ISOLATED / script, *arguments)
    done = python(*command, seconds=50, PYTHONPATH=path)
    if done.returncode < 0:
        raise Violation("crash", f"{script}: signal {-done.returncode}\n{done.stderr}")
    expect(done.returncode == 0 and done.stderr == "", f"{done.returncode}\n{done.stderr}")


for _row, _label, *_command in (
    ("R95", "after-the-interpreter", "exchange_table_at_exit.py"),
    ("R96", "in-other-interpreters", "subinterpreters.py", "many"),
):
    add(_row, _label, "table", run_isolated, *_command, repeats=0)
