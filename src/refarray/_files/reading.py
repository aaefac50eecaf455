"""open() and memmap(): arrays over the memory of mapped files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import index, mul
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from refarray._files import npy, safetensors
from refarray._files.mapped import MappedFile, over
from refarray._files.scanner import count_bits
from refarray._native import Array, DType

if TYPE_CHECKING:
    from os import PathLike

    from refarray._native import _DTypeLike

__all__ = ["NamedArrays", "memmap", "open"]


class NamedArrays(Mapping[str, Array]):
    """The arrays of a safetensors file by their names: the result of `open()`.

    A read-only mapping, in the order of the elements in the file.
    """

    __slots__ = {"_arrays": "by name", "metadata": "the file's metadata: a dict of str"}

    def __init__(self, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
        """Store the arrays and the metadata."""
        self._arrays: dict[str, Array] = dict(arrays)
        self.metadata: dict[str, str] = dict(metadata)

    def __getitem__(self, name: str, /) -> Array:
        """Return the array of a name; KeyError if there is none."""
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._arrays)

    def __repr__(self) -> str:
        """Return how many arrays and bytes there are."""
        nbytes = sum(x.nbytes for x in self._arrays.values())
        return f"<refarray.NamedArrays: {len(self)} arrays, {nbytes} bytes>"


def open(
    path: str | bytes | PathLike[Any],
    *,
    dtype: _DTypeLike | None = None,
    mode: Literal["r", "r+", "c"] = "r",
    sealed: bool = False,
) -> Any:
    """Return the array of a .npy file, or the NamedArrays of a safetensors file, without a copy.

    dtype: of a .npy file whose header does not name it, such as bfloat16 and float8.
    mode: "r" for read-only arrays, "r+" for arrays whose elements are written back to the file (see
        `Array.flush`), "c" for arrays that others do not see change. sealed: copy the file into
        memory first. Otherwise the process gets SIGBUS if it reads elements that another process
        has cut off, and sees what others write.

    The arrays share the memory of the mapped file, which is unmapped with the last of them and of
    their views. The content tells the format, not the name.

    Raises OSError as builtins.open() does, ValueError for other than regular files and for
    malformed ones, and BufferError for dtypes that refarray lacks or the file does not name.
    """
    wanted = None if dtype is None else DType(dtype)
    with MappedFile(path, mode, sealed) as file:
        try:
            head = file.read(0, npy.HEAD)
            if head.startswith(npy.MAGIC):
                return _open_npy(file, head, wanted)
            return _open_safetensors(file, head[:8], wanted)
        except (BufferError, ValueError) as error:
            error.args = (f"{file.name}: {error}", *error.args[1:])
            raise


def _open_npy(file: MappedFile, head: bytes, wanted: DType | None) -> Array:
    header = npy.parse(head, file.size)
    dtype = npy.to_dtype(header.code, wanted)
    nbytes = count_bits(header.shape, 8 * dtype.itemsize) // 8
    rest = file.size - header.offset
    if rest != nbytes:
        raise ValueError(
            f"the file has {rest} bytes after its header; shape {header.shape} of {dtype} takes "
            f"{nbytes}" + ("; memmap() takes a part of a file" if rest > nbytes else "")
        )
    strides = None
    if header.fortran_order:
        strides = [1, *accumulate((max(extent, 1) for extent in header.shape), mul)][:-1]
    mapping = file.map(header.offset, file.size)
    return over(mapping, dtype, header.shape, strides, header.offset)


def _open_safetensors(file: MappedFile, head: bytes, wanted: DType | None) -> NamedArrays:
    length = int.from_bytes(head, "little")
    if len(head) < 8 or not 2 <= length <= min(safetensors.LONGEST, file.size - 8):
        raise ValueError(
            f"neither .npy nor safetensors: it begins with {head!r}, which would be a header of "
            f"{length} bytes; the file has {file.size}, and the limit is {safetensors.LONGEST}"
        )
    if wanted is not None:
        raise ValueError(f"dtype is {wanted}, but safetensors names the dtype of each array")
    start = 8 + length
    header = safetensors.parse(file.read(8, length), file.size - start)
    mapping = file.map(start, file.size)
    return NamedArrays(
        {
            entry.name: over(mapping, entry.dtype, entry.shape, None, start + entry.begin)
            for entry in header.entries
        },
        header.metadata,
    )


def memmap(
    path: str | bytes | PathLike[Any],
    dtype: _DTypeLike,
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    offset: SupportsIndex = 0,
    strides: Sequence[SupportsIndex] | None = None,
    mode: Literal["r", "r+", "c"] = "r",
) -> Array:
    """Return an array over a part of a file, without a copy.

    offset: bytes from the beginning of the file to element (0, ..., 0). Any will do; elements that
    are not aligned are copied by the exports that need it. strides: in elements, as `x.strides`
    has them; None is row-major. mode: as for open().

    Raises OSError as builtins.open() does, and ValueError for other than regular files, and for
    elements that the file does not have.
    """
    kind = DType(dtype)
    extents = (index(shape),) if hasattr(shape, "__index__") else tuple(map(index, shape))
    first = index(offset)
    steps = None if strides is None else tuple(map(index, strides))
    if first < 0 or min(extents, default=0) < 0:
        raise ValueError(f"offset is {first}, shape {extents}; they must not be negative")
    if steps is not None and len(steps) != len(extents):
        raise ValueError(f"strides has {len(steps)} entries; shape has {len(extents)}")
    low, high = _places(kind, extents, steps)
    with MappedFile(path, mode) as file:
        if first + low < 0 or first + high > file.size:
            raise ValueError(
                f"{file.name} has {file.size} bytes; the elements would be its bytes "
                f"{first + low} to {first + high}"
            )
        return over(file.map(first + low, first + high), kind, extents, steps, first)


def _places(
    dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None
) -> tuple[int, int]:
    """Return the bytes [low, high) of all elements, from the first element's."""
    bits = npy.stored_bits(dtype)
    count = count_bits(shape, bits) // bits
    if strides is None or count == 0:
        return 0, -(-count * bits // 8)
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    low, high = (sum(pick(end, 0) for end in ends) for pick in (min, max))
    return low * bits // 8, -(-(high + 1) * bits // 8)
