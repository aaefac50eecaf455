"""PyTorch as producer and consumer, over its C exchange API and over the Python protocol."""

from __future__ import annotations

import array
import gc
import signal
import weakref
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import cases, run_each
from helpers.processes import python

import refarray as ra
import refarray.shared as shared
from refarray import _native

from . import grid, limits

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning"),
]

# PyTorch 2.13 has no negative strides: its tensors cannot hold them and its importer aborts.
POSITIVE = [name for name, layout in grid.LAYOUTS.items() if not layout.negative]
KEYWORDS = ({}, {"max_version": grid.MAX_VERSION}, {"max_version": (0, 8)}, {"copy": True})
NEGATIVE = [name for name, layout in grid.LAYOUTS.items() if layout.negative]
HELD = [
    name
    for name in (*grid.DTYPES, *grid.NARROW)
    if limits.find("torch", "to", f"dtype:{name}") is None
]
WRITABLE = [
    name for name in POSITIVE if not (name.startswith("empty") or grid.LAYOUTS[name].broadcast)
]


def theirs(torch: ModuleType, dtype: str, layout: str = "flat") -> Any:
    xp = SimpleNamespace(
        reshape=torch.reshape, permute_dims=torch.permute, broadcast_to=torch.broadcast_to
    )
    flat = torch.tensor(grid.values(dtype)).to(getattr(torch, dtype))
    return grid.LAYOUTS[layout].build(xp, flat)


def imports(tensor: Any) -> dict[str, Any]:
    """The same tensor imported through each protocol; all must give the same array."""
    return {
        "exchange API": ra.from_dlpack(tensor),
        "protocol": ra.from_dlpack(tensor, max_version=grid.MAX_VERSION),
        "legacy": ra.from_dlpack(tensor, max_version=(0, 8)),
        "hidden API": ra.from_dlpack(grid.Protocol(tensor)),
    }


@run_each("layout", POSITIVE)
@run_each("dtype", grid.DTYPES)
def test_torch_reads_ours(torch: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    result = torch.from_dlpack(source)
    assert result.dtype == getattr(torch, dtype)
    assert tuple(result.shape) == source.shape
    assert result.tolist() == grid.expected(dtype, layout)
    if source.size:
        assert result.data_ptr() == grid.address(source)
        assert result.stride() == source.strides


@run_each("dtype", grid.NARROW)
def test_torch_reads_our_narrow_dtypes(torch: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype)
    facets = (f"dtype:{dtype}",)
    result = limits.attempt("torch", "to", facets, lambda: torch.from_dlpack(source))
    if result is not None:
        assert result.dtype == getattr(torch, dtype)
        assert result.tolist() == grid.expected(dtype)
        assert result.data_ptr() == grid.address(source)


@pytest.mark.parametrize("layout", NEGATIVE)
@pytest.mark.quirk("torch-aborts-on-negative-strides")
def test_torch_aborts_on_negative_strides(layout: str) -> None:
    """PyTorch 2.13: its importer aborts the process, for data of any producer."""
    build = {"reversed": "x[::-1]", "reversed-rows": "x.reshape((4, 6))[::-1, 1::2]"}[layout]
    for setup in (
        "import numpy as np; x = np.arange(24.)",
        "import refarray; x = refarray.arange(24.0)",
    ):
        code = f"import torch; {setup}; torch.from_dlpack({build})"
        assert python("-c", code).returncode == -signal.SIGABRT


@run_each("layout", POSITIVE)
@run_each("dtype", HELD)
def test_every_protocol_reads_torch_alike(torch: ModuleType, dtype: str, layout: str) -> None:
    origin = theirs(torch, dtype, layout)
    with cases() as case:
        for route, result in imports(origin).items():
            with case(route):
                grid.check_import(result, dtype, layout, origin.data_ptr(), origin.stride())
                assert not result.readonly


def test_torchs_packed_float4_keeps_its_two_lanes(torch: ModuleType) -> None:
    origin = torch.arange(8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    for route, result in imports(origin).items():
        assert str(result.dtype) == "float4_e2m1fnx2", route
        assert result.shape == (8,), route
        assert grid.address(result) == origin.data_ptr(), route
        assert torch.from_dlpack(result).dtype == torch.float4_e2m1fn_x2, route


@run_each("layout", WRITABLE)
@run_each("dtype", HELD)
def test_writes_are_seen_on_both_sides(torch: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    grid.assert_writes_seen(source, torch.from_dlpack(source), dtype)
    origin = theirs(torch, dtype, layout)
    for result in imports(origin).values():
        grid.assert_writes_seen(origin, result, dtype)


@run_each("layout", WRITABLE)
def test_copy_true_is_independent_and_copy_false_aliases(torch: ModuleType, layout: str) -> None:
    source = grid.ours("float64", layout)
    grid.assert_independent(source, torch.from_dlpack(source, copy=True), "float64")
    grid.assert_writes_seen(source, torch.from_dlpack(source, copy=False), "float64")
    origin = theirs(torch, "float64", layout)
    for producer in (origin, grid.Protocol(origin)):
        grid.assert_independent(origin, ra.from_dlpack(producer, copy=True), "float64")
        grid.assert_writes_seen(origin, ra.from_dlpack(producer, copy=False), "float64")
    grid.assert_independent(
        origin, ra.from_dlpack(origin, copy=True, max_version=grid.MAX_VERSION), "float64"
    )


@pytest.mark.quirk("torch-ignores-read-only")
def test_torch_ignores_read_only(torch: ModuleType) -> None:
    """PyTorch 2.13 imports a tensor with the READ_ONLY flag as writable."""
    source = grid.ours("float32").as_readonly()
    assert grid.info(source)["flags"] & 1 == 1
    result = torch.from_dlpack(source)
    result[0] = 7.0
    assert source[0].item() == 7.0


def test_read_only_is_refused_to_the_legacy_entry_of_torch(torch: ModuleType) -> None:
    with pytest.raises(BufferError):
        torch.utils.dlpack.from_dlpack(grid.ours("float32").as_readonly().__dlpack__())


@pytest.mark.parametrize("route", ["exchange API", "protocol", "legacy", "hidden API"])
def test_torchs_data_outlives_its_tensor(torch: ModuleType, route: str) -> None:
    view = imports(theirs(torch, "int64"))[route][2:]
    grid.check_outlives(view.tolist, 2, lambda: torch.zeros(24, dtype=torch.int64))


def test_torchs_storage_is_released_with_our_last_view(torch: ModuleType) -> None:
    owner = np.arange(24)
    died = weakref.ref(owner)
    held = [array[1:] for array in imports(torch.from_numpy(owner)).values()]
    del owner
    gc.collect()
    while held:
        assert died() is not None
        assert held.pop().tolist() == grid.values("int64")[1:]
        gc.collect()
    assert died() is None


def test_our_data_outlives_our_array_in_torch(torch: ModuleType) -> None:
    grid.check_outlives(torch.from_dlpack(grid.ours("int64"))[2:].tolist, 2)


@run_each("dtype", ["complex32", "complex64", "complex128"])
@run_each("keywords", KEYWORDS)
@pytest.mark.quirk("torch-exchange-api-conj")
def test_conjugated_tensors_are_refused(
    torch: ModuleType, dtype: str, keywords: dict[str, Any]
) -> None:
    """PyTorch's exchange API would export them unconjugated; its Python protocol refuses them."""
    lazy = theirs(torch, dtype).conj()
    assert lazy.is_conj()
    unconjugated = _native._from_exchange_api(lazy)
    assert unconjugated.tolist() == grid.values(dtype), (
        "PyTorch's table is right now: trust it again"
    )
    for entry in (ra.from_dlpack, lambda x, **_: ra.asarray(x)):
        with pytest.raises(BufferError, match="conjugate"):
            entry(lazy, **keywords)
    right = [value.conjugate() for value in grid.values(dtype)]
    assert ra.from_dlpack(lazy.resolve_conj(), **keywords).tolist() == right


@pytest.mark.parametrize(
    "make",
    [
        lambda torch: torch._neg_view(torch.tensor([1.0, 2.0])),
        lambda torch: torch.tensor([-1j, -2j]).conj().imag,
    ],
    ids=["neg-view", "imag-of-conj"],
)
@pytest.mark.quirk("torch-exports-negated-wrong")
def test_torch_exports_negated_tensors_with_the_wrong_sign(torch: ModuleType, make: Any) -> None:
    """PyTorch 2.13 ignores the lazy sign in its methods and its exchange table, for every consumer.

    Call `tensor.resolve_neg()` before the exchange. This test fails once PyTorch raises instead.
    """
    lazy = make(torch)
    assert lazy.is_neg()
    right = lazy.tolist()
    wrong = [-value for value in right]
    assert torch.from_dlpack(grid.Protocol(lazy)).tolist() == wrong
    assert [result.tolist() for result in imports(lazy).values()] == [wrong] * 4
    assert ra.from_dlpack(lazy.resolve_neg()).tolist() == right


def refusing(torch: ModuleType, base: type, error: BaseException) -> Any:
    """A tensor whose class intercepts __dlpack__, without a method of its own."""

    def intercept(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in ("__dlpack__", "__dlpack_device__"):
            raise error
        return super(kind, cls).__torch_function__(func, types, args, kwargs or {})

    kind: Any = type("Refusing", (base,), {"__torch_function__": classmethod(intercept)})
    return torch.ones(2).as_subclass(kind)


# What PyTorch 2.13's exchange table exports and Tensor.__dlpack__ refuses.
WITHHELD: dict[str, tuple[Callable[[ModuleType], Any], type[BaseException], str]] = {
    "leaf": (lambda t: t.ones(2, requires_grad=True), BufferError, "gradient"),
    "parameter": (lambda t: t.nn.Parameter(t.ones(2)), BufferError, "gradient"),
    "result": (lambda t: t.ones(2, requires_grad=True) * 2, BufferError, "gradient"),
    "view": (lambda t: t.ones(2, requires_grad=True)[1:], BufferError, "gradient"),
    "subclass": (
        lambda t: t.ones(2, requires_grad=True).as_subclass(type("Sub", (t.Tensor,), {})),
        BufferError,
        "gradient",
    ),
    "complex": (
        lambda t: t.ones(2, dtype=t.complex64, requires_grad=True).conj(),
        BufferError,
        "gradient",
    ),
    "conjugated": (lambda t: t.ones(2, dtype=t.complex64).conj(), BufferError, "conjugate"),
    "uninitialized": (
        lambda t: t.nn.parameter.UninitializedParameter(requires_grad=False),
        ValueError,
        "uninitialized",
    ),
    "intercepted": (
        lambda t: refusing(t, t.Tensor, PermissionError("not from here")),
        PermissionError,
        "not from here",
    ),
    "override": (
        lambda t: t.ones(2).as_subclass(
            type("Own", (t.Tensor,), {"__dlpack__": lambda self, **_: 1 / 0})
        ),
        ZeroDivisionError,
        "division",
    ),
    "sparse": (lambda t: t.eye(3).to_sparse(), BufferError, "strided"),
}


@run_each("name", WITHHELD)
@pytest.mark.req("CAPI-31")
def test_tensors_that_the_method_refuses_are_refused(torch: ModuleType, name: str) -> None:
    """PyTorch's table exports most of them: the same error without keywords and with them."""
    make, error, text = WITHHELD[name]
    tensor = make(torch)
    for keywords in ({}, *KEYWORDS[1:]):
        with pytest.raises(error, match=text):
            ra.from_dlpack(tensor, **keywords)


def test_tensors_with_gradients_can_be_detached(torch: ModuleType) -> None:
    tensor = torch.ones(2, requires_grad=True)
    for keywords in KEYWORDS:
        assert ra.from_dlpack(tensor.detach(), **keywords).tolist() == [1.0, 1.0]
    assert grid.address(ra.from_dlpack(tensor.detach())) == tensor.data_ptr()
    with torch.no_grad(), pytest.raises(BufferError, match="gradient"):
        ra.from_dlpack(tensor)


def test_a_torch_function_mode_intercepts_the_export(torch: ModuleType) -> None:
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            if func is torch.Tensor.__dlpack__:
                raise PermissionError("not here")
            return func(*args, **(kwargs or {}))

    tensor = torch.ones(2)
    with Mode(), pytest.raises(PermissionError, match="not here"):
        ra.from_dlpack(tensor)
    assert ra.from_dlpack(tensor).tolist() == [1.0, 1.0]


def test_a_method_set_on_tensor_later_is_called(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import functools

    tensor, original = torch.ones(2), torch.Tensor.__dlpack__
    assert ra.from_dlpack(tensor).tolist() == [1.0, 1.0]
    calls = []

    @functools.wraps(original)
    def method(self: Any, **keywords: Any) -> Any:
        calls.append(keywords)
        return original(self, **keywords)

    monkeypatch.setattr(torch.Tensor, "__dlpack__", method)
    assert ra.from_dlpack(tensor).tolist() == [1.0, 1.0]
    assert calls == [{"max_version": (1, 3)}]


@pytest.mark.req("CONS-01")
def test_tensors_are_asked_by_their_methods(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device once, then the data; PyTorch's table exports what the methods refuse."""
    calls = []

    def record(name: str) -> None:
        own = getattr(torch.Tensor, name)

        def method(self: Any, **keywords: Any) -> Any:
            calls.append(name)
            return own(self, **keywords)

        monkeypatch.setattr(torch.Tensor, name, method)

    record("__dlpack__")
    record("__dlpack_device__")
    for tensor in (torch.ones(2), torch.nn.Parameter(torch.ones(2), requires_grad=False)):
        calls.clear()
        assert ra.from_dlpack(tensor).tolist() == [1.0, 1.0]
        assert calls == ["__dlpack_device__", "__dlpack__"]


@pytest.mark.parametrize("keywords", KEYWORDS[:3])
@pytest.mark.quirk("torch-zero-tensor-null")
def test_the_zero_tensor_is_refused(torch: ModuleType, keywords: dict[str, Any]) -> None:
    """PyTorch exports it with a NULL pointer and three elements."""
    with pytest.raises(BufferError, match="NULL"):
        ra.from_dlpack(torch._efficientzerotensor(3), **keywords)


def test_a_copy_of_the_zero_tensor_is_made_by_torch(torch: ModuleType) -> None:
    assert ra.from_dlpack(torch._efficientzerotensor(3), copy=True).tolist() == [0.0, 0.0, 0.0]


# Exceptions of PyTorch 2.13: its exchange API raises RuntimeError for every error (CAPI-11).
REFUSED = {
    "sparse": (lambda torch: torch.eye(3).to_sparse(), RuntimeError, BufferError),
    "meta": (lambda torch: torch.empty(3, device="meta"), RuntimeError, ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.quirk("torch-errors-no-buffererror")
def test_tensors_without_memory_raise_torchs_errors(torch: ModuleType, name: str) -> None:
    make, by_table, by_protocol = REFUSED[name]
    with pytest.raises(by_table):
        _native._from_exchange_api(make(torch))
    for keywords in ({}, {"max_version": grid.MAX_VERSION}):
        with pytest.raises(by_protocol):
            ra.from_dlpack(make(torch), **keywords)


@pytest.mark.parametrize("name", ["int4", "uint1", "uint4"])
@pytest.mark.quirk("torch-shell-dtypes")
def test_torchs_shell_dtypes_arrive_as_bytes(torch: ModuleType, name: str) -> None:
    """PyTorch 2.13 exports its sub-byte integer shells as 8-bit integers of the same bytes."""
    origin = torch.arange(4, dtype=torch.uint8).view(getattr(torch, name))
    whole = "int8" if name.startswith("int") else "uint8"
    for route, result in imports(origin).items():
        assert str(result.dtype) == whole, route
        assert result.tolist() == [0, 1, 2, 3], route


@pytest.mark.quirk("torch-asarray-reads-bytes")
def test_torch_asarray_reads_our_buffer_as_raw_bytes(torch: ModuleType) -> None:
    """PyTorch reads a buffer that is not a NumPy array as raw bytes of the type `dtype=`."""
    source = grid.ours("int64")
    for buffer in (source, array.array("q", grid.values("int64"))):
        assert torch.asarray(buffer).dtype == torch.float32
        assert torch.asarray(buffer).numel() == 48
        assert torch.asarray(buffer, dtype=torch.int64).tolist() == grid.values("int64")
    assert torch.asarray(source, dtype=torch.int64).data_ptr() == grid.address(source)
    table = ra.reshape(source, (4, 6))
    assert torch.asarray(table).shape == (48,)
    for call in (
        torch.from_dlpack,
        torch.as_tensor,
        torch.tensor,
    ):  # the manual names the first two
        assert (call(table).dtype, call(table).tolist()) == (torch.int64, table.tolist())
        assert (call(table).data_ptr() == grid.address(source)) == (call is not torch.tensor)


def test_a_tensor_over_a_shared_array_is_found_in_its_arena(torch: ModuleType) -> None:
    x = shared.asarray(ra.reshape(ra.arange(12.0), (3, 4)), arena=shared.Arena(limit=1 << 20))
    tensor = torch.from_dlpack(x).T[1:]
    assert not ra.from_dlpack(tensor).is_shared()  # the memory is the tensor's
    y = shared.asarray(tensor)
    assert shared.arena_of(y) == shared.arena_of(x) and y.tolist() == tensor.tolist()
    del x, tensor
    message = y.shared_handle().to_bytes()
    del y
    assert shared.attach(message).tolist()[2] == [3.0, 7.0, 11.0]


def test_an_error_of_the_exchange_api_leaves_no_trace(torch: ModuleType) -> None:
    with pytest.raises(BufferError, match="strided"):  # of its method; the table's is another
        ra.from_dlpack(torch.eye(3).to_sparse())
    assert ra.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]
