"""DLPack producers in Python that log calls, reject chosen keywords or export chosen tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance.native_method import native_method

Answer = Callable[..., Any]


class Recorder:
    """Logs every call with its keywords. `answer(**keywords)` returns the capsule or raises. A
    TypeError comes out as from C code, without an entry in its traceback."""

    def __init__(self, answer: Answer, device: Any = (1, 0)) -> None:
        self.answer = answer
        self.device = device
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __dlpack_device__(self) -> Any:
        self.calls.append(("__dlpack_device__", {}))
        return self.device() if callable(self.device) else self.device

    @native_method
    def __dlpack__(self, /, **keywords: Any) -> Any:
        self.calls.append(("__dlpack__", keywords))
        try:
            return self.answer(**keywords)
        except TypeError as error:
            raise error.with_traceback(None)  # noqa: B904

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The keywords of each call of __dlpack__."""
        return [keywords for name, keywords in self.calls if name == "__dlpack__"]


def knowing(known: str, answer: Answer) -> Answer:
    """Wraps `answer` in a signature with only these keywords; others raise the interpreter's own
    TypeError."""
    names = known.split()

    def call(**keywords: Any) -> Any:
        for name in keywords:
            if name not in names:
                raise TypeError(f"__dlpack__() got an unexpected keyword argument '{name}'")
        return answer(**keywords)

    return call


def foreign(adv: Any, tensor: Any, table: Any = None, answer: Answer | None = None) -> Any:
    """An object whose type has an exchange table that exports `tensor`, and methods, which
    from_dlpack() prefers. __dlpack__() exports the same tensor, or calls `answer` if given."""
    value = (table or adv.table()).capsule()

    class Foreign(Recorder):
        __dlpack_c_exchange_api__ = value

    out = Foreign(answer or (lambda **_: tensor.capsule()))
    out.tensor = tensor  # type: ignore[attr-defined]
    return out


def table_only(adv: Any, tensor: Any, table: Any = None) -> Any:
    """An object whose type has an exchange table and no methods: from_dlpack() uses the table."""
    value = (table or adv.table()).capsule()

    class TableOnly:
        __dlpack_c_exchange_api__ = value

    out = TableOnly()
    out.tensor = tensor  # type: ignore[attr-defined]
    return out


def check_independent(array: Any, tensor: Any) -> None:
    """Asserts that the array does not share memory with the tensor and is writable. The tensor may
    already be released."""
    before = tensor.bytes()
    array[0] = 99.0
    assert tensor.bytes() == before
    assert not array.readonly
