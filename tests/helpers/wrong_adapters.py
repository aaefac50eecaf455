"""Adapters with one mistake each, of libraries without one. The kit has to name the expression, and
must not accuse the library."""

from __future__ import annotations

import ctypes
from typing import Any

import refarray as ra
from refarray.conformance import Subject
from refarray.conformance.subjects.subject import array_api

IMPORTS = "import refarray as ra; from helpers.wrong_adapters import Box, Opaque, helper"
RIGHT = {
    "imports": IMPORTS,
    "arrays": array_api("ra"),
    "dtype": "ra.ones(3, dtype='{}')",
    "ramp": "ra.arange(37).astype('{}')",
    "values": "{}.tolist()",
    "strides": "{}.strides",
    "from_dlpack": "ra.from_dlpack({})",
}


class Opaque:
    """An array of which the library tells nothing."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.source.__dlpack__(**keywords)


class Box(Opaque):
    """An array that tells its shape and dtype, and no values."""

    @property
    def shape(self) -> Any:
        return self.source.shape

    @property
    def dtype(self) -> Any:
        return self.source.dtype


def helper() -> Any:
    """A function of the adapter's own file that fails."""
    return ra.zeros(3).no_such_method()


def kill() -> None:
    """Ends the process by a signal."""
    ctypes.string_at(0)


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "typo": ("arrays['plain']", {"plain": "ra.arrange(6)"}, "no attribute 'arrange'"),
    "lost_offset": (
        "arrays['offset']",
        {"offset": "ra.arange(6, dtype='float32')[0:3]"},
        "[0.0, 1",
    ),
    "other_dtype": ("arrays['strided']", {"strided": "ra.arange(6)[::2]"}, "not float32"),
    "swapped_axes": (
        "arrays['transposed']",
        {"transposed": "ra.reshape(ra.arange(6, dtype='float32'), (2, 3))"},
        "(2, 3), not (3, 2)",
    ),
    "wrong_values": ("arrays['reversed']", {"reversed": "ra.ones(6, dtype='float32')"}, "[1.0, 1"),
    "always_the_same": (
        "arrays['scalar']",
        dict.fromkeys(array_api("ra"), "ra.arange(6, dtype='float32')"),
        "(6,), not ()",
    ),
    "same_device": (
        "arrays['second-device']",
        {"second-device": "ra.arange(6, dtype='float32')"},
        "as new arrays do",
    ),
    "cannot_be_exported": (
        "arrays['plain']",
        {"plain": "Opaque(3)"},
        "no attribute '__dlpack__'",
    ),
    "in_a_helper": ("arrays['odd']", {"odd": "helper()"}, "wrong_adapters.py:"),
    "unknown_kind": ("arrays['revresed']", {"revresed": "ra.zeros(3)"}, "no such kind"),
    "box_of_another_shape": (
        "arrays['odd']",
        {"odd": "Box(ra.zeros(36, dtype='float32'))"},
        "(36,), not (37,)",
    ),
    "import_argument": ("from_dlpack", {"from_dlpack": "ra.from_dlpack({}, 1)"}, "TypeError"),
    "import_name": ("from_dlpack", {"from_dlpack": "ra.fromdlpack({})"}, "fromdlpack"),
    "import_constant": ("from_dlpack", {"from_dlpack": "ra.zeros(*[3, {}][:1])"}, "ignores its"),
    "import_dropped": (
        "from_dlpack",
        {"from_dlpack": "[ra.from_dlpack({}), ra.ones(6)][1]"},
        "different values",
    ),
    "only_its_own": (
        "from_dlpack",
        {"from_dlpack": "ra.from_dlpack({}.copy())"},
        "refuses every plain tensor",
    ),
    "dtype_constant": ("dtype", {"dtype": "ra.ones(3, dtype='int8')"}, "an array of int8"),
    "dtype_missing": ("dtype", {"dtype": "ra.ones(3, dtype=ra.types.{})"}, "'types'"),
    "ramp_of_ones": ("ramp", {"ramp": "ra.ones(37, dtype='{}')"}, "[0, 1, 2"),
    "values_of_another": ("values", {"values": "{}.tolist()[::-1]"}, "for the values 0 to 5"),
    "values_missing": ("values", {"values": "{}.to_list()"}, "to_list"),
    "strides_in_bytes": ("strides", {"strides": "[4 * each for each in {}.strides]"}, "[4]"),
    "big_missing": ("big", {"big": "ra.many({})"}, "many"),
    "kills": (
        "arrays['one']",
        {"one": "__import__('helpers.wrong_adapters').wrong_adapters.kill()"},
        "SIGSEGV",
    ),
}
"""The mistake → the part that is wrong, the fields that make it so, a text of the message."""


def make(name: str) -> Subject:
    """The adapter with that mistake."""
    _, changes, _ = WRONG[name]
    arrays = {
        **RIGHT["arrays"],
        **{k: v for k, v in changes.items() if k not in RIGHT and k != "big"},
    }
    fields = {k: v for k, v in changes.items() if k in RIGHT or k == "big"}
    return Subject(name, **{**RIGHT, "arrays": arrays, **fields})


globals().update({name: make(name) for name in WRONG})
right = Subject("right", **RIGHT)  # type: ignore[arg-type]
silent = Subject(  # a library that tells nothing of its arrays, and does nothing wrong
    "silent",
    IMPORTS,
    arrays={kind: f"Opaque({text})" for kind, text in array_api("ra").items()},
    dtype="Opaque(ra.ones(3, dtype='{}'))",
)


class Shifted(Box):
    """A slice that is exported without its offset: a mistake of the library."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return ra.arange(6, dtype="float32")[0:3].__dlpack__(**keywords)


shifted = Subject(
    "shifted",
    f"{IMPORTS}, Shifted",
    arrays={
        **{kind: f"Box({text})" for kind, text in array_api("ra").items()},
        "offset": "Shifted(ra.arange(6, dtype='float32')[2:5])",
    },
)
