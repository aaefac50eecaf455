#!/usr/bin/env python3
"""The gate `asan`: the C++ tests and the test suite under ASAN, UBSAN and LSan (g++)."""

from __future__ import annotations

import sys

from common import (
    PYTEST,
    ROOT,
    TESTS,
    build,
    environment,
    ignore,
    loaded,
    marked,
    run,
    runtime_library,
    say,
    tool,
)

SANITIZE = "address,undefined"
FLAGS = f"-fsanitize={SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer"


def main(arguments: list[str]) -> None:
    folder = build("asan", sanitize=SANITIZE)
    options = {
        # A failed allocation must be a MemoryError, not an abort. Up to gcc 13 the interceptor may
        # take a thread's block for one with a header, and LSan crashes (google/sanitizers#1322).
        "ASAN_OPTIONS": (
            "detect_leaks=1:allocator_may_return_null=1:abort_on_error=1:intercept_tls_get_addr=0"
        ),
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        "LSAN_OPTIONS": f"suppressions={TESTS}/gates/sanitizers/lsan.supp:print_suppressions=0",
        # One malloc per object: pymalloc arenas hide overflows, and LSan does not scan them.
        "PYTHONMALLOC": "malloc",
    }
    say("C++ tests")
    run([tool("ctest"), "--test-dir", folder, "--output-on-failure"], environment(folder))
    preload = f"{runtime_library('libasan.so')} {runtime_library('libubsan.so')}"
    sanitized = loaded(folder, {**options, "LD_PRELOAD": preload}, CXXFLAGS=FLAGS)
    say("pytest; sanitizer reports go to stderr, not through its capture")
    run(
        [
            *(*PYTEST, "--capture=sys", "-m", "not not_sanitized"),
            *ignore(marked("repository")),
            *(arguments or [ROOT / "tests"]),
        ],
        sanitized,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
