"""Lets the k-th allocation of Python fail, for every k, in one way of exchange at a time."""

import _testcapi
import sys

import adversary
import refarray
from refarray import _native

DATA = bytes(64)
ROUNDS = 60  # more allocations than any way makes
x = refarray.arange(6, dtype=refarray.float32)
table = adversary.table().capsule()
api = adversary.api(refarray.Array)


class Producer:
    __slots__ = ("tensor",)

    def __init__(self, **fields):
        self.tensor = adversary.make(shape=(2, 3), data=DATA, **fields)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        return self.tensor.capsule()


class Old(Producer):
    def __dlpack__(self):
        return self.tensor.capsule()


class Failing(Producer):
    """Fails on the retry too, with an error that has a context of its own."""

    def __dlpack__(self, **keywords):
        try:
            raise KeyError("inner")
        except KeyError:
            raise TypeError("outer")  # noqa: B904


class WithTable(Producer):
    __dlpack_c_exchange_api__ = table


def through_to_py(producer):
    try:
        return api.to_py(producer.tensor)
    except BaseException:
        assert producer.tensor.deleter_calls == 0
        producer.tensor.delete()  # still the caller's
        raise


def export(producer):
    x.__dlpack__()
    x.__dlpack__(max_version=(1, 3), copy=True)
    x.__dlpack_device__()
    return api.from_py(x[1:])


WAYS = {
    "import": (Producer, refarray.from_dlpack),
    "legacy": (lambda: Producer(versioned=False), refarray.from_dlpack),
    "old": (Old, refarray.from_dlpack),
    "copy": (Producer, lambda producer: refarray.from_dlpack(producer, copy=True)),
    "reject": (lambda: Producer(dtype=(99, 8, 1)), refarray.from_dlpack),
    "no_copy": (Old, lambda producer: refarray.from_dlpack(producer, copy=False)),
    "both_fail": (Failing, refarray.from_dlpack),
    "table": (WithTable, _native._from_exchange_api),
    "to_py": (Producer, through_to_py),
    "export": (Producer, export),
}
REFUSALS = {"reject": BufferError, "no_copy": refarray.NoCopyError, "both_fail": TypeError}


def report(unraisable):
    """Python 3.13 says so itself when an import runs out of memory; all else is a finding."""
    if "PySys_GetObject" not in (unraisable.err_msg or ""):
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = report
make, way = WAYS[sys.argv[1]]
failures = 0
for k in range(ROUNDS):
    producer, raised = make(), None
    _testcapi.set_nomemory(k, k + 1)
    try:
        result = way(producer)
    except BaseException as error:
        raised = error
    _testcapi.remove_mem_hooks()
    if isinstance(raised, RuntimeError) and "can't allocate lock" in str(raised):
        raised = MemoryError()  # CPython's own word for it, from an import
    if raised is not None:
        failures += isinstance(raised, MemoryError)
        expected = (MemoryError, REFUSALS.get(sys.argv[1], MemoryError))
        assert isinstance(raised, expected), f"allocation {k}: {raised!r}"
    result = raised = None
    calls, issued = producer.tensor.deleter_calls, producer.tensor.issued
    assert calls == int(issued), f"allocation {k}: issued {issued}, deleter calls {calls}"
assert failures, "no allocation was reached: this test tests nothing"
assert refarray.from_dlpack(x).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
print("survived")
