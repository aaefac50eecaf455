"""Arrays over mapped files: memmap(), modes, lifetime, and files that change or are none."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import errno
import gc
import mmap
import multiprocessing
import os
import pickle
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.processes import printed, python

import refarray as ra

PAGE = os.sysconf("SC_PAGESIZE")
LINUX = sys.platform == "linux"
reads_proc = pytest.mark.skipif(not LINUX, reason="reads /proc, which only Linux has")
seals = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="sealed=True needs memfd_create, which only Linux has"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three pages and a bit."""
    out = tmp_path / "data"
    out.write_bytes(bytes(i % 251 for i in range(3 * PAGE + 7)))
    return out


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    out = tmp_path / "x.npy"
    ra.save(out, ra.reshape(ra.arange(6000), (60, 100)))
    return out


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def mappings(path: Path) -> int:
    return Path("/proc/self/maps").read_text(encoding="utf-8").count(f"{path}\n")


# --- memmap()


@run_each("offset", [0, 1, 7, PAGE - 1, PAGE, PAGE + 2, 2 * PAGE + 3, 3 * PAGE + 7 - 24])
@run_each("dtype", ["uint8", "bfloat16", "float32", "complex64", "float4_e2m1fn", "float8_e5m2"])
def test_elements_at_any_place(dtype: str, offset: int, path: Path) -> None:
    kind = ra.DType(dtype)
    count = 24 * 8 // kind.bits
    x = ra.memmap(path, dtype, (count // 3, 3), offset=offset)
    assert (x.dtype, x.shape, x.readonly) == (kind, (count // 3, 3), True)
    assert x.tobytes() == path.read_bytes()[offset : offset + 24]
    assert x[1:, ::2].copy().tobytes() == x.copy()[1:, ::2].copy().tobytes()


@run_each(
    ("shape", "strides", "offset"),
    [
        ((3, 4), (4, 1), 0),
        ((3, 4), (1, 3), PAGE + 6),
        ((3, 4), (-4, 1), PAGE + 64),
        ((2, 3), (100, -7), 2 * PAGE + 100),
        ((5, 2), (0, 1), 8),
        ((2,), (PAGE,), 0),
        ((0, 3), (-(2**40), 5), 3 * PAGE + 7),
        ((1,), (2**40,), 2),
        ((), (), 3 * PAGE + 5),
    ],
)
def test_strides_are_those_of_the_array(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, path: Path
) -> None:
    x = ra.memmap(path, "int16", shape, strides=strides, offset=offset)
    whole = np.frombuffer(path.read_bytes(), dtype="u1")
    want = np.lib.stride_tricks.as_strided(
        whole[offset : offset + 2].view("i2") if offset + 2 <= len(whole) else whole[:0].view("i2"),
        shape,
        [2 * step for step in strides],
    )
    assert x.shape == shape and x.tolist() == want.tolist()
    steps = [(a, b) for a, b, n in zip(x.strides, strides, shape, strict=True) if n > 1]
    assert 0 in shape or all(a == b for a, b in steps)


def test_packed_elements_with_strides(path: Path) -> None:
    x = ra.memmap(path, "float4_e2m1fn", (3, 2), strides=(4, 1), offset=5)
    row_major = ra.memmap(path, "float4_e2m1fn", (3, 4), offset=5)
    assert x.tolist() == row_major[:, :2].tolist()


@run_each(
    ("dtype", "shape", "options", "error", "text"),
    [
        ("u1", 3 * PAGE + 8, {}, ValueError, f"has {3 * PAGE + 7} bytes"),
        ("i8", 2, {"offset": 3 * PAGE}, ValueError, f"bytes {3 * PAGE} to {3 * PAGE + 16}"),
        ("u1", 1, {"offset": 3 * PAGE + 7}, ValueError, "has"),
        ("u1", 0, {"offset": 3 * PAGE + 8}, ValueError, "has"),
        ("u1", 1, {"offset": -1}, ValueError, "offset is -1"),
        ("u1", 1, {"offset": 2**70}, ValueError, "has"),
        ("u1", -1, {}, ValueError, "must not be negative"),
        ("u1", (2**62, 4), {}, ValueError, r"more than 2\*\*63 - 1 bytes"),
        ("i8", (2**61,), {}, ValueError, r"more than 2\*\*63 - 1 bytes"),
        ("u1", (2**62, 4, 0), {}, ValueError, r"more than 2\*\*63 - 1 bytes"),
        ("u1", 2**100, {}, ValueError, r"more than 2\*\*63 - 1 bytes"),
        ("u1", (1,) * 65, {}, ValueError, "65 axes"),
        ("u1", (2,), {"strides": (-1,)}, ValueError, "bytes -1 to 1"),
        ("u1", (2,), {"strides": (2**62,)}, ValueError, "has"),
        ("u1", (2,), {"strides": (2**70,)}, ValueError, "has"),
        ("u1", (0,), {"strides": (2**70,)}, OverflowError, "strides"),
        ("i8", (1,), {"strides": (2**62,)}, OverflowError, "strides"),
        ("u1", (2,), {"strides": (1, 1)}, ValueError, "strides has 2 entries"),
        ("u1", (2.0,), {}, TypeError, "float"),
        ("u1", "2", {}, TypeError, "str"),
        ("u1", 1, {"offset": 0.5}, TypeError, "float"),
        ("u1", 1, {"mode": "w+"}, ValueError, r"mode is 'w\+'"),
        ("u1", 1, {"mode": None}, ValueError, "mode is None"),
        ("nope", 1, {}, ValueError, "nope"),
    ],
)
def test_arguments_of_memmap_that_are_refused(
    dtype: str, shape: Any, options: Any, error: type[Exception], text: str, path: Path
) -> None:
    before = mappings(path) if LINUX else 0
    with pytest.raises(error, match=text):
        ra.memmap(path, dtype, shape, **options)
    assert not LINUX or mappings(path) == before


@run_each("mode", ["r", "r+", "c"])
def test_empty_arrays_and_files(mode: Any, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for shape in (0, (3, 0)):
        x = ra.memmap(tmp_path / "x", "float64", shape, mode=mode)
        assert (
            x.size == 0 and x.readonly == (mode == "r") and x.tolist() == ra.zeros(shape).tolist()
        )
        x.flush()
    ra.save(tmp_path / "x", ra.zeros((2, 0)))
    assert ra.open(tmp_path / "x", mode=mode).shape == (2, 0)
    ra.save(tmp_path / "x", {})
    assert dict(ra.open(tmp_path / "x", mode=mode, sealed=LINUX and mode != "r+")) == {}


@run_each(
    ("arguments", "error"),
    [
        ((bytes(8), "u1", (2,), None), TypeError),
        ((3, "u1", (2,), None, 0), TypeError),
        ((bytes(8), "nope", (2,), None, 0), ValueError),
        ((bytes(8), "u1", (-2,), None, 0), ValueError),
        ((bytes(8), "u1", (2,), (1, 1), 0), ValueError),
        ((bytes(8), "u1", (2,), None, -1), ValueError),
        ((bytes(8), "u1", (2,), None, 7), BufferError),
        ((bytes(8), "u1", (2,), (-1,), 0), BufferError),
        ((bytes(8), "u1", (2,), None, 2**63 - 1), BufferError),
        ((bytes(8), "f4", (2**61,), None, 0), (BufferError, OverflowError)),
        ((bytes(8), "f8", (2,), (2**61,), 0), OverflowError),
        ((memoryview(bytes(8))[::2], "u1", (2,), None, 0), BufferError),
    ],
)
def test_elements_outside_of_a_buffer_are_refused(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        ra._native._over_buffer(*arguments)


# --- Modes


def test_written_elements_are_in_the_file(saved: Path) -> None:
    x = ra.open(saved, mode="r+")
    y = ra.memmap(saved, "int64", 6000, offset=saved.stat().st_size - 48000, mode="r+")
    x[3, 4] = -7
    assert y[304] == -7  # two writers of one file
    y[0] = -1
    assert x[0, 0] == -1 and np.load(saved)[3, 4] == -7
    assert x.flush() is None and x[::2, 3:7].flush() is None and x[::-1, -1].flush() is None
    ra.save(saved.with_name("s"), {"a": x, "b": ra.ones(4, dtype="float4_e2m1fn")})
    s = ra.open(saved.with_name("s"), mode="r+")
    s["b"][1:3] = ra.zeros(2, dtype="float4_e2m1fn")
    s["b"][1:3].flush()
    assert ra.open(saved.with_name("s"))["b"].tolist() == [1, 0, 0, 1]


def test_flush_asks_the_system_for_the_pages_of_the_view() -> None:
    """msync() reports a hole in the memory for ranges that reach it, and for no others."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = libc.mmap(None, 3 * PAGE, mmap.PROT_READ, flags, -1, 0)
    libc.munmap(start + PAGE, PAGE)

    fields = {"version": 3, "shape": (3 * PAGE,), "typestr": "|u1", "data": (start, True)}
    x = ra.from_array_interface(SimpleNamespace(__array_interface__=fields))
    x[:PAGE].flush()
    x[2 * PAGE : 2 * PAGE + 1].flush()
    x[PAGE - 1 :: -1].flush()
    for view in (x, x[PAGE - 1 : PAGE + 1], x[2 * PAGE - 1 : 2 * PAGE + 1], x[PAGE : PAGE + 1]):
        with pytest.raises(OSError, match=os.strerror(errno.ENOMEM)):
            view.flush()
    libc.munmap(start, PAGE)
    libc.munmap(start + 2 * PAGE, PAGE)


def test_flush_of_other_memory(saved: Path) -> None:
    ra.ones(5).flush()
    ra.ones(()).flush()
    ra.open(saved).flush()
    ra.from_buffer(b"abc", dtype="uint8").flush()
    gpu = ra.VirtualDevice("gpu")
    x = ra.namespace(devices=[gpu]).ones(3, device=gpu)
    with pytest.raises(BufferError, match=r"flush\(\) needs host memory"):
        x.flush()


def test_a_read_only_array_is_not_written(saved: Path) -> None:
    before = saved.read_bytes()
    x = ra.open(saved)
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x[1:][0, 0] = 1
    assert not np.asarray(x).flags.writeable and not np.from_dlpack(x).flags.writeable
    assert memoryview(x).readonly and ra.from_dlpack(x).readonly
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()  # a legacy capsule cannot say so
    assert saved.read_bytes() == before


def test_copy_on_write(saved: Path) -> None:
    before = saved.read_bytes()
    for x in (
        ra.open(saved, mode="c"),
        *([ra.open(saved, mode="c", sealed=True)] if LINUX else []),
    ):
        x[0, 0] = -5
        x.flush()
        assert x[0, 0] == -5 and saved.read_bytes() == before
        assert np.from_dlpack(x).flags.writeable


def test_modes_that_do_not_go_together(saved: Path) -> None:
    with pytest.raises(ValueError, match="sealed=True copies it; choose one"):
        ra.open(saved, mode="r+", sealed=True)
    with pytest.raises(ValueError, match="mode is 'w'"):
        ra.open(saved, mode="w")  # type: ignore[arg-type]


# --- Lifetime


@reads_proc
def test_the_last_array_or_view_unmaps_the_file(saved: Path) -> None:
    ra.save(saved.with_name("s"), {"a": ra.ones(4), "b": ra.zeros(4)})
    for make, file in [
        (lambda: ra.open(saved)[1:, ::2], saved),
        (lambda: np.from_dlpack(ra.open(saved)), saved),
        (lambda: ra.open(saved.with_name("s"))["b"], saved.with_name("s")),
        (lambda: ra.memmap(saved, "u1", 9), saved),
    ]:
        before = descriptors()
        x = make()
        assert mappings(file) == 1
        if sys.version_info >= (3, 13):
            assert descriptors() == before
        del x
        gc.collect()
        assert mappings(file) == 0 and descriptors() == before


def test_use_after_the_file_is_deleted_or_replaced(saved: Path) -> None:
    x = ra.open(saved)
    ra.save(saved, x + 1)  # of the array itself
    y = ra.open(saved)
    saved.unlink()
    assert x[1, 2] == 102 and y[1, 2] == 103
    ra.save(saved, x)
    assert ra.open(saved).tolist() == x.tolist()


def test_pickles_and_copies_have_memory_of_their_own(saved: Path) -> None:
    x = ra.open(saved, mode="r+")
    made = [pickle.loads(pickle.dumps(x, 4)), copy.deepcopy(x), x.copy()]
    x[0, 0] = -1
    for y in made:
        assert y[0, 0] == 0 and y[59, 99] == 5999
    assert pickle.loads(pickle.dumps(ra.open(saved))).readonly


def _write_one(path: Path) -> None:
    ra.open(path, mode="r+")[1, 1] = -11


# From CPython 3.15 on, fork() sees the thread of faulthandler's timeout.
@pytest.mark.filterwarnings("ignore:.* is multi-threaded:DeprecationWarning")
@pytest.mark.not_repeated
def test_other_processes_write_and_forks_read(saved: Path) -> None:
    x, mine = ra.open(saved), ra.open(saved, mode="r+")
    worker = multiprocessing.get_context("spawn").Process(target=_write_one, args=(saved,))
    worker.start()
    worker.join()
    assert worker.exitcode == 0 and mine[1, 1] == -11
    child = os.fork()
    if child == 0:
        good = x[1, 2] == 102
        mine[2, 2] = -22
        del x, mine
        gc.collect()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mine[2, 2] == -22 and np.load(saved)[2, 2] == -22


# --- Alignment


@run_each("dtype", ["int16", "float32", "float64", "complex128"])
def test_unaligned_elements_stay_shared(dtype: str, path: Path) -> None:
    x = ra.memmap(path, dtype, (4, 5), offset=1, mode="r+")
    with ra.ledger(forbid="copy"):
        shared = [np.asarray(x), np.from_dlpack(x), np.asarray(ra.asarray(x)), np.asarray(x.T).T]
    x[1, 2] = 1
    for y in shared:
        assert y.ctypes.data % x.itemsize == 1 and y[1, 2] == 1
        assert y.tobytes() == path.read_bytes()[1 : 1 + x.nbytes]
    assert (x[1, 2] + x[1, 2]).tolist() == 2  # computations read them


def test_exports_that_need_alignment_copy(path: Path) -> None:
    """Arrow requires it; DLPack and the others do not, and their consumers copy themselves."""
    for offset, copies in ((1, 1), (4, 0)):
        x = ra.memmap(path, "float32", 5, offset=offset)
        with ra.ledger() as counted:
            x.__arrow_c_array__()
        assert counted.copies == copies


# --- What is no file, or changes


@contextlib.contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        yield


def each_reader(path: Any) -> Iterator[Any]:
    yield lambda: ra.open(path)
    yield lambda: ra.open(path, mode="r+")
    yield lambda: ra.memmap(path, "u1", 1)


@pytest.mark.parametrize(
    "kind", ["pipe", "directory", "socket", "device", "missing", "loop", "under"]
)
def test_what_is_no_regular_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    errors: Any = (ValueError, OSError)
    with contextlib.ExitStack() as stack:
        if kind == "pipe":
            os.mkfifo(path)
            errors = ValueError
        elif kind == "directory":
            path.mkdir()
            errors = IsADirectoryError
        elif kind == "socket":
            stack.enter_context(listening(path))
        elif kind == "device":
            path.symlink_to("/dev/zero")
            errors = ValueError
        elif kind == "missing":
            errors = FileNotFoundError
        elif kind == "loop":
            path.symlink_to(path)
            errors = OSError
        else:
            path.touch()
            path /= "y"
            errors = NotADirectoryError
        for read in each_reader(path):
            with pytest.raises(errors):
                read()
        if kind != "missing":
            before = sorted(tmp_path.iterdir())
            with pytest.raises((ValueError, OSError)):
                ra.save(path, ra.ones(3))
            assert sorted(tmp_path.iterdir()) == before


@reads_proc
def test_files_of_the_system_whose_size_is_0() -> None:
    with pytest.raises(ValueError, match="neither"):
        ra.open("/proc/self/maps")
    with pytest.raises(ValueError, match="has 0 bytes"):
        ra.memmap("/proc/self/maps", "u1", 1)


def test_paths(saved: Path) -> None:
    class Misbehaving:
        def __init__(self, answer: Any) -> None:
            self.answer = answer
            self.asked = 0

        def __fspath__(self) -> Any:
            self.asked += 1
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    assert ra.open(os.fsencode(saved))[0, 1] == 1
    once = Misbehaving(str(saved))
    assert ra.open(once)[0, 1] == 1 and once.asked == 1
    strange = os.fsencode(saved.parent) + b"/\xff\n"
    ra.save(strange, ra.ones(2))
    assert ra.open(strange).tolist() == [1, 1]
    with pytest.raises(ValueError, match="null"):
        ra.open(f"{saved}\0")
    with pytest.raises(ValueError, match="null"):
        ra.save(f"{saved}\0", ra.ones(2))
    for wrong in (3, None, 1.5, Misbehaving(3), Misbehaving(None), [str(saved)]):
        for call in (*each_reader(wrong), lambda wrong=wrong: ra.save(wrong, ra.ones(2))):
            with pytest.raises(TypeError):
                call()
    with pytest.raises(ZeroDivisionError):
        ra.open(Misbehaving(ZeroDivisionError()))


def test_permission_denied(saved: Path) -> None:
    saved.chmod(0o444)
    saved.parent.chmod(0o555)
    code = f"""
import os, refarray as ra
ra.open, ra.save  # imported before the user changes
if os.geteuid() == 0:
    os.setuid(65534)
path = {str(saved)!r}
for call in (lambda: ra.open(path, mode="r+"), lambda: ra.save(path, ra.ones(2))):
    try:
        call()
    except PermissionError as error:
        print(error.errno)
"""
    for folder in saved.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    try:
        assert printed(code).split() == ["13", "13"]
    finally:
        saved.parent.chmod(0o755)


def test_sparse_and_growing_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(2**40)
    x = ra.memmap(path, "float64", (2**37,), mode="r+")
    assert x[2**36] == 0 and x.nbytes == 2**40
    x[-1] = 2
    assert ra.memmap(path, "float64", 1, offset=2**40 - 8).tolist() == [2]
    assert path.stat().st_blocks < 100
    with path.open("ab") as file:
        file.write(b"more")
    assert x[-1] == 2
    with pytest.raises(ValueError, match="neither"):
        ra.open(path)


SHORTENED = """
import os, sys, refarray as ra
path, sealed = sys.argv[1], sys.argv[2] == "sealed"
x = ra.open(path, sealed=sealed)
child = os.fork()
if child == 0:
    os.truncate(path, 100)
    os._exit(0)
os.waitpid(child, 0)
print(int(x[59, 99]), flush=True)
"""


@seals
@pytest.mark.not_sanitized("the process dies of SIGBUS on purpose")
def test_a_sealed_copy_outlives_a_file_that_others_cut_off(saved: Path) -> None:
    whole = saved.read_bytes()
    done = python("-c", SHORTENED, saved, "sealed")
    assert (done.returncode, done.stdout) == (0, "5999\n"), done.stderr
    saved.write_bytes(whole)
    done = python("-c", SHORTENED, saved, "mapped")  # as documented
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "")


def test_a_system_without_files_in_memory_refuses_sealed_copies(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    before = descriptors() if LINUX else 0
    with pytest.raises(BufferError, match="sealed=True needs Linux"):
        ra.open(saved, sealed=True)
    assert not LINUX or descriptors() == before


@seals
def test_nobody_can_change_a_sealed_copy(saved: Path) -> None:
    x = ra.open(saved, sealed=True)
    with saved.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(bytes(8))
    assert x[59, 99] == 5999 and ra.open(saved)[59, 99] == 0
    with ra.ledger() as counted:
        ra.open(saved, sealed=True)
    assert counted.copied_bytes == saved.stat().st_size
    with pytest.raises(ra.LedgerError), ra.ledger(forbid="copy"):
        ra.open(saved, sealed=True)


@seals
def test_a_file_that_gets_shorter_while_it_is_copied(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.sendfile

    def cut(out: int, given: int, offset: int, count: int) -> int:
        os.truncate(saved, 1000)
        return original(out, given, offset, count)

    before = descriptors()
    monkeypatch.setattr(os, "sendfile", cut)
    with pytest.raises(ValueError, match="became shorter: 1000 bytes, "):
        ra.open(saved, sealed=True)
    assert descriptors() == before


# --- save()


def test_an_error_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    for data in (np.zeros(2, dtype="M8[s]"), object(), ["a"], ra.ones(3, dtype="float4_e2m1fn")):
        with pytest.raises((BufferError, TypeError, ValueError)):
            ra.save(saved, data)
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_a_full_disk_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    code = f"""
import resource, signal, refarray as ra
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
x = ra.ones(2**20)
ra.save
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
try:
    ra.save({str(saved)!r}, x)
except OSError as error:
    print(error.errno)
"""
    assert printed(code).split() == ["27"]  # EFBIG
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_modes_of_files_and_links(saved: Path) -> None:
    saved.chmod(0o640)
    link = saved.with_name("link.npy")
    link.symlink_to(saved)
    ra.save(link, ra.ones(2))
    assert link.is_symlink() and stat.S_IMODE(saved.stat().st_mode) == 0o640
    assert ra.open(saved).tolist() == [1, 1]
    before = os.umask(0o027)
    try:
        ra.save(saved.with_name("new"), ra.ones(2))
    finally:
        os.umask(before)
    assert stat.S_IMODE(saved.with_name("new").stat().st_mode) == 0o640


def test_arrays_of_other_libraries_and_devices(tmp_path: Path) -> None:
    ra.save(tmp_path / "x", [[1, 2], [3, 4]])
    assert ra.open(tmp_path / "x").tolist() == [[1, 2], [3, 4]]
    ra.save(tmp_path / "x", {"a": np.ones(2, dtype="f4"), "b": memoryview(b"ab")})
    assert {name: x.tolist() for name, x in ra.open(tmp_path / "x").items()} == {
        "a": [1, 1],
        "b": [97, 98],
    }
    x = ra.ones(9, dtype="float4_e2m1fn")[1:]
    ra.save(tmp_path / "x", {"a": x})  # begins in the middle of a byte
    assert ra.open(tmp_path / "x")["a"].tolist() == [1] * 8


def test_importing_refarray_imports_nothing_for_files() -> None:
    code = """
import sys, refarray
assert not {"mmap", "json", "refarray._files"} & sys.modules.keys(), sys.modules.keys()
refarray.open
print("refarray._files.reading" in sys.modules)
"""
    assert printed(code) == "True\n"
