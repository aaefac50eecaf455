"""refarray.testing.fixtures in a pytest run of its own, on simulated devices too."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.processes import python, python_path

FAKEGPU = Path(__file__).resolve().parents[2] / "fakegpu"

SUITE = """
import refarray as ra, pytest
from refarray.testing import assert_array_equal

pytest_plugins = ["refarray.testing.fixtures"]

def test_array(hard_array):
    assert_array_equal(hard_array.copy(), hard_array)

@pytest.mark.hard_arrays(layouts=["reversed"], dtypes=[], devices=["cpu"])
def test_chosen(hard_array):
    assert min(hard_array.strides) < 0

def test_producer(importable_producer):
    ra.from_dlpack(importable_producer)

def test_any_producer(hard_producer):
    assert hard_producer.kind

def test_checked(checked_producer, checked_consumer):
    with checked_producer(ra.arange(3)) as x:
        checked_consumer.from_dlpack(x)

def test_forgetful(checked_producer):
    with checked_producer(ra.arange(3)) as x:
        pass
"""


def pytest_run(folder: Path, *options: str) -> str:
    (folder / "test_mine.py").write_text(SUITE)
    command = ["-m", "pytest", "-v", "-p", "no:cacheprovider", *options, "test_mine.py"]
    variables = {"PYTHONPATH": python_path(FAKEGPU), "PYTEST_ADDOPTS": ""}
    done = python(*command, seconds=300, cwd=folder, **variables)
    return done.stdout + done.stderr


def test_fixtures_run_a_test_for_each_input(tmp_path: Path) -> None:
    text = pytest_run(tmp_path)
    assert "test_array[strided-complex64] PASSED" in text
    assert "test_chosen[reversed] PASSED" in text and text.count("test_chosen[") == 1
    assert "test_producer[null-strides] PASSED" in text
    assert "test_any_producer[refusing] PASSED" in text
    assert "1 failed" in text and "the consumer never asked" in text
    assert "hard_array_devices" not in text  # nothing is unknown to pytest


@pytest.mark.not_sanitized("the simulated drivers are built without the sanitizer")
def test_simulated_devices(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nhard_array_devices = cpu simulated\n")
    text = pytest_run(tmp_path, "-k", "test_array")
    assert "test_array[strided-cuda:0] PASSED" in text, text
    assert "test_array[0-d-cuda_host] PASSED" in text
    assert "failed" not in text


def test_simulated_devices_need_the_package(tmp_path: Path) -> None:
    (tmp_path / "fakegpu.py").write_text("raise ImportError('no module')")
    options = ("-p", "refarray.testing.fixtures", "-o", "hard_array_devices=simulated")
    (tmp_path / "conftest.py").write_text(f"import sys; sys.path.insert(0, {str(tmp_path)!r})")
    assert "simulated needs the package refarray-fakegpu" in pytest_run(tmp_path, *options)
