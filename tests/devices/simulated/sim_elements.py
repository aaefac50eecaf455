"""Device elements as Python objects: tolist(), item() and repr() copy to the host after all work on
the array; and the columns of the manual's table of all ways out of the memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import fakegpu
import pytest
from capturing import unfinished
from helpers.ways_out import ELEMENTS, MODES, check, check_messages

import refarray as ra
from refarray import Stream, use_stream

PLACES = ["cuda:1", "rocm:0", "cuda_managed:0", "cuda_host", "rocm_host"]
#: Of the table in docs/interop.md.
COLUMNS = ["cuda_host", "cuda_managed:0", "cuda:0", "rocm:0"]


@pytest.fixture(autouse=True)
def one_line() -> Iterator[None]:
    """Prevents line breaks, whose position depends on the length of the device's name."""
    with ra.printoptions(linewidth=10_000):
        yield


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def both(values: Any, place: str, dtype: Any = None) -> tuple[ra.Array, ra.Array]:
    """The same array on the CPU and on `place`."""
    here = ra.asarray(values).astype(dtype) if dtype == "bool" else ra.asarray(values, dtype=dtype)
    return here, here.to_device(place)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64", "float4_e2m1fn",
              "float6_e2m3fn", "float32x4"]
)  # fmt: skip
def test_lists(place: str, dtype: str) -> None:
    values = [[[1] * 4 if "x4" in dtype else 1 for _ in range(6)] for _ in range(3)]
    here, there = both(values, place, dtype)
    for index in (slice(None), (slice(None, None, -2), slice(4, None, -3)), slice(3, None)):
        assert there[index].tolist() == here[index].tolist()
        assert repr(there[index]).replace(place, "cpu") == repr(here[index])
        assert str(there[index]) == str(here[index])
    assert there[2, 4].item() == here[2, 4].item()


def test_an_index_array_assigns_elements_from_a_device(place: str) -> None:
    here, there = both([5, 6], place)
    x = ra.zeros((3,), dtype=here.dtype)
    x[ra.asarray([2, 0])] = there
    assert x.tolist() == [6, 0, 5]


def test_numbers(place: str) -> None:
    there = ra.asarray([3, 0], device=place)
    assert (int(there[0]), float(there[0]), complex(there[0])) == (3, 3.0, 3 + 0j)
    assert bool(there[0]) and not bool(there[1])
    assert range(10)[there[0]] == 3
    assert ra.asarray([there[0], 7]).tolist() == [3, 7]
    assert ra.asarray([there, [1, 2]]).tolist() == [[3, 0], [1, 2]]
    assert there[:1].item() == 3
    with pytest.raises(TypeError, match="needs an array of ndim 0"):
        int(there)
    with pytest.raises(ValueError, match="exactly 1 element"):
        there.item()


@pytest.mark.parametrize("shape", [(2000,), (60, 70), (3, 20, 30, 2), (2,) * 12, (1, 5000), (0, 4)])
def test_large_arrays_show_their_edges(place: str, shape: tuple[int, ...]) -> None:
    """repr() copies only the elements that it shows."""
    here = ra.reshape(ra.arange(int(ra.zeros(shape).size), dtype="float64"), shape)
    there = here.to_device(place)
    for view in (
        lambda x: x,
        lambda x: x[::-1],
        lambda x: ra.permute_dims(x, (*range(1, x.ndim), 0)),
    ):
        assert repr(view(there)).replace(place, "cpu") == repr(view(here))
        assert str(view(there)) == str(view(here))
        assert view(there)._repr_html_().replace(place, "cpu") == view(here)._repr_html_()
    fakegpu.reset()
    repr(there)
    fetched = sum(record.get("bytes", 0) for record in fakegpu.trace() if "emcpy" in record["call"])
    assert fetched <= 8 * 1000 or shape == (2,) * 12


def test_reads_wait_for_unfinished_work(device: str) -> None:
    """The write is held: a read that does not wait sees other values."""
    reads: list[Callable[[ra.Array], object]] = [
        lambda x: x.tolist() == [1] * x.size,
        lambda x: repr(x).startswith("refarray.Array([1, 1, 1, "),
        lambda x: x[7].item() == 1 == int(x[8]) == float(x[9]),
    ]
    for read in reads:
        fakegpu.configure(order="latest")
        _, array = unfinished(device)
        fakegpu.run()
        with use_stream(Stream(device)):
            assert read(array)


FAULTS = {"cuda:0": "cuMemcpyDtoHAsync", "rocm:0": "hipMemcpyAsync"}


@pytest.mark.parametrize("device", FAULTS)
def test_repr_never_raises(device: str) -> None:
    array = ra.asarray([[1.0, 2.0]], device=device)
    end = f", shape=(1, 2), dtype=float64, device='{device}')"
    for show in (repr, str, lambda x: x._repr_html_().replace("&lt;", "<")):
        fakegpu.reset()
        fakegpu.fail(FAULTS[device], 1, 999)
        text = show(array)
        assert f"data on {device}: " in text and "copying memory failed with 999" in text
    fakegpu.reset()
    fakegpu.fail(FAULTS[device], 1, 999)
    assert repr(array).endswith(end)
    fakegpu.reset()
    assert repr(array) == f"refarray.Array([[1., 2.]]{end}"
    fakegpu.fail(FAULTS[device], 1, 999)
    with pytest.raises(ra.DriverError, match="copying memory failed with 999"):
        array.tolist()
    fakegpu.reset()


def test_bytes_and_views(place: str) -> None:
    x = ra.asarray([[1, 2, 3], [4, 5, 6]], dtype="int16", device=place)
    y = x.to_device("cpu").to_device(place)  # the copy need not be finished
    assert y.tobytes() == bytes([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0])
    assert y.T.tobytes() == y.tobytes("F") == bytes([1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0])
    view = x.view("uint8")
    assert (view.shape, view.device) == ((2, 6), place)
    view[0, 1] = 1
    assert x.to_device("cpu").tolist() == [[257, 2, 3], [4, 5, 6]]
    assert f"{x[0, 0]:x}" == "101" and round(x[0, 0], -1) == 260


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", COLUMNS)
def test_memory_of_devices(place: str, mode: str) -> None:
    owner = ra.asarray([3, 7, 7], device=place)
    check(place, mode, lambda space: space.from_dlpack(owner))


@pytest.mark.parametrize("place", COLUMNS)
def test_refusals_say_how_to_get_a_copy(place: str) -> None:
    check_messages(place, ra.asarray([3, 7, 7], device=place))


def test_functions_take_arrays_of_one_device(device: str) -> None:
    host = device.replace(":0", "_host")
    assert (ra.ones(3, device=host) + 1).tolist() == [2.0] * 3
    mask = ra.asarray([True, False, True], device=device)
    with pytest.raises(BufferError, match=f"indexing by a mask .* {device}"):
        ra.ones(3)[mask]
    with pytest.raises(ValueError, match=rf"arrays\[0\] is on {device}, arrays\[1\] on cpu"):
        ra.concat([mask, ra.zeros(3)])


@pytest.mark.parametrize("place", COLUMNS)
def test_a_forbidden_read_shows_no_values(place: str) -> None:
    x: Any = ra.asarray([3, 7, 7], device=place)
    for show in (repr, str):
        with ra.ledger(forbid="transfer") as ledger:
            assert (ELEMENTS in show(x)) == (place == "cuda_host")
        assert ledger.transfers == 0


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("place", COLUMNS)
def test_pickles_come_back_where_they_were(place: str, protocol: int) -> None:
    x = ra.asarray([[1, 2], [3, 4]], device=place)
    data = pickle.dumps(x.T.as_readonly(), protocol)
    with ra.ledger() as ledger:
        y = pickle.loads(data)
    assert (y.tolist(), y.readonly) == ([[1, 3], [2, 4]], True)
    assert (y.device, ledger.transfers) == (("cpu", 0) if place == "cuda_host" else (place, 1))


def test_a_pickle_of_a_device_that_fails() -> None:
    data = pickle.dumps(ra.asarray([1.0], device="cuda:0"))
    fakegpu.reset()
    with pytest.raises(BufferError, match="cuda:7"):
        pickle.loads(data.replace(b"cuda:0", b"cuda:7"))
