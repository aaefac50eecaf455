"""Out of memory at every allocation of every public call: MemoryError, nothing leaked, and the next
call works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from native import build

pytestmark = pytest.mark.not_sanitized  # it has the C heap for itself
SLOTS = {"Array.__buffer__", "Array.__release_buffer__"}  # with these names from Python 3.12 on
SCRIPT = Path(__file__).resolve().parents[1] / "isolated" / "out_of_memory.py"


@pytest.fixture(scope="module")
def lines(adversary_folder: Path) -> list[dict[str, Any]]:
    """What the sweep of every recipe said, in a process whose C heap can fail."""
    path = os.pathsep.join([str(adversary_folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SCRIPT)],
        env={**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(build.build_heap_faults())},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-500:]}\n{done.stderr}"
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def recipes(adv: Any) -> Any:
    from oom import recipes

    return recipes


def test_every_public_call_has_a_recipe(recipes: Any) -> None:
    """The names come from the package: one without a recipe is missing here, by name."""
    named = {recipe.name for recipe in recipes.RECIPES}
    public = recipes.public_calls()
    assert public - named == recipes.NEEDS_DRIVER
    assert named - public <= SLOTS
    assert len(public) > 150


def test_every_allocation_of_every_call(lines: list[dict[str, Any]], recipes: Any) -> None:
    results, last = lines[:-1], lines[-1]
    assert last["heap"], "the C heap was not watched"
    assert [line["name"] for line in results] == [str(recipe) for recipe in recipes.RECIPES]
    assert {line["name"]: line["findings"] for line in results if line["findings"]} == {}
    assert sum(line["failed"] for line in results) > 2000
    assert len(last["sites"]) > 60  # places of ours where it failed; inlining makes more


def test_calls_that_allocate_are_reached(lines: list[dict[str, Any]]) -> None:
    """A sweep in which nothing fails tests nothing."""
    failed = {line["name"]: line["failed"] for line in lines[:-1]}
    for name in ("zeros", "from_dlpack", "from_capsule", "Array.__dlpack__ (versioned)", "asarray"):
        assert failed.get(name, failed.get(f"{name} (nested)", 0)) > 0, name


def test_an_interpreter_that_dies_is_told_from_us(isolated: Any) -> None:
    """CPython 3.13 may say `Fatal Python error: Executing a cache` when a generator expression has
    no memory: its last words are counted with its death, and what it died at is asked again. All
    else that a child writes is passed on, and one that does not end is found."""
    found = json.loads(isolated("out_of_memory_children.py"))
    complains, hangs = found["complains"], found["hangs"]
    allocations = complains["failed"]
    assert allocations > 1 and complains["said"] == "no memory here\n" * allocations
    assert complains["interpreter"] == 0 and not complains["findings"]
    deaths = {"failed": allocations, "interpreter": allocations, "findings": [], "said": ""}
    assert found["dies"] == deaths  # at each allocation
    assert found["dies later"] == deaths  # after each, in a process of its own
    assert hangs["interpreter"] == 0 and hangs["said"] == ""
    ((which, text),) = hangs["findings"]
    assert which == "crash" and "SIGALRM" in text and "still trying" in text
