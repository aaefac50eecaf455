"""Lifetime: every deleter runs once, on any thread, and leaves pending exceptions alone."""

from __future__ import annotations

import gc
import random
import sys
import threading
import weakref
from typing import Any

import pytest
from helpers.cases import run_each, words
from native.corpus import FLOATS
from native.producers import Recorder

import refarray

VALUES = [0.0, 1.0, 2.0]


# --- foreign deleters ---


class OwnError(Exception):
    pass


def raise_error() -> None:
    raise OwnError("from a deleter")


@pytest.mark.req("LIFE-14", "LIFE-15")
@pytest.mark.parametrize("last", ["array", "view", "capsule", "legacy capsule"])
def test_exception_of_a_deleter_leaves_the_pending_one(
    adv: Any, unraisable: list[Any], last: str
) -> None:
    """The pending exception stays; the deleter's goes to the unraisable hook."""

    made_from: dict[str, Any] = {
        "array": lambda array: array,
        "view": lambda array: array[1:],
        "capsule": lambda array: array.__dlpack__(max_version=(1, 3)),
        "legacy capsule": lambda array: array.__dlpack__(),
    }
    dropped = [made_from[last](refarray.from_dlpack(adv.make(data=FLOATS, deleter=raise_error)))]
    pending = KeyError("pending")
    assert adv.drop_pending(dropped, pending) is pending
    assert unraisable == [(OwnError, "from a deleter")]


@pytest.mark.req("LIFE-14", "LIFE-03")
@run_each("what", ["array", "view", "their capsule", "our capsule", "our legacy capsule", "dtype"])
def test_drops_keep_the_pending_exception(adv: Any, what: str) -> None:
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
def test_memory_is_released_with_the_last_export_in_any_order(adv: Any) -> None:
    """Exports of one import, consumed or dropped in random order."""
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
def test_reference_cycle_through_the_producer_is_collected(adv: Any) -> None:
    """A producer that keeps the array imported from it."""
    tensor = adv.make(data=FLOATS)
    producer = Recorder(lambda **_: tensor.capsule())
    producer.array = refarray.from_dlpack(producer)  # type: ignore[attr-defined]
    reference = weakref.ref(producer)
    del producer
    gc.collect()
    assert reference() is None
    assert tensor.deleter_calls == 1


@pytest.mark.req("LIFE-13", "LIFE-03", "PROD-05")
@pytest.mark.parametrize(
    "scenario",
    words("import legacy old copy reject no_copy both_fail table to_py export"),
)
def test_exchange_survives_allocation_failures(isolated: Any, scenario: str) -> None:
    """With each allocation failing in turn: MemoryError or the right result, and no leaked
    tensor."""
    pytest.importorskip("_testcapi", reason="only test builds of CPython can make allocations fail")
    # LSan does not work in a process whose allocations were made to fail.
    out = isolated("out_of_memory_scenarios.py", "dlpack", scenario, leaks=True)
    assert out.endswith("survived\n")


@pytest.mark.req("LIFE-03", "CONS-02")
def test_producer_deletes_its_methods_during_the_import(adv: Any, forked: Any) -> None:
    """The first method deletes both methods of the class and the last other reference to the
    producer."""

    def body() -> None:
        tensor = adv.make(data=FLOATS)
        held: list[Any] = []

        class SelfDeleting:
            def __dlpack_device__(self) -> tuple[int, int]:
                held.clear()
                del SelfDeleting.__dlpack__, SelfDeleting.__dlpack_device__
                gc.collect()
                return (1, 0)

            def __dlpack__(self, **_: Any) -> Any:
                gc.collect()
                return tensor.capsule()

        held.append(SelfDeleting())
        reference = weakref.ref(held[0])
        array = refarray.from_dlpack(held[0])
        assert reference() is None
        assert (array.tolist(), tensor.deleter_calls) == (VALUES, 0)
        del array
        assert tensor.deleter_calls == 1

    forked(body)
    body()


# --- refarray's deleters ---


@pytest.mark.req("LIFE-04")
@pytest.mark.parametrize("hold_gil", [True, False])
@pytest.mark.parametrize("version", [None, (1, 3)])
@pytest.mark.parametrize("copy", [None, True])
def test_native_thread_runs_our_deleter_without_the_gil(
    adv: Any, forked: Any, version: Any, copy: Any, hold_gil: bool
) -> None:
    """The deleter needs no GIL: a native thread runs it while this thread holds the GIL."""

    def body() -> None:
        x = refarray.arange(3, dtype=refarray.float32)
        owned = adv.take(x.__dlpack__(max_version=version, copy=copy))
        if hold_gil:
            del x  # so that the native thread drops the last reference to the memory
        owned.drop_in_thread(hold_gil)

    forked(body)
    body()


@pytest.mark.req("LIFE-04", "LIFE-15", "LIFE-27")
def test_native_thread_releases_a_python_owner(adv: Any, forked: Any) -> None:
    """The deleter acquires the GIL to release memory owned by a Python object."""

    class Exporter(bytearray):
        pass

    def body() -> None:
        exporter = Exporter(b"abcd")
        reference = weakref.ref(exporter)
        x = refarray.from_buffer(exporter)
        owned = adv.take(x.__dlpack__(max_version=(1, 3)))
        del x, exporter
        assert reference() is not None
        assert owned.read(4) == b"abcd"
        owned.drop_in_thread(False)
        assert reference() is None

    forked(body)
    body()


@pytest.mark.req("LIFE-04")
def test_native_thread_waits_for_the_thread_that_holds_the_gil(adv: Any, forked: Any) -> None:
    """Releasing a Python owner from a native thread while other threads run Python code."""

    class Exporter(bytearray):
        def __del__(self) -> None:
            released.append(sum(range(1000)))

    released: list[int] = []

    def body() -> None:
        done = threading.Event()

        def spin() -> None:
            while not done.is_set():
                sum(range(100))

        threads = [threading.Thread(target=spin) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            array = refarray.from_buffer(Exporter(b"abcd"))
            owned = adv.take(array.__dlpack__(max_version=(1, 3)))
            del array
            owned.drop_in_thread(False)
        done.set()
        for thread in threads:
            thread.join()
        assert released == [499500] * 50

    forked(body)


@pytest.mark.req("LIFE-14")
def test_our_tensor_drops_a_foreign_one_while_an_exception_is_pending(
    adv: Any, unraisable: list[Any]
) -> None:
    """Our exported tensor is the last holder of the foreign memory; the foreign deleter runs Python
    code, which must not see the exception, and leaves one of its own."""
    seen: list[Any] = []

    def deleter() -> None:
        seen.append(sys.exc_info()[1])
        raise KeyError("of the deleter")

    tensor = adv.make(data=FLOATS, deleter=deleter)
    array = refarray.from_dlpack(tensor)
    held = [adv.take(array.__dlpack__(max_version=(1, 3)))]
    del array
    pending = KeyError("pending")
    assert adv.drop_pending(held, pending) is pending
    assert (tensor.deleter_calls, seen) == (1, [None])
    assert unraisable == [(KeyError, "'of the deleter'")]


@pytest.mark.parametrize("stack", [0, 1 << 18])
@pytest.mark.parametrize(
    "kind",
    [
        *("buffer", "memoryview", "readonly", "pickle_buffer", "pickle", "array_interface"),
        *("interface_object", "deleter", "mixed"),
    ],
)
def test_a_long_chain_of_holders_is_dropped(isolated: Any, kind: str, stack: int) -> None:
    """100,000 arrays, each of which keeps the one before alive, without recursion."""
    assert isolated("stack_use.py", "chain", kind, "100000", str(stack)) == "built\ndropped\n"


@pytest.mark.req("LIFE-04", "LIFE-27")
@pytest.mark.parametrize("last", ["array", "capsule", "refused import"])
def test_foreign_deleter_calls_ours_without_the_gil(adv: Any, forked: Any, last: str) -> None:
    """refarray calls the foreign deleter with the GIL; it calls ours without, which then has to
    release a Python object."""

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
def test_our_deleter_does_not_raise(adv: Any, unraisable: list[Any]) -> None:
    """The memory's Python owner raises in __del__: the caller of the deleter sees no exception
    (`drop` would raise it)."""

    class Exporter(bytearray):
        def __del__(self) -> None:
            raise OwnError("from __del__")

    x = refarray.from_buffer(Exporter(b"abcd"))
    owned = adv.take(x.__dlpack__(max_version=(1, 3)))
    del x
    owned.drop()
    assert unraisable == [(OwnError, "from __del__")]


@pytest.mark.req("LIFE-24", "LIFE-20")
def test_threads_share_arrays_and_exchange_capsules(isolated: Any) -> None:
    """Four threads export and import an array, its views and each other's capsules."""
    assert isolated("threads.py").endswith("balanced\n")


# --- a forked child ---


@pytest.mark.skipif(sys.platform != "linux", reason="os.fork and its exit status are used")
def test_forked_child_can_use_its_parents_arrays(adv: Any, forked: Any) -> None:
    tensor = adv.make(data=FLOATS)
    array = refarray.from_dlpack(tensor)

    def body() -> None:
        assert refarray.from_dlpack(array).tolist() == VALUES
        assert array.copy().tolist() == VALUES

    forked(body)
    assert (array.tolist(), tensor.deleter_calls) == (VALUES, 0)
