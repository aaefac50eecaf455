"""The command line: output and exit status of every command, as a module and as a script."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.processes import python, python_path

import refarray
from refarray import _doctor, _partners
from refarray.__main__ import COMMANDS, main

pytestmark = [pytest.mark.every_python, pytest.mark.not_repeated]


def call(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return python("-m", "refarray", *arguments, **options)


Capture = pytest.CaptureFixture[str]


# --- entry points, help, usage


def test_module_and_console_script_are_the_same() -> None:
    for spelling in ("version", "--version"):
        assert call(spelling).stdout == f"{refarray.__version__}\n"
    points = importlib.metadata.entry_points(group="console_scripts", name="refarray")
    assert all(point.load() is main for point in points)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help(arguments: list[str], capsys: Capture) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("usage: refarray")
    assert printed.err == ""


def test_help_names_every_command(capsys: Capture) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    assert all(f"\n    {name} " in text for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["inspect"], ["version", "--loud"], ["doctor", "x"]]
)
def test_wrong_usage_exits_with_status_2(arguments: list[str], capsys: Capture) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: refarray")


def test_closed_stdout_exits_silently() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "refarray", "version"]
    done = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


# --- include


FOLDERS = [
    ([], "get_include", "include", "did not install"),
    (["--cmake-dir"], "get_cmake_dir", "share/cmake/refarray", "no CMake package next to"),
    (["--pkgconfig-dir"], "get_pkgconfig_dir", "share/pkgconfig", "no pkg-config file next to"),
]


@pytest.mark.parametrize(("options", "function", "folder", "message"), FOLDERS)
def test_folders_of_the_packages(
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: list[str],
    function: str,
    folder: str,
    message: str,
) -> None:
    monkeypatch.setattr("refarray._build.__file__", str(tmp_path / "_build.py"))
    monkeypatch.setattr("refarray._native.__file__", str(tmp_path / "_native.so"))
    assert main(["include", *options]) == 1
    assert message in capsys.readouterr().err
    (tmp_path / folder).mkdir(parents=True)
    assert main(["include", *options]) == 0
    assert capsys.readouterr().out == f"{tmp_path / folder}\n"
    monkeypatch.setattr(f"refarray._build.{function}", lambda: "a folder")
    assert main(["include", *options]) == 0
    assert capsys.readouterr().out == "a folder\n"


def test_one_folder_at_a_time() -> None:
    assert main(["include", "--cmake-dir", "--pkgconfig-dir"]) == 2


# --- inspect


def test_inspect_prints_the_inspection(capsys: Capture) -> None:
    assert main(["inspect", "numpy.arange(6)[::2]"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "inspection of numpy.ndarray"
    assert any(line.split() == ["strides", "(2,)", "elements"] for line in lines)


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("numpy.zeros((2, 3)).T", [3, 2]),
        ("np.zeros(4)", [4]),
        (" ra.ones(5) ", [5]),
        ("refarray.to_capsule(refarray.zeros(7))", [7]),
        ("[numpy.zeros(n) for n in range(4)][-1]", [3]),
        ("(lambda a, b: numpy.zeros(a + b))(1, 2)", [3]),
        ("(n := numpy).zeros(max(2, len('abc')))", [3]),
        ("numpy.ma.core.np.zeros(1)", [1]),
    ],
)
def test_inspect_imports_the_modules_in_the_expression(
    expression: str, shape: list[int], capsys: Capture
) -> None:
    assert main(["inspect", "--json", expression]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == shape


def test_inspect_imports_submodules(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text("import refarray\nx = refarray.zeros((9, 1))\n")
    done = call("inspect", "--json", "mine.deep.x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["shape"] == [9, 1]


@pytest.mark.parametrize(
    ("expression", "status", "message"),
    [
        ("numpy.arange(", 2, "is not an expression"),
        ("x = 1", 2, "is not an expression"),
        ("", 2, "is not an expression"),
        ("nmpy.arange(3)", 1, "'nmpy' is neither a builtin nor an importable module"),
        ("numpy.nothing.here", 1, "AttributeError"),
        ("1 / 0", 1, "evaluating the expression raised ZeroDivisionError: division by zero"),
        ("[1, 2]", 1, "list has no __dlpack__"),
        ("numpy.ndarray", 1, "is a class"),
    ],
)
def test_inspect_reports_errors(
    expression: str, status: int, message: str, capsys: Capture
) -> None:
    assert main(["inspect", expression]) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_inspect_reports_a_failing_import(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise OSError('out of order')\n")
    done = call("inspect", "broken.x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "importing broken raised OSError: out of order" in done.stderr


# --- doctor


def test_doctor_prints_every_section(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("REFARRAY_")]:
        monkeypatch.delenv(name)
    assert main(["doctor", "--quick"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"refarray {refarray.__version__}\n")
    for word in ("build", "interpreter", "drivers", "environment", "partners"):
        assert f"\n{word}\n" in text
    assert "numpy" in text
    assert text.endswith("no problems found\n")


def test_doctor_as_json(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFARRAY_LIBCUDA", "nowhere.so")
    main(["doctor", "--quick", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["build"] == refarray.build_info()
    assert report["environment"] == {"REFARRAY_LIBCUDA": "nowhere.so"}
    drivers = {driver["name"]: driver for driver in report["drivers"]}
    assert set(drivers) == {"CUDA", "ROCm"}
    assert drivers["CUDA"]["library"] == "nowhere.so"
    assert not drivers["CUDA"]["found"]
    assert "nowhere.so" in drivers["CUDA"]["detail"]
    assert report["ok"] is True


def test_doctor_warns_of_unknown_variables(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFARRAY_LIBCUDDA", "x")
    assert main(["doctor", "--quick"]) == 1
    assert "environment variable REFARRAY_LIBCUDDA has no effect" in capsys.readouterr().out


def test_doctor_knows_every_variable_of_the_native_module() -> None:
    source = Path(__file__).resolve().parents[2] / "src"
    names = [
        name.strip('",;)')
        for path in source.rglob("*.cpp")
        for name in path.read_text(encoding="utf-8").replace("{", " ").split()
        if name.startswith('"REFARRAY_')
    ]
    assert set(names) == set(_doctor.VARIABLES)


@pytest.mark.not_sanitized(
    "each partner has 60 s of processor time, too little for a sanitized one"
)
def test_doctor_measures_partners() -> None:
    found = {item.name: item for item in refarray.doctor().partners}
    assert set(found) == {partner.distribution for partner in _partners.PARTNERS}
    assert found["numpy"].level is not None
    assert found["numpy"].level.startswith("1.")
    assert found["numpy"].exchange_api is None
    tvm_ffi = found["apache-tvm-ffi"]  # not for every interpreter
    assert (tvm_ffi.level is None) == (tvm_ffi.version is None)
    assert found["ml_dtypes"].level is None
    assert not any(found[name].failed for name in ("numpy", "apache-tvm-ffi", "ml_dtypes"))
    assert "DLPack" in str(found["numpy"])
    for item in found.values():
        assert (item.version is None) == (str(item) == "not installed")


@pytest.fixture
def partner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that makes a module with this source the only partner, and its finding."""

    def find(text: str, array: str = "partner_module.x") -> _partners.Finding:
        (tmp_path / "partner_module.py").write_text(text)
        partner = _partners.Partner("partner_module", "partner_module", array)
        # The measuring process reads PARTNERS too: sitecustomize runs at its start.
        (tmp_path / "sitecustomize.py").write_text(
            "import refarray._partners as p\n"
            f"p.PARTNERS = (p.Partner('partner_module', 'partner_module', {array!r}),)\n"
        )
        path = python_path(tmp_path, Path(refarray.__file__).parent.parent)
        monkeypatch.setenv("PYTHONPATH", path)
        monkeypatch.setattr(_partners, "PARTNERS", (partner,))
        monkeypatch.setattr(_partners, "find_version", lambda _: "9.9")
        (finding,) = _partners.find_partners(measured=True)
        return finding

    return find


def test_partner_with_the_legacy_protocol(partner: Any) -> None:
    found = partner(
        "print('noise')\nimport refarray\n"
        "class Old:\n"
        "    def __dlpack__(self, stream=None): return refarray.to_capsule(refarray.zeros(1))\n"
        "    def __dlpack_device__(self): return (1, 0)\n"
        "x = Old()\n"
    )
    assert (found.level, found.exchange_api, found.failed) == ("legacy", None, False)
    assert str(found) == "9.9: legacy DLPack only, no exchange API"


def test_partner_with_every_protocol(partner: Any) -> None:
    found = partner("import refarray\nx = refarray.zeros(1)\n")
    assert found.level == found.exchange_api == refarray.build_info()["dlpack"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_to_be_found\n", "ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "its process ended with status 3"),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
            f"by signal {signal.SIGKILL}",
        ),
        ("x = 3\n", "TypeError: inspect() takes a DLPack producer"),
    ],
)
def test_partner_that_fails(partner: Any, text: str, message: str) -> None:
    found = partner(text)
    assert found.failed
    assert found.level is None
    assert message in found.detail


@pytest.mark.parametrize(
    ("limit", "code", "message"),
    [
        ("SECONDS", "import time; time.sleep(600)", "0.5 s without progress, or 60 s of CPU time"),
        ("CPU_SECONDS", "while True: pass", "20 s without progress, or 0.5 s of CPU time"),
    ],
)
def test_partner_that_does_not_end(
    partner: Any, monkeypatch: pytest.MonkeyPatch, limit: str, code: str, message: str
) -> None:
    monkeypatch.setattr(_partners, limit, 0.5)
    found = partner(code)
    assert found.failed
    assert found.detail == f"no answer: {message}"


def test_partner_that_is_slow_but_makes_progress(
    partner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine, where the imports of all partners take minutes."""
    monkeypatch.setattr(_partners, "SECONDS", 1.0)
    begun = time.monotonic()
    found = partner(
        "import time, refarray\nend = time.monotonic() + 3\n"
        "while time.monotonic() < end: pass\n"
        "x = refarray.zeros(1)\n"
    )
    assert time.monotonic() - begun > 3
    assert (found.failed, found.level) == (False, refarray.build_info()["dlpack"])


def test_partners_that_are_not_installed_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(_partners, "find_version", lambda _: None)
    assert main(["doctor"]) == 0
    names = ", ".join(partner.distribution for partner in _partners.PARTNERS)
    assert names in capsys.readouterr().out
