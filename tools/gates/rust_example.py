#!/usr/bin/env python3
"""The gate `rust`: builds the example extension in Rust by the machine's rustc, and runs its tests
and the conformance kit on it, with the installed refarray."""

from __future__ import annotations

import os
import shutil
import sys

from common import PYTEST, ROOT, quiet, run, say, tool

SOURCE = ROOT / "examples" / "extensions" / "rust"
WORK = ROOT / "build" / "rust"


def main() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    if shutil.which("rustc") is None:
        sys.exit("rustc is not on PATH; on Debian: apt-get install rustc")
    run(["rustc", "--version"])
    quiet([tool("cmake"), "-S", SOURCE, "-B", WORK / "build"])
    quiet([tool("cmake"), "--build", WORK / "build"])
    module = WORK / "module"
    quiet([tool("cmake"), "--install", WORK / "build", "--prefix", module])
    shutil.copy(SOURCE / "test_example.py", module)
    path = os.pathsep.join(filter(None, [str(module), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    say("tests")
    run([*PYTEST, "-c", os.devnull, f"--rootdir={module}", module / "test_example.py"], environment)
    say("conformance kit")
    check = ["check", "test_example:SUBJECT", "--devices", "none", "--fail-on", "must,should,crash"]
    run([sys.executable, "-m", "refarray", *check], environment)


if __name__ == "__main__":
    main()
