"""Lazy namespaces: nothing is computed, and masks and shapes that depend on elements raise or have
unknown extents, which are None."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

pytestmark = pytest.mark.every_python

open_: Any = refarray.namespace(lazy=True, boolean_indexing=True, data_dependent_shapes=True)
strict: Any = refarray.namespace(
    lazy=True, boolean_indexing=True, data_dependent_shapes=True, strict=True
)
both = run_each("xp", [open_, strict], ids=["open", "strict"])
UNKNOWN = "unknown"


def vector(xp: Any) -> Any:
    return xp.asarray([3.0, -1.0, 2.0, 3.0, -5.0])


def chosen(xp: Any) -> Any:
    """[3, 2, 3], of unknown extent."""
    x = vector(xp)
    return x[x > 0.0]


def table(xp: Any) -> Any:
    """Rows 0, 2, 3 of five of two numbers."""
    x = vector(xp)
    return xp.stack([x, x * 10.0], axis=1)[x > 0.0]


def values(x: Any) -> Any:
    return refarray.asarray(x).tolist()


#: What functions make of chosen() and table(), the shape, and the values.
CASES: dict[str, tuple[Callable[[Any, Any, Any], Any], tuple[int | None, ...], Any]] = {
    "itself": (lambda xp, v, t: v, (None,), [3, 2, 3]),
    "rows": (lambda xp, v, t: t, (None, 2), [[3, 30], [2, 20], [3, 30]]),
    "a number": (lambda xp, v, t: v + 1.0, (None,), [4, 3, 4]),
    "a number first": (lambda xp, v, t: 1.0 - v, (None,), [-2, -1, -2]),
    "with itself": (lambda xp, v, t: v * v, (None,), [9, 4, 9]),
    "a negative": (lambda xp, v, t: -v, (None,), [-3, -2, -3]),
    "a comparison": (lambda xp, v, t: v > 2.0, (None,), [True, False, True]),
    "with a column": (lambda xp, v, t: t[:, 0] + t[:, 1], (None,), [33, 22, 33]),
    "with ndim 0": (lambda xp, v, t: v + xp.asarray(1.0), (None,), [4, 3, 4]),
    "with extent 1": (lambda xp, v, t: t + xp.ones((1, 2)), (None, 2), [[4, 31], [3, 21], [4, 31]]),
    "known axes": (lambda xp, v, t: t + xp.asarray([1.0, 2.0]), (None, 2),
                   [[4, 32], [3, 22], [4, 32]]),
    "a function": (lambda xp, v, t: xp.sqrt(v * v), (None,), [3, 2, 3]),
    "where": (lambda xp, v, t: xp.where(v > 2.0, v, xp.zeros_like(v)), (None,), [3, 0, 3]),
    "astype": (lambda xp, v, t: xp.astype(v, xp.int32), (None,), [3, 2, 3]),
    "sum": (lambda xp, v, t: xp.sum(v), (), 8),
    "max": (lambda xp, v, t: xp.max(v), (), 3),
    "sum of axis 0": (lambda xp, v, t: xp.sum(t, axis=0), (2,), [8, 80]),
    "sum of axis 1": (lambda xp, v, t: xp.sum(t, axis=1), (None,), [33, 22, 33]),
    "keepdims": (lambda xp, v, t: xp.sum(t, axis=0, keepdims=True), (1, 2), [[8, 80]]),
    "mean": (lambda xp, v, t: xp.mean(t, axis=0) * 3.0, (2,), [8, 80]),
    "argmax": (lambda xp, v, t: xp.argmin(v), (), 1),
    "sort": (lambda xp, v, t: xp.sort(v), (None,), [2, 3, 3]),
    "argsort": (lambda xp, v, t: xp.argsort(v, stable=True), (None,), [1, 0, 2]),
    "take": (lambda xp, v, t: xp.take(v, xp.asarray([2, 1])), (2,), [3, 2]),
    "take by unknown": (lambda xp, v, t: xp.take(xp.asarray([7.0, 8.0, 9.0, 5.0]),
                        xp.astype(v, xp.int64)), (None,), [5, 9, 5]),
    "cumulative_sum": (lambda xp, v, t: xp.cumulative_sum(v), (None,), [3, 5, 8]),
    "with initial": (lambda xp, v, t: xp.cumulative_sum(v, include_initial=True), (None,),
                     [0, 3, 5, 8]),
    "diff": (lambda xp, v, t: xp.diff(v), (None,), [-1, 1]),
    "concat": (lambda xp, v, t: xp.concat([v, xp.ones(1)]), (None,), [3, 2, 3, 1]),
    "concat of axis 1": (lambda xp, v, t: xp.concat([t, t], axis=1), (None, 4),
                         [[3, 30, 3, 30], [2, 20, 2, 20], [3, 30, 3, 30]]),
    "stack": (lambda xp, v, t: xp.stack([v, v]), (2, None), [[3, 2, 3], [3, 2, 3]]),
    "expand_dims": (lambda xp, v, t: xp.expand_dims(v, axis=1), (None, 1), [[3], [2], [3]]),
    "flip": (lambda xp, v, t: xp.flip(t, axis=0), (None, 2), [[3, 30], [2, 20], [3, 30]]),
    "permute_dims": (lambda xp, v, t: xp.permute_dims(t, (1, 0)), (2, None),
                     [[3, 2, 3], [30, 20, 30]]),
    "T": (lambda xp, v, t: t.T, (2, None), [[3, 2, 3], [30, 20, 30]]),
    "mT": (lambda xp, v, t: t.mT, (2, None), [[3, 2, 3], [30, 20, 30]]),
    "roll": (lambda xp, v, t: xp.roll(v, 1), (None,), [3, 3, 2]),
    "repeat": (lambda xp, v, t: xp.repeat(v, 2), (None,), [3, 3, 2, 2, 3, 3]),
    "reshape to -1": (lambda xp, v, t: xp.reshape(t, (-1,)), (None,), [3, 30, 2, 20, 3, 30]),
    "reshape of rows": (lambda xp, v, t: xp.reshape(t, (-1, 1, 2)), (None, 1, 2),
                        [[[3, 30]], [[2, 20]], [[3, 30]]]),
    "matmul": (lambda xp, v, t: t[:, 0] @ t, (2,), [22, 220]),
    "outer": (lambda xp, v, t: xp.linalg.outer(v, v)[0, :], (None,), [9, 6, 9]),
    "gram": (lambda xp, v, t: t.T @ t, (2, 2), [[22, 220], [220, 2200]]),
    "svd": (lambda xp, v, t: xp.linalg.svdvals(t)[1] * 0.0, (), None),
    "norm": (lambda xp, v, t: xp.linalg.vector_norm(v) ** 2 * 0.0, (), 0),
    "fft": (lambda xp, v, t: xp.real(xp.fft.fft(xp.astype(v, xp.complex128)))[0], (), 8),
    "an element": (lambda xp, v, t: v[1], (), 2),
    "the last": (lambda xp, v, t: v[-1], (), 3),
    "a row": (lambda xp, v, t: t[1, :], (2,), [2, 20]),
    "a column": (lambda xp, v, t: t[:, 1], (None,), [30, 20, 30]),
    "columns": (lambda xp, v, t: t[:, :1], (None, 1), [[3], [2], [3]]),
    "reversed": (lambda xp, v, t: v[::-1], (None,), [3, 2, 3]),
    "a part": (lambda xp, v, t: v[:2], (None,), [3, 2]),
    "a part with itself": (lambda xp, v, t: v[1:] - v[:2] * 0.0 if False else v[1:] - v[1:],
                           (None,), [0, 0]),
    "None": (lambda xp, v, t: v[None, :], (1, None), [[3, 2, 3]]),
    "'...'": (lambda xp, v, t: t[..., 0], (None,), [3, 2, 3]),
    "'...' and slices": (lambda xp, v, t: t[..., :2, :], (None, 2), [[3, 30], [2, 20]]),
    "a mask again": (lambda xp, v, t: v[v > 2.0], (None,), [3, 3]),
    "rows again": (lambda xp, v, t: t[t[:, 0] > 2.0], (None, 2), [[3, 30], [3, 30]]),
    "a mask of ndim 2": (lambda xp, v, t: t[t > 5.0], (None,), [30, 20, 30]),
    "unique_values": (lambda xp, v, t: xp.unique_values(v), (None,), [2, 3]),
    "unique_counts": (lambda xp, v, t: xp.unique_counts(v).counts, (None,), [1, 2]),
    "inverse": (lambda xp, v, t: xp.unique_inverse(v).inverse_indices, (None,), [1, 0, 1]),
    "inverse of ndim 2": (lambda xp, v, t: xp.unique_all(t).inverse_indices, (None, 2),
                          [[1, 3], [0, 2], [1, 3]]),
    "values by inverse": (lambda xp, v, t: xp.take(*xp.unique_inverse(v)) + v, (None,), [6, 4, 6]),
    "nonzero": (lambda xp, v, t: xp.nonzero(v - 3.0)[0], (None,), [1]),
    "unique of known": (lambda xp, v, t: xp.unique_values(xp.asarray([2, 1, 2])), (None,), [1, 2]),
    "inverse of known": (lambda xp, v, t: xp.unique_inverse(xp.asarray([2, 1, 2]))[1], (3,),
                         [1, 0, 1]),
    "repeat by array": (lambda xp, v, t: xp.repeat(xp.asarray([5, 6]), xp.asarray([2, 1])),
                        (None,), [5, 5, 6]),
    "repeat of rows": (lambda xp, v, t: xp.repeat(t, xp.astype(t[:, 0], xp.int64) - 2, axis=0),
                       (None, 2), [[3, 30], [3, 30]]),
    "meshgrid": (lambda xp, v, t: xp.meshgrid(v, xp.ones(2))[0], (2, None),
                 [[3, 2, 3], [3, 2, 3]]),
    "zeros_like": (lambda xp, v, t: xp.zeros_like(t), (None, 2), [[0, 0]] * 3),
    "broadcast_arrays": (lambda xp, v, t: xp.broadcast_arrays(v, xp.asarray(1.0))[1], (None,),
                         [1, 1, 1]),
    "tril": (lambda xp, v, t: xp.tril(t), (None, 2), [[3, 0], [2, 20], [3, 30]]),
    "diagonal": (lambda xp, v, t: xp.linalg.diagonal(t), (None,), [3, 20]),
    "vecdot": (lambda xp, v, t: xp.vecdot(v, v), (), 22),
    "asarray": (lambda xp, v, t: xp.asarray(v, copy=True), (None,), [3, 2, 3]),
    "copy": (lambda xp, v, t: copy.deepcopy(v), (None,), [3, 2, 3]),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", CASES)
def test_shapes_and_values(xp: Any, name: str) -> None:
    function, shape, expected = CASES[name]
    out = function(xp, chosen(xp), table(xp))
    assert out.shape == shape
    assert out.ndim == len(shape) and out.__array_namespace__() is xp
    if None in shape:
        assert out.size is None
    else:
        assert out.size == refarray.zeros(shape).size
    if expected is not None:
        assert values(out) == expected


#: What needs an extent that is unknown, or two that are not known to be equal.
REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reshape": lambda xp, v, t: xp.reshape(v, (3,)),
    "reshape of rows": lambda xp, v, t: xp.reshape(t, (2, 3)),
    "reshape to -1": lambda xp, v, t: xp.reshape(v, (3, -1)),
    "another mask": lambda xp, v, t: v + vector(xp)[vector(xp) > 2.0],
    "an equal mask": lambda xp, v, t: v + chosen(xp),
    "a known extent": lambda xp, v, t: v + xp.ones(3),
    "a known mask": lambda xp, v, t: v[xp.asarray([True, False, True])],
    "the mask before": lambda xp, v, t: v[vector(xp) > 0.0],
    "a mask of a known array": lambda xp, v, t: xp.ones(3)[v > 2.0],
    "matmul": lambda xp, v, t: v @ xp.ones((3, 2)),
    "vecdot": lambda xp, v, t: xp.vecdot(v, xp.ones(3)),
    "concat": lambda xp, v, t: xp.concat([t, xp.ones((3, 1))], axis=1),
    "stack": lambda xp, v, t: xp.stack([v, xp.ones(3)]),
    "where": lambda xp, v, t: xp.where(v > 2.0, v, xp.ones(3)),
    "broadcast_to": lambda xp, v, t: xp.broadcast_to(v, (3,)),
    "two slices": lambda xp, v, t: v[1:] + v[:2],
    "unique_counts": lambda xp, v, t: xp.unique_values(v) + v,
    "two unique": lambda xp, v, t: xp.unique_values(v) + xp.unique_values(v),
    "repeat": lambda xp, v, t: xp.repeat(v, xp.asarray([1, 2, 3])),
    "assignment": lambda xp, v, t: v.__setitem__(..., xp.ones(3)),
    "in place": lambda xp, v, t: v.__iadd__(xp.ones(3)),
    "squeeze": lambda xp, v, t: xp.squeeze(xp.expand_dims(v[v > 9.0], axis=0), axis=1),
    "iteration": lambda xp, v, t: list(v),
    "a square": lambda xp, v, t: xp.linalg.inv(t),
}


@both
@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_an_unknown_extent_raises(xp: Any, name: str) -> None:
    v, t = chosen(xp), table(xp)
    with pytest.raises(ValueError, match=UNKNOWN if name != "squeeze" else None):
        REFUSED[name](xp, v, t)
    assert values(v) == [3, 2, 3]


@both
@pytest.mark.parametrize("count", [6, 6000])
def test_no_unknown_extent_is_taken_for_divisible(xp: Any, count: int) -> None:
    """What stands for an unknown extent is another number each time."""
    x = xp.zeros(count)
    for _ in range(400):
        with pytest.raises(ValueError, match=UNKNOWN):
            xp.reshape(x[x == 0.0], (3, -1))


@both
def test_none_is_no_number(xp: Any) -> None:
    v = chosen(xp)
    for use in (
        lambda: int(v.shape[0]),
        lambda: xp.zeros(v.shape),
        lambda: xp.reshape(v, v.shape),
        lambda: range(v.shape[0]),
        lambda: v.size + 1,
    ):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(TypeError, match="len"):
        len(v)


@both
def test_arrays_stay_lazy(xp: Any) -> None:
    v = chosen(xp)
    for convert in (bool, int, float, complex):
        with pytest.raises(ValueError, match="lazy"):
            convert(xp.sum(v))
    with pytest.raises(ValueError, match="lazy"):
        [1, 2][xp.argmax(v)]
    with pytest.raises(ValueError, match="lazy"):
        v[: xp.argmax(v)]


@both
def test_writes(xp: Any) -> None:
    v, t = chosen(xp), table(xp)
    v[...] = v + 1.0
    v[0] = 9.0
    v += 1.0
    v *= v
    v[v > 50.0] = 0.0
    t[:, 0] = t[:, 1]
    t[:1, :] = 5.0
    t[:, 1] -= 1.0
    assert (values(v), v.shape) == ([0, 16, 25], (None,))
    assert (values(t), t.shape) == ([[5, 4], [20, 19], [30, 29]], (None, 2))
    x = vector(xp)
    x[x < 0.0] = 0.0
    assert (values(x), x.shape) == ([3, 0, 2, 3, 0], (5,))
    x += 1.0
    assert x.shape == (5,) and x.size == 5


@both
def test_empty_selections(xp: Any) -> None:
    x = vector(xp)
    none, one, all_ = x[x > 9.0], x[x < -4.0], x[x < 9.0]
    assert none.shape == one.shape == all_.shape == (None,)
    assert (values(none), values(one), values(all_ * 0.0)) == ([], [-5], [0] * 5)
    assert values(xp.sum(none)) == 0 and xp.sum(none).shape == ()
    assert values(none + 1.0) == [] and (none + 1.0).shape == (None,)
    with pytest.raises(ValueError, match=UNKNOWN):
        one + x
    with pytest.raises(ValueError, match=UNKNOWN):
        all_ + x
    assert xp.nonzero(xp.zeros((2, 2)))[1].shape == (None,)


@both
def test_exports_compute(xp: Any) -> None:
    v = chosen(xp)
    assert refarray.from_dlpack(v).shape == (3,)
    assert refarray.asarray(v).shape == (3,)
    other: Any = refarray.namespace(strict=True)
    assert other.asarray(v).shape == (3,)
    assert xp.from_dlpack(v).__array_namespace__() is xp
    assert "None" in repr(v) and str(v) == "[3., 2., 3.]"
    back = pickle.loads(pickle.dumps(v))
    assert back.__array_namespace__() is xp and values(back) == [3, 2, 3]
    assert pickle.loads(pickle.dumps(xp)) is xp


@both
def test_namespaces_do_not_mix(xp: Any) -> None:
    v = chosen(xp)
    for other in (refarray.namespace(), strict if xp is open_ else open_):
        y: Any = other.asarray([1.0, 2.0, 3.0])
        for use in (lambda y=y: v + y, lambda y=y: y + v, lambda y=y: xp.add(v, y)):
            with pytest.raises(TypeError, match="does not mix|namespace|asarray"):
                use()


@pytest.mark.parametrize("name", ["boolean_indexing", "data_dependent_shapes"])
def test_one_of_both(name: str) -> None:
    xp: Any = refarray.namespace(lazy=True, **{name: True})
    x = xp.asarray([1, 0, 2])
    capabilities = xp.__array_namespace_info__().capabilities()
    assert capabilities["boolean indexing"] == (name == "boolean_indexing")
    assert capabilities["data-dependent shapes"] == (name != "boolean_indexing")
    if name == "boolean_indexing":
        assert x[x > 0].shape == (None,)
        with pytest.raises(NotImplementedError, match="data_dependent_shapes=False"):
            xp.nonzero(x)
    else:
        assert xp.nonzero(x)[0].shape == (None,)
        with pytest.raises(NotImplementedError, match="boolean_indexing=False"):
            x[x > 0]


def test_names_and_versions() -> None:
    assert strict.__name__ == (
        "refarray_strict_lazy_with_boolean_indexing_with_data_dependent_shapes"
    )
    older = chosen(strict).__array_namespace__(api_version="2023.12")
    assert older.__array_api_version__ == "2023.12" and not hasattr(older, "diff")
    assert older.unique_values(chosen(strict)).shape == (None,)
    with pytest.raises(ValueError, match="2020"):
        chosen(strict).__array_namespace__(api_version="2020.12")
    with pytest.raises(ValueError, match="contradicts unknown extents"):
        refarray.namespace(lazy=True, boolean_indexing=True, poison_views=True)


def test_other_modes() -> None:
    gpu = refarray.VirtualDevice("gpu")
    xp: Any = refarray.namespace(
        lazy=True, boolean_indexing=True, immutable=True, devices=[gpu], strict=True
    )
    x = xp.asarray([1.0, -1.0, 2.0], device=gpu)
    v = x[x > 0.0]
    assert v.shape == (None,) and v.device == gpu and (v + 1.0).device == gpu
    with pytest.raises(TypeError, match="immutable"):
        v[0] = 1.0
    before = v
    v += 1.0
    assert v is not before and values(v.to_device(refarray.Device("cpu"))) == [2, 3]
    with pytest.raises(ValueError, match="does not mix"):
        v + xp.ones(1)


@both
def test_many_unknown_extents(xp: Any) -> None:
    x = xp.arange(40)
    parts = [x[x % i == 0] for i in range(2, 30)]
    for i, part in enumerate(parts):
        assert (part + part).shape == (None,)
        with pytest.raises(ValueError, match=UNKNOWN):
            part + parts[i - 1]
    long = xp.arange(5000)
    half = long[long > 2500]
    assert (half[half > 3000] * 2).shape == (None,)
    assert values(xp.take(half, xp.asarray([2000]))) == [4501]


# --- Without unknown extents


lazy: Any = refarray.namespace(lazy=True)
strict_lazy: Any = refarray.namespace(lazy=True, strict=True)
either = run_each("xp", [lazy, strict_lazy], ids=["open", "strict"])

COUNTING: dict[str, Callable[[Any, Any], Any]] = {
    "nonzero": lambda xp, x: xp.nonzero(x),
    "unique_all": lambda xp, x: xp.unique_all(x),
    "unique_counts": lambda xp, x: xp.unique_counts(x),
    "unique_inverse": lambda xp, x: xp.unique_inverse(x),
    "unique_values": lambda xp, x: xp.unique_values(x),
    "repeat": lambda xp, x: xp.repeat(x, x),
}
MASKS: dict[str, Callable[[Any], Any]] = {
    "a mask": lambda x: x[x > 1],
    "a mask of nothing": lambda x: x[x > 9],
    "a tuple": lambda x: x[(x > 1,)],
    "ndim 0": lambda x: x[x[0] > 0],
}


@either
@run_each("convert", [bool, int, float, complex, math.sqrt])
def test_numbers_are_not_computed(xp: Any, convert: Any) -> None:
    for number in (1.0, 1, True, 1j):
        with pytest.raises(ValueError, match="refarray_.*lazy"):
            convert(xp.asarray(number))


@either
def test_branches_loops_and_indices_need_numbers(xp: Any) -> None:
    x = xp.asarray([1, 2, 3])
    for use in (
        lambda: 1 if xp.any(x > 2) else 0,
        lambda: not xp.all(x > 2),
        lambda: xp.sum(x) > 2 and x,
        lambda: [7, 8, 9][x[0]],
        lambda: list(range(xp.sum(x))),
        lambda: x[x[0]],
        lambda: x[: x[1]],
        lambda: xp.zeros(x[0]),
        lambda: xp.reshape(x, (x[2], 1)),
        lambda: max(x),
        lambda: f"{x[0]:d}" if xp is lazy else int(x[0]),
    ):
        with pytest.raises(ValueError, match="lazy"):
            use()
    for method in ("tolist", "item", "__round__"):
        if xp is lazy:
            with pytest.raises(ValueError, match="lazy"):
                getattr(x[0], method)()


@either
def test_what_needs_no_elements_works(xp: Any) -> None:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = xp.where(x > 2, x, 0.0) + xp.sum(x, axis=0)
    assert y.shape == (2, 2) and y.dtype == xp.float64 and y.__array_namespace__() is xp
    assert refarray.asarray(y).tolist() == [[4.0, 6.0], [7.0, 10.0]], "an export computes"
    assert str(xp.asarray([1])) == "[1]" and f"{x[0, 0]}"
    x[0, :] = 0.0
    assert pickle.loads(pickle.dumps(x)).__array_namespace__() is xp


@run_each("modes", [{}, {"strict": True}, {"immutable": True}], ids=str)
@pytest.mark.parametrize("name", COUNTING)
def test_shapes_that_depend_on_elements(modes: dict[str, bool], name: str) -> None:
    function = COUNTING[name]
    for more in ({"lazy": True}, {"data_dependent_shapes": False}):
        xp: Any = refarray.namespace(**modes, **more)
        with pytest.raises(NotImplementedError, match=f"{name}.*data_dependent_shapes=False"):
            function(xp, xp.asarray([1, 2, 0]))
        assert xp.repeat(xp.asarray([1, 2]), 2).shape == (4,)
        assert not xp.__array_namespace_info__().capabilities()["data-dependent shapes"]
    xp = refarray.namespace(**modes, boolean_indexing=False)
    function(xp, xp.asarray([1, 2, 0]))
    assert xp.__array_namespace_info__().capabilities()["data-dependent shapes"]


@run_each("modes", [{}, {"strict": True}], ids=str)
@run_each("what", MASKS)
def test_masks(modes: dict[str, bool], what: str) -> None:
    index = MASKS[what]
    for more in ({"lazy": True}, {"boolean_indexing": False}):
        xp: Any = refarray.namespace(**modes, **more)
        x = xp.asarray([1, 2, 3])
        if not (modes and what in ("ndim 0",)):
            with pytest.raises(NotImplementedError, match="boolean_indexing=False"):
                index(x)
        with pytest.raises(NotImplementedError, match="boolean_indexing=False"):
            x[x > 1] = 0
        assert refarray.asarray(x).tolist() == [1, 2, 3]
        assert not xp.__array_namespace_info__().capabilities()["boolean indexing"]
        assert xp.take(x, xp.asarray([0])).shape == (1,)
    xp = refarray.namespace(**modes, data_dependent_shapes=False)
    index(xp.asarray([1, 2, 3]))


def test_flags() -> None:
    for name in ("boolean_indexing", "data_dependent_shapes"):
        assert refarray.namespace(lazy=True, **{name: True}) is not lazy
        for wrong in (1, "no"):
            with pytest.raises(TypeError, match=name):
                refarray.namespace(**{name: wrong})
    explicit = refarray.namespace(lazy=True, boolean_indexing=False, data_dependent_shapes=False)
    assert explicit is lazy
    assert refarray.namespace(boolean_indexing=True, data_dependent_shapes=True) is refarray
    assert refarray.namespace(lazy=False, boolean_indexing=None) is refarray
