"""refarray's exchange table functions called with NULL pointers."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import refarray

OFFSETS = {"allocator": 16, "from_py": 24, "to_py": 32, "dltensor": 40, "stream": 48}
POINTER, INT = ctypes.c_void_p, ctypes.c_int


def function(adv: Any, name: str, *kinds: Any) -> Any:
    """PYFUNCTYPE keeps the GIL and raises the exception that the function sets."""
    address = adv.api(refarray.Array).members()["address"] + OFFSETS[name]
    pointer = ctypes.c_void_p.from_address(address).value
    return ctypes.PYFUNCTYPE(INT, *kinds)(pointer)


@pytest.mark.req("CAPI-09", "CAPI-11")
def test_null_output_raises(adv: Any) -> None:
    x = refarray.zeros(3)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "from_py", ctypes.py_object, POINTER)(x, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "to_py", POINTER, POINTER)(None, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "dltensor", ctypes.py_object, POINTER)(x, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "stream", INT, INT, POINTER)(1, 0, None)


@pytest.mark.req("CAPI-09", "CAPI-13")
def test_null_input_raises(adv: Any) -> None:
    """On failure the output is set to NULL (A-32)."""
    out = ctypes.c_void_p(0xDEAD0008)
    with pytest.raises(TypeError, match="not None"):
        function(adv, "from_py", POINTER, POINTER)(None, ctypes.addressof(out))
    assert out.value is None
    out.value = 0xDEAD0008
    with pytest.raises(ValueError, match="tensor is NULL"):
        function(adv, "to_py", POINTER, POINTER)(None, ctypes.addressof(out))
    assert out.value is None
    dltensor = (ctypes.c_uint64 * 6)()
    with pytest.raises(TypeError, match="not None"):
        function(adv, "dltensor", POINTER, POINTER)(None, ctypes.addressof(dltensor))


@pytest.mark.req("CAPI-09", "CAPI-18")
def test_interpreter_without_the_package_raises(adv: Any) -> None:
    """RuntimeError, because there is no array type; the caller still owns the tensor."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
    api.PyInterpreterState_GetDict.restype = ctypes.py_object
    known = api.PyInterpreterState_GetDict(api.PyInterpreterState_Get())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(known))  # GetDict returned a borrowed reference
    tensor = adv.make(data=bytes(16))
    module = known.pop("refarray._native")
    try:
        with pytest.raises(RuntimeError, match="not been imported in this interpreter"):
            adv.api(refarray.Array).to_py(tensor)
    finally:
        known["refarray._native"] = module
    assert tensor.deleter_calls == 0
    tensor.delete()
    assert adv.api(refarray.Array).to_py(adv.make(data=bytes(16))).shape == (3,)
