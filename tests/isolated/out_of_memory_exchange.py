"""Fails the k-th Python allocation, for every k, in one kind of DLPack import or export."""

import _testcapi
import sys

import adversary
import refarray
from refarray import _native

DATA = bytes(64)
ROUNDS = 60  # more allocations than any scenario makes
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
    """Raises on the retry too, with an error that has a context."""

    def __dlpack__(self, **keywords):
        try:
            raise KeyError("inner")
        except KeyError:
            raise TypeError("outer")  # noqa: B904


class WithTable(Producer):
    __dlpack_c_exchange_api__ = table


def to_py(producer):
    try:
        return api.to_py(producer.tensor)
    except BaseException:
        assert producer.tensor.deleter_calls == 0
        producer.tensor.delete()  # after a failure the caller still owns it
        raise


def export(producer):
    x.__dlpack__()
    x.__dlpack__(max_version=(1, 3), copy=True)
    x.__dlpack_device__()
    return api.from_py(x[1:])


SCENARIOS = {
    "import": (Producer, refarray.from_dlpack),
    "legacy": (lambda: Producer(versioned=False), refarray.from_dlpack),
    "old": (Old, refarray.from_dlpack),
    "copy": (Producer, lambda producer: refarray.from_dlpack(producer, copy=True)),
    "reject": (lambda: Producer(dtype=(99, 8, 1)), refarray.from_dlpack),
    "no_copy": (Old, lambda producer: refarray.from_dlpack(producer, copy=False)),
    "both_fail": (Failing, refarray.from_dlpack),
    "table": (WithTable, _native._from_exchange_api),
    "to_py": (Producer, to_py),
    "export": (Producer, export),
}
REFUSALS = {"reject": BufferError, "no_copy": refarray.NoCopyError, "both_fail": TypeError}


def report(unraisable):
    """Ignores reports that Python 3.13 makes itself when an import runs out of memory."""
    if "PySys_GetObject" not in (unraisable.err_msg or ""):
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = report
make, call = SCENARIOS[sys.argv[1]]
failures = 0
for k in range(ROUNDS):
    producer, raised = make(), None
    _testcapi.set_nomemory(k, k + 1)
    try:
        try:
            result = call(producer)
        except BaseException as error:
            raised = error
    except MemoryError as error:  # the interpreter had no memory to handle the exception above
        raised = error
    _testcapi.remove_mem_hooks()
    if isinstance(raised, RuntimeError) and "can't allocate lock" in str(raised):
        raised = MemoryError()  # CPython raises this from an import without memory
    if raised is not None:
        failures += isinstance(raised, MemoryError)
        expected = (MemoryError, REFUSALS.get(sys.argv[1], MemoryError))
        assert isinstance(raised, expected), f"allocation {k}: {raised!r}"
    result = raised = None
    calls, issued = producer.tensor.deleter_calls, producer.tensor.issued
    assert calls == int(issued), f"allocation {k}: issued {issued}, deleter calls {calls}"
assert failures, "no allocation was reached: the test is void"
assert refarray.from_dlpack(x).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
print("survived")
