"""Fixtures of the protocol tests: the adversary, its ledger, forked children and isolated
scripts."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import select
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
for folder in (
    str(HERE / "fakegpu"),
    str(HERE),
):  # for `fakegpu` and `native`, in every import mode
    if folder not in sys.path:
        sys.path.insert(0, folder)

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
        help="how often two threads meet in each test of test_lockstep.py",
    )
    parser.addoption(
        "--long",
        type=int,
        default=1,
        metavar="FACTOR",
        help="how many times the examples Hypothesis tries; above 1 also the tests marked `long`",
    )
    parser.addoption(
        "--hardware",
        choices=("real", "simulated"),
        help="run the tests marked `hardware`, and on what: `make gpu-hardware` does",
    )
    parser.addoption(
        "--partner", default="refarray", help="the library that they exchange arrays with"
    )


def pytest_configure(config: pytest.Config) -> None:
    if (factor := config.getoption("--long")) > 1:
        from hypothesis import settings  # only here: partners with an environment have none

        settings.register_profile("long", max_examples=100 * factor, deadline=None)
        settings.load_profile("long")
    config.addinivalue_line("markers", "req(*ids): the requirements that a test covers")
    config.addinivalue_line(
        "markers",
        "not_sanitized(reason): not for a process with a sanitizer in it",
    )
    config.addinivalue_line("markers", "hardware: needs a device; see the option --hardware")
    config.addinivalue_line("markers", "long: takes more of what `make test` tries; see --long")
    config.addinivalue_line("markers", "way(*names): for partners of that name or protocol")


def left_out(config: pytest.Config) -> dict[str, str]:
    """Markers of what is not run, and how to run it."""
    left = {}
    if config.getoption("--hardware") is None:
        left["hardware"] = "(tests/devices/hardware) need a GPU; `make gpu-hardware` runs them"
    if config.getoption("--long") <= 1:
        left["long"] = "are more of what is tried here; `make test-long` runs them"
    return left


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = left_out(config)
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in left)]
    config.hook.pytest_deselected(items=dropped)
    gone = set(dropped)
    items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for name, why in left_out(config).items():
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
    """The extension module `adversary`, compiled when needed."""
    sys.path.insert(0, str(adversary_folder))
    try:
        return importlib.import_module("adversary")
    finally:
        sys.path.remove(str(adversary_folder))


def unbalanced(module: Any, first: int) -> list[tuple[int, int, int]]:
    return [row for row in module.ledger(first) if row[1] != row[2]]


@pytest.fixture(autouse=True)
def ledger(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every managed tensor made by a test had its deleter called as often as it should have
    been."""
    module = sys.modules.get("adversary")
    before = module.made() if module else 0
    yield
    module = sys.modules.get("adversary")
    if module is None or not request.node.stash.get(PASSED, False):
        return
    wrong = unbalanced(module, before)
    if wrong:
        gc.collect()  # only then: it is slow, and cycles are rare
        wrong = unbalanced(module, before)
    assert not wrong, f"(number, deleter calls expected, deleter calls): {wrong}"


IS_SANITIZED = "ASAN_OPTIONS" in os.environ
#: A sanitizer makes a process many times as slow, and its fork as large as the address space.
PATIENCE = 10 if IS_SANITIZED else 1


def fork_once(body: Callable[[], object], seconds: float) -> bool:
    """Runs `body` in a forked child; False when that does not end. Fails when it raises or dies by
    a signal."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Other threads, should there be any, stay behind: Python warns of it, and so does JAX.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        child = os.fork()
    if child == 0:
        status, text = 1, ""
        try:
            faulthandler.disable()  # a crash is reported by the parent, once
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


def run_forked(body: Callable[[], object], seconds: float = 30.0 * PATIENCE) -> None:
    """Runs `body` in a forked child; fails when it raises, dies by a signal or does not end."""
    # The child of gcc's ASAN waits for ever when another thread was in the allocator at the fork;
    # JAX and PyTorch have such threads.
    tries = 2 if IS_SANITIZED else 1
    if not any(fork_once(body, seconds) for _ in range(tries)):
        pytest.fail(f"the child did not end within {seconds} s")


@pytest.fixture(scope="session")
def forked() -> Forked:
    return run_forked


@pytest.fixture
def isolated(adversary_folder: Path, tmp_path: Path) -> Isolated:
    """Runs tests/isolated/<script> in a process of its own and returns what it printed; `leaks`
    says that it has to let go of something without freeing it."""

    def run(script: str, *arguments: str, seconds: float = 120.0, leaks: bool = False) -> str:
        options = [os.environ.get("ASAN_OPTIONS", ""), *(["detect_leaks=0"] if leaks else [])]
        path = os.pathsep.join(
            [str(adversary_folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(HERE / "isolated" / script), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "ASAN_OPTIONS": ":".join(filter(None, options))},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.stderr == "", done.stderr
        return done.stdout

    return run


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects what reaches sys.unraisablehook: (exception type, its text)."""
    seen: list[Any] = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda args: seen.append((args.exc_type, str(args.exc_value)))
    )
    return seen


@pytest.fixture
def recorder(adv: Any) -> Any:
    """Makes a Recorder that knows some keywords; its `tensors` are what it gave."""

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
