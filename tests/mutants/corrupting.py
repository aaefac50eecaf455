"""The table of producers that corrupt some of their exports, and what selects and changes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mutants.base import Array, breaks, fields, forge, named

Held = dict[str, Any]
When = Callable[[Any, Held, Held], bool]
Change = Callable[[Any, Held, Held], Any]
Asked = Callable[[Any, Held], Any]
"""Selects exports by the producer and the keywords."""
Copy = tuple[bool | None, ...]
SHARING: Copy = (None, False)  # the values of copy under which memory is shared
ANY: Copy = (None, False, True)


class Table:
    """Registers the rows of one module of mutants, by `register`."""

    def __init__(self, module: str, register: Callable[[str], Any] = breaks) -> None:
        self.module = module
        self.register = register

    def corrupt(
        self, requirement: str, name: str, when: When, change: Change, copy: Copy = SHARING
    ) -> None:
        """A producer that changes the fields `change` returns in the exports under `copy` that
        `when` selects. Both receive the refarray array, the fields of its correct export, and the
        keywords."""

        def export(self: Any, keywords: Held) -> Any:
            capsule = self.source.__dlpack__(**keywords)
            held = fields(capsule)
            if keywords["copy"] not in copy or not when(self.source, held, keywords):
                return capsule
            changed = change(self.source, held, keywords)
            return forge(capsule, **changed) if isinstance(changed, dict) else changed

        self.derive(requirement, name, Array, export=export)

    def ask(
        self, requirement: str, name: str, when: Asked, kind: type = Array, **changes: Any
    ) -> None:
        """A producer that takes the keywords that `when` selects for others; a change may be a
        function of the keyword's value."""

        def export(self: Any, keywords: Held) -> Any:
            if when(self, keywords):
                made = {k: v(keywords[k]) if callable(v) else v for k, v in changes.items()}
                keywords = {**keywords, **made}
            return kind.export(self, keywords)

        self.derive(requirement, name, kind, export=export)

    def refuse(
        self, requirement: str, name: str, when: Asked, error: Exception, kind: type = Array
    ) -> None:
        """A producer that raises an exception like `error` for the keywords that `when` selects."""

        def export(self: Any, keywords: Held) -> Any:
            if when(self, keywords):
                raise type(error)(*error.args)  # a new one: it keeps the frames that it passes
            return kind.export(self, keywords)

        self.derive(requirement, name, kind, export=export)

    def derive(self, requirement: str, name: str, kind: type, /, **members: Any) -> None:
        """A producer that is one of this kind with other members."""
        made = named(type(name, (kind,), members), name, self.module)
        self.register(requirement)(made)

    def flagged(
        self,
        requirement: str,
        name: str,
        when: When,
        change: Callable[[int], int],
        copy: Copy = SHARING,
    ) -> None:
        """A producer that changes the flags of the versioned exports that `when` selects."""

        def flags(_: Any, held: Held, __: Held) -> Held:
            return {"flags": change(held["flags"])}

        self.corrupt(requirement, name, versioned(when), flags, copy)


def always(*_: Any) -> bool:
    """Selects every export."""
    return True


def strides(*wanted: int) -> When:
    """Selects views with these strides."""
    return lambda array, *_: array.strides == wanted


def shape(*wanted: int) -> When:
    """Selects exports of this shape."""
    return lambda _, held, __: held["shape"] == wanted


def dtype(code: int, bits: int) -> When:
    """Selects exports of this dtype."""
    return lambda _, held, __: held["dtype"] == (code, bits, 1)


def versioned(when: When) -> When:
    """Selects what `when` does among versioned exports."""
    return lambda array, held, keywords: held["versioned"] and when(array, held, keywords)


def legacy(when: When) -> When:
    """Selects what `when` does among legacy exports."""
    return lambda array, held, keywords: not held["versioned"] and when(array, held, keywords)


def set_to(**changes: Any) -> Change:
    """Sets fields."""
    return lambda *_: changes
