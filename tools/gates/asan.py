#!/usr/bin/env python3
"""The gate `asan`: the C++ tests and the test suite under ASAN, UBSAN and LSan (g++)."""

from __future__ import annotations

import subprocess
import sys

from common import (
    OF_THE_REPOSITORY,
    ROOT,
    TESTS,
    build,
    compile_adversary,
    environment,
    located,
    print_loaded,
    run,
    say,
    tool,
)

SANITIZE = "address,undefined"
FLAGS = f"-fsanitize={SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer"


def library(name: str) -> str:
    """The run-time library as g++ names it; it has to be the first one in the process."""
    found = subprocess.run(
        ["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def main(arguments: list[str]) -> None:
    folder = build("asan", sanitize=SANITIZE)
    options = {
        # A request that cannot be met is a MemoryError to test, not the end of the process. The
        # interceptor, up to gcc 13, takes blocks of threads' memory that lie by chance at a certain
        # offset of a page for such with a header (google/sanitizers#1322): LSan then crashes.
        "ASAN_OPTIONS": (
            "detect_leaks=1:allocator_may_return_null=1:abort_on_error=1:intercept_tls_get_addr=0"
        ),
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        "LSAN_OPTIONS": f"suppressions={TESTS}/gates/sanitizers/lsan.supp:print_suppressions=0",
        # One malloc per object: pymalloc's arenas hide overflows, and LSan does not look into them.
        "PYTHONMALLOC": "malloc",
    }
    say("C++ tests")
    run([tool("ctest"), "--test-dir", folder, "--output-on-failure"], environment(folder))
    plain = environment(folder, CXXFLAGS=FLAGS)
    compile_adversary(plain)
    preload = f"{library('libasan.so')} {library('libubsan.so')}"
    sanitized = {**plain, **options, "LD_PRELOAD": preload}
    print_loaded(folder, sanitized)
    say("pytest; reports go to stderr, past its capture")
    ignored = [f"--ignore={located(name)}" for name in OF_THE_REPOSITORY]
    run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider"),
            *("-m", "not not_sanitized"),
            *ignored,
            *(arguments or [ROOT / "tests"]),
        ],
        sanitized,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
