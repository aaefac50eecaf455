"""The conformance kit as pytest tests: parametrize(), and the plugin with its options."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from helpers.processes import python

EXPECT = '[[expect]]\nid = "{}"\nsubject = "numpy"\noutcome = "crash"\nreason = "known"\n'


def test_parametrized_tests(tmp_path: Path) -> None:
    """Expected failures may fail, and one case of each must."""
    (tmp_path / "test_numpy.py").write_text(
        "from refarray.conformance import parametrize\n"
        "known = {'VERS-02': 'known', 'FLAG-03': 'stale'}\n"
        "@parametrize('numpy', ids=['VERS-02', 'FLAG-03', 'VERS-05'], expected_failures=known)\n"
        "def test_numpy(check): check()\n"
    )
    done = run_pytest(tmp_path, "-rA", "-c", "/dev/null", "test_numpy.py")
    said = {}
    for line in done.stdout.splitlines():
        if line.startswith(("PASSED", "FAILED", "XFAIL", "XPASS")):
            outcome, name = line.split()[:2]
            said.setdefault(name.partition("[")[2].partition("]")[0][:7], set()).add(outcome)
    assert done.returncode == 1, done.stdout + done.stderr
    assert said == {
        "VERS-02": {"XFAIL", "XPASS", "PASSED"},
        "FLAG-03": {"XPASS", "FAILED"},
        "VERS-05": {"PASSED"},
    }, done.stdout
    assert "FLAG-03 did not fail, and has to" in done.stdout


@pytest.mark.not_repeated
@pytest.mark.usefixtures("mutants_are_importable")
def test_an_error_of_the_kit_is_an_error(tmp_path: Path) -> None:
    """Also of a requirement that is expected to fail: it is no failure."""
    (tmp_path / "test_it.py").write_text(
        "from helpers import planted_checks\n"
        "planted_checks.register()\n"
        "from refarray.conformance import parametrize\n"
        "@parametrize('helpers.planted_checks:right', ids=['VERS-01'],\n"
        "             expected_failures={'VERS-01': 'known'})\n"
        "def test_it(check): check()\n"
    )
    done = run_pytest(tmp_path, "-c", "/dev/null", "test_it.py")
    last = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 1 and "5 errors" in last and "failed" not in last, done.stdout
    assert "ZeroDivisionError" in done.stdout


@pytest.mark.not_repeated
@pytest.mark.usefixtures("mutants_are_importable")
def test_a_mistake_of_the_adapter_is_one_error(tmp_path: Path) -> None:
    """--dlpack-only takes several values."""
    command = ["-c", "/dev/null", "--pyargs", "refarray.conformance"]
    command += ["--dlpack-subject", "helpers.wrong_adapters:typo"]
    done = run_pytest(tmp_path, *command, "--dlpack-only", "VERS-05,ABI-01")
    last = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 1 and "1 error" in last and "skipped" in last, done.stdout
    assert "ra.arrange(6)" in done.stdout and "wrong_adapters.py:" in done.stdout


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest with the plugin in a process of its own."""
    installed = bool(entry_points(group="pytest11", name="refarray"))  # not in a plain CMake build
    loaded = [] if installed else ["-p", "refarray.conformance.pytest_plugin"]
    command = ["-m", "pytest", "-q", *loaded, "-p", "no:cacheprovider", *arguments]
    return python(*command, seconds=600, cwd=folder)


def test_the_pytest_plugin(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        *("-c", "/dev/null", "--pyargs", "refarray.conformance", "--dlpack-subject", "numpy"),
        *("-k", "VERS-02 or VERS-05"),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, " in done.stdout, done.stdout
    assert "pytest_plugin.py" not in done.stdout and "Traceback" not in done.stdout
    assert re.search(r"^FAILED .*VERS-02\[.* - VE", done.stdout, re.M), done.stdout


def test_the_plugin_selects_and_expects(tmp_path: Path) -> None:
    """Expected failures are xfails, a stale entry fails, and a malformed file is a usage error."""
    known = tmp_path / "known.toml"
    known.write_text(
        EXPECT.format("VERS-02")
        + EXPECT.format("FLAG-03")
        + EXPECT.format("VERS-05").replace("numpy", "nmpy")
    )
    command = ["-c", "/dev/null", "-rx", "--pyargs", "refarray.conformance"]
    command += ["--dlpack-subject", "numpy", "--dlpack-expect", str(known)]
    chosen = ["--dlpack-only", "VERS-02", "--dlpack-only", "FLAG-03"]
    done = run_pytest(tmp_path, *command, *chosen)
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
    assert "stale: FLAG-03 numpy is expected to crash, and does not" in done.stdout
    assert "expected to crash: known" in done.stdout
    assert "not tried: VERS-05 nmpy is about a subject" in done.stdout
    done = run_pytest(tmp_path, *command, *chosen, "--dlpack-skip", "FLAG-03")
    assert done.returncode == 0 and " 1 xfailed" in done.stdout, done.stdout
    assert "FLAG-03" not in done.stdout
    known.write_text(EXPECT.format("VERS-02") + 'case = "nothing"\n')
    done = run_pytest(tmp_path, *command, *chosen)
    assert done.returncode == 4 and "case 'nothing' is none of VERS-02" in done.stderr, done.stderr
    known.write_text("")
    done = run_pytest(tmp_path, *command, "--dlpack-only", "COPY-99")
    assert done.returncode == 2 and "no check covers COPY-99" in done.stdout, done.stdout


OPTIONS_OF_OTHERS = """
NAMES = [f"--{name}" for name in ("subject", "full", "devices", "conformance-full",
         "conformance-devices", "conformance", "expect", "only", "report", "long", "refarray")]

def pytest_addoption(parser):
    for name in NAMES:
        parser.addoption(name, default="mine")
    for name in ("subject", "devices", "conformance"):
        parser.addini(name, "an ini name", default="mine")
"""
TEST_OF_OTHERS = """
import pytest
from conftest import NAMES

@pytest.fixture
def subject():
    return "mine"

def test_the_options_are_those_of_the_conftest(pytestconfig, subject):
    assert [pytestconfig.getoption(name) for name in NAMES] == ["yours", *["mine"] * 10]
    assert pytestconfig.getini("subject") == subject
"""


def test_the_plugin_takes_no_name_that_another_suite_uses(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers --strict-config\n")
    (tmp_path / "conftest.py").write_text(OPTIONS_OF_OTHERS)
    (tmp_path / "test_others.py").write_text(TEST_OF_OTHERS)
    done = run_pytest(tmp_path, "--subject", "yours", "-W", "error", "test_others.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_name_of_the_plugin_is_its_own() -> None:
    from refarray.conformance import pytest_plugin

    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    (group,) = (each for each in parser._groups if each.name == "refarray")
    assert group.options and not parser._inidict
    for option in group.options:
        assert all(name.startswith("--dlpack-") for name in option.names()), option
        assert option.dest.startswith("dlpack_")
    assert not [name for name, value in vars(pytest_plugin).items() if is_fixture(value)]


def is_fixture(value: object) -> bool:
    return type(value).__module__ == "_pytest.fixtures" or hasattr(value, "_pytestfixturefunction")
