"""The calls that from_dlpack() makes on arrays of JAX and tvm-ffi: the data is asked for first, and
the device only if there may be another than the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from native.corpus import FLOATS
from native.known_libraries import JAX, TVM, Imitation

import refarray

VALUES = [0.0, 1.0, 2.0]
DATA = ("__dlpack__", {"max_version": (1, 3)})
DEVICE = ("__dlpack_device__", {})
PLATFORM = ("platform", {})
#: How each library is asked for a device.
ASKS = {JAX: [PLATFORM], TVM: [DEVICE]}

# A namespace of its own: the default one may have learned of the real libraries.
xp = refarray.namespace(immutable=True)


@pytest.fixture(params=[JAX, TVM], ids=["jax", "tvm-ffi"])
def library(request: pytest.FixtureRequest) -> Iterator[Imitation]:
    with request.param.imported():
        yield request.param


@pytest.fixture
def answer(adv: Any) -> Any:
    return lambda **_: adv.make(data=FLOATS, versioned=True).capsule()


@pytest.mark.req("CONS-01")
def test_data_is_asked_for_first(library: Imitation, answer: Any) -> None:
    for _ in range(3):
        x = library.array(answer)
        assert xp.from_dlpack(x).tolist() == VALUES
        assert x.calls == [DATA]


@pytest.mark.req("CONS-01")
def test_only_for_both_of_the_library_s_own_methods(library: Imitation, answer: Any) -> None:
    """A subclass, or a class that borrows the methods, may do anything: its device comes first."""
    assert xp.from_dlpack(library.array(answer)).tolist() == VALUES

    class Exports(library.array):  # type: ignore[misc,name-defined]
        def __dlpack__(self, **keywords: Any) -> Any:
            return super().__dlpack__(**keywords)

    class Announces(library.array):  # type: ignore[misc,name-defined]
        def __dlpack_device__(self) -> Any:
            return super().__dlpack_device__()

    class Inherits(library.array): ...  # type: ignore[misc,name-defined]

    for kind, calls in (
        (Exports, [*ASKS[library], DATA]),
        (Announces, [DEVICE, DATA]),
        (Inherits, [DATA]),
    ):
        for _ in range(2):
            x = kind(answer)
            assert xp.from_dlpack(x).tolist() == VALUES
            assert x.calls == calls


def test_a_class_may_change(library: Imitation, answer: Any) -> None:
    class Changes(library.array):  # type: ignore[misc,name-defined]
        pass

    x = Changes(answer)
    assert xp.from_dlpack(x).tolist() == VALUES
    own = library.array.__dlpack__
    Changes.__dlpack__ = lambda self, **keywords: own(self, **keywords)  # type: ignore[method-assign]
    assert xp.from_dlpack(x).tolist() == VALUES
    del Changes.__dlpack__
    assert xp.from_dlpack(x).tolist() == VALUES
    assert x.calls == [DATA, *ASKS[library], DATA, DATA]


@pytest.mark.req("CONS-03")
@pytest.mark.parametrize("error", [BufferError, RuntimeError, ValueError, TypeError])
def test_a_refusal_is_asked_again_in_full(library: Imitation, error: type[Exception]) -> None:
    """The exception is that of the order that asks for the device first."""
    raised: list[Exception] = []

    def refuses(**_: Any) -> Any:
        raised.append(error(f"no {len(raised)}"))
        raise raised[-1]

    x = library.array(refuses)
    with pytest.raises(error, match="no"):
        xp.from_dlpack(x)
    retried = [("__dlpack__", {})] if error is TypeError else []
    assert x.calls == [DATA, *retried, *ASKS[library], DATA, *retried]
    x = library.array(refuses, device="nowhere", platform="tpu")
    with pytest.raises(TypeError, match="__dlpack_device__"):
        xp.from_dlpack(x)
    assert "__dlpack__" not in [name for name, _ in x.calls[1 + len(retried) :]]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_no_refusal_propagates(library: Imitation, error: type[BaseException]) -> None:
    def raises(**_: Any) -> Any:
        raise error

    x = library.array(raises)
    with pytest.raises(error):
        xp.from_dlpack(x)
    assert x.calls == [DATA]


@pytest.mark.req("TENS-09")
def test_a_bad_tensor_is_refused_once_and_freed(adv: Any, library: Imitation) -> None:
    """The ledger of tests/conftest.py counts the deleters of both tensors."""
    x = library.array(lambda **_: adv.make(data=FLOATS, versioned=True, ndim=-1).capsule())
    with pytest.raises(BufferError, match="ndim is -1"):
        xp.from_dlpack(x)
    assert x.calls == [DATA, *ASKS[library], DATA]
    x = library.array(lambda **_: "no capsule")
    with pytest.raises(TypeError, match="not a capsule"):
        xp.from_dlpack(x)


@pytest.mark.req("DEV-07")
def test_an_unusable_device_is_named_as_ever(adv: Any, library: Imitation) -> None:
    def answer(**_: Any) -> Any:
        return adv.make(data=FLOATS, versioned=True, device=(8, 0)).capsule()

    x = library.array(answer, device=(8, 0), platform="METAL")
    with pytest.raises(BufferError, match="the producer's device is .*kDLMetal"):
        xp.from_dlpack(x)
    assert x.calls == [DATA, *ASKS[library]] + ([DEVICE] if library is JAX else [])


@pytest.mark.req("COPY-04", "CONS-01")
def test_requests_ask_for_the_device_first(library: Imitation, answer: Any) -> None:
    for request in ({"copy": False}, {"device": refarray.Device("cpu")}):
        x = library.array(answer)
        xp.from_dlpack(x, **request)
        assert [name for name, _ in x.calls] == [ASKS[library][0][0], "__dlpack__"]
