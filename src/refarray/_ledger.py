"""ledger(): counts of what a thread does with memory, and what it must not do."""

from __future__ import annotations

from collections.abc import Iterable

from refarray import _native

__all__ = ["Ledger", "LedgerError", "ledger"]

#: In the order of the extension module's counters.
KINDS = ("allocation", "copy", "transfer", "synchronization")
PLURALS = ("allocations", "copies", "transfers", "synchronizations")


class LedgerError(RuntimeError):
    """An open ledger of the thread forbids what was about to be done: ledger(forbid="copy")."""

    __module__ = "refarray"  # as tracebacks and pickles name it


class Ledger:
    """What one thread did in a `with` block: the result of `with refarray.ledger() as l:`.

    It prints as a table. The counts stay after the block, and can be read from any thread.
    Entering it again counts on.
    """

    __slots__ = {"_forbidden": "what raises", "_native": "the ledger of the extension module"}

    def __init__(self, *, forbid: str | Iterable[str] = ()) -> None:
        """Store what is forbidden; __enter__ begins to count."""
        self._forbidden = to_kinds(forbid)
        self._native = _native._ledger_new(sum(1 << KINDS.index(each) for each in self._forbidden))

    def __enter__(self) -> Ledger:
        """Count what the calling thread does from here on."""
        if not _native._ledger_open(self._native):
            raise RuntimeError("the ledger is open already; a second ledger() can be nested")
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting, also on another thread."""
        _native._ledger_close(self._native)

    def _count(self, entry: int, column: int) -> int:
        """Return a number of the extension module's table."""
        return _native._ledger_counts(self._native)[entry][column]

    @property
    def allocations(self) -> int:
        """The number of blocks of memory that were allocated for elements of arrays."""
        return self._count(0, 0)

    @property
    def allocated_bytes(self) -> int:
        """The bytes of these blocks."""
        return self._count(0, 1)

    @property
    def copies(self) -> int:
        """How often elements were copied to other memory of the same device."""
        return self._count(1, 0)

    @property
    def copied_bytes(self) -> int:
        """The bytes that these copies wrote."""
        return self._count(1, 1)

    @property
    def transfers(self) -> int:
        """How often elements were copied to the memory of another device."""
        return self._count(2, 0)

    @property
    def transferred_bytes(self) -> int:
        """The bytes that these transfers wrote."""
        return self._count(2, 1)

    @property
    def synchronizations(self) -> int:
        """How often the host waited for a device."""
        return self._count(3, 0)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The kinds that raise LedgerError."""
        return self._forbidden

    @property
    def refused(self) -> int:
        """How often something raised LedgerError, also where the error was caught."""
        return sum(refused for _, _, refused in _native._ledger_counts(self._native))

    def __repr__(self) -> str:
        """Return the counts in one line."""
        counts = _native._ledger_counts(self._native)
        parts = [
            f"{number} {plural}" + (f" ({nbytes} bytes)" if nbytes else "")
            for plural, (number, nbytes, _) in zip(PLURALS, counts, strict=True)
        ]
        if self._forbidden:
            parts.append(f"forbidden: {', '.join(self._forbidden)}, refused {self.refused} times")
        return f"<refarray.Ledger: {'; '.join(parts)}>"

    def __str__(self) -> str:
        """Return the counts as a table."""
        counts = _native._ledger_counts(self._native)
        rows = [("", "number", "bytes", "refused")]
        for kind, plural, (number, nbytes, refused) in zip(KINDS, PLURALS, counts, strict=True):
            has_bytes = kind != "synchronization"
            refusals = str(refused) if kind in self._forbidden else "-"
            rows.append((plural, str(number), str(nbytes) if has_bytes else "-", refusals))
        if not self._forbidden:
            rows = [(*row[:3], "") for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for name, *cells in rows:
            texts = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *texts]).rstrip())
        return "\n".join(lines)


def to_kinds(forbid: str | Iterable[str]) -> tuple[str, ...]:
    """The kinds in the order of KINDS."""
    given = {forbid} if isinstance(forbid, str) else set(forbid)
    for each in given:
        if each not in KINDS:
            raise ValueError(f"ledger(): forbid is of {', '.join(map(repr, KINDS))}, not {each!r}")
    return tuple(kind for kind in KINDS if kind in given)


def ledger(*, forbid: str | Iterable[str] = ()) -> Ledger:
    """Count allocations, copies, transfers and synchronizations of the calling thread.

    forbid: "allocation", "copy", "transfer", "synchronization", or several of them. They raise
        LedgerError before they are done, at the line that does them.

    The result is a context manager: `with refarray.ledger() as l:`. Only what refarray does counts,
    and only on the thread that enters the block. Ledgers can be nested; each counts.
    """
    return Ledger(forbid=forbid)
