"""DType objects: names, attributes, equality, hashing, pickling, and invalid arguments."""

from __future__ import annotations

import copy
import inspect as signatures
import pickle
from typing import Any

import pytest
from helpers.cases import run_each

import refarray
from refarray import DType

# name: (kind, DLPack code, bits, itemsize)
SCALARS = {
    "bool": ("bool", 6, 8, 1),
    "int8": ("int", 0, 8, 1),
    "int16": ("int", 0, 16, 2),
    "int32": ("int", 0, 32, 4),
    "int64": ("int", 0, 64, 8),
    "uint8": ("uint", 1, 8, 1),
    "uint16": ("uint", 1, 16, 2),
    "uint32": ("uint", 1, 32, 4),
    "uint64": ("uint", 1, 64, 8),
    "float32": ("float", 2, 32, 4),
    "float64": ("float", 2, 64, 8),
    "complex64": ("complex", 5, 64, 8),
    "complex128": ("complex", 5, 128, 16),
    "float16": ("float", 2, 16, 2),
    "bfloat16": ("bfloat", 4, 16, 2),
    "complex32": ("complex", 5, 32, 4),
    "float8_e3m4": ("float8_e3m4", 7, 8, 1),
    "float8_e4m3": ("float8_e4m3", 8, 8, 1),
    "float8_e4m3b11fnuz": ("float8_e4m3b11fnuz", 9, 8, 1),
    "float8_e4m3fn": ("float8_e4m3fn", 10, 8, 1),
    "float8_e4m3fnuz": ("float8_e4m3fnuz", 11, 8, 1),
    "float8_e5m2": ("float8_e5m2", 12, 8, 1),
    "float8_e5m2fnuz": ("float8_e5m2fnuz", 13, 8, 1),
    "float8_e8m0fnu": ("float8_e8m0fnu", 14, 8, 1),
    "float6_e2m3fn": ("float6_e2m3fn", 15, 6, 1),
    "float6_e3m2fn": ("float6_e3m2fn", 16, 6, 1),
    "float4_e2m1fn": ("float4_e2m1fn", 17, 4, 1),
}
# name: (lanes, padded, itemsize)
COMPOUND = {
    "float32x4": (4, False, 16),
    "int8x65535": (65535, False, 65535),
    "complex128x2": (2, False, 32),
    "float4_e2m1fn_padded": (1, True, 1),
    "float4_e2m1fnx2": (2, False, 1),
    "float4_e2m1fnx3": (3, False, 2),
    "float6_e3m2fnx4": (4, False, 3),
    "float6_e2m3fnx3_padded": (3, True, 3),
}
NAMES = [*SCALARS, *COMPOUND]
ATTRIBUTES = ("name", "kind", "code", "bits", "lanes", "padded", "itemsize")


@run_each("name", SCALARS)
def test_a_scalar_dtype_is_an_attribute_of_the_module(name: str) -> None:
    dtype = getattr(refarray, name)
    assert type(dtype) is DType
    kind, code, bits, itemsize = SCALARS[name]
    assert (dtype.name, dtype.kind, dtype.code, dtype.bits) == (name, kind, code, bits)
    assert (dtype.lanes, dtype.padded, dtype.itemsize) == (1, False, itemsize)
    assert repr(dtype) == f"refarray.{name}"
    assert eval(repr(dtype), {"refarray": refarray}) is dtype
    assert DType(name) is dtype and DType(dtype) is dtype and DType(name=name) is dtype


@run_each("name", COMPOUND)
def test_a_compound_dtype(name: str) -> None:
    dtype = DType(name)
    lanes, padded, itemsize = COMPOUND[name]
    assert (dtype.lanes, dtype.padded, dtype.itemsize) == (lanes, padded, itemsize)
    scalar = next(
        dtype for dtype in sorted(SCALARS, key=len, reverse=True) if name.startswith(dtype)
    )
    assert (dtype.kind, dtype.code, dtype.bits) == SCALARS[scalar][:3]
    assert repr(dtype) == f"refarray.DType({name!r})"
    assert eval(repr(dtype), {"refarray": refarray}) == dtype


@run_each("name", SCALARS)
def test_every_name_is_that_of_its_dtype(name: str) -> None:
    for end in ("", "_padded"):
        for lanes in (1, 2, 3, 4, 7, 8, 10, 16, 255, 256, 9999, 10000, 65535):
            full = f"{name}{f'x{lanes}' if lanes > 1 else ''}{end}"
            if end and SCALARS[name][2] >= 8:  # only elements of parts of a byte are padded
                with pytest.raises(ValueError, match="no dtype is named"):
                    DType(full)
            else:
                assert (DType(full).name, DType(full).lanes) == (full, lanes)


@run_each("name", NAMES)
def test_str_equality_hash_and_copies(name: str) -> None:
    dtype = DType(name)
    assert str(dtype) == dtype.name == f"{dtype}" == name
    assert dtype == name and name == dtype and (dtype != name) is False
    assert hash(dtype) == hash(name) and hash(dtype) == hash(dtype)
    assert {dtype: 1}[name] == 1 and {name: 1}[dtype] == 1
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(dtype, protocol))
        assert again == dtype and type(again) is DType and hash(again) == hash(dtype)
    assert copy.copy(dtype) == dtype and copy.deepcopy([dtype]) == [dtype]


def test_equality_is_by_value() -> None:
    dtypes = [DType(name) for name in NAMES]
    for i, one in enumerate(dtypes):
        for j, other in enumerate(dtypes):
            assert (one == other) is (i == j) and (one != other) is (i != j)
            assert (one == other.name) is (i == j)
    assert len({DType(name) for name in NAMES + NAMES}) == len(NAMES)


@run_each("other", [None, 2, 2.0, object(), float, b"float32", ["float32"]])
def test_dtype_equals_only_what_it_can_be_made_from(other: object) -> None:
    assert (refarray.float32 == other) is False and (refarray.float32 != other) is True


ALIASES = {
    "bool": "? b1 |b1 >b1 bool_",
    "int8": "b i1 |i1 byte",
    "uint8": "B u1 ubyte",
    "int16": "h i2 <i2 =i2 |i2 short",
    "uint16": "H u2 ushort",
    "int32": "i i4 <i4 intc",
    "uint32": "I u4 uintc",
    "int64": "l q i8 int int_ intp long longlong",
    "uint64": "L Q u8 uint uintp ulong ulonglong",
    "float16": "e f2 <e half",
    "float32": "f f4 single",
    "float64": "d f8 double float",
    "complex64": "F c8 csingle",
    "complex128": "D c16 cdouble complex",
}


@run_each(("name", "alias"), [(name, alias) for name in ALIASES for alias in ALIASES[name].split()])
def test_numpys_short_names_are_accepted(name: str, alias: str) -> None:
    dtype = getattr(refarray, name)
    assert DType(alias) is dtype and refarray.zeros(1, dtype=alias).dtype is dtype
    assert dtype == alias and alias == dtype and (dtype != alias) is False
    assert refarray.bfloat16 != alias
    assert hash(dtype) == hash(name)  # of the name, not of other spellings


@run_each("alias", [">i4", ">f8", ">c16", ">H", ">int"])
def test_short_names_in_another_byte_order_raise(alias: str) -> None:
    with pytest.raises(ValueError, match=f"dtype {alias!r} is not in native byte order"):
        DType(alias)
    assert (refarray.int32 == alias) is False


@run_each("text", ["", "float", "Float32", "float32 ", "float32\0", "é", "\ud800"])
def test_dtype_equals_no_other_string(text: str) -> None:
    assert (refarray.float32 == text) is False and (refarray.float32 != text) is True


@pytest.mark.parametrize(
    ("python_type", "name"),
    [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")],
)
def test_python_types_are_accepted_as_dtypes(python_type: type, name: str) -> None:
    assert DType(python_type) is getattr(refarray, name)
    assert refarray.zeros((1,), dtype=python_type).dtype is getattr(refarray, name)
    assert DType(python_type) == python_type and python_type == DType(python_type)


def test_a_subclass_of_str_names_a_dtype() -> None:
    class Name(str):
        __slots__ = ()

    assert DType(Name("int8")) is refarray.int8
    assert refarray.int8 == Name("int8")


UNKNOWN = [
    "", "f5", "<<f4", "f4 ", "<", "<float32", "@f4", "Float32", " float32", "float32 ", "float128",
    "int4", "float32x", "float32x0", "float32x1", "float32x01", "float32x65536", "float32x-4",
    "float32x4x4", "float32_padded", "int8_padded", "_padded", "float4_e2m1fn_padded_padded",
    "unknown", "float32\0", "a" * 10_000, " ", "x4", "FLOAT32", "float32x04", "float32x+4",
    "float32x4 ", "float32x 4", "float32x99999", "float32x100000", "float32x4294967297",
    "float32x18446744073709551617", "float32x1a", "float32xa1", "float32xx4", "float32_4",
    "float33", "int24", "bool8", "boolean", "float8", "float8_e4m3f", "float8_e4m3fnu",
    "float4_e2m1", "float4_e2m1fn_padde", "float4_e2m1fnpadded", "float4_e2m1fn_paddedx2",
    "float8_e5m2_padded", "complex16", "bfloat", "float32\n", "int8x4\0",
]  # fmt: skip


@run_each("name", UNKNOWN, ids=range(len(UNKNOWN)))
def test_unknown_name_raises_and_is_quoted(name: str) -> None:
    with pytest.raises(ValueError, match="no dtype is named") as caught:
        DType(name)
    assert repr(name)[:60] in str(caught.value)
    assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="no dtype is named"):
        refarray.zeros((1,), dtype=name)


def touched(*_: Any) -> Any:
    raise AssertionError("foreign code ran while a dtype was recognised")


class Meta(type):
    __eq__ = touched
    __hash__ = type.__hash__
    __getattribute__ = touched
    __instancecheck__ = __subclasscheck__ = touched


class Odd(metaclass=Meta):
    __getattribute__ = touched
    __hash__ = touched
    __repr__ = touched


@run_each(
    ("wrong", "shown"),
    [
        (None, "NoneType"),
        (1, "int"),
        (1.5, "float"),
        (b"float32", "bytes"),
        (["float32"], "list"),
        (object(), "object"),
        (str, "the type str"),
        (DType, "the type DType"),
    ],
)
def test_other_objects_raise_and_their_type_is_named(wrong: object, shown: str) -> None:
    with pytest.raises(TypeError, match=f"dtype must be .*, not {shown}"):
        DType(wrong)  # type: ignore[arg-type]


def test_recognising_a_dtype_runs_no_code_of_the_object() -> None:
    for wrong, shown in ((Odd, "the type Odd"), (object.__new__(Odd), "Odd")):
        with pytest.raises(TypeError, match=f"dtype must be .*, not {shown}"):
            DType(wrong)  # type: ignore[arg-type]


class OfDlpack:
    """A dtype of another library, which answers with what it is given, or raises it."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __dlpack_data_type__(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("name", [*SCALARS, "float32x4", "float4_e2m1fnx2"])
def test_dlpacks_protocol_of_dtypes_is_given_and_read(name: str) -> None:
    dtype = DType(name)
    answer = dtype.__dlpack_data_type__()
    assert answer == (dtype.code, dtype.bits, dtype.lanes)
    assert DType(OfDlpack(answer)) == dtype == OfDlpack(answer)
    assert DType("int16" if name != "int16" else "int8") != OfDlpack(answer)
    assert refarray.empty(2, dtype=OfDlpack(answer)).dtype == dtype


def test_the_protocol_does_not_say_that_elements_are_padded() -> None:
    padded = DType("float4_e2m1fn_padded")
    assert padded.__dlpack_data_type__() == DType("float4_e2m1fn").__dlpack_data_type__()


@pytest.mark.parametrize(
    "answer", [(2, 31, 1), (99, 8, 1), (2, 32, 0), (2, 32, 1 << 16), (-2, 32, 1)]
)
def test_a_dlpack_dtype_that_refarray_lacks_is_refused(answer: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"refarray has no dtype for .code {answer[0]}, bits"):
        DType(OfDlpack(answer))
    assert (refarray.float32 == OfDlpack(answer)) is False


@pytest.mark.parametrize(
    "answer", [None, [2, 32, 1], (2, 32), (2, 32, 1, 1), (2.0, 32, 1), "float32"]
)
def test_a_wrong_answer_of_the_protocol_is_a_type_error(answer: object) -> None:
    with pytest.raises(TypeError, match=r"OfDlpack.__dlpack_data_type__\(\) must return a tuple"):
        DType(OfDlpack(answer))  # type: ignore[arg-type]


def test_an_exception_of_the_protocol_is_the_users() -> None:
    with pytest.raises(KeyError, match="mine"):
        DType(OfDlpack(KeyError("mine")))
    strict = refarray.namespace(strict=True)
    with pytest.raises(TypeError, match="dtype must be a dtype of the namespace"):
        strict.zeros(2, dtype=OfDlpack((2, 32, 1)))


def test_a_class_whose_protocol_is_none_is_no_dtype() -> None:
    class Opted(OfDlpack):
        __dlpack_data_type__ = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="not .*Opted"):
        DType(Opted((2, 32, 1)))  # type: ignore[arg-type]


def test_a_str_with_its_own_code_is_read_as_text() -> None:
    class Text(str):
        __slots__ = ()
        __eq__ = touched
        __hash__ = touched

    assert DType(Text("f4")) is refarray.float32
    with pytest.raises(ValueError, match="no dtype is named"):
        DType(Text("f5"))


def test_comparing_does_not_run_the_other_objects_code() -> None:
    class Quiet:
        """Its reflected comparison answers, all else raises."""

        __getattribute__ = touched

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    assert refarray.int8 == Quiet()
    assert refarray.Device("cpu") == Quiet()


@pytest.mark.parametrize(
    ("args", "keywords"),
    [((), {}), (("int8", "int8"), {}), (("int8",), {"name": "int8"}), ((), {"dtype": "int8"})],
)
def test_wrong_argument_count_raises(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="DType"):
        DType(*args, **keywords)


def test_name_with_a_lone_surrogate_raises() -> None:
    with pytest.raises(ValueError):
        DType("\ud800")


def test_dtypes_are_unordered() -> None:
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(refarray.int8, compare)(refarray.int16) is NotImplemented
    with pytest.raises(TypeError, match="not supported between"):
        sorted([refarray.int8, refarray.int16])  # type: ignore[type-var]


def test_dtype_is_final_and_immutable() -> None:
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (DType,), {})
    with pytest.raises(TypeError, match="immutable"):
        DType.name = "mine"  # type: ignore[misc]
    for attribute in ATTRIBUTES:
        with pytest.raises(AttributeError):
            setattr(refarray.int8, attribute, 1)
        with pytest.raises(AttributeError):
            delattr(refarray.int8, attribute)
    with pytest.raises(AttributeError):
        refarray.int8.mine = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        object.__setattr__(refarray.int8, "name", "int16")
    with pytest.raises(TypeError):
        refarray.int8.__class__ = str  # type: ignore[assignment]


def test_dtype_metadata() -> None:
    assert DType.__module__ == "refarray" and DType.__qualname__ == "DType"
    assert str(signatures.signature(DType)) == "(name)"
    assert "Array API" in (DType.__doc__ or "")
    for attribute in ATTRIBUTES:
        assert getattr(DType, attribute).__doc__
    for method in ("__reduce__",):
        assert signatures.signature(getattr(DType, method)) is not None


def test_array_dtype_is_the_interned_object() -> None:
    for name in SCALARS:
        assert refarray.empty((2,), dtype=name).dtype is getattr(refarray, name)
    array = refarray.empty((2,), dtype="float32x4")
    assert array.dtype == DType("float32x4") and array.itemsize == 16 and array.nbytes == 32
