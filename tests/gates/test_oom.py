"""A failure of any allocation in any public call: MemoryError, no leak, and the next call works."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.processes import python, python_path
from native import build

import refarray

pytestmark = [
    pytest.mark.every_python,
    pytest.mark.not_sanitized,  # the test replaces malloc
    pytest.mark.not_repeated,
]
SLOTS = {"Array.__buffer__", "Array.__release_buffer__"}  # have these names from Python 3.12 on
SCRIPT = Path(__file__).resolve().parents[1] / "isolated" / "out_of_memory.py"


@pytest.fixture(scope="module")
def lines(adversary_folder: Path) -> list[dict[str, Any]]:
    """The sweep's output lines, from a process whose C heap can be made to fail."""
    variables = {"PYTHONPATH": python_path(adversary_folder)}
    variables["LD_PRELOAD"] = str(build.build_heap_faults())
    done = python("-X", "faulthandler", SCRIPT, "sample", seconds=900, **variables)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-500:]}\n{done.stderr}"
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def recipes(adv: Any) -> Any:
    from oom import recipes

    return recipes


def test_every_public_call_has_a_recipe(recipes: Any) -> None:
    """The names are read from the package, so a new call without a recipe fails here."""
    named = {recipe.name for recipe in recipes.RECIPES}
    public = recipes.public_calls()
    assert public - named == recipes.NEEDS_DRIVER
    assert named - public <= SLOTS
    assert len(public) > 150


def test_every_method_has_recipes_of_every_kind(recipes: Any) -> None:
    """`make gate G=trust` runs them all. A member that none calls
    with arrays of a kind is only read: those of one kind, and where dtypes are missing."""
    made, chosen = recipes.of_kinds(), recipes.sample(recipes.of_kinds())
    kinds = {recipe.kind for recipe in made}
    assert kinds == {recipe.kind for recipe in chosen} > set(recipes.namespaces.SPACES)
    assert {recipe.name for recipe in made} == {recipe.name for recipe in chosen}
    read = {recipe.name for recipe in made if recipe.label == "read"}
    special = {"array_ufunc", "class", "complex", "float", "index", "init_subclass", "slots"}
    assert read == {f"Array.__{name}__" for name in special}
    arguments = set(inspect.signature(refarray.namespace).parameters)
    assert arguments == {name for each in recipes.namespaces.ARGUMENTS.values() for name in each}


def test_failure_of_any_allocation_in_any_call_is_handled(
    lines: list[dict[str, Any]], recipes: Any
) -> None:
    results, last = lines[:-1], lines[-1]
    assert last["heap"], "the C heap was not instrumented"
    assert [line["name"] for line in results] == [str(recipe) for recipe in recipes.share()]
    assert {line["name"]: line["findings"] for line in results if line["findings"]} == {}
    assert sum(line["failed"] for line in results) > 700
    assert len(last["sites"]) > 40  # places in refarray; their number depends on inlining


def test_the_sweep_makes_allocating_calls_fail(lines: list[dict[str, Any]]) -> None:
    """A sweep without failures proves nothing."""
    named = ("zeros", "full", "from_dlpack", "from_capsule", "to_capsule", "asarray", "copy")
    failed = [each["failed"] for each in lines[:-1] if each["name"].partition(" (")[0] in named]
    assert len(failed) > 5 and any(failed)


def test_the_sweep_separates_interpreter_crashes_from_ours(isolated: Any) -> None:
    """CPython 3.13 may abort with `Fatal Python error: Executing a cache` when a generator
    expression has no memory. The sweep drops that message, counts the crash as the interpreter's,
    and repeats the allocation. Other output of a child is passed on; a hanging child is a
    finding."""
    found = json.loads(isolated("out_of_memory_children.py"))
    prints, hangs = found["prints"], found["hangs"]
    allocations = prints["failed"]
    assert allocations > 1 and prints["stderr"] == "no memory here\n" * allocations
    assert prints["interpreter"] == 0 and not prints["findings"]
    crashed = {"failed": allocations, "interpreter": allocations, "findings": [], "stderr": ""}
    assert found["crashes"] == crashed  # at each allocation
    assert found["crashes later"] == crashed  # after each, in the next child
    assert hangs["interpreter"] == 0 and hangs["stderr"] == ""
    ((which, text),) = hangs["findings"]
    assert which == "crash" and "SIGALRM" in text and "still trying" in text
