"""Exchange arrays between refarray and other libraries without copies, and verify the exchange.

`python examples/demo.py` uses NumPy and tvm-ffi; `--all` adds PyTorch and JAX. An exchange counts
as "shared" only after a write on either side was read on the other; for JAX, whose arrays are
immutable, if the addresses are equal. It counts as "not supported" by a library only if that
library also rejects the same data from NumPy. The exit status is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from demo_partners import COUNT, DTYPES, LAYOUTS, PARTNERS, Partner, numpy_array

import refarray as ra
from refarray import _native
from refarray.conformance import give

ABORTS = "reversed"  # aborts the process in PyTorch 2.13, so it is tried in a subprocess


class CheckError(Exception):
    """A check failed."""


@dataclass
class Row:
    """A line of the output: a direction, a layout, the result, and the dtypes that it holds for."""

    direction: str
    layout: str
    result: str
    dtypes: str
    ok: bool


def our_array(dtype: str, layout: str) -> Any:
    array = LAYOUTS[layout](ra, ra.astype(ra.arange(COUNT), dtype))
    return array.as_readonly() if layout == "read-only" else array


def our_address(array: Any) -> int:
    return _native._inspect_capsule(array.__dlpack__(max_version=(1, 3)))["data"]


def require(condition: bool, what: str) -> None:
    if not condition:
        raise CheckError(what)


def first(array: Any) -> Any:
    return array[(0,) * array.ndim].item()


def require_write_seen(writer: Any, reader: Any, value: Any) -> None:
    """Raise unless a write through `writer` is visible through `reader`."""
    value = value if first(writer) != value else type(value)(0)  # the write must change something
    writer[(0,) * writer.ndim] = value
    require(first(writer) == value, "the write had no effect")
    require(first(reader) == value, "a write on one side is not visible on the other")


def prove_shared(partner: Partner, own: Any, theirs: Any, dtype: str) -> str:
    """Raise unless both arrays have the same memory, shape and values."""
    view = partner.view(theirs)
    require(tuple(view.shape) == own.shape, f"shapes differ: {tuple(view.shape)}, {own.shape}")
    require(view.tolist() == own.tolist(), "values differ")
    if own.size == 0:
        return "nothing to share"
    require(partner.address(theirs) == our_address(own), "addresses differ")
    if not partner.writes:
        return "shared: same address"
    one, two = {"bool": (True, False), "complex128": (3 + 4j, 5j)}.get(dtype, (3, 5))
    require_write_seen(own, view, one)
    require_write_seen(view, own, two)
    return "shared: writes visible in both directions"


def prove_read_only(own: Any) -> str:
    """Raise unless the array rejects a write and keeps its values."""
    before = own.tolist()
    try:
        own[0] = 1
    except ValueError:
        require(own.tolist() == before and own.readonly, "a rejected write changed the data")
        return "read-only preserved: write rejected"
    raise CheckError("a write to read-only data was accepted")


def send(partner: Partner, dtype: str, layout: str) -> str:
    """Import an array of refarray in the partner."""
    if partner.name == "PyTorch" and layout == ABORTS:
        return aborted()
    own = our_array(dtype, layout)
    try:
        theirs = partner.from_dlpack(own)
    except Exception as error:
        control = numpy_array(dtype if dtype in DTYPES else "float32", layout)
        return refused_by(partner, control, error)
    if layout != "read-only":
        return prove_shared(partner, own, theirs, dtype)
    if partner.name == "NumPy":
        try:
            theirs[0] = 1
        except ValueError:
            return prove_read_only(own)
        raise CheckError("NumPy got a writable view of read-only data")
    flags = _native._inspect_capsule(own.__dlpack__(max_version=(1, 3)))["flags"]
    require(flags & 1 == 1, "READ_ONLY is not set in the exported tensor")
    require(not ra.from_dlpack(theirs).readonly, "the partner preserves READ_ONLY after all")
    return f"READ_ONLY is set, but {partner.name} ignores it"


def receive(partner: Partner, dtype: str, layout: str) -> str:
    """Import an array of the partner in refarray."""
    try:
        theirs = partner.make(dtype, layout)
    except (ValueError, BufferError) as error:
        return f"not supported by {partner.name} ({short(error)})"
    own = ra.from_dlpack(theirs)
    if layout == "read-only":
        return prove_read_only(own)
    return prove_shared(partner, own, theirs, dtype)


def short(error: BaseException) -> str:
    text = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {text[:52]}{'…' if len(text) > 52 else ''}"


def refused_by(partner: Partner, control: Any, error: Exception) -> str:
    """Attribute the error to the partner only if it also rejects an equal array from NumPy."""
    try:
        partner.from_dlpack(control)
    except type(error) as same:
        return f"not supported by {partner.name} ({short(same)})"
    except Exception as other:
        raise CheckError(f"rejected with {short(error)}; NumPy's: {short(other)}") from error
    raise CheckError(f"rejected with {short(error)}, but NumPy's is accepted") from error


def aborted() -> str:
    """Import a reversed NumPy array in PyTorch, which aborts the process: use a subprocess."""
    code = "import numpy, torch; torch.from_dlpack(numpy.arange(4.0)[::-1])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    require(result.returncode != 0, "PyTorch supports negative strides now: update the demo")
    end = f"signal {-result.returncode}" if result.returncode < 0 else "an exception"
    return f"not supported by PyTorch (negative strides end the process: {end})"


def exchange_all(partner: Partner) -> list[Row]:
    """Exchange all layouts and dtypes in both directions; dtypes with equal results share a row."""
    rows = []
    for direction, exchange in (
        (f"refarray -> {partner.name}", send),
        (f"{partner.name} -> refarray", receive),
    ):
        for layout in LAYOUTS:
            if layout == "read-only" and exchange is receive and partner.name != "NumPy":
                continue  # only NumPy can create a read-only array
            # PyTorch: one dtype is enough, since each attempt needs a subprocess.
            once = partner.name == "PyTorch" and layout == ABORTS
            tried = DTYPES[-1:] if once else DTYPES + partner.narrow
            outcomes: dict[str, list[str]] = {}
            for dtype in tried:
                try:
                    outcome = exchange(partner, dtype, layout)
                except Exception as error:
                    outcome = f"FAILED: {short(error)}"
                outcomes.setdefault(outcome, []).append(dtype)
            for outcome, dtypes in outcomes.items():
                names = " ".join(dtypes) if len(outcomes) > 1 else f"all {len(tried)}"
                ok = not outcome.startswith("FAILED")
                rows.append(Row(direction, layout, outcome, "any" if once else names, ok))
    return rows


def refuse_malformed() -> Row:
    """Check that a tensor with a negative extent is rejected and that its deleter runs once."""
    tensor = give(shape=(-4,), strides=(1,))
    try:
        ra.from_dlpack(tensor)
    except BufferError as error:
        ok = tensor.deleter_calls == 1
        text = f"rejected, deleter called {tensor.deleter_calls} time(s): {str(error)[:90]}"
    else:
        ok, text = False, "accepted"
    return Row("malformed capsule", "extent -4", text if ok else f"FAILED: {text}", "-", ok)


def nanoseconds(statements: dict[str, tuple[Callable[[Any], Any], Any]]) -> dict[str, float]:
    """Return the median time of each call, from short runs that alternate between the calls."""

    def chunk(function: Callable[[Any], Any], x: Any, count: int) -> float:
        start = time.perf_counter_ns()
        for _ in repeat(None, count):
            function(x)
        return (time.perf_counter_ns() - start) / count

    counts = {}
    for key, call in statements.items():
        counts[key] = max(1, round(30_000 / min(chunk(*call, 10) for _ in range(10))))
    samples: dict[str, list[float]] = {key: [] for key in statements}
    for _ in range(300):
        for key, call in statements.items():
            samples[key].append(chunk(*call, counts[key]))
    return {key: statistics.median(times) for key, times in samples.items()}


def timings(partners: list[Partner]) -> list[tuple[str, ...]]:
    """Time the import of 16 float32 elements, including the release of the new array."""
    own = ra.arange(16, dtype="float32")
    calls: dict[str, tuple[Callable[[Any], Any], Any]] = {"own": (ra.from_dlpack, own)}
    for partner in partners:
        theirs = partner.make("float32", "every third")
        calls[f"{partner.name} in"] = (ra.from_dlpack, theirs)
        calls[f"{partner.name} out"] = (partner.from_dlpack, own)
        calls[f"{partner.name} own"] = (partner.from_dlpack, theirs)
    times = nanoseconds(calls)
    rows = [("refarray", f"{times['own']:.0f} ns", "-", "-", "-")]
    for partner in partners:
        into, out, alone = (times[f"{partner.name} {key}"] for key in ("in", "out", "own"))
        cells = (f"{into:.0f} ns", f"{out:.0f} ns", f"{alone:.0f} ns", f"{alone / into:.1f}x")
        rows.append((partner.title, *cells))
    return rows


TIME_HEADER = (
    "X",
    "refarray.from_dlpack(X's)",
    "X.from_dlpack(refarray's)",
    "X.from_dlpack(X's)",
    "X alone / refarray",
)


def show(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a table: with rich on a terminal if it is installed, otherwise as plain text."""
    if importlib.util.find_spec("rich") is not None and sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            bad = any(cell.startswith("FAILED") for cell in row)
            table.add_row(*row, style="bold red" if bad else None)
        Console().print(table)
        return
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    print(f"\n{title}")
    for line in (header, tuple("-" * width for width in widths), *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Exchange arrays without copies, and verify each exchange."
    )
    parser.add_argument("--all", action="store_true", help="include PyTorch and JAX")
    parser.add_argument("--json", type=Path, help="also write the results and times to this file")
    options = parser.parse_args()
    partners = list(PARTNERS if options.all else PARTNERS[:2])
    for partner in partners:
        partner.load()
    rows = [row for partner in partners for row in exchange_all(partner)]
    rows.append(refuse_malformed())
    titles = ", ".join(partner.title for partner in partners)
    header = ("direction", "layout", "result", "dtypes")
    lines = [(row.direction, row.layout, row.result, row.dtypes) for row in rows]
    show(f"refarray {ra.__version__} and {titles}", header, lines)
    times = timings(partners)
    show("Time per exchange, 16 float32 elements, median", TIME_HEADER, times)
    failed = [row for row in rows if not row.ok]
    unsupported = sum(row.result.startswith("not supported") for row in rows)
    verified = len(rows) - len(failed) - unsupported
    print(f"\n{verified} verified, {unsupported} not supported by a partner, {len(failed)} failed")
    if options.json:
        record = {"lines": [asdict(row) for row in rows], "times": [TIME_HEADER, *times]}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
