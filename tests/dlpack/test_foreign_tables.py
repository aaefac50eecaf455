"""Other libraries' exchange tables beside `__dlpack__`. tests/hostile has the invalid ones."""

from __future__ import annotations

import gc
import struct
import sysconfig
import weakref
from typing import Any

import pytest
from native.corpus import FLOATS
from native.producers import Recorder, foreign, table_only

import refarray
from refarray import _native

VALUES = [0.0, 1.0, 2.0]
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.mark.req("CONS-02")
@pytest.mark.parametrize("name", ["__dlpack__", "__dlpack_device__"])
def test_none_in_the_place_of_a_method_refuses_the_table_too(adv: Any, name: str) -> None:
    table = adv.table(from_py="give")
    out = type("Out", (), {"__dlpack_c_exchange_api__": table, name: None})()
    with pytest.raises(AttributeError, match="has no __dlpack__ and __dlpack_device__"):
        refarray.from_dlpack(out)
    with pytest.raises(TypeError):
        refarray.asarray(out)


@pytest.mark.req("CAPI-28", "CAPI-31")
def test_the_methods_decide_and_not_the_table(adv: Any) -> None:
    """A table may export what __dlpack__ refuses, as PyTorch's does, so it is not asked."""
    refused = BufferError("requires grad")

    def refuse(**_: Any) -> Any:
        raise refused

    thing = foreign(adv, adv.make(data=FLOATS), answer=refuse)
    adv.from_py_calls()
    for take in (refarray.from_dlpack, refarray.asarray):
        with pytest.raises(BufferError) as caught:
            take(thing)
        assert caught.value is refused
    assert adv.from_py_calls() == 0
    thing.answer = lambda **_: thing.tensor.capsule()
    assert refarray.from_dlpack(thing).tolist() == VALUES
    assert adv.from_py_calls() == 0


@pytest.mark.req("CAPI-03")
def test_methods_added_to_a_class_after_an_import_by_its_table_are_called(adv: Any) -> None:
    """And the table is used again when they are gone."""
    thing = table_only(adv, adv.make(data=FLOATS))
    first = refarray.from_dlpack(thing)
    kind, calls = type(thing), []

    def dlpack(self: Any, **_: Any) -> Any:
        calls.append("dlpack")
        return adv.make(data=FLOATS).capsule()

    kind.__dlpack__, kind.__dlpack_device__ = dlpack, lambda self: (1, 0)
    adv.from_py_calls()
    assert refarray.from_dlpack(thing).tolist() == VALUES
    assert (adv.from_py_calls(), calls) == (0, ["dlpack"])
    del kind.__dlpack__, kind.__dlpack_device__
    thing.tensor = adv.make(data=FLOATS)
    assert refarray.from_dlpack(thing).tolist() == first.tolist()
    assert adv.from_py_calls() == 1


@pytest.mark.req("CAPI-28", "COPY-04", "COPY-06")
@pytest.mark.parametrize(
    "given", [{"copy": True}, {"copy": False}, {"device": "cpu"}, {"max_version": (1, 0)}]
)
def test_import_with_keywords_bypasses_the_table(adv: Any, given: dict[str, Any]) -> None:
    """A table cannot carry copy, device or max_version."""
    tensor = adv.make(data=FLOATS)
    thing = foreign(adv, tensor)
    adv.from_py_calls()
    array = refarray.from_dlpack(thing, **given)
    assert array.tolist() == VALUES
    asked = {"device": "dl_device"}
    passed = {asked.get(name, name) for name in given}
    assert adv.from_py_calls() == 0 and passed <= set(thing.asked[0])
    array[0] = 7.0
    if given.get("copy"):
        assert tensor.deleter_calls == 1 or tensor.bytes()[:4] == FLOATS[:4]
    else:
        assert tensor.bytes()[:4] == struct.pack("f", 7.0)


@pytest.mark.req("CAPI-03", "CAPI-28")
def test_many_producer_types_are_kept_apart(adv: Any) -> None:
    """Nothing about one type is used for another, whatever their number and addresses."""
    np = pytest.importorskip("numpy")
    kinds: list[dict[str, Any]] = [{}, {"from_py": "null"}]
    things = [table_only(adv, None, adv.table(**kinds[number % 2])) for number in range(100)]
    for again in range(3):
        for number, thing in enumerate(things):
            thing.tensor = adv.make(shape=(1,), data=struct.pack("f", number))
            adv.from_py_calls()
            if number % 2 == 1:
                with pytest.raises(BufferError, match="no tensor"):
                    refarray.from_dlpack(thing)
            else:
                assert refarray.from_dlpack(thing).tolist() == [number]
            assert adv.from_py_calls() == 1
            assert refarray.from_dlpack(np.asarray([number, 0.5])).tolist() == [number, 0.5]
        plain = Recorder(lambda **_: adv.make(data=FLOATS).capsule())
        assert refarray.from_dlpack(plain).tolist() == VALUES, again


@pytest.mark.req("CAPI-03")
@pytest.mark.skipif(FREE_THREADED, reason="free-threaded CPython 3.13 never frees a class")
@pytest.mark.parametrize("by_table", [True, False])
def test_the_class_of_a_producer_can_be_collected(adv: Any, by_table: bool) -> None:
    kind = type(table_only(adv, None)) if by_table else type("Derived", (Recorder,), {})
    thing = object.__new__(kind)
    Recorder.__init__(thing, lambda **_: adv.make(data=FLOATS).capsule())
    for _ in range(3):
        thing.tensor = adv.make(data=FLOATS)
        assert refarray.from_dlpack(thing).tolist() == VALUES
    dead = weakref.ref(kind)
    del thing, kind
    gc.collect()
    assert dead() is None


@pytest.mark.req("CAPI-05")
def test_inspection_of_an_unknown_table_version_reads_the_header_only(adv: Any) -> None:
    """Inspection returns None without a table."""
    assert _native._inspect_exchange_api(int) is None
    assert tuple(_native._inspect_exchange_api(type(foreign(adv, None)))["version"]) == (1, 3)
    future = type(foreign(adv, None, adv.table(version=(2, 0), unmapped=True)))
    assert tuple(_native._inspect_exchange_api(future)["version"]) == (2, 0)


@pytest.mark.req("CAPI-28")
@pytest.mark.parametrize("dtype", [(2, 32, 1), (5, 64, 1)])
def test_type_with_only_an_exchange_table(adv: Any, dtype: Any) -> None:
    """Also complex data, which is imported through the methods where they exist."""

    class Only:
        __dlpack_c_exchange_api__ = adv.table().capsule()

        @property
        def tensor(self) -> Any:
            return adv.make(dtype=dtype, shape=(2,), data=FLOATS)

    class Meta(type):
        __dlpack_c_exchange_api__ = Only.__dlpack_c_exchange_api__

    class OfMeta(metaclass=Meta):
        tensor = Only.tensor

    for thing in (Only(), Only(), OfMeta()):
        found = refarray.from_dlpack(thing).tolist()
        assert found == ([0.0, 1.0] if dtype[0] == 2 else [1j, 2 + 3j])
