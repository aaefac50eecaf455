"""Fails each allocation of the native module's initialisation, each in a forked child.

The import raises MemoryError, and the next import works. Prints one JSON line."""

import _imp
import ctypes
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

import adversary

folder = importlib.util.find_spec("refarray").submodule_search_locations[0]
path = str(next(Path(folder).glob("_native*.so")))
ctypes.CDLL(path)  # allocations of the dynamic loader are not tested
heap = adversary.watch(path)
SPEC = importlib.util.spec_from_file_location("refarray._native", path)
REACHED_END, AS_SPECIFIED, WRONG = 0, 1, 2


def initialise():
    module = _imp.create_dynamic(SPEC)
    _imp.exec_dynamic(module)
    return module


def work_in_child(kind: int, first: int, count: int) -> int:
    error = None
    try:
        adversary.fail_allocations(kind, first, count)
        initialise()
    except BaseException as caught:
        error = caught
    failed = adversary.stop_failing()[1]
    if error is not None and not (failed and isinstance(error, MemoryError)):
        print(f"allocation {first}: {error!r}", file=sys.stderr, flush=True)
        return WRONG
    del error
    import refarray

    if refarray.from_dlpack(refarray.arange(3)).tolist() != [0, 1, 2]:
        return WRONG
    return AS_SPECIFIED if failed else REACHED_END


failures, findings = 0, []
for kind, count in ((0, 1), (0, -1), *([(1, 1), (1, -1)] if heap else [])):
    for first in range(5000):
        child = os.fork()
        if child == 0:
            try:
                os._exit(work_in_child(kind, first, count))
            finally:
                os._exit(WRONG)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            findings.append(("crash", f"{first}: {signal.Signals(os.WTERMSIG(status)).name}"))
        elif os.WEXITSTATUS(status) == REACHED_END:
            break
        elif os.WEXITSTATUS(status) != AS_SPECIFIED:
            findings.append(("other", f"{first}: exit status {os.WEXITSTATUS(status)}"))
        failures += 1
line = {"name": "import", "family": "import", "failed": failures, "absorbed": 0, "interpreter": 0}
print(json.dumps({**line, "findings": findings}), flush=True)
