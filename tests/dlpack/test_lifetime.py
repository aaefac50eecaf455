"""Lifetime: deleters that run once, anywhere, and disturb nothing; theirs under our care and ours
under theirs."""

from __future__ import annotations

import gc
import random
import sys
import threading
import weakref
from typing import Any

import pytest
from native.corpus import FLOATS
from native.producers import Recorder

import refarray

VALUES = [0.0, 1.0, 2.0]
BAD: dict[str, dict[str, Any]] = {
    "null-data": {"data": None},
    "dtype": {"dtype": (99, 8, 1)},
    "device": {"device": (99, 0), "dunder_device": (1, 0)},
    "major": {"version": (2, 0), "unmapped_body": True},
}


# --- their deleters ---


@pytest.mark.req("LIFE-03")
@pytest.mark.parametrize("versioned", [True, False])
def test_deleter_that_raises(adv: Any, unraisable: list[Any], versioned: bool) -> None:
    """Row 38: reported as unraisable, never to whoever dropped the array."""

    def refuse() -> None:
        raise OwnError("from a deleter")

    tensor = adv.make(data=FLOATS, versioned=versioned, deleter=refuse)
    array = refarray.from_dlpack(tensor)
    del array
    assert tensor.deleter_calls == 1
    assert unraisable == [(OwnError, "from a deleter")]


class OwnError(Exception):
    pass


@pytest.mark.req("LIFE-14", "LIFE-15")
@pytest.mark.parametrize("last", ["array", "view", "capsule", "legacy capsule"])
def test_deleter_that_raises_while_another_error_is_pending(
    adv: Any, unraisable: list[Any], last: str
) -> None:
    """Whatever holds the memory last: the pending exception stays pending, the deleter's is
    reported."""

    def refuse() -> None:
        raise OwnError("from a deleter")

    made_from: dict[str, Any] = {
        "array": lambda array: array,
        "view": lambda array: array[1:],
        "capsule": lambda array: array.__dlpack__(max_version=(1, 3)),
        "legacy capsule": lambda array: array.__dlpack__(),
    }
    dropped = [made_from[last](refarray.from_dlpack(adv.make(data=FLOATS, deleter=refuse)))]
    pending = KeyError("pending")
    assert adv.drop_pending(dropped, pending) is pending
    assert unraisable == [(OwnError, "from a deleter")]


@pytest.mark.req("LIFE-13")
@pytest.mark.parametrize("name", BAD)
def test_deleter_that_raises_on_an_error_path(adv: Any, unraisable: list[Any], name: str) -> None:
    """The import's own error wins; the deleter's is reported."""

    def refuse() -> None:
        raise OwnError("from a deleter")

    tensor = adv.make(deleter=refuse, **BAD[name])
    with pytest.raises(BufferError):
        refarray.from_dlpack(tensor)
    assert (tensor.deleter_calls, unraisable) == (1, [(OwnError, "from a deleter")])


@pytest.mark.req("LIFE-27", "LIFE-03")
@pytest.mark.parametrize("name", ["good", *BAD])
def test_deleter_that_comes_back(adv: Any, forked: Any, name: str) -> None:
    """Row 38: it imports, exports, collects garbage and starts a thread that does, while it
    runs."""

    def body() -> None:
        seen = []

        def work() -> None:
            inner = refarray.from_dlpack(adv.make(data=FLOATS))
            with pytest.raises(BufferError):
                refarray.from_dlpack(adv.make(data=None))
            seen.append(refarray.from_dlpack(inner).tolist())
            gc.collect()

        def return_to_us() -> None:
            work()
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        tensor = adv.make(deleter=return_to_us, **BAD.get(name, {"data": FLOATS}))
        if name in BAD:
            with pytest.raises(BufferError):
                refarray.from_dlpack(tensor)
        else:
            array = refarray.from_dlpack(tensor)
            del array
        assert (tensor.deleter_calls, seen) == (1, [VALUES, VALUES])

    forked(body)
    body()


@pytest.mark.req("LIFE-14", "LIFE-03")
@pytest.mark.parametrize(
    "what", ["array", "view", "their capsule", "our capsule", "our legacy capsule", "dtype"]
)
def test_drops_leave_the_pending_exception_alone(adv: Any, what: str) -> None:
    tensor = adv.make(data=FLOATS)
    if what == "their capsule":
        things = [tensor.capsule()]
    else:
        array = refarray.from_dlpack(tensor)
        things = [
            {
                "array": lambda: array,
                "view": lambda: array[1:],
                "our capsule": lambda: array.__dlpack__(max_version=(1, 3)),
                "our legacy capsule": lambda: array.__dlpack__(),
                "dtype": lambda: array.dtype,
            }[what]()
        ]
        del array
    pending = ValueError("pending")
    assert adv.drop_pending(things, pending) is pending
    assert tensor.deleter_calls == 1


@pytest.mark.req("LIFE-03", "LIFE-16")
def test_random_order(adv: Any) -> None:
    """Exports of one import, consumed or dropped in any order: the last of all gives the memory
    back."""
    choose = random.Random(7)
    for _ in range(50):
        tensor = adv.make(data=FLOATS)
        things: list[Any] = [refarray.from_dlpack(tensor)]
        for _ in range(8):
            array = next(thing for thing in things if type(thing) is refarray.Array)
            version = choose.choice([None, (1, 3)])
            things.append(
                choose.choice(
                    [
                        lambda a=array, v=version: a.__dlpack__(max_version=v),
                        lambda a=array, v=version: adv.take(a.__dlpack__(max_version=v)),
                        lambda a=array: refarray.from_dlpack(a),
                        lambda a=array: a[::-1],
                    ]
                )()
            )
        del array
        choose.shuffle(things)
        while things:
            assert tensor.deleter_calls == 0
            things.pop()
        assert tensor.deleter_calls == 1


@pytest.mark.req("LIFE-03")
def test_a_cycle_through_the_producer(adv: Any) -> None:
    """A producer that keeps the array made from it is collected, array and all."""
    tensor = adv.make(data=FLOATS)
    producer = Recorder(lambda **_: tensor.capsule())
    producer.array = refarray.from_dlpack(producer)  # type: ignore[attr-defined]
    gone = weakref.ref(producer)
    del producer
    gc.collect()
    assert gone() is None
    assert tensor.deleter_calls == 1


@pytest.mark.req("LIFE-13", "LIFE-03", "PROD-05")
@pytest.mark.parametrize(
    "way",
    [
        "import",
        "legacy",
        "old",
        "copy",
        "reject",
        "no_copy",
        "both_fail",
        "table",
        "to_py",
        "export",
    ],
)
def test_no_memory(isolated: Any, way: str) -> None:
    """Allocation after allocation fails: MemoryError or the right answer, and every tensor
    given back."""
    pytest.importorskip("_testcapi", reason="only test builds of CPython can make allocations fail")
    # LSan cannot look for leaks in a process whose allocations were made to fail.
    assert isolated("out_of_memory_exchange.py", way, leaks=True).endswith("survived\n")


@pytest.mark.req("LIFE-03", "CONS-02")
def test_a_producer_comes_apart_while_it_is_asked(adv: Any, forked: Any) -> None:
    """Its class loses both methods while the first one runs, the object its last other
    reference."""

    def body() -> None:
        tensor = adv.make(data=FLOATS)
        held: list[Any] = []

        class Falling:
            def __dlpack_device__(self) -> tuple[int, int]:
                held.clear()
                del Falling.__dlpack__, Falling.__dlpack_device__
                gc.collect()
                return (1, 0)

            def __dlpack__(self, **_: Any) -> Any:
                gc.collect()
                return tensor.capsule()

        held.append(Falling())
        gone = weakref.ref(held[0])
        array = refarray.from_dlpack(held[0])
        assert gone() is None
        assert (array.tolist(), tensor.deleter_calls) == (VALUES, 0)
        del array
        assert tensor.deleter_calls == 1

    forked(body)
    body()


# --- our deleters ---


@pytest.mark.req("LIFE-04")
@pytest.mark.parametrize("hold_gil", [True, False])
@pytest.mark.parametrize("version", [None, (1, 3)])
@pytest.mark.parametrize("copy", [None, True])
def test_native_thread_deletes(
    adv: Any, forked: Any, version: Any, copy: Any, hold_gil: bool
) -> None:
    """Our deleter needs no GIL: a native thread runs it while this one keeps the GIL."""

    def body() -> None:
        x = refarray.arange(3, dtype=refarray.float32)
        owned = adv.take(x.__dlpack__(max_version=version, copy=copy))
        if hold_gil:
            del x  # the last reference to the memory ends in that thread
        owned.drop_in_thread(hold_gil)

    forked(body)
    body()


@pytest.mark.req("LIFE-04", "LIFE-15", "LIFE-27")
def test_native_thread_deletes_what_python_owns(adv: Any, forked: Any) -> None:
    """Memory of a Python object is let go from a native thread, which takes the GIL for it."""

    class Exporter(bytearray):
        pass

    def body() -> None:
        exporter = Exporter(b"abcd")
        gone = weakref.ref(exporter)
        x = refarray.from_buffer(exporter)
        owned = adv.take(x.__dlpack__(max_version=(1, 3)))
        del x, exporter
        assert gone() is not None
        assert owned.read(4) == b"abcd"
        owned.drop_in_thread(False)
        assert gone() is None

    forked(body)
    body()


@pytest.mark.req("LIFE-04", "LIFE-27")
@pytest.mark.parametrize("last", ["array", "capsule", "refused import"])
def test_foreign_deleter_gives_up_the_gil_for_ours(adv: Any, forked: Any, last: str) -> None:
    """We call it with the GIL; it calls ours without, and ours must release a Python object."""

    class Exporter(bytearray):
        def __del__(self) -> None:
            released.append(sum(range(100)))

    released: list[int] = []

    def body() -> None:
        released.clear()
        ours = refarray.from_buffer(Exporter(b"abcd"))
        owned = adv.take(ours.__dlpack__(max_version=(1, 3)))
        del ours
        data = None if last == "refused import" else FLOATS
        tensor = adv.make(data=data, deleter=owned.drop_without_gil)
        if last == "refused import":
            with pytest.raises(BufferError):
                refarray.from_dlpack(tensor)
        else:
            array = refarray.from_dlpack(tensor)
            held = array if last == "array" else array.__dlpack__(max_version=(1, 3))
            del array
            assert released == []
            del held
        assert (tensor.deleter_calls, released) == (1, [4950])

    forked(body)
    body()


@pytest.mark.req("LIFE-15")
def test_deleter_of_ours_raises_nothing(adv: Any, unraisable: list[Any]) -> None:
    """A Python owner whose end raises: the caller of our deleter sees no error (`drop` would raise
    it)."""

    class Exporter(bytearray):
        def __del__(self) -> None:
            raise OwnError("from __del__")

    x = refarray.from_buffer(Exporter(b"abcd"))
    owned = adv.take(x.__dlpack__(max_version=(1, 3)))
    del x
    owned.drop()
    assert unraisable == [(OwnError, "from __del__")]


@pytest.mark.req("LIFE-24", "LIFE-20")
def test_threads(isolated: Any) -> None:
    """Four threads export and import one array, views of it and each other's capsules."""
    assert isolated("threads.py").endswith("balanced\n")


# --- a forked child ---


@pytest.mark.skipif(sys.platform != "linux", reason="os.fork and its exit status are used")
def test_forked_child_uses_arrays_of_its_parent(adv: Any, forked: Any) -> None:
    tensor = adv.make(data=FLOATS)
    array = refarray.from_dlpack(tensor)

    def body() -> None:
        assert refarray.from_dlpack(array).tolist() == VALUES
        assert array.copy().tolist() == VALUES

    forked(body)
    assert (array.tolist(), tensor.deleter_calls) == (VALUES, 0)
