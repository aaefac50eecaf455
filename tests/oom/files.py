"""Out-of-memory recipes of arrays in files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

import refarray
from refarray import NamedArrays, _native

from .recipe import matrix, recipe, refused

FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
NPY, NAMED, WRITTEN = (str(FOLDER / name) for name in ("x.npy", "x.safetensors", "written"))
refarray.save(NPY, matrix())
refarray.save(NAMED, {"a": matrix(), "b\n": matrix()}, metadata={"k": "v"})


def named() -> NamedArrays:
    return NamedArrays({"a": matrix()}, {})


recipe("open", lambda _: refarray.open(NPY), python=True)
recipe("open", lambda _: refarray.open(NAMED, mode="c"), label="safetensors", python=True)
recipe("open", lambda _: refarray.open(NPY, sealed=True), label="sealed", python=True)
refused("open", ValueError, lambda _: refarray.open(__file__), label="text", python=True)
recipe("memmap", lambda _: refarray.memmap(NPY, "bfloat16", (2, 3), offset=1), python=True)
recipe("memmap", lambda _: refarray.memmap(NPY, "i2", (2, 3), strides=(1, 2)), label="strides",
       python=True)  # fmt: skip
refused("memmap", ValueError, lambda _: refarray.memmap(NPY, "u1", 999), python=True)
recipe("save", lambda x: refarray.save(WRITTEN, x), python=True, instead=(TypeError,))
recipe("save", lambda x: refarray.save(WRITTEN, {"a": x, "b": x.T}), label="named", python=True,
       instead=(TypeError,))  # fmt: skip
recipe("NamedArrays", lambda x: NamedArrays({"a": x}, {"k": "v"}), python=True)
recipe("NamedArrays.__init__", lambda x: x.__init__({}, {}), named, python=True)
recipe("NamedArrays.__getitem__", lambda x: x["a"], named, python=True)
recipe("NamedArrays.__iter__", list, named, python=True)
recipe("NamedArrays.__len__", len, named, python=True)
recipe("NamedArrays.__repr__", repr, named, python=True)
recipe("_native._over_buffer", lambda b: _native._over_buffer(b, "i2", (1, 2), (2, 1), 1),
       lambda: bytearray(9))  # fmt: skip
refused("_native._over_buffer", BufferError,
        lambda b: _native._over_buffer(b, "i2", (9,), None, 0),
        make=lambda: bytearray(9))  # fmt: skip
