#!/usr/bin/env python3
"""examples/demo_gpu.py on simulated drivers over a build of its own: the canary of `demo-gpu`.

The gate itself runs the example with the installed package.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import ROOT, build, environment, print_loaded, run


def main() -> None:
    folder = build("demo-gpu", options=["-DREFARRAY_TESTS=OFF"])
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    plain = environment(folder, XDG_CACHE_HOME=cache)  # the simulated drivers are built once
    print_loaded(folder, plain)
    run([sys.executable, ROOT / "examples" / "demo_gpu.py"], plain)


if __name__ == "__main__":
    main()
