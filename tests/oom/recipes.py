"""A recipe for every public call: how to get there, and how to call it once. What is public is read
off the package, so that a new function without a recipe is noticed."""

from __future__ import annotations

import array as standard
import contextlib
import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import adversary
from native.corpus import FLOATS
from native.producers import Recorder, foreign, knowing

import refarray
from refarray import _native, _partners


@dataclass(frozen=True)
class Recipe:
    """`call(make())` is one use of what `name` names; `raises` is how it ends when it cannot end
    otherwise. `python`: code of ours in Python runs too. `instead`: what the standard library makes
    of a MemoryError on the way."""

    name: str
    label: str
    call: Callable[[Any], Any]
    make: Callable[[], Any]
    raises: tuple[type[BaseException], ...]
    python: bool
    instead: tuple[type[BaseException], ...]

    def __str__(self) -> str:
        return f"{self.name} ({self.label})" if self.label else self.name

    @property
    def family(self) -> str:
        return FAMILIES.get(self.name.partition(".")[0], "creation, views, copies")


#: What functions are counted as in the table that `make trust` prints.
FAMILIES = {
    **dict.fromkeys(
        ["from_dlpack", "from_capsule", "from_buffer", "to_capsule", "asarray"],
        "exchange functions",
    ),
    "table": "exchange table",
    "Array": "Array methods",
    **dict.fromkeys(["DType", "Device", "DLDeviceType", "NoCopyError"], "dtypes, devices, errors"),
    **dict.fromkeys(
        ["build_info", "doctor", "finfo", "get_include", "iinfo", "inspect", "printoptions"],
        "written in Python",
    ),
    "_native": "private functions",
}
RECIPES: list[Recipe] = []


def recipe(
    name: str,
    call: Callable[[Any], Any],
    make: Callable[[], Any] | None = None,
    label: str = "",
    raises: tuple[type[BaseException], ...] = (),
    python: bool = False,
    instead: tuple[type[BaseException], ...] = (),
) -> None:
    RECIPES.append(Recipe(name, label, call, make or matrix, raises, python, instead))


def matrix() -> Any:
    return refarray.reshape(refarray.arange(6, dtype=refarray.float32), (2, 3))


def producer(**fields: Any) -> Any:
    """Made before anything fails; answers any keywords."""
    tensor = adversary.make(**{"shape": (2, 3), "data": FLOATS, **fields})

    class Producer:
        __slots__ = ()

        def __dlpack_device__(self) -> Any:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            return tensor.capsule()

    return Producer()


def capsule(**fields: Any) -> Any:
    return adversary.make(**{"shape": (2, 3), "data": FLOATS, **fields}).capsule()


def old(known: str = "") -> Any:
    tensor = adversary.make(shape=(2, 3), data=FLOATS)
    return Recorder(knowing(known, lambda **_: tensor.capsule()))


def failing() -> Any:
    def fail(**_: Any) -> Any:
        raise TypeError("always")

    return Recorder(fail)


# --- creation ---

recipe("arange", lambda _: refarray.arange(100))
recipe(
    "arange", lambda _: refarray.arange(0.0, 1.0, 0.1, dtype="float64", device="cpu"), label="all"
)
recipe("arange", lambda _: refarray.arange(5, dtype="int31"), label="bad", raises=(ValueError,))
for _name in ("empty", "zeros", "ones"):
    _function = getattr(refarray, _name)
    recipe(_name, lambda _, f=_function: f((3, 4), dtype="float64"))
    recipe(_name, lambda _, f=_function: f((3, 400), dtype=refarray.int8), label="large")
    recipe(_name, lambda _, f=_function: f((-1,)), label="bad", raises=(ValueError,))
    _like = getattr(refarray, f"{_name}_like")
    recipe(f"{_name}_like", lambda x, f=_like: f(x))
    recipe(f"{_name}_like", lambda x, f=_like: f(x, dtype="int8", device="cpu"), label="all")
recipe("full", lambda _: refarray.full((2, 2), 1.5))
recipe(
    "full", lambda _: refarray.full((2,), 300, dtype="int8"), label="bad", raises=(OverflowError,)
)
recipe("full_like", lambda x: refarray.full_like(x, 3))
recipe("asarray", lambda _: refarray.asarray([[1, 2], [3, 4]]), label="nested")
recipe("asarray", lambda _: refarray.asarray([1.0, 2j, True]), label="mixed")
recipe("asarray", lambda _: refarray.asarray(3.5), label="number")
recipe("asarray", lambda _: refarray.asarray(range(300)), label="sequence")
recipe("asarray", lambda x: refarray.asarray(x, dtype="int32", copy=True), label="array")
recipe("asarray", lambda b: refarray.asarray(b), lambda: bytearray(8), label="buffer")
recipe("asarray", lambda p: refarray.asarray(p), producer, label="producer")
recipe("asarray", lambda _: refarray.asarray([[1], [2, 3]]), label="ragged", raises=(ValueError,))
recipe("asarray", lambda _: refarray.asarray(["a"]), label="text", raises=(TypeError,))

# --- exchange ---

recipe("from_dlpack", refarray.from_dlpack, producer)
recipe("from_dlpack", refarray.from_dlpack, lambda: producer(versioned=False), label="legacy")
recipe("from_dlpack", refarray.from_dlpack, old, label="old")
recipe("from_dlpack", refarray.from_dlpack, failing, label="fails twice", raises=(TypeError,))
recipe("from_dlpack", refarray.from_dlpack, matrix, label="own")
recipe("from_dlpack", lambda x: refarray.from_dlpack(x, copy=True), label="own copy")
recipe(
    "from_dlpack",
    lambda p: refarray.from_dlpack(p, copy=True, device="cpu", max_version=(1, 0)),
    producer,
    label="all keywords",
)
recipe(
    "from_dlpack",
    lambda p: refarray.from_dlpack(p, copy=False),
    lambda: old("max_version"),
    label="no copy",
    raises=(refarray.NoCopyError,),
)
recipe(
    "from_dlpack", refarray.from_dlpack, lambda: producer(dtype=(99, 8, 1)), label="refused",
    raises=(BufferError,),
)  # fmt: skip
recipe("from_dlpack", refarray.from_dlpack, object, label="none", raises=(AttributeError,))
recipe(
    "from_dlpack",
    refarray.from_dlpack,
    lambda: foreign(adversary, adversary.make(data=FLOATS)),
    label="table",
)
recipe("from_capsule", refarray.from_capsule, capsule)
recipe("from_capsule", refarray.from_capsule, lambda: capsule(versioned=False), label="legacy")
recipe(
    "from_capsule", refarray.from_capsule, lambda: capsule(shape=(-1,), strides=(1,)),
    label="refused", raises=(BufferError,),
)  # fmt: skip
recipe("from_capsule", refarray.from_capsule, lambda: matrix().__dlpack__(), label="own")
recipe("from_capsule", refarray.from_capsule, object, label="none", raises=(TypeError,))
recipe("from_buffer", refarray.from_buffer, lambda: standard.array("d", [1.0, 2.0]))
recipe("from_buffer", refarray.from_buffer, lambda: memoryview(bytes(8))[::-1], label="backwards")
recipe(
    "from_buffer", lambda b: refarray.from_buffer(b, dtype="int16"), lambda: bytearray(8),
    label="bytes",
)  # fmt: skip
recipe(
    "from_buffer", refarray.from_buffer, lambda: adversary.exporter(shape=(-1,)), label="refused",
    raises=(BufferError,),
)  # fmt: skip
recipe("to_capsule", refarray.to_capsule)
recipe(
    "to_capsule",
    lambda x: refarray.to_capsule(x, max_version=(1, 3), copy=True, dl_device=(1, 0)),
    label="all keywords",
)
recipe("to_capsule", lambda x: refarray.to_capsule(x, stream=1), label="bad", raises=(ValueError,))
recipe("Array.__dlpack__", lambda x: x.__dlpack__())
recipe("Array.__dlpack__", lambda x: x.__dlpack__(max_version=(1, 3)), label="versioned")
recipe("Array.__dlpack__", lambda x: x.__dlpack__(max_version=(1, 3), copy=True), label="copy")
recipe(
    "Array.__dlpack__", lambda x: x.__dlpack__(), lambda: matrix().as_readonly(), label="refused",
    raises=(BufferError,),
)  # fmt: skip
recipe("Array.__dlpack_device__", lambda x: x.__dlpack_device__())
recipe(
    "Array.__dlpack_device__",
    lambda x: x.__dlpack_device__(),
    lambda: refarray.from_capsule(capsule(device=(3, 0))),
    label="pinned",
    python=True,
)
recipe("Array.__dlpack_c_exchange_api__", lambda x: type(x).__dlpack_c_exchange_api__)


def through_to_py(tensor: Any) -> Any:
    try:
        return adversary.api(refarray.Array).to_py(tensor)
    except BaseException:
        if tensor.issued:
            tensor.delete()  # still the caller's
        raise


recipe("table.from_py", lambda x: adversary.api(refarray.Array).from_py(x))
recipe("table.to_py", through_to_py, lambda: adversary.make(data=FLOATS))
recipe(
    "table.to_py", through_to_py, lambda: adversary.make(data=None), label="refused",
    raises=(BufferError,),
)  # fmt: skip
recipe("table.dltensor", lambda x: adversary.api(refarray.Array).dltensor(x))
recipe("table.stream", lambda _: adversary.api(refarray.Array).stream(1, 0))
recipe(
    "table.stream", lambda _: adversary.api(refarray.Array).stream(2, 0), label="refused",
    raises=(ValueError,),
)  # fmt: skip


def allocate(prototype: Any) -> Any:
    """The allocator reports by name; MemoryError is what it has to say here."""
    code, owned, errors = adversary.api(refarray.Array).allocate(prototype)
    if code == 0:
        return owned.fields()["shape"]
    if [kind for kind, _ in errors] == ["MemoryError"]:
        raise MemoryError
    raise AssertionError(f"{code}, {errors}")


recipe("table.allocator", allocate, lambda: adversary.make(versioned=False))

# --- views, shapes, copies ---

recipe("astype", lambda x: refarray.astype(x, "int16"))
recipe("astype", lambda x: refarray.astype(x, "float32", copy=False), label="same")
recipe("broadcast_to", lambda x: refarray.broadcast_to(x, (4, 2, 3)))
recipe("broadcast_to", lambda x: refarray.broadcast_to(x, (5,)), label="bad", raises=(ValueError,))
recipe("copy", refarray.copy)
recipe("copy", lambda x: refarray.copy(x[::-1, ::-1]), label="strided")
recipe("expand_dims", lambda x: refarray.expand_dims(x, axis=(0, -1)))
recipe("flip", lambda x: refarray.flip(x, axis=(0, 1)))
recipe("moveaxis", lambda x: refarray.moveaxis(x, 0, 1))
recipe("permute_dims", lambda x: refarray.permute_dims(x, (1, 0)))
recipe("reshape", lambda x: refarray.reshape(x, (3, -1)))
recipe("reshape", lambda x: refarray.reshape(x.T, (6,), copy=True), label="copy")
recipe(
    "reshape", lambda x: refarray.reshape(x.T, (6,), copy=False), label="no copy",
    raises=(ValueError,),
)  # fmt: skip
recipe("squeeze", lambda x: refarray.squeeze(x, 0), lambda: refarray.zeros((1, 2)))
recipe("to_device", lambda x: refarray.to_device(x, "cpu"))
recipe("to_device", lambda x: refarray.to_device(x, "cuda"), label="bad", raises=(BufferError,))
for _name, _call in {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "device": lambda x: x.device,
    "dtype": lambda x: x.dtype,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "readonly": lambda x: x.readonly,
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "strides": lambda x: x.strides,
    "as_readonly": lambda x: x.as_readonly(),
    "astype": lambda x: x.astype("complex64"),
    "copy": lambda x: x.copy(),
    "is_contiguous": lambda x: x.is_contiguous(),
    "reshape": lambda x: x.reshape((6,)),
    "to_device": lambda x: x.to_device("cpu"),
    "tolist": lambda x: x.tolist(),
    "__array_namespace__": lambda x: x.__array_namespace__(api_version="2025.12"),
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__getitem__": lambda x: x[1:, None, ..., 0],
    "__len__": len,
    "__iter__": list,
    "__reduce_ex__": lambda x: x.__reduce_ex__(5),
}.items():
    recipe(f"Array.{_name}", _call)
recipe("Array.item", lambda x: x.item(), lambda: refarray.full((), 2.5))
recipe("Array.__getitem__", lambda x: x[9], label="bad", raises=(IndexError,))
recipe("Array.__getitem__", lambda x: x["a"], label="text", raises=(TypeError, IndexError))
recipe("Array.__setitem__", lambda x: x.__setitem__((0, slice(None)), 7))
recipe("Array.__setitem__", lambda x: x.__setitem__(0, [1, 2, 3]), label="sequence")
recipe("Array.__setitem__", lambda x: x.__setitem__(slice(None), x[::-1]), label="overlap")
recipe(
    "Array.__setitem__", lambda x: x.__setitem__(0, 1), lambda: matrix().as_readonly(),
    label="read-only", raises=(ValueError,),
)  # fmt: skip
recipe("Array.__delitem__", lambda x: x.__delitem__(0), raises=(TypeError,))
recipe("Array.__bool__", bool, lambda: refarray.ones(()))
recipe("Array.__bool__", bool, label="many", raises=(ValueError, TypeError))
recipe("Array.__int__", int, lambda: refarray.full((), 7.0))
recipe("Array.__float__", float, lambda: refarray.full((), 7, dtype="int64"))
recipe("Array.__complex__", complex, lambda: refarray.full((), 7j))
recipe("Array.__index__", lambda x: x.__index__(), lambda: refarray.full((), 7, dtype="uint64"))
recipe("Array.__hash__", hash, raises=(TypeError,))
recipe(
    "Array.__reduce_ex__", lambda x: pickle.dumps(x, 5), label="pickle",
    instead=(pickle.PicklingError,),
)  # fmt: skip
recipe("Array.__repr__", repr, python=True)
recipe("Array.__str__", str, python=True)
recipe("Array._repr_html_", lambda x: x._repr_html_(), python=True)
recipe("Array.__buffer__", lambda x: memoryview(x).tolist())
recipe("Array.__buffer__", lambda x: bytes(x.T), label="copied")
UNBUILT = [
    "abs", "add", "and", "divmod", "eq", "floordiv", "ge", "gt", "iadd", "iand", "ifloordiv",
    "ilshift", "imatmul", "imod", "imul", "invert", "ior", "ipow", "irshift", "isub", "itruediv",
    "ixor", "le", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg", "or", "pos", "pow", "radd",
    "rand", "rdivmod", "rfloordiv", "rlshift", "rmatmul", "rmod", "rmul", "ror", "rpow",
    "rrshift", "rshift", "rsub", "rtruediv", "rxor", "sub", "truediv", "xor",
]  # fmt: skip
for _name in UNBUILT:
    _dunder = f"__{_name}__"
    _unary = _name in ("abs", "invert", "neg", "pos")
    recipe(
        f"Array.{_dunder}",
        (lambda x, name=_dunder: getattr(x, name)())
        if _unary
        else (lambda x, name=_dunder: getattr(x, name)(x)),
        raises=(TypeError,),
    )

# --- dtypes, devices, errors ---

recipe("DType", lambda _: refarray.DType("float6_e2m3fn_padded"))
recipe("DType", lambda _: refarray.DType("float32x2"), label="lanes")
recipe("DType", lambda _: refarray.DType("float33"), label="bad", raises=(ValueError,))
recipe("DType.__new__", lambda _: refarray.DType.__new__(refarray.DType, "int8"))
recipe("Device", lambda _: refarray.Device("cuda:3"))
recipe("Device", lambda _: refarray.Device("toaster"), label="bad", raises=(ValueError,))
recipe("Device.__new__", lambda _: refarray.Device.__new__(refarray.Device, "cpu"))
for _kind, _make in (
    ("DType", lambda: refarray.DType("float32x2")),
    ("Device", lambda: refarray.Device("cuda:300")),
):
    _cls = getattr(refarray, _kind)
    for _name in vars(_cls):
        if _name in ("__doc__", "__module__", "__new__"):
            continue
        if not _name.startswith("__"):
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name), _make)
        elif _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(v), _make)
            recipe(
                f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(str(v)), _make,
                label="text",
            )  # fmt: skip
        else:
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(), _make)
recipe("DLDeviceType", lambda _: refarray.DLDeviceType(1))
recipe("NoCopyError", lambda _: str(refarray.NoCopyError("a message")))

# --- written in Python ---

recipe("finfo", lambda _: repr(refarray.finfo("float32")), python=True)
recipe("iinfo", lambda _: repr(refarray.iinfo("int8")), python=True)
recipe("get_include", lambda _: suppressed(refarray.get_include), python=True, instead=(TypeError,))
recipe("build_info", lambda _: refarray.build_info(), python=True)
recipe("inspect", lambda x: repr(refarray.inspect(x)), python=True)
recipe("inspect", lambda c: repr(refarray.inspect(c)), capsule, label="capsule", python=True)


def suppressed(function: Callable[[], Any]) -> None:
    """A plain CMake build has installed no headers: then it says so."""
    with contextlib.suppress(FileNotFoundError):
        function()


def in_options(x: Any) -> str:
    with refarray.printoptions(precision=3, threshold=2):
        return repr(x)


recipe("printoptions", in_options, python=True)


def diagnose(_: Any) -> str:
    """Without the partners: finding packages is the standard library's work."""
    before, _partners.PARTNERS = _partners.PARTNERS, ()
    try:
        return repr(refarray.doctor(partners=False))
    finally:
        _partners.PARTNERS = before


recipe("doctor", diagnose, python=True)

# --- private, but native ---

recipe("_native._noop", _native._noop)
recipe("_native._build_info", lambda _: _native._build_info())
recipe("_native._inspect_capsule", _native._inspect_capsule, capsule)
recipe("_native._inspect_exchange_api", lambda x: _native._inspect_exchange_api(type(x)))
recipe("_native._probe_drivers", lambda _: _native._probe_drivers())
recipe(
    "_native._from_exchange_api",
    _native._from_exchange_api,
    lambda: foreign(adversary, adversary.make(data=FLOATS)),
)
recipe(
    "_native._rebuild",
    lambda b: _native._rebuild(b, "float32", (2,), "cpu", False),
    lambda: bytearray(8),
)

#: Names in a type that no call reaches.
NO_CALLS = {"__doc__", "__module__", "__weakref__", "__dict__"}


def public_calls() -> set[str]:
    """What the package offers, read off the package."""
    out = {f"_native.{name}" for name, value in vars(_native).items() if is_private(name, value)}
    out |= {f"table.{name}" for name in ("allocator", "from_py", "to_py", "dltensor", "stream")}
    for name in refarray.__all__:
        value = getattr(refarray, name)
        if isinstance(value, type):
            if value is not refarray.Array:  # it cannot be called
                out.add(name)
            if value.__module__ == "refarray" and value is not refarray.NoCopyError:
                out |= {f"{name}.{member}" for member in vars(value) if member not in NO_CALLS}
        elif callable(value):
            out.add(name)
    return out


def is_private(name: str, value: object) -> bool:
    return name.startswith("_") and not name.startswith("__") and callable(value)
