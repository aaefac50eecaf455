"""The generator of mutants: what it changes, that only one is on, and what lowers a rate."""

from __future__ import annotations

import json
import operator
import os
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import FOLDER, load_gate
from helpers.processes import python

import refarray

pytestmark = pytest.mark.repository

GATE = FOLDER / "mutants"
ROOT = FOLDER.parents[1]
STATE_BYTES = 4 + (1 << 20)

gate = load_gate("mutants/__main__")
PROGRAM = """
#include <cstdio>
struct Guard {
  explicit Guard(int& to) : to_(to) { to_ += 10; }
  int& to_;
};
constexpr int kSize = 2 + 3;
template <class T>
T larger(T a, T b) {
  if constexpr (sizeof(T) < 2) return a;
  return a < b ? b : a;  // one mutant
}
bool odd(int x) { return x % 2 == 1; }
int& same(int& calls) { return calls += 0; }
int count(int n) {
  const int limit = 4;
  int calls = 0;
  const Guard guard(calls);
  if (n > 0 && n < limit) {
    calls += n;
  } else
    odd(n);
  return calls;
}
int main() {
  int out[kSize] = {larger(1, 2), larger(2, 1), odd(3), count(3), count(9)};
  for (int each : out) std::printf("%d ", each);
}
"""


def state_file(path: Path, number: int) -> Path:
    path.write_bytes(number.to_bytes(4, "little") + bytes(STATE_BYTES - 4))
    return path


def test_one_mutant_of_a_program_is_on(tmp_path: Path) -> None:
    found = gate.find("a.cpp", PROGRAM.encode())
    source = gate.instrument("a.cpp", PROGRAM.encode(), list(enumerate(found, 1)))
    assert source.count(b"\n") == PROGRAM.count("\n")
    (tmp_path / "a.cpp").write_bytes(source)
    program = tmp_path / "program"
    options = ["-std=c++20", "-w", "-include", GATE / "state.hpp", GATE / "state.cpp"]
    subprocess.run(["c++", *options, tmp_path / "a.cpp", "-o", program], check=True)

    def run(number: int) -> tuple[str, set[int]]:
        state = state_file(tmp_path / "state", number)
        variables = {**os.environ, "REFARRAY_MUTANTS": str(state)}
        done = subprocess.run([program], env=variables, capture_output=True, text=True, check=True)
        reached = state.read_bytes()[4:]
        return done.stdout, {n for n in range(1, len(found) + 1) if reached[n]}

    plain, reached = run(0)
    assert plain == "2 2 1 13 10 "
    changed = {str(m): run(n)[0] for n, m in enumerate(found, 1) if n in reached}
    same = {name for name, output in changed.items() if output == plain}
    assert changed["a.cpp:count:guard:1"] == "2 2 1 3 0 "
    assert changed["a.cpp:count:logic:1"] == "2 2 1 13 19 "
    assert changed["a.cpp:larger:relation:1"] == plain
    assert {"a.cpp:larger:relation:1", "a.cpp:count:statement:2"} <= same
    operators = {name.split(":")[2] for name in changed}
    assert operators >= {"arithmetic", "relation", "logic", "statement", "number", "guard"}
    assert not any("kSize" in name for name in changed)


def test_places_survive_a_new_name_and_other_lines() -> None:
    other = PROGRAM.replace("calls", "total").replace("int main", "\n// main\nint main")
    places = [[m.place for m in gate.find("a.cpp", text.encode())] for text in (PROGRAM, other)]
    assert places[0] == places[1]
    assert "same" in {place[1] for place in places[0]}
    draws = [
        [m.drawn(1) for m in gate.find(f"{at}/a.cpp", b"int f() { return 1; }")] for at in "ab"
    ]
    assert draws[0] == draws[1]


MODULE = '''"""A module."""
from __future__ import annotations
class Counter:
    def count(self, n: int = 0) -> int:
        if n > 2 and self.ready:
            self.note(f"{n + 1}")
            return n - 1
        return self.rest(n)
'''


def test_python_is_mutated_in_functions() -> None:
    found = gate.find("a.py", MODULE.encode())
    names = [str(mutant) for mutant in found]
    assert names == [
        *("a.py:Counter.count:logic:1", "a.py:Counter.count:relation:1"),
        *("a.py:Counter.count:number:1", "a.py:Counter.count:statement:1"),
        *("a.py:Counter.count:return:1", "a.py:Counter.count:arithmetic:1"),
        *("a.py:Counter.count:number:2", "a.py:Counter.count:return:2"),
    ]
    source = gate.instrument("a.py", MODULE.encode(), list(enumerate(found, 1))).decode()
    assert source.count("\n") == MODULE.count("\n")
    current = 0
    space: dict[str, Any] = {"_mutant": lambda number: number == current}
    exec(source.replace("from _refarray_mutants import mutant as _mutant", ""), space)
    counter = space["Counter"]()
    notes: list[str] = []
    counter.ready, counter.note, counter.rest = True, notes.append, lambda n: -n
    results = []
    for current in range(len(found) + 1):  # noqa: B007
        results.append((counter.count(3), counter.count(1), len(notes)))
        notes.clear()
    assert results == [
        *((2, -1, 1), (2, 0, 2), (2, -1, 1), (-3, -1, 0), (2, -1, 0)),
        *((None, -1, 1), (4, -1, 1), (1, -1, 1), (2, None, 1)),
    ]


TESTS = """
import _refarray_mutants, os, time
on = _refarray_mutants.mutant
def test_kills(): assert not on(1)
def test_also(): assert not on(1) and not on(2)
def test_crashes(): os.abort() if on(3) else None
def test_hangs():
    while on(4): time.sleep(0.1)
def test_fails(): assert on(5)
"""


def run_plugin(folder: Path, **order: Any) -> list[dict[str, Any]]:
    results = folder / "results"
    results.write_text("")
    order = {"results": str(results), "budget": 60, "least": 1.0, **order}
    (folder / "order").write_text(json.dumps(order))
    variables = {
        "REFARRAY_MUTANTS": state_file(folder / "state", 0),
        "REFARRAY_ORDER": folder / "order",
        "PYTHONPATH": GATE,
    }
    command = ["-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "--rootdir", folder]
    done = python(*command, folder / "test_some.py", seconds=300, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in results.read_text().splitlines()][1:]


def test_tests_run_that_reach_a_mutant_until_one_fails(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    rows = run_plugin(tmp_path, tests=None, part=[0, 1])
    reached = {row["test"].partition("::")[2]: row["reached"] for row in rows}
    assert reached["test_also"] == [1, 2] and reached["test_hangs"] == [4]
    assert [row["test"].partition("::")[2] for row in rows if row["failed"]] == ["test_fails"]
    tests = {row["test"]: [0.01, row["reached"]] for row in rows if not row["failed"]}
    mutants = [[number, "group"] for number in (1, 2, 3, 4, 6)]
    rows = run_plugin(tmp_path, tests=tests, mutants=mutants)
    killers = {row["number"]: (row["by"].partition("::")[2], row["how"]) for row in rows}
    assert killers[1][1] == "call" and killers[2] == ("test_also", "call")
    assert killers[3] == ("test_crashes", "ended with -6")
    assert killers[4] == ("test_hangs", "hang") and killers[6] == ("", "")


def test_a_lower_rate_fails_the_gate() -> None:
    recorded = "[folders]\na = [90.0, 1]\nb = [80.0, 1]\n"
    half = Counter(mutants=100, killed=89, equivalent=0)
    assert gate.fallen({"a": half}, recorded) == []
    half["killed"] = 88
    assert gate.fallen({"a": half}, recorded) == [
        "a: 88.0 % of 100 mutants are killed; it was 90.0 %"
    ]
    assert gate.fallen({"a": Counter(mutants=10, killed=8)}, recorded) == []  # one mutant
    half["equivalent"] = 2
    assert gate.fallen({"a": half}, recorded) == []
    assert gate.fallen({"new": Counter(mutants=10, killed=6)}, recorded) != []


def test_reasons_are_kept_and_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SURVIVORS", tmp_path / "survivors.toml")
    monkeypatch.setattr(gate, "RATES", tmp_path / "rates.toml")
    first, second, third = gate.find("src/a/b.cpp", b"int f() { g(1); return h(); }")
    rows = [[*first.place, "never called"], ["src/other/c.cpp", "f", "logic", 1, ""]]
    gate.SURVIVORS.write_text(f"# Why.\nsurvivors = {json.dumps(rows)}\n")
    gate.RATES.write_text('[folders]\n"src/other" = [50.0, 2, 0, 2, 1, 0, 0]\n')
    tree = gate.Tree(ROOT, tmp_path, {1: first, 2: second, 3: third})
    outcomes = {3: {"by": "test", "how": "call"}}
    counts = gate.count(tree, outcomes, gate.read_reasons())
    assert gate.rate(counts["src/a"]) == 50.0
    given = gate.parse(["--root", str(ROOT)])
    gate.record(gate.summary(counts, given), [first, second], {"src/a"})
    assert gate.read_reasons() == {
        first.place: "never called",
        second.place: "",
        ("src/other/c.cpp", "f", "logic", 1): "",
    }
    folders = tomllib.loads(gate.RATES.read_text())["folders"]
    assert folders == {"src/a": [50.0, 3, 0, 1, 1, 0, 1], "src/other": [50.0, 2, 0, 2, 1, 0, 0]}


def test_every_survivor_is_of_a_function() -> None:
    """Its number in the function may be old: the gate reads and writes these."""
    places = gate.read_reasons()
    found = {
        mutant.place[:2]
        for path in {place[0] for place in places}
        for mutant in gate.find(path, (ROOT / path).read_bytes())
    }
    assert {place[:2] for place in places} - found == set(), "remove what is gone"


def test_every_fault_that_is_left_names_a_function() -> None:
    left = tomllib.loads((GATE / "by_hand.toml").read_text(encoding="utf-8"))
    for path, function, _ in left["faults"]:
        places = gate.find(path, (ROOT / path).read_bytes())
        assert function in {mutant.piece.function for mutant in places}, function
    for name in left["functions"]:
        assert operator.attrgetter(name)(refarray), name
