"""B: strided copies in units of a memcpy of as many bytes, over the same memory for every library.

S, transposes of growing size, is for the plot; P are the permutations of HPTT's own benchmark.
"""

from __future__ import annotations

import ctypes
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from .environment import Environment
from .measure import OURS, Absent, Case, Statement, Target

SECONDS = 0.8
Shape = tuple[int, ...]
# dst and src, both row-major, and the library they belong to -> the views that are copied.
Views = Callable[[Any, Any, Any], tuple[Any, Any]]

MEMCPY = "memcpy"
MOVED = 512 << 10  # elements of the cases on steps (B10, B11)
KIB, MIB = 1 << 10, 1 << 20
NEW = "B1 64M"  # the case whose copy B15 makes into a new array
HPTT_VARIABLE = "REFARRAY_BENCH_HPTT"


@dataclass(frozen=True)
class Layout:
    """What is copied: two layouts over two blocks of memory."""

    dtype: str
    dst_shape: Shape
    src_shape: Shape
    views: Views
    moved: int  # elements
    axes: Shape | None = None  # dst is src with its axes in this order, and nothing else
    negative: bool = False  # needs strides that PyTorch lacks


def _case(id_: str, title: str, target: float | None, layout: Layout) -> Case:
    targets = () if target is None else (Target(target),)
    return Case(id_, title, targets, (MEMCPY,), MEMCPY, layout)


def permuted(
    id_: str, title: str, dtype: str, shape: Shape, axes: Shape, target: float | None = None
) -> Case:
    """A row-major copy of an array with its axes in another order."""

    def views(dst: Any, src: Any, library: Any) -> tuple[Any, Any]:
        return dst, library.permute(src, axes)

    out = tuple(shape[axis] for axis in axes)
    return _case(id_, title, target, Layout(dtype, out, shape, views, prod(shape), axes))


def flat(
    id_: str, title: str, dtype: str, dst: slice, src: slice, target: float, **more: Any
) -> Case:
    """MOVED elements between rows with steps."""

    def views(to: Any, from_: Any, _: Any) -> tuple[Any, Any]:
        return to[dst], from_[src]

    extents = [(MOVED * abs(one.step or 1),) for one in (dst, src)]
    return _case(id_, title, target, Layout(dtype, *extents, views, MOVED, **more))


def derived(id_: str, title: str, target: float) -> Case:
    return Case(id_, title, (Target(target),), label=DERIVED[id_])


#: Rows that are computed from others, with their units.
DERIVED = {"B14": MEMCPY, "B14 hptt": "hptt", "B15": "out=", "B16": "4000"}


def cases() -> Iterator[Case]:
    yield from _in_order()
    yield from permutations()
    yield derived("B14", "mean of 57 permutations", 1.6)
    yield derived("B14 hptt", "that over HPTT's", round(1 / 1.4, 3))
    yield derived("B15", "a new result of 64 MiB", 1.15)
    yield derived("B16", ".T f32 4096 by the byte", 1.4)
    yield from growing()


def _in_order() -> Iterator[Case]:
    """B1 to B13, and the copy into a new array that B15 needs."""
    for suffix, size, target in (("256K", 256 * KIB, 1.03), ("64M", 64 * MIB, 0.88)):
        count = size // 4
        yield permuted(f"B1 {suffix}", "contiguous", "float32", (count,), (0,), target)
    new = permuted("B15 new", "into a new array", "float32", (64 * MIB // 4,), (0,))
    yield replace(new, shown=False)
    yield from _transposes()
    yield from _images()
    whole, twos, back = slice(None), slice(None, None, 2), slice(None, None, -1)
    yield flat("B10 f32", "a[::2] f32", "float32", whole, twos, 1.8)
    yield flat("B10 u8", "a[::2] u8", "uint8", whole, twos, 1.6)
    yield flat("B10 r f32", "a[::-1] f32", "float32", whole, back, 1.05, negative=True)
    yield flat("B10 r u8", "a[::-1] u8", "uint8", whole, back, 1.05, negative=True)
    yield flat("B11 f32", "dst[::2] = a f32", "float32", twos, whole, 2.3)
    yield flat("B11 u8", "dst[::2] = a u8", "uint8", twos, whole, 4.0)
    for id_, shape in (("B12 row", (1, 4096)), ("B12 col", (4096, 1))):
        both = (4096, 4096)

        def spread(dst: Any, src: Any, library: Any) -> tuple[Any, Any]:
            return dst, library.broadcast(src, (4096, 4096))

        layout = Layout("float32", both, shape, spread, prod(both))
        yield _case(id_, f"broadcast {shape} f32", 0.52, layout)
    for id_, dtype, target in (("B13 f32", "float32", 1.9), ("B13 u8", "uint8", 4.5)):

        def narrow(dst: Any, src: Any, _: Any) -> tuple[Any, Any]:
            return dst, src[:, :8]

        layout = Layout(dtype, (16384, 8), (16384, 64), narrow, 16384 * 8)
        yield _case(id_, f"a[:, :8] of (16384, 64) {dtype}", target, layout)


def _transposes() -> Iterator[Case]:
    for id_, dtype, name, sizes in (
        ("B2", "float32", "f32", {512: 2.5, 1024: 3.2}),
        ("B3", "float32", "f32", {4000: 2.2, 4096: 2.4}),
        ("B4", "float64", "f64", {4000: 1.7, 4096: 2.2}),
        ("B5", "uint8", "u8", {512: 3.3, 4096: 3.5}),
        ("B5 u16", "uint16", "u16", {4096: None}),
        ("B5 c128", "complex128", "c128", {2048: None}),
    ):
        for size, target in sizes.items():
            title = f".T {name} {size}"
            yield permuted(f"{id_} {size}", title, dtype, (size, size), (1, 0), target)


def _images() -> Iterator[Case]:
    batch = "f32 (32,64,56,56)"
    f32, u8 = "float32", "uint8"
    rows: tuple[tuple[str, str, str, Shape, Shape, float], ...] = (
        ("B6 to", f"NCHW->NHWC {batch}", f32, (32, 64, 56, 56), (0, 2, 3, 1), 1.5),
        ("B6 from", f"NHWC->NCHW {batch}", f32, (32, 56, 56, 64), (0, 3, 1, 2), 1.5),
        ("B7 u8 to", "planar->packed u8 224", u8, (3, 224, 224), (1, 2, 0), 1.6),
        ("B7 u8 from", "packed->planar u8 224", u8, (224, 224, 3), (2, 0, 1), 2.5),
        ("B7 f32 to", "planar->packed f32 16x512", f32, (16, 3, 512, 512), (0, 2, 3, 1), 1.15),
        ("B7 f32 from", "packed->planar f32 16x512", f32, (16, 512, 512, 3), (0, 3, 1, 2), 1.45),
        ("B8 f32", "reversed axes f32 64^4", f32, (64,) * 4, (3, 2, 1, 0), 3.2),
        ("B8 u8", "reversed axes u8", u8, (32, 32, 32, 8), (3, 2, 1, 0), 6.0),
        ("B9", "(0,2,1,3) f32 attention", f32, (16, 1024, 16, 64), (0, 2, 1, 3), 1.4),
    )
    for row in rows:
        yield permuted(*row)


def growing() -> Iterator[Case]:
    """Square transposes for the plot of ratio against size."""
    for dtype, name in (("float32", "f32"), ("uint8", "u8")):
        for size in (32, 64, 100, 128, 256, 500, 512, 1000, 1024, 2000, 2048, 4000, 4096):
            yield permuted(f"S {name} {size}", f".T {name} {size}", dtype, (size, size), (1, 0))


# HPTT's own benchmark, index 0 the fastest: the order of the axes, then three shapes for each.
HPTT = """
10: 7264x7264 43408x1216 1216x43408
021: 368x384x384 2144x64x384 368x64x2307
102: 384x384x355 2320x384x59 384x2320x59
210: 384x355x384 2320x59x384 384x59x2320
0321: 80x96x75x96 464x16x75x96 80x16x75x582
2130: 96x75x96x75 608x12x96x75 96x12x608x75
2031: 96x75x96x75 608x12x96x75 96x12x608x75
1032: 96x96x75x75 608x96x12x75 96x608x12x75
3210: 96x75x75x96 608x12x75x96 96x12x75x608
04213: 32x48x28x28x48 176x8x28x28x48 32x8x28x28x298
32140: 48x28x28x48x28 352x4x28x48x28 48x4x28x352x28
20413: 48x28x48x28x28 352x4x48x28x28 48x4x352x28x28
13042: 48x48x28x28x28 352x48x4x28x28 48x352x4x28x28
43210: 48x28x28x28x48 352x4x28x28x48 48x4x28x28x352
032541: 16x32x15x32x15x15 48x10x15x32x15x15 16x10x15x103x15x15
320514: 32x15x15x32x15x15 112x5x15x32x15x15 32x5x15x112x15x15
204153: 32x15x32x15x15x15 112x5x32x15x15x15 32x5x112x15x15x15
325104: 32x15x15x32x15x15 112x5x15x32x15x15 32x5x15x112x15x15
543210: 32x15x15x15x15x32 112x5x15x15x15x32 32x5x15x15x15x112
"""


def reversed_order(axes: Shape) -> Shape:
    """The same permutation when the axes are counted from the other end, as HPTT does."""
    last = len(axes) - 1
    return tuple(last - axes[last - i] for i in range(len(axes)))


def permutations() -> Iterator[Case]:
    """HPTT's 57, as row-major arrays."""
    number = 0
    for line in HPTT.split("\n")[1:-1]:
        order, shapes = line.split(": ")
        axes = reversed_order(tuple(map(int, order)))
        for shape in shapes.split():
            number += 1
            extents = tuple(map(int, reversed(shape.split("x"))))
            title = f"{order} of {shape}"
            yield replace(permuted(f"P{number}", title, "float32", extents, axes), shown=False)


@dataclass(frozen=True)
class Library:
    """The functions of a library that create the views of a case."""

    permute: Any
    broadcast: Any


class Setup:
    """Two blocks of memory for the arrays of all cases: the same pages for every contender."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        if not environment.has("numpy"):
            raise SystemExit("NumPy is needed: it lays the memory out")
        self.numpy = numpy = environment.partners["numpy"]
        self.hptt = load_hptt(environment)
        layouts = [case.given for case in cases() if case.given]
        nbytes = max(
            numpy.dtype(one.dtype).itemsize * max(prod(one.dst_shape), prod(one.src_shape))
            for one in layouts
        )
        empty = environment.refarray.empty
        self.blocks = [numpy.from_dlpack(empty((nbytes,), dtype="uint8")) for _ in range(2)]
        self.blocks[0][:] = 0
        noise = numpy.random.default_rng(1).integers(0, 256, 1 << 20, dtype="u1")
        for start in range(0, nbytes, noise.size):
            self.blocks[1][start : start + noise.size] = noise[: nbytes - start]

    def arrays(self, layout: Layout) -> tuple[Any, Any]:
        """dst and src as row-major NumPy arrays."""
        return tuple(
            block[: self.numpy.dtype(layout.dtype).itemsize * prod(shape)]
            .view(layout.dtype)
            .reshape(shape)
            for block, shape in zip(self.blocks, (layout.dst_shape, layout.src_shape), strict=True)
        )

    def statements(self, case: Case) -> dict[str, Statement]:
        """One statement for each contender that can run the case."""
        layout: Layout | None = case.given
        if layout is None:
            raise Absent("derived from other rows")
        environment, numpy = self.environment, self.numpy
        native, asarray = environment.native, environment.refarray.asarray
        torch = environment.partners.get("torch")
        dst, src = self.arrays(layout)
        size = layout.moved * numpy.dtype(layout.dtype).itemsize
        to, from_ = (asarray(block[:size]) for block in self.blocks)
        found = {MEMCPY: Statement("f(d, s)", {"f": native._memcpy, "d": to, "s": from_})}
        if case.id == "B15 new":
            found[OURS] = Statement("f(s)", {"f": environment.refarray.copy, "s": asarray(src)})
            found["numpy"] = Statement("s.copy()", {"s": src})
            if torch is not None:
                found["torch"] = Statement("s.clone()", {"s": torch.from_numpy(src)})
            return found
        own = Library(environment.refarray.permute_dims, environment.refarray.broadcast_to)
        d, s = layout.views(asarray(dst), asarray(src), own)
        found[OURS] = Statement("f(d, s)", {"f": native._copy_into, "d": d, "s": s})
        d, s = layout.views(dst, src, Library(numpy.transpose, numpy.broadcast_to))
        found["numpy"] = Statement("f(d, s)", {"f": numpy.copyto, "d": d, "s": s})
        self.verify(case, found)
        if torch is not None and not layout.negative:
            theirs = Library(torch.permute, torch.broadcast_to)
            d, s = layout.views(torch.from_numpy(dst), torch.from_numpy(src), theirs)
            found["torch"] = Statement("d.copy_(s)", {"d": d, "s": s})
        function = hptt_function(self.hptt, layout)
        if function is not None:
            given = hptt_arguments(layout, dst, src)
            found["hptt"] = Statement("f(*a)", {"f": function, "a": given})
        return found

    def verify(self, case: Case, found: Mapping[str, Statement]) -> None:
        """Checks that our result equals NumPy's bytes."""
        dst, _ = self.arrays(case.given)
        results = []
        for name in (OURS, "numpy"):
            dst.view("u1").fill(0)
            of = found[name].names
            of["f"](of["d"], of["s"])  # type: ignore[operator]
            results.append(dst.view("u1").copy())
        if not self.numpy.array_equal(*results):
            raise SystemExit(f"{case.id}: the copy is wrong")


def summarised(ns: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The derived rows, of the times of the measured ones."""
    found = {}
    permuted = [ns[case.id] for case in permutations() if case.id in ns]
    if len(permuted) == 57:
        names = set.intersection(*(set(row) for row in permuted)) - {MEMCPY}
        found["B14"] = {
            name: statistics.geometric_mean(row[name] / row[MEMCPY] for row in permuted)
            for name in sorted(names)
        }
        if "hptt" in names:
            found["B14 hptt"] = {OURS: found["B14"][OURS] / found["B14"]["hptt"]}
    for id_, above, below, scale in (
        ("B15", "B15 new", NEW, 1.0),
        ("B16", "B3 4096", "B3 4000", (4000 / 4096) ** 2),
    ):
        if above in ns and below in ns:
            both = [name for name in ns[above] if name in ns[below] and name != MEMCPY]
            found[id_] = {name: ns[above][name] / ns[below][name] * scale for name in both}
    return found


def load_hptt(environment: Environment) -> ctypes.CDLL | None:
    """HPTT's library (BSD licence; it is not part of this project); notes why it is absent."""
    try:
        return ctypes.CDLL(os.environ[HPTT_VARIABLE])
    except KeyError:
        environment.absent["hptt"] = f"set {HPTT_VARIABLE} to its libhptt.so"
    except OSError as error:
        environment.absent["hptt"] = str(error)
    return None


def hptt_function(hptt: ctypes.CDLL | None, layout: Layout) -> Any:
    """The C function for the case: a pure permutation of float32 or float64."""
    names = {"float32": "sTensorTranspose", "float64": "dTensorTranspose"}
    if hptt is None or layout.axes is None or len(layout.axes) < 2 or layout.dtype not in names:
        return None
    function = getattr(hptt, names[layout.dtype])
    scalar = ctypes.c_float if layout.dtype == "float32" else ctypes.c_double
    pointer, number = ctypes.c_void_p, ctypes.c_int
    function.argtypes = [
        *(pointer, number, scalar, pointer, pointer, pointer),  # order, ndim, alpha, A, extents
        *(scalar, pointer, pointer, number, number),  # beta, B, outer extents, threads, row-major
    ]
    function.restype = None
    return function


def hptt_arguments(layout: Layout, dst: Any, src: Any) -> tuple[Any, ...]:
    """HPTT counts axes from the fastest one."""
    assert layout.axes is not None
    ndim = len(layout.axes)
    order = (ctypes.c_int * ndim)(*reversed_order(layout.axes))
    sizes = (ctypes.c_int * ndim)(*reversed(layout.src_shape))
    return order, ndim, 1.0, src.ctypes.data, sizes, None, 0.0, dst.ctypes.data, None, 1, 0
