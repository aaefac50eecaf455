"""Pillow's tests with NumPy: images from refarray's arrays, and refarray's arrays of images."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
from PIL import Image

import refarray
from foreign import exchanges


def fromarray(obj: Any, *arguments: Any, **keywords: Any) -> Image.Image:
    """Image.fromarray of refarray's import of the array or buffer."""
    return Image.fromarray(exchanges.asarray(obj), *arguments, **keywords)


def array(obj: Any, *arguments: Any, **keywords: Any) -> Any:
    """numpy.array; images are imported by refarray."""
    if isinstance(obj, Image.Image):
        obj = exchanges.asarray(obj)
    return numpy.array(obj, *arguments, **keywords)


def frombytes(mode: str, size: Any, data: Any, *arguments: Any, **keywords: Any) -> Image.Image:
    exchanges.note()
    return Image.frombytes(mode, size, refarray.from_buffer(data), *arguments, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    if side == "producer":
        module.Image = exchanges.Namespace(Image, fromarray=fromarray, frombytes=frombytes)
    elif hasattr(module, "numpy"):
        module.numpy = exchanges.Namespace(numpy, array=array)
