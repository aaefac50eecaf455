"""Repros need no refarray, exit with status 1 where a finding shows, and say what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.processes import python

from refarray.conformance.cases import CHECKS
from refarray.conformance.harness.consumer import text
from refarray.conformance.harness.corpus import GIVEN
from refarray.conformance.repros.script import LONGEST, standalone
from refarray.conformance.subjects.subject import Library
from refarray.conformance.suite import load

pytestmark = pytest.mark.every_python

load()
WITHOUT_REFARRAY = "import sys; sys.modules['refarray'] = None\n"
CONSUMER = """
import ctypes

NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi))
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}

class Array:
    def __init__(self, capsule, wrong):
        versioned = "versioned" in repr(capsule)
        self.start = pointer(capsule, NAMES[versioned])
        at = self.start + 32 * versioned
        if "rename" not in wrong:
            rename(capsule, USED[versioned])
        shape = ctypes.c_void_p.from_address(at + 24).value
        if "write" in wrong:
            strides = ctypes.c_void_p.from_address(at + 32)
            strides.value, was = 8, strides.value
            strides.value = was
        if not shape and "null" in wrong:
            ctypes.string_at(8)
        if not shape:
            raise BufferError("NULL shape")
        data = ctypes.c_void_p.from_address(at).value
        offset = 0 if "offset" in wrong else ctypes.c_uint64.from_address(at + 40).value
        count = ctypes.c_int64.from_address(shape).value
        self.values = (ctypes.c_float * count).from_address(data + offset)
        place = self.start + (16 if versioned else 56)
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
            ctypes.c_void_p.from_address(place).value)
        self.times = 2 if "twice" in wrong else 1

    def copied(self):
        values = (ctypes.c_float * len(self.values))(*self.values)
        self.values = values
        return self

    def tolist(self):
        return list(self.values)

    def __del__(self):
        for _ in range(getattr(self, "times", 0)):
            self.deleter(self.start)

def from_dlpack(x, copy=None):
    x.__dlpack_device__()
    words = {"copy": copy, "dl_device": None} if "defaults" in WRONG else {}
    capsule = x.__dlpack__(max_version=(1, 0), **words)
    array = Array(capsule, WRONG)
    return array.copied() if copy and "copy" not in WRONG else array

class Producer:
    def __dlpack__(self, *, stream=None, max_version=None, copy=None, dl_device=None):
        if stream is not None and "stream" not in WRONG:
            raise BufferError("no streams")
        return None
"""
LIBRARY = Library("lib", "1.0", "import lib", "import lib", "{}.tolist()")


def script(name: str, repro: str, **message: Any) -> str:
    """The script of a case, from the kit's own repro."""
    return standalone(CHECKS[name], {"repro": repro, **message}, LIBRARY)


def run(code: str, folder: Path, wrong: str) -> tuple[int, str]:
    """Exit status and output of a script, beside a library with that defect."""
    (folder / "lib.py").write_text(f"WRONG = {wrong!r}\n{CONSUMER}", encoding="utf-8")
    done = python("-c", WITHOUT_REFARRAY + code, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def given(call: str) -> str:
    """The kit's repro of an import."""
    return f"from refarray.conformance import give; import lib\nprint({call})"


# defect: (check, the kit's repro, message, words of the output)
CASES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "copy": (
        "COPY-07[consumer-ignored]",
        given("lib.from_dlpack(give(shape=(3,)), copy=True)"),
        {"observed": "the producer's own memory"},
        "wrote 99 through the producer's memory",
    ),
    "offset": (
        "TENS-01[consumer-offset8]",
        given("lib.from_dlpack(give(byte_offset=8))"),
        {"observed": "imported with values [0.0, 1.0, 2.0]"},
        "data + byte_offset",
    ),
    "twice": (
        "LIFE-03[consumer-abi-05-every-second]",
        given("lib.from_dlpack(give(shape=(3,)))"),
        {"observed": "2 calls"},
        "called 2 times, not once",
    ),
    "defaults": (
        "CONS-09[consumer-defaults]",
        given("lib.from_dlpack(give(shape=(3,)))"),
        {"observed": "__dlpack__(copy=None)"},
        "'dl_device': None",
    ),
    "rename": (
        "LIFE-10[consumer-renamed]",
        given("lib.from_dlpack(give(shape=(3,)))"),
        {"observed": "named dltensor_versioned"},
        "still named b'dltensor_versioned'",
    ),
    "null": (
        "TENS-08[consumer-null]",
        given("lib.from_dlpack(give(shape=None, strides=None, ndim=2))"),
        {"died": "SIGSEGV: Segmentation fault", "observed": "SIGSEGV: Segmentation fault"},
        "Segmentation fault",
    ),
    "write": (
        "LIFE-19[consumer-frozen-no-strides]",
        given("lib.from_dlpack(give(shape=(3,), strides=None, frozen=True, versioned=False))"),
        {"died": "SIGSEGV: Segmentation fault", "observed": "SIGSEGV: Segmentation fault"},
        "Segmentation fault",
    ),
    "stream": (
        "STRM-14[producer-cpu-1]",
        "import lib\nprint(lib.Producer().__dlpack__(stream=1, max_version=(1, 3)))",
        {"observed": "dltensor_versioned 1.3"},
        "it was accepted",
    ),
}


ASAN = pytest.mark.not_sanitized("ASAN ends the process by SIGABRT")
MARKS = {"null": ASAN, "write": ASAN}


@pytest.mark.parametrize(
    "defect", [pytest.param(name, marks=MARKS.get(name, ())) for name in CASES]
)
def test_a_script_shows_its_defect_and_no_other(defect: str, tmp_path: Path) -> None:
    name, repro, message, words = CASES[defect]
    code = script(name, repro, **message)
    assert "refarray" not in code and len(code.splitlines()) <= LONGEST
    status, printed = run(code, tmp_path, defect)
    assert status == 1 and words in printed, printed
    assert "Traceback" not in printed
    status, printed = run(code, tmp_path, "nothing")
    assert status == 0, printed


@pytest.mark.parametrize("died", ["", "SIGSEGV: Segmentation fault"])
def test_every_tensor_of_the_corpus_has_a_script(died: str) -> None:
    for tensor in GIVEN:
        call = f"lib.from_dlpack({text(tensor.fields)})"
        observed = died or ("imported" if tensor.right == "refuse" else "BufferError: no")
        name = f"{tensor.id}[consumer-{tensor.case}]"
        code = script(name, given(call), observed=observed, died=died)
        if tensor.values is None and tensor.right != "refuse" and not died:
            continue  # nothing is expected that a script could compare
        compile(code, name, "exec")
        assert "refarray" not in code and "sys.exit(" in code, name
        assert len(code.splitlines()) <= LONGEST, f"{name}: {len(code.splitlines())} lines\n{code}"


def test_what_needs_refarray_stays_as_it_is() -> None:
    repro = "import lib\nfrom refarray.conformance import _adversary\n_adversary.take(lib.x)"
    assert script("LIFE-14[producer-pending]", repro, observed="pending: None") == repro
