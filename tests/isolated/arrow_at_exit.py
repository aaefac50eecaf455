"""Calls the release callback of an exported Arrow array after the interpreter has ended."""

from __future__ import annotations

import ctypes
import sys

import refarray

SIZE, RELEASE = 80, 64  # of ArrowArray, and the offset of `release`
libc = ctypes.CDLL(None)
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype = ctypes.c_void_p
pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
libc.malloc.restype = ctypes.c_void_p
libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3

x = eval(sys.argv[1], {"refarray": refarray, "bytearray": bytearray})
schema, capsule = x.__arrow_c_array__()
address = pointer(capsule, b"arrow_array")
moved = libc.malloc(SIZE)
ctypes.memmove(moved, address, SIZE)
release = ctypes.c_void_p.from_address(address + RELEASE)
callback = release.value
release.value = None  # the consumer has moved the struct

# The C library runs these in reverse order when main() has returned, which is after Py_Finalize().
line = ctypes.create_string_buffer(b"released\n")
kept = libc.malloc(len(line))
ctypes.memmove(kept, line, len(line))
for block in (kept, moved):
    assert libc.__cxa_atexit(ctypes.cast(libc.free, ctypes.c_void_p), block, None) == 0
assert libc.__cxa_atexit(ctypes.cast(libc.puts, ctypes.c_void_p), kept, None) == 0
assert libc.__cxa_atexit(callback, moved, None) == 0
print("registered", flush=True)
