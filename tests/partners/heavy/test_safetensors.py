"""The safetensors library: each reads the other's files, and what it accepts and we refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy as theirs
from safetensors import SafetensorError, safe_open

import refarray as ra
from refarray._files.safetensors import DTYPES

#: Dtypes that its functions for NumPy have; of the others it reads the bytes.
OF_NUMPY = [code for code, name in DTYPES.items() if hasattr(np, name) and name != "bool"]


def bits(dtype: Any) -> Any:
    return np.arange(24, dtype="u1").view(f"u{np.dtype(dtype).itemsize}").view(dtype)


def safetensors_file(text: str, data: bytes = b"") -> bytes:
    return len(text).to_bytes(8, "little") + text.encode() + data


def info(dtype: str, shape: str, offsets: str) -> str:
    return f'{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{offsets}]}}'


@pytest.mark.parametrize("code", ["BOOL", *OF_NUMPY])
def test_each_reads_the_files_of_the_other(code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    x = bits(DTYPES[code]) if code != "BOOL" else np.arange(24) % 3 == 0
    arrays = {"a": x, "é": x[:0], "b": x[:2].reshape(2, 1), "one": x[:1].reshape(())}
    theirs.save_file(arrays, path, metadata={"k": "v"})
    ours = ra.open(path)
    assert ours.metadata == {"k": "v"} and set(ours) == set(arrays)
    for name, y in ours.items():
        assert (y.dtype, y.shape) == (ra.DType(DTYPES[code]), arrays[name].shape)
        assert y.tobytes() == arrays[name].tobytes()
    ra.save(path, arrays, metadata={"k": "v"})
    assert {n: y.tobytes() for n, y in theirs.load_file(path).items()} == {
        name: y.tobytes() for name, y in arrays.items()
    }
    with safe_open(path, "np") as file:
        assert file.metadata() == {"k": "v"}


@pytest.mark.parametrize("code", DTYPES)
def test_it_accepts_our_files_of_every_dtype(code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    ra.save(path, {"a": ra.ones((4, 8), dtype=DTYPES[code])})
    with safe_open(path, "np") as file:
        found = file.get_slice("a")
        assert (found.get_dtype(), found.get_shape()) == (code, [4, 8])


def test_bfloat16_by_ml_dtypes(tmp_path: Path) -> None:
    x = bits(ml_dtypes.bfloat16)
    ra.save(tmp_path / "x", {"a": x})
    assert theirs.load_file(tmp_path / "x")["a"].view("u2").tolist() == x.view("u2").tolist()


A = info("U8", "1", "0,1")
#: As in docs/files.md.
ACCEPTED = [
    (f'{{"a":{A},"a":{A}}}', b"a"),
    (f' {{"a":{A}}}', b"a"),
    ('{"a":' + A.replace("}", ',"more":[[1]]}') + "}", b"a"),
    ('{"__metadata__":{"a":"b","a":"c"}}', b""),
    ('{"__metadata__":null}', b""),
    ('{"a":["U8",[1],[0,1]]}', b"a"),
    (f'{{"a":{info("U8", f"{2**63},0", "0,0")}}}', b""),
    (f'{{"a":{info("U8", ",".join(["1"] * 65), "0,1")}}}', b"a"),
]


@pytest.mark.parametrize(("text", "data"), ACCEPTED)
def test_what_it_accepts_and_we_refuse(text: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(safetensors_file(text, data))
    with safe_open(tmp_path / "x", "np") as file:
        file.keys()
    with pytest.raises(ValueError):
        ra.open(tmp_path / "x")


def test_both_refuse_a_gap(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(safetensors_file(f'{{"a":{info("U8", "1", "1,2")}}}', b"ab"))
    with pytest.raises(SafetensorError):
        safe_open(tmp_path / "x", "np")
    with pytest.raises(ValueError, match="leaves a gap"):
        ra.open(tmp_path / "x")
