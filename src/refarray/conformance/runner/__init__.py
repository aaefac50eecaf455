"""Runs checks in worker processes: the engine, the worker, the fork server, hang detection."""

import sys

if sys.platform == "win32":
    raise ImportError(
        "the conformance kit does not run on Windows: it passes descriptors to its processes, "
        "and tells crashes by their signals"
    )
