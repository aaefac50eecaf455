#!/usr/bin/env python3
"""The gate `fuzz`: libFuzzer over import, copy, layout, computations, products, indexing and shared
memory, over calls of the extension with hostile arguments, and over headers of files.

Two processes run at once. FUZZ_RUNS executions in all (10,000,000 unless given), or FUZZ_SECONDS
for each target; FUZZ_TARGET=extension runs that target only. FUZZ_RANDOM=1000000000 then runs as
many random inputs on the targets of the validator, at a wheel's optimisation and without a
sanitizer, which takes a tenth of the time. `--keep` adds what was learnt to the
corpus in tests/fuzz/corpus, minimised: one input per line, in hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

from common import ROOT, TESTS, build, configure, environment, note_thrown, quiet, say, tool

COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(30, 15, -1)))
PACKAGES = "clang-19 and libclang-rt-19-dev"  # of Debian
CORPUS = TESTS / "fuzz" / "corpus"
MOST_KEPT = 2000  # inputs of a target: seeds of the next run, quick to replay
LONGEST = 256  # bytes of an input; a target reads zeros beyond its end
#: The share of each target in the executions; each target runs in its own process.
SHARES = {
    "compute": 0.02,
    "copy": 0.1,
    "extension": 0.1,
    "files": 0.05,
    "import": 0.3,
    "index": 0.03,
    "layout": 0.29,
    "product": 0.01,
    "shared": 0.1,
}
PYTHON = ("extension", "files")  # targets written in Python, in folders of their names
VALIDATOR = ("import", "layout")  # what decides whether a tensor from outside is taken
BATCH = 10_000_000  # random inputs of a process, which has a seed of its own
#: The interpreter leaks at exit. Calls that ask for much memory get MemoryError at once.
EXTENSION_OPTIONS = ":detect_leaks=0:max_allocation_size_mb=64"
PROBE = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'


class Result(NamedTuple):
    target: str
    runs: int
    seconds: float
    status: int
    log: Path


def compiler(folder: Path) -> str:
    """Finds a clang with the libraries of libFuzzer and the sanitizers; exits if there is none."""
    for name in filter(shutil.which, COMPILERS):
        command = [name, "-fsanitize=fuzzer,address,undefined", "-x", "c++", "-", "-o"]
        probe = subprocess.run(
            [*command, folder / "probe"], input=PROBE, capture_output=True, text=True, check=False
        )
        if probe.returncode == 0:
            return name
    sys.exit(f"no clang++ with libFuzzer; on Debian install {PACKAGES}")


def unpack(target: str, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    lines = (CORPUS / f"{target}.hex").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            content = bytes.fromhex(line)
            (into / hashlib.sha1(content).hexdigest()).write_bytes(content)


def keep(target: str, program: Path, learnt: Path, with_environment: dict[str, str]) -> int:
    """Minimises the corpus `learnt` and writes it; returns the number of inputs."""
    small = learnt.with_name(f"{target}-small")
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir()
    command = [program, "-set_cover_merge=1", f"-max_len={LONGEST}", small, learnt]
    subprocess.run(command, check=True, capture_output=True, env=with_environment)
    found = (path.read_bytes() for path in small.iterdir())
    inputs = sorted(found, key=lambda content: (len(content), content))
    inputs = inputs[:: -(-len(inputs) // MOST_KEPT) or 1]  # of all lengths
    text = "".join(f"{content.hex()}\n" for content in inputs if content)
    (CORPUS / f"{target}.hex").write_text(text, encoding="utf-8")
    return len(inputs)


def environment_of(target: str, folder: Path) -> dict[str, str]:
    # Frames unwound by an exception pile up on the fake stack, and detecting use after return
    # would take five times as long as the rest. The gate asan detects it.
    options = "allocator_may_return_null=1:quarantine_size_mb=8:detect_stack_use_after_return=0"
    if target not in PYTHON:
        return environment(folder, ASAN_OPTIONS=options)
    path = os.pathsep.join([str(folder / "python"), str(TESTS / "fuzz" / target)])
    options += EXTENSION_OPTIONS
    return environment(folder, ASAN_OPTIONS=options, PYTHONPATH=path, PYTHONMALLOC="malloc")


def fuzz(target: str, runs: int, folder: Path, failed: Event) -> Result:
    corpus = folder / "corpus" / target
    unpack(target, corpus)
    log = folder / f"{target}.log"
    seconds = os.environ.get("FUZZ_SECONDS")
    limit = f"-max_total_time={seconds}" if seconds else f"-runs={runs}"
    command = [
        *(folder / "tests" / "fuzz" / f"{target}_fuzz", limit, f"-max_len={LONGEST}"),
        *(
            "-print_final_stats=1",
            "-print_funcs=0",
            f"-artifact_prefix={folder}/{target}-",
            "-timeout=60",  # seconds, on a machine that does other things
            "-reload=0",  # no other process writes there, and reading takes half of the time
            corpus,
        ),
    ]
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment_of(target, folder)
        )
        while process.poll() is None:
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                if failed.is_set():  # stop all targets at the first finding
                    process.terminate()
    if process.returncode != 0:
        failed.set()
    seconds = time.monotonic() - start
    counted = re.search(r"stat::number_of_executed_units: +(\d+)", log.read_text(errors="replace"))
    return Result(target, int(counted[1]) if counted else 0, seconds, process.returncode, log)


def run_random(wanted: int) -> None:
    """Runs random inputs on the targets of VALIDATOR; exits at the first failure."""
    folder = ROOT / "build" / "fuzz-random"
    say(f"{wanted:,} random inputs, two processes at a time")
    configure(folder, "-DREFARRAY_TESTS=ON", "-DREFARRAY_COMPUTE=OFF", "-DREFARRAY_PYTHON=OFF")
    programs = [f"{target}_fuzz" for target in VALIDATOR]
    quiet([tool("cmake"), "--build", folder, "--target", *programs, "--", "--quiet"])

    def run_batch(number: int) -> None:
        target = VALIDATOR[number % len(VALIDATOR)]
        count = min(BATCH, wanted - number * BATCH)
        chosen = {"FUZZ_INPUTS": str(count), "FUZZ_SEED": str(number)}
        program = folder / "tests" / "fuzz" / f"{target}_fuzz"
        quiet([program, CORPUS / f"{target}.hex"], {**os.environ, **chosen})

    batches = range(-(-wanted // BATCH))
    with ThreadPoolExecutor(max_workers=2) as two:
        for done, _ in enumerate(two.map(run_batch, batches), start=1):
            print(f"{min(done * BATCH, wanted):>13,} of {wanted:,}", flush=True)


def main(arguments: list[str]) -> int:
    wanted = int(os.environ.get("FUZZ_RUNS") or 10_000_000)
    folder = ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    clang = compiler(folder)
    only = os.environ.get("FUZZ_TARGET")
    build(
        "fuzz",
        sanitize="address,undefined,float-cast-overflow",
        options=["-DREFARRAY_FUZZ=ON", f"-DCMAKE_CXX_COMPILER={clang}"],
        targets=[f"{only}_fuzz"] if only else ["all"],
    )
    shares = {only: 1.0} if only else SHARES
    say(f"{wanted:,} executions, two processes at a time, seeds in {CORPUS.relative_to(ROOT)}")
    start = time.monotonic()
    failed = Event()
    with ThreadPoolExecutor(max_workers=2) as two:
        jobs = [
            two.submit(fuzz, target, int(wanted * share), folder, failed)
            for target, share in shares.items()
        ]
        results = [job.result() for job in jobs]
    elapsed = time.monotonic() - start
    for target, runs, seconds, status, log in results:
        rate = runs / max(seconds, 1e-9)
        verdict = "ok" if status == 0 else f"FAILED, exit status {status}: {log}"
        print(f"{target:8} {runs:>12,} executions {rate:>10,.0f}/s  {verdict}")
        if status != 0:
            print("\n".join(log.read_text(errors="replace").splitlines()[-60:]))
    total = sum(result.runs for result in results)
    print(f"{'all':8} {total:>12,} executions {total / elapsed:>10,.0f}/s")
    failures = sum(result.status != 0 for result in results)
    note_thrown("fuzz", total, "executions", failures)
    if failures:
        return 1
    if at_random := int(os.environ.get("FUZZ_RANDOM") or 0):
        run_random(at_random)
    if "--keep" in arguments:
        for target in shares:
            program = folder / "tests" / "fuzz" / f"{target}_fuzz"
            learnt = folder / "corpus" / target
            count = keep(target, program, learnt, environment_of(target, folder))
            print(f"{target}: {count} inputs kept")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
