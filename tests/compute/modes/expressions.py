"""Expressions about a namespace `xp` and its arrays, sensible ones and others.

For each dtype there are a vector (`f64`), a matrix (`f64m`) and an array of ndim 0 (`f64s`).
Statements before an expression end with "; ".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from helpers.cases import words
from oracles.functions import BINARY, UNARY

DTYPES = {
    "b1": "bool",
    **{f"i{8 * n}": f"int{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": f"uint{8 * n}" for n in (1, 2, 4, 8)},
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
#: One dtype of each kind.
KINDS = ("b1", "i32", "i64", "u8", "f32", "f64", "c128")
NUMBERS = ("True", "2", "2.5", "2j")
#: What is neither an array nor a number.
OTHERS = ("None", "'x'", "[1, 2, 3]", "(1, 2, 3)", "object")

OPERATORS = words("+ - * / // % ** & | ^ << >> < <= == != > >= @")
REDUCTIONS = words(
    "all any argmax argmin count_nonzero max mean min prod std sum var cumulative_sum"
    " cumulative_prod sort argsort nonzero unique_all unique_counts unique_inverse unique_values"
    " diff flip"
)


def variables(xp: Any) -> dict[str, Any]:
    """The names that the expressions use."""
    out: dict[str, Any] = {"xp": xp, "object": object()}
    for short, name in DTYPES.items():
        dtype = getattr(xp, name)
        values = [True, False, True] if short == "b1" else [1, 2, 3]
        square = [[True, False], [True, True]] if short == "b1" else [[2, 1], [1, 3]]
        out[short] = xp.asarray(values, dtype=dtype)
        out[f"{short}m"] = xp.asarray(square, dtype=dtype)
        out[f"{short}s"] = xp.asarray(values[0], dtype=dtype)
    return out


def elementwise() -> Iterator[str]:
    for name in UNARY:
        yield from (f"xp.{name}({x})" for x in (*DTYPES, *NUMBERS, *OTHERS))
        yield from (f"xp.{name}(x=f64)", f"xp.{name}(f64, f64)", f"xp.{name}(f64, out=f64)")
    for name in BINARY:
        yield from (f"xp.{name}({a}, {b})" for a, b in itertools.product(DTYPES, DTYPES))
        for x, other in itertools.product(KINDS, (*NUMBERS, *OTHERS)):
            yield from (f"xp.{name}({x}, {other})", f"xp.{name}({other}, {x})")
        yield from (f"xp.{name}(x1=f64, x2=f64)", f"xp.{name}(f64)", f"xp.{name}(2, 2)")


def operators() -> Iterator[str]:
    for each in OPERATORS:
        for a, b in itertools.product(KINDS, KINDS):
            yield f"{a} {each} {b}"
            yield f"{a}m {each} {b}m"
        for x, other in itertools.product(KINDS, (*NUMBERS, *OTHERS)):
            yield from (f"{x} {each} {other}", f"{other} {each} {x}")
    for each in OPERATORS[:12]:
        for a, b in itertools.product(KINDS, (*KINDS, *NUMBERS, *OTHERS)):
            yield f"x = xp.asarray({a}, copy=True); x {each}= {b}; x"
    yield from (f"{sign}{x}" for sign in ("-", "+", "~") for x in DTYPES)
    for function in ("abs", "bool", "int", "float", "complex", "len", "list", "hash", "round"):
        yield from (f"{function}({x}{shape})" for x in KINDS for shape in ("", "s", "m"))
    yield from (f"[7, 8, 9][{x}s]" for x in DTYPES)


def reductions() -> Iterator[str]:
    for name, x in itertools.product(REDUCTIONS, DTYPES):
        yield from (f"xp.{name}({x})", f"xp.{name}({x}s)", f"xp.{name}({x}m)")
        yield f"xp.{name}({x}m, axis=0)"
    arguments = (*words("axis=1 axis=-1 axis=2 axis=0.0 axis='x'"), "axis=(0, 1)", "axis=[0, 1]")
    more = words("keepdims=True dtype=xp.float64 dtype='float64' dtype=float 0 out=None")
    rare = words("correction=1 include_initial=True descending=True stable=False n=2")
    for name, x in itertools.product(REDUCTIONS, ("b1m", "i32m", "f32m", "c64m")):
        yield from (f"xp.{name}({x}, {each})" for each in (*arguments, *more, *rare))


def creation() -> Iterator[str]:
    for name in ("zeros", "ones"):
        for shape in ("3", "(2, 3)", "[2, 3]", "()", "-1", "2.0", "'x'", "f64s", "i64s", "None"):
            yield f"xp.{name}({shape})"
        for dtype in (*DTYPES.values(), "float16"):
            yield f"xp.{name}(3, dtype=xp.{dtype})"
            yield from (f"xp.{name}(3, dtype={dtype!r})", f"xp.{name}_like(f64, dtype={dtype!r})")
        for other in ("float", "int", "bool", "None", "object", "f64"):
            yield from (f"xp.{name}(3, dtype={other})", f"xp.{name}_like(f64, dtype={other})")
        yield from (f"xp.{name}(3, device={each})" for each in ("None", "'cpu'", "1", "f64.device"))
        yield from (f"xp.{name}_like({x})" for x in (*DTYPES, *NUMBERS, *OTHERS))
    for fill in (*NUMBERS, *OTHERS, "f64s", "f64"):
        yield f"xp.full(3, {fill})"
        yield from (f"xp.full_like({x}, {fill})" for x in ("f64", "i8"))
    for each in ("True", "2", "2.5", "2j", "[1, 2]", "[1, 2.5]", "[[1], [2]]", "(1, 2)", "[]"):
        yield from (f"xp.asarray({each})", f"xp.asarray({each}, dtype=xp.float32)")
        yield f"xp.asarray({each}, copy=False)"
    for each in ("'x'", "None", "[None]", "object", "[[1], [2, 3]]", "[f64s, f64s]", "[f64]"):
        yield f"xp.asarray({each})"
    yield from ("xp.asarray(range(3))", "xp.asarray(memoryview(b'ab'))", "xp.asarray({1})")
    for x, dtype in itertools.product(DTYPES, DTYPES.values()):
        yield f"xp.astype({x}, xp.{dtype})"
    yield from (f"xp.asarray({x}, dtype=xp.{d})" for x in ("i8", "u8") for d in DTYPES.values())
    for each in ("'float32'", "float", "xp.int8, copy=1"):
        yield f"xp.astype(f64, {each})"
    yield from ("xp.from_dlpack(f64)", "xp.from_dlpack(f64, copy=True)", "xp.from_dlpack(1)")
    for each in ("3", "1, 3", "1, 3, 2", "3.0", "0, 1, 0.25", "3, dtype=xp.float32", "3, 1", "2j"):
        yield from (f"xp.arange({each})", f"xp.linspace({each})")
    yield from (
        f"xp.linspace(0, 1, {n})" for n in ("5", "0", "1", "-1", "2.0", "3, endpoint=False")
    )
    for each in ("3", "2, 3", "2, 3, k=1", "-1", "2.0", "(2, 2)", "2, None", "2, dtype=xp.int8"):
        yield f"xp.eye({each})"
    for name, x in itertools.product(("tril", "triu"), KINDS):
        yield from (f"xp.{name}({x}m)", f"xp.{name}({x}m, k=1)", f"xp.{name}({x})")
    yield from ("xp.meshgrid(f64, i64)", "xp.meshgrid(f64, f64)", "xp.meshgrid(f64m, f64)")
    yield from ("xp.meshgrid(f64, f64, indexing='ij')", "xp.meshgrid(f64, indexing='x')")


def indexing() -> Iterator[str]:
    entries = ("0", "-1", "3", "True", "None", "...", "()", ":", "1:", ":9", "-9:", "::2", "::-1")
    more = ("[0]", "[True, False, True]", "0.0", "'x'", "i64s", "i64 - 1", "b1", "f64", "u8 - 1")
    for each in (*entries, *more, "1:1", "3:", "0:0", "slice(f64s)"):
        yield from (f"f64[{each}]", f"f64s[{each}]", f"f64m[{each}]")
        for second in ("0", ":", "...", "None", "i64 - 1", "b1"):
            yield from (f"{x}[{each}, {second}]" for x in ("f64m", "f64"))
            yield f"f64m[{second}, {each}]"
        for value in ("7", "f64[0]", "[7]"):
            yield f"x = xp.asarray(f64, copy=True); x[{each}] = {value}; x"
    yield from ("f64m[b1m]", "f64m[b1m, ...]", "f64m[..., 0, 0]", "f64m[..., ...]", "f64m[0, 0, 0]")
    for a, b in itertools.product(KINDS, (*DTYPES, *NUMBERS, *OTHERS)):
        yield f"x = xp.asarray({a}, copy=True); x[...] = {b}; x"
    yield from ("x = xp.asarray(f64m, copy=True); x[b1m] = 7; x", "f64m[b1]", "f64[b1m]")
    for name in ("take", "take_along_axis"):
        places = ("i64 - 1", "u8 - 1", "i64 - 1, axis=0", *words("[0] 0 f64 b1 i64m i64s"))
        for each in places:
            yield from (f"xp.{name}(f64, {each})", f"xp.{name}(f64m, {each})")


def manipulation() -> Iterator[str]:
    shapes = (*words("4 (4,) [4] (-1,) -1 (3,) None 'x' f64"), "(2, -1)", "(-1, -1)")
    yield from (f"xp.reshape(f64m, {shape})" for shape in shapes)
    yield from (
        f"xp.broadcast_to(f64, {s})" for s in ("(2, 3)", "3", "[3]", "(2,)", "(-1, 3)", "None")
    )
    for each in ("0", "(0, 1)", "-1", "2", "[0]", "0.0", "None", "()", "'x'"):
        yield from (f"xp.expand_dims(f64, axis={each})", f"xp.squeeze(f64[None, :], axis={each})")
        yield from (f"xp.permute_dims(f64m, {each})", f"xp.flip(f64m, axis={each})")
        yield from (f"xp.moveaxis(f64m, {each}, 0)", f"xp.roll(f64m, {each})")
        yield from (f"xp.roll(f64m, 1, axis={each})", f"xp.repeat(f64m, 2, axis={each})")
        yield from (f"xp.tile(f64, {each})", f"xp.repeat(f64, {each})")
        yield f"xp.unstack(f64m, axis={each})"
        yield from (f"xp.concat([f64m, f64m], axis={each})", f"xp.stack([f64, f64], axis={each})")
    for a, b in itertools.product(KINDS, KINDS):
        yield from (f"xp.concat([{a}, {b}])", f"xp.stack(({a}, {b}))", f"xp.where(b1, {a}, {b})")
        yield from (f"xp.can_cast({a}, {b}.dtype)", f"xp.result_type({a}, {b})")
        yield from (f"xp.searchsorted({a}, {b})", f"xp.isin({a}, {b})", f"xp.clip({a}, {b}, {b})")
        yield from (f"xp.matmul({a}m, {b}m)", f"xp.vecdot({a}, {b})")
        yield f"xp.tensordot({a}, {b}, axes=1)"
    for a, b in itertools.product(KINDS, (*NUMBERS, *OTHERS)):
        yield from (f"xp.where(b1, {a}, {b})", f"xp.clip({a}, {b})", f"xp.clip({a}, max={b})")
        yield from (f"xp.searchsorted({a}, {b})", f"xp.isin({a}, {b})", f"xp.result_type({a}, {b})")
        yield from (f"xp.concat([{a}, {b}])", f"xp.where({b}, {a}, {a})")
    yield from ("xp.concat(f64m)", "xp.concat([])", "xp.stack(f64m)", "xp.concat([f64m, f64])")
    yield from ("xp.broadcast_arrays(f64, f64m[:1, :1])", "xp.broadcast_arrays(1, f64)")
    yield from ("xp.broadcast_shapes((2, 1), (3,))", "xp.broadcast_shapes(f64)", "xp.unstack(f64s)")
    yield from (f"xp.repeat(f64, {each})" for each in ("i64", "f64", "2.0", "-1", "[1, 2, 3]"))
    for each in ("'bool'", "'numeric'", "'x'", "float", "('bool', xp.float64)", "xp.float64"):
        yield from (f"xp.isdtype(xp.float64, {each})", f"xp.isdtype({each}, 'numeric')")
    for name, each in itertools.product(
        ("finfo", "iinfo"), (*DTYPES, *OTHERS, "float", "'float64'")
    ):
        yield from (f"xp.{name}({each}).bits", f"xp.{name}({each}.dtype).max")
    for each in ("'float64'", "float", "None", "2", "xp.float64"):
        yield from (f"xp.can_cast(f32, {each})", f"xp.can_cast({each}, xp.float64)")
        yield f"xp.result_type({each}, xp.float64)"


def extensions() -> Iterator[str]:
    one = words(
        "cholesky det eigvals eigvalsh inv matrix_norm matrix_rank matrix_transpose pinv slogdet"
        " svdvals trace diagonal vector_norm"
    )
    for name, x in itertools.product(one, DTYPES):
        yield from (f"xp.linalg.{name}({x}m)", f"xp.linalg.{name}({x})", f"xp.linalg.{name}({x}s)")
    for name, a, b in itertools.product(("outer", "cross", "solve", "vecdot"), KINDS, KINDS):
        yield from (f"xp.linalg.{name}({a}, {b})", f"xp.linalg.{name}({a}m, {b}m)")
    for name in ("qr", "svd", "eigh", "eig"):
        yield from (f"[x.shape for x in xp.linalg.{name}({x}m)]" for x in DTYPES)
    yield from (f"xp.linalg.matrix_power(f64m, {n})" for n in ("2", "0", "-1", "2.0", "'x'"))
    transforms = words("fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fftshift ifftshift")
    for name, x in itertools.product(transforms, DTYPES):
        yield from (f"xp.fft.{name}({x})", f"xp.fft.{name}({x}m)", f"xp.fft.{name}({x}s)")
    for name, n in itertools.product(("fftfreq", "rfftfreq"), ("4", "5", "0", "2.0", "4, d=0.5")):
        yield f"xp.fft.{name}({n})"
    names = ("strides", "astype", "reshape", "tolist", "item", "nbytes", "itemsize", "sum", "numpy")
    yield from (
        f"f64.{name}" for name in (*names, "shape", "ndim", "size", "flags", "data", "copy")
    )
    yield from (f"{x}.{name}" for x in ("f64", "f64m", "f64s") for name in ("T", "mT"))
    yield from ("f64.shape.append", "f64.to_device(f64.device)", "f64.to_device('x')")
    for name in ("float16", "empty_cache", "copy", "from_buffer", "array", "inspect", "bfloat16"):
        yield f"xp.{name}"


PARTS = (elementwise, operators, reductions, creation, indexing, manipulation, extensions)


def value(text: str, names: dict[str, Any]) -> Any:
    """The value of an expression, or the exception that it raises."""
    *statements, expression = text.split("; ")
    local = dict(names)
    try:
        for each in statements:
            exec(each, local)
        return eval(expression, local)
    except Exception as error:
        return error
