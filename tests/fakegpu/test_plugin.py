"""The pytest plugin, in processes of its own: the example with a missing wait, violations that a
test asks for, leaks, and options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.processes import python, python_path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "missing_wait"
INI = "[pytest]\nfakegpu_hip = 0\n"


def run(folder: Path, *options: str) -> tuple[int, str]:
    """The exit status and output of pytest in the folder, with the plugin of the source tree."""
    command = ["-m", "pytest", "-p", "fakegpu.pytest_plugin"]
    quiet = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", *options]
    variables = {
        "PYTHONPATH": python_path(ROOT / "fakegpu"),
        "PYTHONDONTWRITEBYTECODE": 1,
        "PYTEST_ADDOPTS": "",
    }
    done = python(*command, *quiet, seconds=300, cwd=folder, **variables)
    return done.returncode, done.stdout + done.stderr


def run_file(folder: Path, code: str, *options: str, ini: str = INI) -> tuple[int, str]:
    (folder / "pytest.ini").write_text(ini)
    (folder / "test_it.py").write_text(
        "import fakegpu\nimport pytest\nfrom fakegpu.driving import Cuda\n" + code
    )
    return run(folder, *options)


RACE = """
def race(gpu):
    cuda = Cuda(gpu.drivers.cuda)
    memory = cuda.memory(256)
    for stream in (cuda.stream(), cuda.stream()):
        cuda.fill(memory, stream)
    cuda("cuCtxSynchronize")
    cuda("cuMemFree_v2", memory)
"""


def test_example_fails_for_its_missing_wait() -> None:
    """What the example's README shows."""
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    status, output = run(EXAMPLE)
    assert status == 1, output
    for line in shown[1].splitlines():
        stable = re.sub(r"0x[0-9a-f]+", "", line)
        assert stable in re.sub(r"0x[0-9a-f]+", "", output), output
    assert "1 failed, 3 passed" in output


@pytest.mark.parametrize("drivers", ["cuda11.4-hip7.0", "latest-first"])
def test_example_on_other_drivers(drivers: str) -> None:
    status, output = run(EXAMPLE, f"--fakegpu={drivers}")
    assert (status, "1 failed, 3 passed" in output) == (1, True), output


def test_violations_that_the_test_asks_for_do_not_fail_it(tmp_path: Path) -> None:
    code = """
def test_asks(simulated_gpu):
    race(simulated_gpu)
    [found] = simulated_gpu.violations("race")
    assert found["kind"] == "race"
    assert simulated_gpu.violations() == [found]

def test_asks_for_others(simulated_gpu):
    race(simulated_gpu)
    assert simulated_gpu.violations("early-free") == []

def test_is_clean(simulated_gpu):
    pass
"""
    status, output = run_file(tmp_path, RACE + code)
    assert status == 1, output
    assert "1 failed, 2 passed" in output
    assert "test_asks_for_others" in output


def test_leaked_memory_fails_after_the_fixtures(tmp_path: Path) -> None:
    code = """
@pytest.fixture
def freed(simulated_gpu):
    cuda = Cuda(simulated_gpu.drivers.cuda)
    memory = cuda.memory(64)
    yield
    cuda("cuMemFree_v2", memory)

def test_freed(freed):
    pass

def test_leak(simulated_gpu):
    Cuda(simulated_gpu.drivers.cuda).memory(64)

def test_leak_of_another_test_is_not_reported(simulated_gpu):
    assert simulated_gpu.leaks() == []
"""
    status, output = run_file(tmp_path, code)
    assert status == 1, output
    assert "3 passed, 1 error" in output
    assert "leak: 64 bytes of device memory of cuda device 0 were not freed" in output


def test_exceptions_pass_through(tmp_path: Path) -> None:
    """A test that fails anyway shows its own failure first."""
    code = "def test_fails(simulated_gpu):\n    race(simulated_gpu)\n    assert 1 == 2\n"
    status, output = run_file(tmp_path, RACE + code)
    assert status == 1, output
    assert "assert 1 == 2" in output and "race: a write is not ordered" in output


def test_a_process_without_the_fixture_starts_no_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 'import os\ndef test_none():\n    assert "REFARRAY_LIBCUDA" not in os.environ\n'
    monkeypatch.delenv("REFARRAY_LIBCUDA", raising=False)
    status, output = run_file(tmp_path, code)
    assert status == 0, output


@pytest.mark.parametrize("count", ["many", "-1", "9", ""])
def test_wrong_number_of_devices(tmp_path: Path, count: str) -> None:
    code = "def test_any(simulated_gpu):\n    pass\n"
    status, output = run_file(tmp_path, code, ini=f"[pytest]\nfakegpu_cuda = {count}\n")
    assert status != 0
    assert f"fakegpu_cuda is {count!r}; it must be a number from 0 to 8" in output


def test_wrong_drivers(tmp_path: Path) -> None:
    status, output = run_file(tmp_path, "", "--fakegpu=cuda13")
    assert status == 4
    assert "cuda12.8-hip6.3" in output
