"""The live validator between a producer and a consumer: recorded calls, capsules and deleters, and
the rules that find broken requirements."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.spies import (
    VERSIONED,
    Consumer,
    Unchecked,
    broken,
    by_table,
    consuming,
    delete_twice,
    through,
)

import refarray as ra
from refarray.conformance import Outcome, _adversary, spy
from refarray.conformance.live_validator.rules import RULES
from refarray.conformance.live_validator.spy import Spy

pytestmark = pytest.mark.every_python

HERE = Path(__file__).resolve().parents[1]
TESTS_OF_RULES = ("test_spy.py", "test_trace.py")


# --- records


def test_a_clean_exchange_breaks_nothing() -> None:
    watched = through(ra.arange(6), ra.from_dlpack)
    assert not broken(watched)
    assert len(watched.findings) >= 17
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "call from_dlpack(x)"
    assert texts[1] == "calls __dlpack_device__()"
    assert texts[3] == "calls __dlpack__(max_version=(1, 3))"
    assert "renames it used_dltensor_versioned (was dltensor_versioned)" in texts
    assert texts[-1] == "calls the deleter, with the GIL"
    times = [step.nanoseconds for step in watched.timeline]
    assert times == sorted(times)


def test_a_tensor_is_deleted_if_its_second_capsule_finds_no_memory(adv: Any) -> None:
    deleted: list[bool] = []
    tensor = adv.make(deleter=lambda: deleted.append(True))
    capsule = _adversary.stand_in(tensor.capsule()).capsule
    adv.fail_allocations(False, 0, 1)
    try:
        capsule()
    except MemoryError:
        pass
    finally:
        failed = adv.stop_failing()[1]
    assert (failed, deleted) == (1, [True])


def test_keywords_are_forwarded_unchanged() -> None:
    watched = spy(ra.arange(3))
    watched.__dlpack__(stream=None, copy=True, max_version=(1, 0))
    assert watched.calls[0].keywords == {"stream": None, "copy": True, "max_version": (1, 0)}
    with pytest.raises(TypeError):
        watched.__dlpack__(colour="red")
    with pytest.raises(TypeError):
        watched.__dlpack__(None)
    assert watched.calls[2].arguments == (None,)


def test_the_data_is_shared() -> None:
    array = ra.zeros(3)
    taken = ra.from_dlpack(spy(array))
    taken[0] = 7
    assert array.tolist() == [7, 0, 0]


def test_the_thread_of_a_deleter_call_is_recorded() -> None:
    watched = through(ra.arange(3), consuming(lambda owned: owned.drop_in_thread(False)))
    last = next(step for step in watched.timeline if "deleter" in step.text)
    assert last.text == "calls the deleter, without the GIL"
    assert last.thread not in {thread.name for thread in threading.enumerate()}


def test_an_unconsumed_capsule_calls_the_producers_destructor() -> None:
    watched = spy(ra.arange(3))
    watched.__dlpack__(**VERSIONED)
    assert [event[0] for event in watched.calls[0].events()] == ["capsule", "destructor"]
    assert not broken(watched, "producer")


def test_the_tensor_lives_as_long_as_the_imported_array() -> None:
    watched = spy(ra.arange(3), table=False)
    with watched:
        taken = ra.from_dlpack(watched)
    assert not watched.calls[1].deletions()
    del taken
    assert len(watched.calls[1].deletions()) == 1


def test_exceptions_of_the_producer_are_propagated() -> None:
    class Refusing:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("refused")

    watched = spy(Refusing(), consumer="refarray")
    with pytest.raises(BufferError, match="refused"):
        watched.take(ra.from_dlpack)
    assert not broken(watched)
    assert any("raises BufferError: refused" in step.text for step in watched.timeline)

    def swallowing(x: Any) -> Any:
        x.__dlpack_device__()
        try:
            x.__dlpack__(max_version=(1, 3))
        except BufferError:
            raise RuntimeError("no") from None

    watched = spy(Refusing(), consumer="refarray")
    with pytest.raises(RuntimeError):
        watched.take(swallowing)
    assert broken(watched) == {"CONS-03": Outcome.FAIL}


def test_spy_raises_for_an_object_without_dlpack() -> None:
    with pytest.raises(TypeError, match="list has no __dlpack__ and no __dlpack_device__"):
        spy([1, 2])


def test_text_and_repr() -> None:
    text = str(through(ra.arange(3), ra.from_dlpack))
    assert text.splitlines()[0].split() == ["ms", "thread", "who", "what"]
    assert text.splitlines()[-1].endswith(" requirements judged, 0 broken")
    assert "refarray.Array: 0 calls" in repr(spy(ra.arange(3)))


# --- consumers that break a requirement


def write_flags(owned: Any) -> None:
    address = owned.leave()
    ctypes.c_uint64.from_address(address + 24).value = 1
    _adversary.adopt(address).drop()


def write_strides(owned: Any) -> None:
    address = owned.leave()
    strides = ctypes.c_void_p.from_address(address + 64).value
    ctypes.c_int64.from_address(strides or 0).value = 9
    _adversary.adopt(address).drop()


def deletes_early(x: Any) -> Any:
    x.__dlpack_device__()
    _adversary.take(x.__dlpack__(**VERSIONED)).drop()
    return x._array  # keeps the data alive; a real consumer would read freed memory


def not_renamed(x: Any) -> Any:
    x.__dlpack_device__()
    capsule = x.__dlpack__(**VERSIONED)
    owned = _adversary.take(capsule, rename=False, clear_destructor=True)
    del capsule
    return owned


def with_stream(x: Any) -> Any:
    x.__dlpack_device__()
    return _adversary.take(x.__dlpack__(stream=1, **VERSIONED))


def device_last(x: Any) -> Any:
    out = _adversary.take(x.__dlpack__(**VERSIONED))
    x.__dlpack_device__()
    return out


def asks_without_version(x: Any) -> Any:
    x.__dlpack_device__()
    return _adversary.take(x.__dlpack__())


@pytest.mark.parametrize(
    ("consumer", "id", "outcome"),
    [
        (consuming(delete_twice), "LIFE-03", Outcome.FAIL),
        (consuming(lambda owned: owned.leave()), "LIFE-03", Outcome.FAIL),
        (consuming(write_flags), "LIFE-19", Outcome.INFO),
        (consuming(write_strides), "LIFE-19", Outcome.INFO),
        (deletes_early, "CONS-12", Outcome.FAIL),
        (not_renamed, "LIFE-10", Outcome.FAIL),
        (device_last, "CONS-01", Outcome.INFO),
        (asks_without_version, "VERS-09", Outcome.WARN),
    ],
)
def test_a_broken_consumer_is_found(
    consumer: Consumer, id: str, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refarray.conformance.live_validator.spy.DELETER_SECONDS", 0.05)
    watched = through(ra.arange(3), consumer)
    assert broken(watched) == {id: outcome}
    (found,) = (f for f in watched.findings if f.id == id)
    assert found.role == "consumer" and found.observed and found.expected


def test_a_stream_for_cpu_data_is_found() -> None:
    watched = spy(Unchecked(), consumer="refarray")
    watched.take(with_stream)
    assert broken(watched) == {"CONS-08": Outcome.FAIL}


def test_a_missing_stream_for_gpu_data_is_found() -> None:
    watched = spy(Unchecked(device=(2, 0), fields_device=(2, 0)), consumer="refarray")
    watched.take(consuming(lambda _: None))
    assert broken(watched, "consumer") == {"STRM-01": Outcome.FAIL}


def test_a_copy_keyword_that_is_not_passed_is_found() -> None:
    watched = through(ra.arange(3), lambda x, copy: ra.from_dlpack(x), copy=True)
    assert broken(watched) == {"COPY-04": Outcome.FAIL}


def test_a_retry_after_a_buffer_error_is_found() -> None:
    class Refusing(Unchecked):
        def __dlpack__(self, **keywords: Any) -> Any:
            if keywords:
                raise BufferError("not so")
            return _adversary.make(versioned=False).capsule()

    def stubborn(x: Any) -> Any:
        x.__dlpack_device__()
        try:
            capsule = x.__dlpack__(**VERSIONED)
        except BufferError:
            capsule = x.__dlpack__()
        return _adversary.take(capsule)

    watched = spy(Refusing(), consumer="refarray")
    watched.take(stubborn)
    assert broken(watched) == {"CONS-04": Outcome.WARN}


# --- producers that break a requirement


def raising() -> None:
    raise ValueError("raised in the deleter")


@pytest.mark.parametrize(
    ("producer", "id"),
    [
        (Unchecked(name="dltensor_wrong"), "LIFE-06"),
        (Unchecked(device=[1, 0]), "DEV-01"),
        (Unchecked(device=(1, 1)), "DEV-03"),
        (Unchecked(shape=(0,), strides=(1,)), "TENS-03"),
        (Unchecked(shape=(3,), strides=None), "TENS-06"),
        (Unchecked(shape=None, ndim=1, strides=(1,)), "TENS-08"),
        (Unchecked(flags=8), "FLAG-01"),
        (Unchecked(versioned=False), "VERS-05"),
        (Unchecked(destructor=False), "LIFE-08"),
    ],
)
def test_a_broken_producer_is_found(producer: Unchecked, id: str) -> None:
    watched = spy(producer, producer="unchecked")
    watched.__dlpack_device__()
    watched.__dlpack__(**VERSIONED)
    assert list(broken(watched, "producer")) == [id]


def test_a_copy_without_the_flag_is_found() -> None:
    watched = spy(Unchecked())
    watched.__dlpack__(copy=True, **VERSIONED)
    watched.__dlpack__(copy=False, **VERSIONED)
    assert list(broken(watched, "producer")) == ["FLAG-03"]
    marked = spy(Unchecked(flags=2))
    marked.__dlpack__(copy=False, **VERSIONED)
    assert list(broken(marked, "producer")) == ["PROD-12"]


def test_a_versioned_struct_without_max_version_is_found() -> None:
    watched = spy(Unchecked())
    watched.__dlpack__()
    assert list(broken(watched, "producer")) == ["VERS-04"]


def test_a_producer_without_max_version_is_found() -> None:
    class Old(Unchecked):
        def __dlpack__(self, *, stream: Any = None) -> Any:
            return _adversary.make(versioned=False).capsule()

    watched = spy(Old(), consumer="refarray")
    watched.take(ra.from_dlpack)  # which retries without max_version
    assert broken(watched) == {"PROD-01": Outcome.FAIL}


def test_an_exception_left_by_the_deleter_is_found() -> None:
    watched = spy(Unchecked(deleter=raising))
    owned = _adversary.take(watched.__dlpack__(**VERSIONED))
    with pytest.raises(ValueError, match="raised in the deleter"):
        owned.drop()
    assert list(broken(watched, "producer")) == ["LIFE-15"]


def test_a_shape_changed_by_the_producer_is_found() -> None:
    class ChangesShape(Unchecked):
        def __dlpack__(self, **_: Any) -> Any:
            self.tensor = _adversary.make()
            return self.tensor.capsule()

    producer = ChangesShape()
    watched = spy(producer)
    owned = _adversary.take(watched.__dlpack__(**VERSIONED))
    producer.tensor.scramble()
    assert owned.fields()["shape"] == (3,)  # the consumer has a copy
    owned.drop()
    assert list(broken(watched, "producer")) == ["TENS-16"]


def test_one_tensor_in_two_capsules_is_found() -> None:
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )

    class Twice(Unchecked):
        def __init__(self) -> None:
            super().__init__()
            self.capsule = _adversary.make().capsule()
            self.managed = _adversary.inspect(self.capsule)["managed"]

        def __dlpack__(self, **_: Any) -> Any:
            return new(self.managed, b"dltensor_versioned", None)

    producer = Twice()
    watched = spy(producer)
    first = _adversary.take(watched.__dlpack__(**VERSIONED))
    second = _adversary.take(watched.__dlpack__(**VERSIONED))
    first.drop()
    second.drop()
    _adversary.rename(producer.capsule, "used_dltensor_versioned")
    assert list(broken(watched, "producer")) == ["LIFE-20"]


# --- the spy's C exchange table: calls through it are recorded and checked too


def test_requirements_broken_through_the_table_are_found() -> None:
    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: delete_twice(by_table(x).from_py(x)))
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}

    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: by_table(x).from_py(x).leave())
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}


def test_calls_of_dltensor_are_recorded() -> None:
    watched = spy(ra.arange(6, dtype="float32"))
    assert by_table(watched).dltensor(watched)["shape"] == (6,)
    watched = spy(ra.arange(6).as_readonly())
    with pytest.raises(BufferError, match="read-only"):
        by_table(watched).dltensor(watched)
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "calls the table's dltensor(x)"
    assert texts[1].startswith("raises BufferError: ") and "read-only" in texts[1]


def test_the_other_functions_are_those_of_the_real_table() -> None:
    offered, real = by_table(spy(ra.arange(3))), _adversary.api(ra.Array)
    given = _adversary.make(shape=(3,), data=bytes(12)).expect_deletes(1)
    assert type(offered.to_py(given)) is ra.Array
    assert offered.stream(1, 0) == real.stream(1, 0)
    members = {name: value for name, value in offered.members().items() if name != "address"}
    assert members == {name: real.members()[name] for name in members}


def test_a_spy_has_no_table_if_its_array_has_none() -> None:
    class Odd(Unchecked):
        __dlpack_c_exchange_api__ = 7

    for watched in (spy(Unchecked()), spy(Odd()), spy(ra.arange(3), table=False)):
        assert type(watched) is Spy and not hasattr(type(watched), "__dlpack_c_exchange_api__")
    assert type(spy(ra.arange(3))) is type(
        spy(ra.arange(4))
    )  # consumers may cache the table by type


def test_every_rule_has_a_test() -> None:
    texts = [(HERE / "kit" / name).read_text(encoding="utf-8") for name in TESTS_OF_RULES]
    assert not [name for name, *_ in RULES if not any(f'"{name}"' in text for text in texts)]
