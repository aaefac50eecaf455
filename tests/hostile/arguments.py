"""Hostile arguments: invalid types, forms and values for refarray's own functions."""

from __future__ import annotations

from typing import Any

import refarray

from .case import add, case, expect, refused


class Tuple(tuple):
    """A subclass of tuple."""


class Named:
    """repr() without an address, because it appears in test ids."""

    def __repr__(self) -> str:
        return type(self).__name__


class IntLike(Named):
    def __index__(self) -> int:
        return 1


class Raises(Named):
    def __index__(self) -> int:
        raise ZeroDivisionError("from __index__")

    def __bool__(self) -> bool:
        raise ZeroDivisionError("from __bool__")

    def __float__(self) -> float:
        raise ZeroDivisionError("from __float__")

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("from __eq__")

    __hash__ = None  # type: ignore[assignment]


def exports(name: str, value: Any) -> Any:
    return refarray.arange(3).__dlpack__(**{name: value})


def pass_bad(adv: Any, name: str, value: Any, kinds: tuple[type[BaseException], ...]) -> int:
    """The value is refused by __dlpack__, by to_capsule, and by from_dlpack before it asks the
    producer. `stream` is refused with every `dl_device`, and that with every `copy`."""
    message = name if kinds in ((TypeError,), (ValueError,)) else ""
    beside = {"stream": {"dl_device": [None, (1, 0)]}, "dl_device": {"copy": [None, False, True]}}
    for other, values in {"copy": [None], **beside.get(name, {})}.items():
        for more in values:
            with refused(*kinds, message=message):
                refarray.arange(3).__dlpack__(**{other: more, name: value})
    with refused(*kinds, message=message):
        refarray.to_capsule(refarray.arange(3), **{name: value})
    if name in ("copy", "max_version"):
        with refused(*kinds):
            refarray.from_dlpack(refarray.arange(3), **{name: value})
        return 3
    return 2


def label(value: Any) -> str:
    text = repr(value) if type(value) in (int, float, str, tuple, list, bool) else ""
    return text.replace(" ", "") or type(value).__name__


#: Rows of the catalogue, the argument, the end of the case's name, the exceptions, the values.
BAD: list[tuple[str, str, str, tuple[type[Exception], ...], list[Any]]] = [
    ("R77", "max_version", "", (TypeError,), [(), (1,), (1, 2, 3), [1, 0], {1: 0}, {1, 0}]),
    ("R77", "max_version", "", (TypeError,), ["10", "1.0", b"10", 1, 1.0, object(), True]),
    ("R77", "max_version", "", (TypeError,), [(1.5, 0), (1, 0.0), ("1", "0"), (None, None)]),
    ("R77", "max_version", "", (TypeError,), [(1, None)]),
    ("R77", "max_version", "-value", (ZeroDivisionError,), [(Raises(), 0)]),
    ("R78", "stream", "", (ValueError,), [-1, 0, 1, 2, 3, -2, 2**40, 2**63 - 1, 2**63, 2**64 - 1]),
    ("R78", "stream", "", (ValueError,), [2**64]),
    ("R78", "stream", "-value", (ValueError,), [2**70, -(2**70)]),
    ("R78", "stream", "-value", (TypeError,), ["a", 1.5, object(), (1,), [], b"", True, False]),
    ("R79", "dl_device", "", (TypeError,), [(), (1,), (1, 0, 0), [1, 0], {1: 0}]),
    ("R79", "dl_device", "", (TypeError,), ["cpu", "12", b"cpu", 1, 1.0, object()]),
    ("R79", "dl_device", "", (TypeError,), [(1.0, 0), (1, 0.5), ("1", 0), (None, 0)]),
    ("R79", "dl_device", "", (TypeError,), [(1, None)]),
    ("R79", "dl_device", "-value", (ValueError,), [(2**40, 0), (2**70, 0), (1, -(2**40))]),
    ("R79", "dl_device", "-value", (ValueError,), [(1, 2**40), (-(2**31) - 1, 0), (1, 2**31)]),
    ("R79", "dl_device", "-value", (ValueError,), [(2**70, 2**70)]),
    ("R79", "dl_device", "-value", (BufferError,), [(99, 99), (1, 7), (-1, 0), (2, 0), (10, 0)]),
    ("R79", "dl_device", "-value", (BufferError,), [(3, 0), (0, 0), (1, 1), (1, -1), (9, 0)]),
    ("R79", "dl_device", "-value", (BufferError,), [(99, 0), (2, 2**30)]),
    ("R79", "dl_device", "-value", (ZeroDivisionError,), [(Raises(), 0)]),
    ("R80", "copy", "", (TypeError,), [1, 0, 2, -1, 1.0, "x", "", b"", (), [], object(), Raises()]),
]
REQUIREMENTS = {
    "max_version": "VERS-10 PROD-05",
    "stream": "STRM-14 STRM-16 STRM-17 PROD-10",
    "dl_device": "PROD-04 PROD-06 PROD-07 PROD-08",
    "copy": "PROD-15",
}
for _row, _name, _end, _kinds, _values in BAD:
    for _value in _values:
        _rows, _id = f"{_row} {REQUIREMENTS[_name]}", f"{_name}={label(_value)}{_end}"
        add(_rows, _id, "arguments", pass_bad, _name, _value, _kinds)

LEGACY, VERSIONED = "dltensor", "dltensor_versioned"
OF_MAJOR_1 = [(1, 0), (1, -1), (1, 2**70), (True, False), Tuple((1, 0)), (IntLike(), IntLike())]


def answers(adv: Any, value: Any, wanted: str) -> int:
    found = adv.inspect(exports("max_version", value))
    expect(found["name"] == wanted, f"{found['name']} for {value!r}")
    expect(found["version"] == (None if wanted == LEGACY else (1, 3)), f"{found}")
    x = refarray.from_dlpack(refarray.arange(3), max_version=value)
    expect(x.tolist() == [0, 1, 2], "values differ")
    return 2


for _value, _wanted in (
    *((value, LEGACY) for value in (None, (0, 0), (0, 2**70), (-1, 0), (-(2**70), 0))),
    *((value, VERSIONED) for value in (*OF_MAJOR_1, (2, 0), (2**70, 0))),
):
    add("R77", f"max_version={label(_value)}", "arguments", answers, _value, _wanted)


def call_badly(adv: Any, call: Any) -> None:
    with refused(TypeError):
        call()


_x = refarray.arange(3)
_many = {f"k{number}": number for number in range(300)}
for _label, _call in {
    "positional": lambda: _x.__dlpack__(None),
    "unknown": lambda: _x.__dlpack__(foo=1),
    "many": lambda: _x.__dlpack__(**_many),
    "empty-name": lambda: _x.__dlpack__(**{"": 1}),
    "surrogate-name": lambda: _x.__dlpack__(**{"\udc80": 1}),
    "nul-name": lambda: _x.__dlpack__(**{"copy\0": None}),
    "self-by-name": lambda: refarray.Array.__dlpack__(self=_x),
    # Unpacked: written plainly, the second such call crashes CPython 3.13.0 to 3.13.3 (gh-131998).
    "no-self": lambda: refarray.Array.__dlpack__(*()),
    "other-self": lambda: refarray.Array.__dlpack__(3),
    "device-argument": lambda: _x.__dlpack_device__(1),
    "from_dlpack-nothing": lambda: refarray.from_dlpack(),
    "from_dlpack-two": lambda: refarray.from_dlpack(_x, None),
    "from_dlpack-by-name": lambda: refarray.from_dlpack(x=_x),
    "from_dlpack-stream": lambda: refarray.from_dlpack(_x, stream=None),
    "from_capsule-nothing": lambda: refarray.from_capsule(),
    "from_capsule-by-name": lambda: refarray.from_capsule(capsule=_x.__dlpack__()),
    "from_capsule-keyword": lambda: refarray.from_capsule(_x.__dlpack__(), copy=True),
    "from_buffer-two": lambda: refarray.from_buffer(b"", "int8"),
    "to_capsule-no-array": lambda: refarray.to_capsule([1]),
    "no-instances": lambda: refarray.Array(),
    "no-new": lambda: refarray.Array.__new__(refarray.Array),
    "no-object-new": lambda: object.__new__(refarray.Array),
    "no-subclass": lambda: type("Sub", (refarray.Array,), {}),
    "no-attribute": lambda: setattr(refarray.Array, "shape", 1),
}.items():
    add("R81", _label, "arguments", call_badly, _call)


@case("R81", "names-not-interned", "arguments")
def names_not_interned(adv: Any) -> int:
    """Keyword names are compared as text, not by identity."""
    given = {"copy": True, "max_version": (1, 0), "dl_device": None, "stream": None}
    made = {"".join(list(name)): value for name, value in given.items()}
    expect(not any(a is b for a, b in zip(made, given, strict=True)), "a name is interned")
    expect(adv.inspect(_x.__dlpack__(**made))["flags"] == 2, "a keyword was not found")
    return 1


@case("R81", "duplicated", "arguments")
def duplicated(adv: Any) -> None:
    with refused(TypeError):
        eval("f(**{'copy': None}, **{'copy': None})", {"f": _x.__dlpack__})
