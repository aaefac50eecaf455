"""The contenders: each library's strided copy over the same memory, and memcpy."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks.environment import Environment
from benchmarks.timing import Statement

from .cases import Case, reversed_order

MEMCPY = "memcpy"
OURS = "refarray"
HPTT_VARIABLE = "REFARRAY_BENCH_HPTT"


@dataclass(frozen=True)
class Library:
    """The functions of a library that create the views of a case."""

    permute: Any
    broadcast: Any


@dataclass
class Memory:
    """Two blocks of memory for the arrays of all cases: the same pages for every contender."""

    environment: Environment
    nbytes: int

    def __post_init__(self) -> None:
        numpy = self.numpy
        self.blocks = [
            numpy.from_dlpack(self.environment.refarray.empty((self.nbytes,), dtype="uint8"))
            for _ in range(2)
        ]
        self.blocks[0][:] = 0
        noise = numpy.random.default_rng(1).integers(0, 256, 1 << 20, dtype="u1")
        for start in range(0, self.nbytes, noise.size):
            self.blocks[1][start : start + noise.size] = noise[: self.nbytes - start]

    @property
    def numpy(self) -> ModuleType:
        return self.environment.partners["numpy"]

    def arrays(self, case: Case) -> tuple[Any, Any]:
        """dst and src of the case as row-major NumPy arrays."""
        return tuple(
            block[: self.numpy.dtype(case.dtype).itemsize * self.numpy.prod(shape, dtype=int)]
            .view(case.dtype)
            .reshape(shape)
            for block, shape in zip(self.blocks, (case.dst_shape, case.src_shape), strict=True)
        )

    def bytes_of(self, case: Case) -> tuple[Any, Any]:
        """As many bytes of both blocks as the case moves."""
        size = case.moved * self.numpy.dtype(case.dtype).itemsize
        return self.blocks[0][:size], self.blocks[1][:size]


def statements(memory: Memory, case: Case, hptt: ctypes.CDLL | None) -> dict[str, Statement]:
    """One statement for each contender that can run the case."""
    environment = memory.environment
    native, asarray = environment.native, environment.refarray.asarray
    numpy = memory.numpy
    dst, src = memory.arrays(case)
    to, from_ = map(asarray, memory.bytes_of(case))
    found = {MEMCPY: Statement("f(d, s)", {"f": native._memcpy, "d": to, "s": from_})}
    own = Library(environment.refarray.permute_dims, environment.refarray.broadcast_to)
    d, s = case.views(asarray(dst), asarray(src), own)
    found[OURS] = Statement("f(d, s)", {"f": native._copy_into, "d": d, "s": s})
    d, s = case.views(dst, src, Library(numpy.transpose, numpy.broadcast_to))
    found["numpy"] = Statement("f(d, s)", {"f": numpy.copyto, "d": d, "s": s})
    torch = environment.partners.get("torch")
    if torch is not None and not case.negative:
        d, s = case.views(
            torch.from_numpy(dst),
            torch.from_numpy(src),
            Library(torch.permute, torch.broadcast_to),
        )
        found["torch"] = Statement("d.copy_(s)", {"d": d, "s": s})
    function = hptt_function(hptt, case)
    if function is not None:
        found["hptt"] = Statement("f(*a)", {"f": function, "a": hptt_arguments(case, dst, src)})
    return found


def load_hptt() -> tuple[ctypes.CDLL | None, str]:
    """HPTT's library (BSD licence; it is not part of this project), or why it is absent."""
    path = os.environ.get(HPTT_VARIABLE, "")
    if not path:
        return None, f"set {HPTT_VARIABLE} to its libhptt.so"
    try:
        return ctypes.CDLL(path), ""
    except OSError as error:
        return None, str(error)


def hptt_function(hptt: ctypes.CDLL | None, case: Case) -> Any:
    """The C function for the case: a pure permutation of float32 or float64."""
    names = {"float32": "sTensorTranspose", "float64": "dTensorTranspose"}
    if hptt is None or case.axes is None or len(case.axes) < 2 or case.dtype not in names:
        return None
    function = getattr(hptt, names[case.dtype])
    scalar = ctypes.c_float if case.dtype == "float32" else ctypes.c_double
    pointer, number = ctypes.c_void_p, ctypes.c_int
    function.argtypes = [
        *(pointer, number, scalar, pointer, pointer, pointer),  # order, ndim, alpha, A, extents
        *(scalar, pointer, pointer, number, number),  # beta, B, outer extents, threads, row-major
    ]
    function.restype = None
    return function


def hptt_arguments(case: Case, dst: Any, src: Any) -> tuple[Any, ...]:
    """HPTT counts axes from the fastest one."""
    assert case.axes is not None
    ndim = len(case.axes)
    order = (ctypes.c_int * ndim)(*reversed_order(case.axes))
    sizes = (ctypes.c_int * ndim)(*reversed(case.src_shape))
    return order, ndim, 1.0, src.ctypes.data, sizes, None, 0.0, dst.ctypes.data, None, 1, 0
