"""Shared fixtures: the adversary module and its ledger, forked children, isolated scripts."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import select
import signal
import sys
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
# For `fakegpu`, `oracles`, `native` and `helpers`, in every import mode.
for folder in map(str, (HERE.parent / "fakegpu", HERE / "compute", HERE)):
    if folder not in sys.path:
        sys.path.insert(0, folder)

from helpers.processes import python, python_path  # noqa: E402
from native import build  # noqa: E402
from native.corpus import FLOATS  # noqa: E402
from native.producers import Recorder, knowing  # noqa: E402

Forked = Callable[[Callable[[], object]], None]
Isolated = Callable[..., str]
PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--lockstep-rounds",
        type=int,
        default=5_000,
        help="rounds in each test of test_lockstep.py, in which two threads race",
    )
    parser.addoption(
        "--long",
        type=int,
        default=1,
        metavar="FACTOR",
        help="multiply the number of Hypothesis examples; above 1 also run tests marked `long`",
    )
    parser.addoption(
        "--hardware",
        choices=("real", "simulated"),
        help="run the tests marked `hardware` on this kind of device (see `make gpu-hardware`)",
    )
    parser.addoption(
        "--partner", default="refarray", help="the library that hardware tests exchange arrays with"
    )


def choose_examples(config: pytest.Config) -> None:
    """Hypothesis draws the same examples each time and stores none, so that no result depends on
    luck or on an earlier run. Only with `--hypothesis-seed` does it draw others."""
    try:
        from hypothesis import settings
        from hypothesis.internal.conjecture import providers
    # In the environments of some partners; and in CPython 3.13 without a GIL two interpreters
    # cannot import zoneinfo at the same time.
    except (ImportError, AttributeError):
        return
    # It would also draw numbers from the sources of the modules imported so far, which depend on
    # the tests that ran before. There is no setting for that.
    providers._get_local_constants = providers.Constants
    settings.register_profile(
        "refarray",  # inherits from the profile of a plugin, such as that of the mutants
        max_examples=100 * config.getoption("--long"),
        derandomize=config.getoption("--hypothesis-seed", default=None) is None,
        database=None,
        deadline=None,
        print_blob=True,
    )
    settings.load_profile("refarray")


def pytest_configure(config: pytest.Config) -> None:
    choose_examples(config)
    config.addinivalue_line("markers", "req(*ids): the requirements that a test covers")
    # Here, because `-m` may name them when no test of tests/partners runs.
    for name in tomllib.loads((HERE / "partners" / "limits.toml").read_text(encoding="utf-8")):
        config.addinivalue_line("markers", f"{name}: needs the partner {name}")
    config.addinivalue_line(
        "markers",
        "not_sanitized(reason): cannot run in a process with a sanitizer",
    )
    config.addinivalue_line("markers", "hardware: needs a GPU; see the option --hardware")
    config.addinivalue_line("markers", "long: takes minutes; see the option --long")
    config.addinivalue_line(
        "markers", "repository: of sources, pages and tools; no gate repeats it"
    )
    config.addinivalue_line("markers", "not_repeated: in processes of its own; cannot leak here")
    config.addinivalue_line("markers", "every_python: the abi3 wheel is tested with this file too")
    config.addinivalue_line("markers", "computes: the gate without-compute leaves it out")
    config.addinivalue_line(
        "markers", "needs(*names): hardware test for partners with that name or these protocols"
    )


def deselected_markers(config: pytest.Config) -> dict[str, str]:
    """Markers whose tests are not run, with the command that runs them."""
    left = {}
    if config.getoption("--hardware") is None:
        left["hardware"] = "(tests/devices/hardware) need a GPU; `make gpu-hardware` runs them"
    if config.getoption("--long") <= 1:
        left["long"] = "take minutes; `make gate G=test-long` runs them"
    return left


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = deselected_markers(config)
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in left)]
    config.hook.pytest_deselected(items=dropped)
    dropped_set = set(dropped)
    items[:] = [item for item in items if item not in dropped_set]


@pytest.fixture(scope="module", autouse=True)
def short_collections() -> None:
    """Collections visit what a file's tests make, not the million objects of PyTorch and JAX."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # so that a leak checker finds no more at the exit than without


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for name, why in deselected_markers(config).items():
        terminalreporter.write_line(f"not run: the tests marked `{name}` {why}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "call":
        item.stash[PASSED] = report.passed


@pytest.fixture(scope="session")
def adversary_folder() -> Path:
    return build.build()


@pytest.fixture(scope="session")
def adv(adversary_folder: Path) -> Any:
    """The extension module `adversary`, compiled if needed."""
    sys.path.insert(0, str(adversary_folder))
    try:
        return importlib.import_module("adversary")
    finally:
        sys.path.remove(str(adversary_folder))


def wrong_deleter_counts(module: Any, first: int) -> list[tuple[int, int, int]]:
    return [row for row in module.ledger(first) if row[1] != row[2]]


@pytest.fixture(autouse=True)
def ledger(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test, every managed tensor it made has had its deleter called exactly as often as
    expected."""
    module = sys.modules.get("adversary")
    before = module.made() if module else 0
    yield
    module = sys.modules.get("adversary")
    if module is None or not request.node.stash.get(PASSED, False):
        return
    wrong = wrong_deleter_counts(module, before)
    if wrong:
        gc.collect()  # only if needed: it is slow, and cycles are rare
        wrong = wrong_deleter_counts(module, before)
    assert not wrong, f"(number, deleter calls expected, deleter calls): {wrong}"


IS_SANITIZED = "ASAN_OPTIONS" in os.environ
#: Factor for timeouts: a sanitizer makes a process several times slower, and forks expensive.
TIMEOUT_FACTOR = 10 if IS_SANITIZED else 1


def fork_once(body: Callable[[], object], seconds: float) -> bool:
    """Run `body` in a forked child; return False on timeout. Fail if it raises or dies by a
    signal."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python and JAX warn about a fork in a process with threads, which the child does not have.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        child = os.fork()
    if child == 0:
        status, text = 1, ""
        try:
            faulthandler.disable()  # the parent reports a crash
            os.close(reader)
            body()
            status = 0
        except BaseException:
            text = traceback.format_exc()
        finally:
            os.write(writer, text.encode()[-60000:])
            os._exit(status)
    os.close(writer)
    ended, _, _ = select.select([reader], [], [], seconds)
    if not ended:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    if ended and os.WIFSIGNALED(status):
        pytest.fail(f"the child died: {signal.Signals(os.WTERMSIG(status)).name}")
    assert not ended or os.WEXITSTATUS(status) == 0, text
    return bool(ended)


def run_forked(body: Callable[[], object], seconds: float = 30.0 * TIMEOUT_FACTOR) -> None:
    """Run `body` in a forked child; fail if it raises, dies by a signal or times out."""
    # gcc's ASAN deadlocks in the child if another thread held the allocator's lock at the fork. JAX
    # and PyTorch have such threads.
    tries = 2 if IS_SANITIZED else 1
    if not any(fork_once(body, seconds) for _ in range(tries)):
        pytest.fail(f"the child timed out after {seconds} s")


@pytest.fixture(scope="session")
def forked() -> Forked:
    return run_forked


@pytest.fixture(scope="session")
def simulated_drivers() -> None:
    """Builds the simulated drivers first: the time limits of the subprocesses exclude it."""
    from fakegpu import _libraries

    _libraries.folder()


@pytest.fixture
def isolated(adversary_folder: Path, tmp_path: Path) -> Isolated:
    """Returns a function that runs tests/isolated/<script> in a new process and returns its stdout.

    The script must exit with status 0 and an empty stderr. `leaks`: it leaks by design."""

    def run(script: str, *arguments: str, seconds: float = 300.0, leaks: bool = False) -> str:
        options = [os.environ.get("ASAN_OPTIONS", ""), *(["detect_leaks=0"] if leaks else [])]
        done = python(
            *("-X", "faulthandler", HERE / "isolated" / script, *arguments),
            seconds=seconds,
            cwd=tmp_path,
            PYTHONPATH=python_path(adversary_folder),
            ASAN_OPTIONS=":".join(filter(None, options)),
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.stderr == "", done.stderr
        return done.stdout

    return run


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects (exception type, text) of everything that reaches sys.unraisablehook."""
    seen: list[Any] = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda args: seen.append((args.exc_type, str(args.exc_value)))
    )
    return seen


@pytest.fixture
def recorder(adv: Any) -> Any:
    """Returns a function that makes a Recorder with the given keywords in its signature. Its
    `tensors` lists the tensors it gave."""

    def make(
        known: str = "stream max_version dl_device copy", device: Any = (1, 0), **fields: Any
    ) -> Recorder:
        tensors: list[Any] = []

        def answer(**keywords: Any) -> Any:
            fields.setdefault("data", FLOATS)
            tensors.append(adv.make(**{"versioned": "max_version" in keywords, **fields}))
            return tensors[-1].capsule()

        out = Recorder(knowing(known, answer), device)
        out.tensors = tensors  # type: ignore[attr-defined]
        return out

    return make
