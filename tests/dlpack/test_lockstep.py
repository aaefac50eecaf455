"""Races of two threads over one object, in lockstep for thousands of rounds: truly parallel on a
free-threaded interpreter, otherwise in every order that the GIL allows."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from native.corpus import FLOATS

import refarray
from refarray import _native

ONE_WINNER = {("ok", "BufferError"), ("BufferError", "ok")}
EMPTIED = {("ok", "ok"), ("IndexError", "ok")}  # the other thread may have emptied the list first


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    count: int = request.config.getoption("--lockstep-rounds")
    return count


@pytest.fixture(autouse=True)
def tally(request: pytest.FixtureRequest, adv: Any) -> Any:
    """Every counted tensor that a test makes is deleted exactly once."""
    before = adv.tally()
    yield
    after = adv.tally()
    made, deleted = after["made"] - before["made"], after["deleted"] - before["deleted"]
    assert (deleted, after["deleted_again"]) == (made, 0)


def check(outcomes: dict[tuple[str, str], int], allowed: set[tuple[str, str]], rounds: int) -> None:
    assert set(outcomes) <= allowed, outcomes
    assert sum(outcomes.values()) == rounds


def fresh_module() -> Any:
    """A new instance of the extension module, with a fresh module state."""
    spec = importlib.util.spec_from_file_location("refarray._native", _native.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def our_module() -> Any:
    """Restores the package's module: C callers find the one that was imported last."""
    get_interpreter = ctypes.pythonapi.PyInterpreterState_Get
    get_interpreter.restype = ctypes.c_void_p
    get_dict = ctypes.pythonapi.PyInterpreterState_GetDict
    get_dict.argtypes, get_dict.restype = [ctypes.c_void_p], ctypes.c_void_p  # borrowed
    known = ctypes.cast(get_dict(get_interpreter()), ctypes.py_object).value
    before = known["refarray._native"]
    yield
    known["refarray._native"] = before


# --- one capsule, two consumers


@pytest.mark.req("LIFE-24", "LIFE-12", "LIFE-10", "LIFE-03")
@pytest.mark.parametrize("versioned", [True, False])
def test_one_capsule_is_imported_by_one_of_two_threads(
    adv: Any, rounds: int, versioned: bool
) -> None:
    """One thread gets the tensor, the other a BufferError; the deleter runs once."""
    take = refarray.from_capsule
    rounds *= 5  # the most important of these races
    outcomes = adv.lock_step(lambda: adv.counted(versioned), take, take, rounds)
    check(outcomes, ONE_WINNER, rounds)


class Cached:
    """A producer that returns the same capsule from every call."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule


@pytest.mark.req("LIFE-24", "LIFE-12", "CONS-11")
def test_a_cached_capsule_is_imported_by_one_of_two_threads(adv: Any, rounds: int) -> None:
    def make() -> Cached:
        return Cached(adv.counted(True))

    outcomes = adv.lock_step(make, refarray.from_dlpack, refarray.from_dlpack, rounds)
    check(outcomes, ONE_WINNER, rounds)


@pytest.mark.req("LIFE-24", "LIFE-08", "LIFE-09")
def test_import_of_a_capsule_races_with_its_destruction(adv: Any, rounds: int) -> None:
    outcomes = adv.lock_step(
        lambda: [adv.counted(True)],
        lambda cell: refarray.from_capsule(cell[0]),
        lambda cell: cell.clear(),
        rounds,
    )
    check(outcomes, EMPTIED, rounds)


@pytest.mark.req("LIFE-24")
def test_import_of_a_capsule_races_with_its_inspection(adv: Any, rounds: int) -> None:
    outcomes = adv.lock_step(
        lambda: adv.counted(True), refarray.from_capsule, _native._inspect_capsule, rounds
    )
    check(outcomes, {("ok", "ok"), ("ok", "ValueError")}, rounds)


# --- one array


def exported(array: Any) -> Any:
    return array.__dlpack__(max_version=(1, 3))


ACTIONS: dict[str, Callable[[Any], object]] = {
    "export": exported,
    "legacy export": lambda array: array.__dlpack__(),
    "import": refarray.from_dlpack,
    "round trip": lambda array: refarray.from_capsule(exported(array)),
    "view": lambda array: array[1:],
    "buffer": memoryview,
    "weakref": weakref.ref,
    "copy": refarray.copy,
    "repr": repr,
    "device": lambda array: array.__dlpack_device__(),
}


@pytest.mark.req("LIFE-24", "LIFE-20")
@pytest.mark.parametrize("second", ACTIONS)
def test_two_threads_use_one_array(adv: Any, rounds: int, second: str) -> None:
    """The array's storage is an import: its deleter runs once, whichever thread releases it
    last."""

    def make() -> Any:
        return refarray.from_capsule(adv.counted(True))

    outcomes = adv.lock_step(make, ACTIONS["round trip"], ACTIONS[second], rounds // 4)
    check(outcomes, {("ok", "ok")}, rounds // 4)


@pytest.mark.req("LIFE-24", "LIFE-16")
@pytest.mark.parametrize("first", ACTIONS)
def test_use_of_an_array_races_with_its_destruction(adv: Any, rounds: int, first: str) -> None:
    action = ACTIONS[first]
    outcomes = adv.lock_step(
        lambda: [refarray.from_capsule(adv.counted(True))],
        lambda cell: action(cell[0]),
        lambda cell: cell.clear(),
        rounds // 4,
    )
    check(outcomes, EMPTIED, rounds // 4)


@pytest.mark.req("LIFE-24", "LIFE-16")
def test_a_weak_reference_is_called_while_its_array_dies(adv: Any, rounds: int) -> None:
    def make() -> tuple[list[Any], Any]:
        array = refarray.from_capsule(adv.counted(True))
        return [array], weakref.ref(array)

    def ask(pair: tuple[list[Any], Any]) -> None:
        array = pair[1]()
        if array is not None:
            exported(array)

    outcomes = adv.lock_step(make, ask, lambda pair: pair[0].clear(), rounds)
    check(outcomes, {("ok", "ok")}, rounds)


@pytest.mark.req("LIFE-24", "LIFE-16")
def test_an_array_and_its_weak_references_die_together(adv: Any, rounds: int) -> None:
    def make() -> tuple[list[Any], list[Any]]:
        array = refarray.from_capsule(adv.counted(True))
        return [array], [weakref.ref(array), weakref.ref(array, lambda _: None)]

    outcomes = adv.lock_step(
        make, lambda pair: pair[0].clear(), lambda pair: pair[1].clear(), rounds
    )
    check(outcomes, {("ok", "ok")}, rounds)


@pytest.mark.req("LIFE-24", "CAPI-14")
def test_an_array_is_read_while_its_managed_tensor_is_deleted(adv: Any, rounds: int) -> None:
    """One thread runs our deleter, the other reads an array over the same storage."""

    def make() -> tuple[Any, Any]:
        array = refarray.from_capsule(adv.counted(True))
        return array, adv.take(exported(array))

    outcomes = adv.lock_step(
        make, lambda pair: pair[0].tolist(), lambda pair: pair[1].drop(), rounds // 4
    )
    check(outcomes, {("ok", "ok")}, rounds // 4)


# --- module state


@pytest.mark.req("LIFE-24", "DEV-01")
def test_the_device_enum_is_created_once(adv: Any) -> None:
    seen: list[Any] = []

    def ask(array: Any) -> None:
        seen.append(array.__dlpack_device__())

    outcomes = adv.lock_step(lambda: fresh_module().ones(1), ask, ask, 200)
    check(outcomes, {("ok", "ok")}, 200)
    assert len({type(device) for device, _ in seen}) == 1
    pairs = zip(seen[0::2], seen[1::2], strict=True)
    assert all(first is second for first, second in pairs), "two answers from one module"


@pytest.mark.req("LIFE-24", "CAPI-03")
def test_a_producer_type_is_cached_once(adv: Any) -> None:
    """Both threads are the first to show this producer type to a module."""

    def ask(module: Any) -> None:
        tensor = adv.make(data=FLOATS)
        assert module.from_dlpack(tensor).tolist() == [0.0, 1.0, 2.0]

    check(adv.lock_step(fresh_module, ask, ask, 200), {("ok", "ok")}, 200)


@pytest.mark.req("LIFE-24", "CONS-01")
def test_a_class_changes_while_it_is_looked_up(adv: Any, rounds: int) -> None:
    def make() -> Any:
        class Changing(Cached):
            __dlpack__ = Cached.__dlpack__

        return Changing(adv.counted(True))

    def change(producer: Any) -> None:
        del type(producer).__dlpack__
        type(producer).__dlpack_device__ = lambda self: (1, 0)

    outcomes = adv.lock_step(make, refarray.from_dlpack, change, rounds // 20)
    check(outcomes, {("ok", "ok")}, rounds // 20)


@pytest.mark.req("LIFE-24", "CAPI-04")
def test_the_module_is_reimported_during_a_c_call(adv: Any) -> None:
    """The table looks up the module that was imported last, which may be replaced meanwhile."""
    api = adv.api(refarray.Array)

    def call(_: object) -> None:
        array = api.to_py(adv.make(data=FLOATS))
        assert array.tolist() == [0.0, 1.0, 2.0]

    outcomes = adv.lock_step(object, call, lambda _: fresh_module(), 100)
    check(outcomes, {("ok", "ok")}, 100)


# --- the test harness itself


def test_lock_step_detects_two_winners(adv: Any) -> None:
    """A consumer that does not rename the capsule lets both threads win, without any race."""

    def take_without_renaming(capsule: Any) -> None:
        adv.take(capsule, rename=False).leave()

    outcomes = adv.lock_step(
        lambda: adv.counted(True), take_without_renaming, take_without_renaming, 10
    )
    assert outcomes == {("ok", "ok"): 10}


def test_lock_step_propagates_exceptions(adv: Any) -> None:
    def fail() -> None:
        raise KeyError("made nothing")

    with pytest.raises(KeyError, match="made nothing"):
        adv.lock_step(fail, id, id, 10)


@pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="objects are immortal without a GIL only",
)
def test_shared_objects_are_immortal() -> None:
    """Otherwise threads with separate arrays would contend for the reference counts of their
    types."""
    x = refarray.ones(1)
    shared = [type(x), type(x.dtype), type(x.device), x.dtype, x.device, x.__dlpack_device__()]
    assert [sys.getrefcount(it) for it in shared] == [sys.getrefcount(None)] * len(shared)
