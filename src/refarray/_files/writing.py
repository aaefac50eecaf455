"""save(): arrays to .npy and safetensors files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import refarray
from refarray._files import npy, safetensors
from refarray._files.mapped import require_regular
from refarray._files.reading import NamedArrays
from refarray._native import Array, asarray

if TYPE_CHECKING:
    from os import PathLike

    from refarray._native import _ArrayLike

__all__ = ["save"]


def save(
    path: str | bytes | PathLike[Any],
    data: _ArrayLike | Mapping[str, _ArrayLike],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write an array to a .npy file, or a mapping of names to arrays to a safetensors file.

    data: whatever asarray() takes, or a mapping of str to that. metadata: of a safetensors file;
        None is that of NamedArrays.

    The new file takes the place of an old one at once, when it is complete: arrays over the old
    file keep their elements, and an error leaves the old file. Column-major arrays are stored as
    such in .npy, all others in row-major order.

    Raises OSError as builtins.open() does, ValueError for a path with the other format's suffix or
    of a special file, and BufferError for dtypes that the format does not have.
    """
    name = os.fsdecode(path)
    is_mapping = isinstance(data, Mapping)
    for suffix in (".npy",) if is_mapping else (".safetensors",):
        if name.endswith(suffix):
            raise ValueError(
                f"{name}: mappings are stored as safetensors and arrays as .npy; the suffix "
                f"is {suffix}"
            )
    if isinstance(data, Mapping):
        if metadata is None:
            metadata = data.metadata if isinstance(data, NamedArrays) else {}
        head, arrays = safetensors.make({key: asarray(x) for key, x in data.items()}, metadata)
    else:
        if metadata is not None:
            raise ValueError("metadata is for mappings, which are stored as safetensors")
        x = asarray(data)
        columns = refarray.permute_dims(x, tuple(range(x.ndim))[::-1])
        fortran_order = columns.is_contiguous() and not x.is_contiguous()
        head = npy.make(x.dtype, x.shape, fortran_order=fortran_order)
        arrays = [columns if fortran_order else x]
    _replace(name, head, arrays)


def _replace(name: str, head: bytes, arrays: list[Array]) -> None:
    """Write a file beside the old one, then put it in its place."""
    target = Path(os.path.realpath(name))
    mode = None
    try:
        status = target.stat()
    except FileNotFoundError:
        pass
    else:
        require_regular(name, status.st_mode)
        mode = status.st_mode & 0o777
    draft = target.with_name(f".refarray-{os.urandom(8).hex()}")
    file = draft.open("xb")
    try:
        with file:
            if mode is not None and sys.platform != "win32":  # which has no such permissions
                os.fchmod(file.fileno(), mode)
            file.write(head)
            for x in arrays:
                _write(file, x)
        # Closed, which Windows wants. Path.replace() may also fail after the file is in its place.
        os.replace(draft, target)  # noqa: PTH105
    except BaseException:
        draft.unlink()
        raise


def _write(file: BinaryIO, x: Array) -> None:
    """Write the elements in row-major order; copies those that no buffer has in this order."""
    has_buffer = x.device.kind == "cpu" and x.is_contiguous() and npy.stored_bits(x.dtype) % 8 == 0
    file.write(x if has_buffer else x.tobytes())
