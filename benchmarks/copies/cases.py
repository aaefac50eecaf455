"""The copy cases: two layouts over two blocks of memory, and a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

Shape = tuple[int, ...]
# dst and src, both row-major, and the library they belong to -> the views that are copied.
Views = Callable[[Any, Any, Any], tuple[Any, Any]]

MOVED = 512 << 10  # elements of the cases on steps (B10, B11)
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Case:
    """`target` is in units of a memcpy of the result's bytes; None means no target."""

    id: str
    title: str
    dtype: str
    dst_shape: Shape
    src_shape: Shape
    views: Views
    moved: int  # elements
    target: float | None = None
    axes: Shape | None = None  # dst is src with its axes in this order, and nothing else
    negative: bool = False  # needs strides that PyTorch lacks


def permuted(
    id_: str, title: str, dtype: str, shape: Shape, axes: Shape, target: float | None = None
) -> Case:
    """A row-major copy of an array with its axes in another order."""

    def views(dst: Any, src: Any, library: Any) -> tuple[Any, Any]:
        return dst, library.permute(src, axes)

    out = tuple(shape[axis] for axis in axes)
    return Case(id_, title, dtype, out, shape, views, prod(shape), target, axes)


def flat(
    id_: str, title: str, dtype: str, dst: slice, src: slice, target: float, **more: Any
) -> Case:
    """MOVED elements between rows with steps."""

    def views(to: Any, from_: Any, _: Any) -> tuple[Any, Any]:
        return to[dst], from_[src]

    extents = [(MOVED * abs(one.step or 1),) for one in (dst, src)]
    return Case(id_, title, dtype, extents[0], extents[1], views, MOVED, target, **more)


def cases() -> Iterator[Case]:
    """B1 to B14 in the order of their ids; B14 to B16 are computed from other rows."""
    for suffix, size, target in (("256K", 256 * KIB, 1.03), ("64M", 64 * MIB, 0.88)):
        count = size // 4
        yield permuted(f"B1 {suffix}", "contiguous", "float32", (count,), (0,), target)
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
        yield Case(
            id_,
            f"broadcast {shape} f32",
            "float32",
            (4096, 4096),
            shape,
            lambda dst, src, library: (dst, library.broadcast(src, (4096, 4096))),
            4096 * 4096,
            0.52,
        )
    for id_, dtype, target in (("B13 f32", "float32", 1.9), ("B13 u8", "uint8", 4.5)):
        yield Case(
            id_,
            f"a[:, :8] of (16384, 64) {dtype}",
            dtype,
            (16384, 8),
            (16384, 64),
            lambda dst, src, _: (dst, src[:, :8]),
            16384 * 8,
            target,
        )


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
    yield permuted("B6 to", f"NCHW->NHWC {batch}", "float32", (32, 64, 56, 56), (0, 2, 3, 1), 1.5)
    yield permuted("B6 from", f"NHWC->NCHW {batch}", "float32", (32, 56, 56, 64), (0, 3, 1, 2), 1.5)
    yield permuted("B7 u8 to", "planar->packed u8 224", "uint8", (3, 224, 224), (1, 2, 0), 1.6)
    yield permuted("B7 u8 from", "packed->planar u8 224", "uint8", (224, 224, 3), (2, 0, 1), 2.5)
    yield permuted(
        "B7 f32 to", "planar->packed f32 16x512", "float32", (16, 3, 512, 512), (0, 2, 3, 1), 1.15
    )
    yield permuted(
        "B7 f32 from", "packed->planar f32 16x512", "float32", (16, 512, 512, 3), (0, 3, 1, 2), 1.45
    )
    yield permuted("B8 f32", "reversed axes f32 64^4", "float32", (64,) * 4, (3, 2, 1, 0), 3.2)
    yield permuted("B8 u8", "reversed axes u8", "uint8", (32, 32, 32, 8), (3, 2, 1, 0), 6.0)
    yield permuted(
        "B9", "(0,2,1,3) f32 attention", "float32", (16, 1024, 16, 64), (0, 2, 1, 3), 1.4
    )


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
            yield permuted(f"P{number}", f"{order} of {shape}", "float32", extents, axes)
