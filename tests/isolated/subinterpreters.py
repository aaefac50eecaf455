"""refarray in sub-interpreters: one, several at once, and with tensors that outlive them."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from interpreters_of_cpython import start

import adversary

BODY = f"""
import sys
sys.path[:] = {sys.path!r}
import adversary, gc, refarray
tensor = adversary.make(data=bytes(64))
x = refarray.from_dlpack(tensor)
y = refarray.from_dlpack(x[1:])
assert y.tolist() == [0.0, 0.0], y
api = adversary.api(refarray.Array)
assert api.to_py(api.from_py(y)).tolist() == [0.0, 0.0]
try:
    refarray.from_dlpack(adversary.make(data=None))
except BufferError:
    pass
else:
    raise AssertionError("accepted NULL")
# CPython 3.12.1 hangs when many interpreters import dataclasses at once, also without refarray.
if sys.version_info >= (3, 13):
    xp = refarray.namespace(strict=True, immutable=True)
    z = xp.from_dlpack(x) + 1.0
    assert type(z) is type(xp.zeros(3)) is not refarray.Array and z.__array_namespace__() is xp
    try:
        z + x
    except TypeError as error:
        assert xp.__name__ in str(error)
    else:
        raise AssertionError("mixed namespaces")
    del z
del x, y, api
gc.collect()
assert tensor.deleter_calls == 1
"""
OUTLIVES = (
    BODY
    + """
for array in (refarray.arange(4), refarray.from_dlpack(adversary.make(data=bytes(64)))):
    adversary.take(array.__dlpack__(max_version=(1, 3))).keep_until_exit()
"""
)
DRIVERS = f"""
import sys
sys.path[:] = {sys.path!r}
import gc, refarray
x = refarray.asarray([1, 2], device="cuda:1")
y = refarray.from_dlpack(refarray.zeros(3), device="cuda:0")
z = refarray.from_dlpack(x).copy()
assert x.tolist() == z.tolist() == [1, 2] and y.tolist() == [0.0] * 3
del x, y, z
gc.collect()
"""
READER, WRITER = os.pipe()
EXPORT = f"""
import sys
sys.path[:] = {sys.path!r}
import adversary, os, refarray
class Exporter(bytearray):
    def __del__(self):
        os.write({WRITER}, b"released")
owned = adversary.take(refarray.from_buffer(Exporter(b"abcd")).__dlpack__(max_version=(1, 3)))
os.write({WRITER}, str(owned.leave()).encode())
"""


def run_at_once(runs: list[Callable[[str], None]], body: str) -> None:
    """Run `body` in each interpreter, in threads if every interpreter has its own GIL."""
    if sys.version_info < (3, 12):
        for run in runs:
            run(body)
        return
    threads = [threading.Thread(target=run, args=(body,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def export_from(run: Callable[[str], None]) -> adversary.Owned:
    """A managed tensor over memory owned by an object of the other interpreter."""
    run(EXPORT)
    owned = adversary.adopt(int(os.read(READER, 100)))
    assert owned.read(4) == b"abcd"
    return owned


mode = sys.argv[1]
import refarray  # noqa: E402

kept = refarray.arange(3)
if mode == "round_trip":
    run = start()
    run(BODY)
    run.close()
elif mode == "many":
    runs = [start() for _ in range(6)]
    run_at_once(runs, BODY)
    for run in runs:
        run.close()
elif mode == "drivers":  # no interpreter has loaded the drivers yet
    sys.path.append(str(Path(__file__).resolve().parents[2] / "fakegpu"))
    import fakegpu

    # PyGILState_Check() returns true in every thread once there are two interpreters.
    fakegpu.load(cuda=2, hip=0, check_gil=False)
    runs = [start() for _ in range(4)]
    run_at_once(runs, DRIVERS)
    for run in runs:
        run.close()
    assert len(fakegpu.trace("cuInit")) == 1
    assert fakegpu.violations() == []
elif mode == "outlives":
    run = start()
    run(OUTLIVES)
    run.close()
elif mode == "buffer_of_the_living":
    for in_thread in (False, True):
        run = start()
        owned = export_from(run)
        if in_thread:
            owned.drop_in_thread(False)
        else:
            owned.drop_without_gil()
        assert os.read(READER, 100) == b"released"
        export_from(run).drop()
        assert os.read(READER, 100) == b"released"
        run.close()
elif mode == "buffer_of_the_dead":
    for drop in ("drop", "drop_without_gil", "drop_in_thread"):
        run = start()
        owned = export_from(run)
        run.close()
        getattr(owned, drop)(*[False] * (drop == "drop_in_thread"))
    os.close(WRITER)
    assert os.read(READER, 100) == b"", "an object was released without its interpreter"
else:
    raise SystemExit(f"no mode is called {mode}")
assert refarray.from_dlpack(kept).tolist() == [0, 1, 2]
print("main goes on", flush=True)
