"""The C table refarray._C_API, for calls through ctypes."""

from __future__ import annotations

import ctypes

import refarray

Address, Object = ctypes.c_void_p, ctypes.py_object


class Dtype(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class Table(ctypes.Structure):
    """RefarrayCApi of refarray/python/c_api.h."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("is_array", ctypes.PYFUNCTYPE(ctypes.c_int, Object)),
        ("empty", ctypes.PYFUNCTYPE(Object, Dtype, Device, ctypes.c_int32, Address)),
        ("from_tensor", ctypes.PYFUNCTYPE(Object, Address)),
        ("to_tensor", ctypes.PYFUNCTYPE(Address, Object)),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, Object, Address, Address)),
        ("from_object", ctypes.PYFUNCTYPE(Object, Object)),
        ("make_allocator", ctypes.PYFUNCTYPE(Object, Address)),
        ("use_allocator", ctypes.PYFUNCTYPE(Object, Object)),
        ("empty_from", ctypes.PYFUNCTYPE(Object, Object, Dtype, ctypes.c_int32, Address)),
    )


_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = Address, [Object, ctypes.c_char_p]
TABLE = Table.from_address(_address(refarray._C_API, b"refarray._C_API"))  # type: ignore[attr-defined]
