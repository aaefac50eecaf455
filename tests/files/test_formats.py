"""open() and save(): .npy and safetensors, by bytes from the formats' texts and by NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra
from refarray._files import npy, safetensors
from refarray._numpy import _NATIVE_NAMES, _TO_ML_DTYPES, numpy_dtype

WHOLE = sorted(_NATIVE_NAMES | set(_TO_ML_DTYPES))
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1,) * 64]


def elements(dtype: str, shape: tuple[int, ...]) -> Any:
    """An array of bytes 0, 1, 2 … as elements of any dtype."""
    kind = ra.DType(dtype)
    bits = 8 * kind.itemsize if kind.padded else kind.bits * kind.lanes
    count = -(-int(np.prod(shape, dtype=np.int64)) * bits // 8)
    limit = 2 if dtype == "bool" else 256 if "padded" not in dtype else 8
    return ra._native._over_buffer(
        bytearray(i % limit for i in range(count)), dtype, shape, None, 0
    )


def npy_file(text: str, data: bytes = b"", version: int = 1) -> bytes:
    length = len(text.encode()).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes((version, 0)) + length + text.encode() + data


def safetensors_file(text: str | bytes, data: bytes = b"") -> bytes:
    header = text if isinstance(text, bytes) else text.encode()
    return len(header).to_bytes(8, "little") + header + data


def entry(dtype: str, shape: str, offsets: str) -> str:
    return f'{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{offsets}]}}'


# --- .npy


@run_each("dtype", WHOLE)
def test_numpy_reads_what_is_saved_and_the_reverse(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for shape in SHAPES:
        x = elements(dtype, shape)
        ra.save(path, x)
        theirs = np.load(path)
        assert theirs.shape == shape and theirs.tobytes() == x.tobytes()
        if dtype in _NATIVE_NAMES:
            assert theirs.dtype == numpy_dtype(x.dtype)
            assert ra.open(path).tobytes() == x.tobytes()
        else:
            assert theirs.dtype.kind == "V" and theirs.dtype.itemsize == x.itemsize
        np.save(path, x.numpy())
        for y in (ra.open(path, dtype=dtype), ra.open(path, dtype=dtype, sealed=True)):
            assert (y.dtype, y.shape, y.tobytes()) == (x.dtype, shape, x.tobytes())
            assert y.readonly


@run_each("dtype", [name for name in WHOLE if name not in _NATIVE_NAMES])
def test_a_dtype_that_npy_does_not_name_must_be_given(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    x = elements(dtype, (2, 3))
    for write in (lambda: ra.save(path, x), lambda: np.save(path, x.numpy())):
        write()
        with pytest.raises(BufferError, match=r"a type that \.npy does not name; dtype= must"):
            ra.open(path)
        with pytest.raises(ValueError, match="dtype is float64; the file has elements of '<"):
            ra.open(path, dtype="float64")
        with pytest.raises(ValueError, match="dtype is float4_e2m1fn; "):
            ra.open(path, dtype="float4_e2m1fn")


def test_the_bytes_of_a_saved_array(tmp_path: Path) -> None:
    ra.save(tmp_path / "x", ra.asarray([1, 2, -3], dtype="int16"))
    text = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }"
    data = b"\x93NUMPY\1\0\x76\0" + f"{text:117}\n".encode() + bytes([1, 0, 2, 0, 0xFD, 0xFF])
    assert (tmp_path / "x").read_bytes() == data


def test_column_major_arrays_keep_their_order_without_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    x = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    for write in (np.save, ra.save):
        write(path, x)
        with ra.ledger(forbid="copy"):
            y = ra.open(path)
        assert y.strides == (1, 2, 6) and y.tolist() == x.tolist()
        assert np.load(path).flags.f_contiguous and (np.load(path) == x).all()
    np.save(path, np.asfortranarray(np.zeros((3, 0, 2))))
    assert ra.open(path).shape == (3, 0, 2)


@run_each("view", [lambda x: x[::2, ::-1], lambda x: x.T[1:], lambda x: x[0]])
def test_other_layouts_are_saved_in_row_major_order(view: Any, tmp_path: Path) -> None:
    x = view(ra.reshape(ra.arange(24), (4, 6)))
    ra.save(tmp_path / "x.npy", x)
    assert np.load(tmp_path / "x.npy").tolist() == x.tolist()
    ra.save(tmp_path / "x.safetensors", {"x": x})
    assert ra.open(tmp_path / "x.safetensors")["x"].tolist() == x.tolist()


def test_big_endian_elements_are_refused_with_what_copies_them(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for dtype in (">i2", ">f8", ">c8"):
        np.save(path, np.asarray([1, 2, 3], dtype=dtype))
        with pytest.raises(BufferError, match=rf"big-endian, '{dtype}'.*refarray.asarray"):
            ra.open(path)
        assert ra.asarray(np.load(path, mmap_mode="r")).tolist() == [1, 2, 3]
    path.write_bytes(npy_file("{'descr':'>u1','fortran_order':False,'shape':(2,)}", b"ab"))
    assert ra.open(path).tolist() == [97, 98]  # a byte has no order


def test_on_a_big_endian_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "NATIVE", ">")
    monkeypatch.setattr(npy, "OTHER", "<")
    monkeypatch.setattr("sys.byteorder", "big")
    path = tmp_path / "x.npy"
    np.save(path, np.asarray([1], dtype="<i2"))
    with pytest.raises(BufferError, match="little-endian, '<i2'"):
        ra.open(path)
    for dtype in ("uint8", "int16", "bfloat16"):
        ra.save(path, ra.ones((1,), dtype=dtype))
        order = "|" if dtype == "uint8" else ">"
        assert f"'descr': '{order}".encode() in path.read_bytes()
        assert ra.open(path, dtype=dtype).tolist() == [1]
    path = tmp_path / "x.safetensors"
    x = ra.ones((1,), dtype="int16")
    with pytest.raises(BufferError, match="'x'.* little-endian elements; int16 is big-endian here"):
        ra.save(path, {"x": x})
    path.write_bytes(safetensors_file(f'{{"x":{entry("I16", "1", "0,2")}}}', b"ab"))
    with pytest.raises(BufferError, match="'x'.* little-endian elements"):
        ra.open(path)
    ra.save(path, {"x": x.astype("uint8")})
    assert ra.open(path)["x"].tolist() == [1]


@run_each("dtype", ["M8[ns]", "U3", "S4", "V0", "f16"])
def test_other_types_are_refused(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, dtype=dtype))
    with pytest.raises(BufferError, match="refarray has no dtype for elements of"):
        ra.open(tmp_path / "x.npy", dtype="float32")


def test_structures_and_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, dtype="u1, f4"))
    with pytest.raises(ValueError, match="expected descr, the type of numbers as text at char"):
        ra.open(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(BufferError, match=r"no dtype for elements of '\|O'"):
        ra.open(tmp_path / "x.npy")


GOOD = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }"
ACCEPTED_NPY = [
    GOOD,
    "{'shape':(2,),'descr':'<u2','fortran_order':False}",
    '{"descr": "<u2", "fortran_order": False, "shape": (2,)}   \n',
    "\n{ 'descr' : '<u2' ,\t'fortran_order' : False, 'shape' : ( 2L , ) , } ",
    GOOD.replace("(2,)", "(2, 1,)"),
]
REFUSED_NPY = [
    *("", "{}", "2", "[]", "{'descr': '<u2'}", GOOD[:-1], GOOD + "x", GOOD + "#", "(" + GOOD + ")"),
    *(GOOD.replace("(2,)", shape) for shape in ("(2)", "[2]", "2", "(-2,)", "(2.0,)", "(02,)")),
    *(GOOD.replace("(2,)", shape) for shape in ("(0x2,)", "(2_0,)", "(+2,)", "(True,)", "(,)")),
    *(GOOD.replace("(2,)", shape) for shape in ("(2,,)", "(2 3)", "(1+1,)", "(2,) ,,", "((2,),)")),
    *(GOOD.replace("(2,)", shape) for shape in ("(" + "9" * 5000 + ",)", "(2,)*1", "(2l,)", "()")),
    GOOD.replace("(2,)", f"({2**63},)"),
    GOOD.replace("(2,)", f"({2**62}, {2**62}, 0)"),  # without strides that fit
    GOOD.replace("(2,)", f"({2**32}, {2**31})"),  # 2**64 bytes
    GOOD.replace("(2,)", "(" + "1, " * 64 + "2)"),
    GOOD.replace("(2,)", "(3,)"),  # more than the file has
    GOOD.replace("(2,)", "(1,)"),  # less
    GOOD.replace("False", "0"),
    GOOD.replace("False", "Falsehood"),
    GOOD.replace("False", "None"),
    GOOD.replace("'shape'", "'shape': (2,), 'shape'"),
    GOOD.replace("'shape'", "'shapes'"),
    GOOD.replace(", }", ", 'more': 1}"),
    GOOD.replace("'<u2'", "'<u' '2'"),
    GOOD.replace("'<u2'", "u'<u2'"),
    GOOD.replace("'<u2'", "'\\x3cu2'"),
    GOOD.replace("'<u2'", "b'<u2'"),
    GOOD.replace("'<u2'", "['<u2']"),
    GOOD.replace("'<u2'", "'<u\x002'"),
    GOOD.replace("'<u2'", "'<u²'"),
    "(" * 4000,
    "{'descr':" * 1000,
]
NO_DTYPE = [
    "'u2'",
    "'=u2'",
    "'|u2'",
    "'<u02'",
    "'uint16'",
    "''",
    "'<u3'",
    "'>V2'",
    "'|V0'",
    "'<f16'",
]


@run_each("text", ACCEPTED_NPY)
def test_headers_of_npy_that_are_read(text: str, tmp_path: Path) -> None:
    for version in (1, 2, 3):
        (tmp_path / "x").write_bytes(npy_file(text, b"\1\0\2\0", version))
        assert ra.reshape(ra.open(tmp_path / "x"), (2,)).tolist() == [1, 2]


@run_each("text", REFUSED_NPY)
def test_headers_of_npy_that_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(npy_file(text, b"\1\0\2\0"))
    with pytest.raises(ValueError) as caught:
        ra.open(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value) and len(str(caught.value)) < 2000


@run_each("code", NO_DTYPE)
def test_types_of_npy_that_are_refused(code: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(npy_file(GOOD.replace("'<u2'", code), b"\1\0\2\0"))
    with pytest.raises(BufferError, match="no dtype for elements of"):
        ra.open(tmp_path / "x", dtype="bfloat16")


def test_every_beginning_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for whole in (npy_file(GOOD, b"\1\0\2\0"), safetensors_file("{}"), b"\x93NUMPY\4\0\0\0"):
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(ValueError):
                ra.open(path)
    with pytest.raises(ValueError, match=r"version of \.npy is 4\.0"):
        npy.parse(b"\x93NUMPY\4\0" + bytes(99), 107)
    path.write_bytes(npy_file(" " * 10_001))
    with pytest.raises(ValueError, match="length is 10001; the limit is 10000 bytes"):
        ra.open(path)


def test_no_array_of_a_packed_dtype_is_saved_as_npy(tmp_path: Path) -> None:
    for dtype in ("float4_e2m1fn", "float6_e2m3fn"):
        with pytest.raises(BufferError, match=rf'astype\("{dtype}_padded"\)'):
            ra.save(tmp_path / "x.npy", ra.ones(4, dtype=dtype))
    assert not list(tmp_path.iterdir())
    x = elements("float32x3", (2,))
    ra.save(tmp_path / "x.npy", x)
    assert ra.open(tmp_path / "x.npy", dtype="float32x3").tobytes() == x.tobytes()


# --- safetensors


@run_each("code", list(safetensors.DTYPES))
def test_every_dtype_of_safetensors(code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    dtype = ra.DType(safetensors.DTYPES[code])
    for shape in [(8,), (0,), (4, 2), (2, 0, 3), *([] if dtype.bits < 8 else [(), (3,)])]:
        x = elements(dtype.name, shape)
        ra.save(path, {"a": x})
        size = len(x.tobytes())
        header = entry(code, ",".join(map(str, shape)), f"0,{size}")
        header = f'{{"a":{header}}}'
        header += " " * (-len(header) % 8)
        assert path.read_bytes() == safetensors_file(header, x.tobytes())
        for sealed in (False, True):
            y = ra.open(path, sealed=sealed)["a"]
            assert (y.dtype, y.shape, y.tobytes(), y.readonly) == (dtype, shape, x.tobytes(), True)


def test_other_dtypes_are_not_saved_as_safetensors(tmp_path: Path) -> None:
    for dtype in ("complex128", "complex32", "float8_e3m4", "float4_e2m1fn_padded", "float32x2"):
        with pytest.raises(BufferError, match=f"'a': safetensors has no arrays of {dtype} "):
            ra.save(tmp_path / "x", {"a": elements(dtype, (2,))})
    with pytest.raises(BufferError, match="fill whole bytes"):
        ra.save(tmp_path / "x", {"a": ra.ones(3, dtype="float4_e2m1fn")})
    assert not list(tmp_path.iterdir())


def test_the_order_of_a_file_is_kept_and_its_elements_are_aligned(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    arrays = {
        "z": ra.ones(3, dtype="uint8"),
        "é\n": ra.ones((2, 2)),
        "a": ra.zeros(1),
        "": ra.ones(0),
    }
    ra.save(path, arrays, metadata={"made": "by\u0000 hand", "": "é"})
    back = ra.open(path)
    assert list(back) == ["é\n", "a", "", "z"]  # as saved, but the greatest elements first
    assert back.metadata == {"made": "by\u0000 hand", "": "é"}
    assert {name: x.tolist() for name, x in back.items()} == {
        name: x.tolist() for name, x in arrays.items()
    }
    assert all(x.__array_interface__["data"][0] % x.itemsize == 0 for x in back.values() if x.size)
    ra.save(tmp_path / "y", back)  # with its metadata
    assert (tmp_path / "y").read_bytes() == path.read_bytes()
    ra.save(tmp_path / "y", back, metadata={})
    assert ra.open(tmp_path / "y").metadata == {}


def test_named_arrays_are_a_read_only_mapping(tmp_path: Path) -> None:
    ra.save(tmp_path / "x", {"a": ra.ones(2), "b": ra.zeros(3)})
    x = ra.open(tmp_path / "x")
    assert isinstance(x, ra.NamedArrays) and len(x) == 2 and "a" in x and "c" not in x
    assert repr(x) == "<refarray.NamedArrays: 2 arrays, 40 bytes>"
    with pytest.raises(TypeError):
        x["a"] = ra.ones(2)
    with pytest.raises(KeyError, match="c"):
        x["c"]
    x.metadata["k"] = "v"
    assert ra.open(tmp_path / "x").metadata == {}


A = f'{{"a":{entry("U8", "2", "0,2")}}}'
B = entry("U8", "1", "0,1")
ACCEPTED_SAFETENSORS: list[tuple[str, bytes, list[str]]] = [
    ("{}", b"", []),
    (A, b"ab", ["a"]),
    (A.replace(":", " : ").replace(",", "\n,\t") + " \n", b"ab", ["a"]),
    ('{"\\u0041\\n":' + B + "}", b"a", ["A\n"]),
    ('{"":' + B + "}", b"a", [""]),
    ('{"\\ud83d\\ude00":' + B + "}", b"a", ["😀"]),
    ('{"__metadata__":{},"a":' + B + "}", b"a", ["a"]),
    (f'{{"a":{entry("U8", "1", "1,2")},"b":{B}}}', b"ab", ["b", "a"]),
    (f'{{"a":{entry("U8", "0", "1,1")},"b":{B},"c":{entry("F64", "3,0", "0,0")}}}', b"a",
     ["c", "b", "a"]),
    (f'{{"a":{entry("F4", "2,1", "0,1")}}}', b"a", ["a"]),
]  # fmt: skip
REFUSED_SAFETENSORS: list[tuple[str | bytes, bytes]] = [
    # What safetensors 0.8.0 accepts:
    (f'{{"a":{B},"a":{B}}}', b"a"),
    (f'{{"\\u0061":{B},"a":{entry("U8", "0", "1,1")}}}', b"a"),
    (" " + A, b"ab"),
    (A.replace("}}", ',"x":1}}'), b"ab"),
    (A.replace("}}", ',"x":' + "[" * 100 + "]" * 100 + "}}"), b"ab"),
    ('{"__metadata__":{"a":"b","a":"c"}}', b""),
    ('{"__metadata__":null}', b""),
    ('{"a":["U8",[2],[0,2]]}', b"ab"),
    (f'{{"a":{entry("U8", f"{2**63},0", "0,0")}}}', b""),
    (f'{{"a":{entry("U8", ",".join(["1"] * 65), "0,1")}}}', b"a"),
    # What it refuses too:
    *((text, b"ab") for text in ("", "[]", "{", "}", "null", A[:-1], A + "x", A + "{", A + "\0")),
    *((A.replace("[2]", shape), b"ab") for shape in ("[-2]", "[2.0]", "[02]", "[2e0]", "[+2]")),
    *(
        (A.replace("[2]", shape), b"ab")
        for shape in ("2", "null", "[[2]]", "[2,]", "[true]", '["2"]')
    ),
    *((A.replace("[2]", shape), b"ab") for shape in ("[3]", "[1]", "[]", "[2,0]", f"[{10**30}]")),
    (f'{{"a":{entry("U8", "-0", "0,0")}}}', b""),
    (f'{{"a":{entry("U8", f"{2**32},{2**32}", "0,0")}}}', b""),
    (f'{{"a":{entry("U8", f"{2**62},{2**62},0", "0,0")}}}', b""),
    (f'{{"a":{entry("U8", "1", "1,2")}}}', b"ab"),  # a gap
    (f'{{"a":{entry("U8", "1", "0,1")}}}', b"ab"),  # a remainder
    (f'{{"a":{entry("U8", "2", "0,2")},"b":{entry("U8", "2", "1,3")}}}', b"abc"),  # an overlap
    (f'{{"a":{entry("U8", "2", "0,2")},"b":{entry("U8", "2", "0,2")}}}', b"ab"),
    (f'{{"a":{entry("U8", "0", "1,0")}}}', b"a"),
    (f'{{"a":{entry("U8", "0", "9,9")}}}', b""),
    (f'{{"a":{entry("F4", "3", "0,2")}}}', b"ab"),
    (f'{{"a":{entry("U8", "3", "0,3")}}}', b"ab"),
    (A.replace('"dtype":"U8",', ""), b"ab"),
    (A.replace('"shape":[2],', ""), b"ab"),
    (A.replace("[0,2]", "[0,2,2]"), b"ab"),
    (A.replace("[0,2]", "[0]"), b"ab"),
    (A.replace('"U8"', "8"), b"ab"),
    (A.replace('"dtype":"U8"', '"dtype":"U8","dtype":"U8"'), b"ab"),
    ('{"__metadata__":{},"__metadata__":{}}', b""),
    ('{"__metadata__":{"a":1}}', b""),
    ('{"__metadata__":[]}', b""),
    ('{"\\ud800":' + B + "}", b"a"),
    ('{"\\x":' + B + "}", b"a"),
    ('{"a\1":' + B + "}", b"a"),
    (b'{"\xff":' + B.encode() + b"}", b"a"),
    (b"\xef\xbb\xbf{}", b""),
    ("[" * 100_000, b""),
    ('{"a":' * 100_000, b""),
    ('{"__metadata__":' + "{" * 100_000, b""),
]


@run_each(("text", "data", "names"), ACCEPTED_SAFETENSORS)
def test_headers_of_safetensors_that_are_read(
    text: str, data: bytes, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "x").write_bytes(safetensors_file(text, data))
    back = ra.open(tmp_path / "x")
    found = json.loads(text)
    assert list(back) == names
    for name, x in back.items():
        begin, end = found[name]["data_offsets"]
        assert (x.tobytes(), list(x.shape)) == (data[begin:end], found[name]["shape"])


@run_each(("text", "data"), REFUSED_SAFETENSORS)
def test_headers_of_safetensors_that_are_refused(
    text: str | bytes, data: bytes, tmp_path: Path
) -> None:
    (tmp_path / "x").write_bytes(safetensors_file(text, data))
    with pytest.raises(ValueError) as caught:
        ra.open(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value) and len(str(caught.value)) < 2000


def test_an_unknown_dtype_of_safetensors(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(safetensors_file(A.replace("U8", "C128"), b"ab"))
    with pytest.raises(BufferError, match="'a': refarray has no dtype for elements of 'C128'"):
        ra.open(tmp_path / "x")
    (tmp_path / "x").write_bytes(safetensors_file(A, b"ab"))
    with pytest.raises(ValueError, match="dtype is int8, but safetensors names the dtype"):
        ra.open(tmp_path / "x", dtype="int8")


@run_each("length", [0, 1, 3, 100, 100_000_001, 2**63, 2**64 - 1])
def test_lengths_of_headers_that_lie(length: int, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match=f"a header of {length} bytes; the file has 10, and the"):
        ra.open(tmp_path / "x")


def test_names_and_metadata_that_json_does_not_have(tmp_path: Path) -> None:
    x = ra.ones(1)
    for names, metadata, error in [
        ({1: x}, {}, TypeError),
        ({b"a": x}, {}, TypeError),
        ({"a": x}, {"a": 1}, TypeError),
        ({"a": x}, {1: "a"}, TypeError),
        ({"__metadata__": x}, {}, ValueError),
        ({"\ud800": x}, {}, ValueError),
        ({"a": x}, {"a": "\ud800"}, ValueError),
        (x, {"a": "b"}, ValueError),
    ]:
        with pytest.raises(error):
            ra.save(tmp_path / "x", names, metadata=metadata)
    for name, data in [("x.npy", {"a": x}), ("x.safetensors", x)]:
        with pytest.raises(ValueError, match="mappings are stored as safetensors"):
            ra.save(tmp_path / name, data)
    assert not list(tmp_path.iterdir())
