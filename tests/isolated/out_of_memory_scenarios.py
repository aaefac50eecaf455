"""Fails the k-th Python allocation, for every k, in one kind of import or export, run as
`out_of_memory_scenarios.py PROTOCOL SCENARIO`: with DLPack, or with buffers and interfaces."""

import _testcapi
import os
import sys

import adversary
import refarray
from refarray import _native

DATA = bytes(64)
ROUNDS = 90  # more allocations than any scenario makes
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


class Owner:
    """Holds an exporter of a buffer."""

    def __init__(self, **fields):
        self.exporter = adversary.exporter(data=bytes(8), shape=(2,))
        buffer = {"version": 3, "shape": (2,), "typestr": "<f4", "data": self.exporter}
        self.interface = {**buffer, **fields}


class InterfaceOwner(Owner):
    """Describes the exporter's buffer by __array_interface__."""

    @property
    def __array_interface__(self):
        return self.interface


class RefusingOwner(InterfaceOwner):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise BufferError("refused")


def export_buffers(owner):
    x = refarray.from_buffer(owner.exporter)
    interfaces = x.__array_interface__, x[::-1].__array_interface__
    with memoryview(x) as view:
        return interfaces, view.shape


SCENARIOS = {
    "dlpack": {
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
    },
    "buffers": {
        "buffer": (Owner, lambda owner: refarray.from_buffer(owner.exporter)),
        "bytes": (Owner, lambda owner: refarray.from_buffer(owner.exporter, dtype="int16")),
        "asarray": (Owner, lambda owner: refarray.asarray(owner.exporter)),
        "interface": (InterfaceOwner, refarray.from_array_interface),
        "outside": (lambda: InterfaceOwner(shape=(9,)), refarray.from_array_interface),
        "fallback": (RefusingOwner, refarray.asarray),
        "all_refuse": (lambda: RefusingOwner(typestr="<c4"), refarray.asarray),
        "export": (Owner, export_buffers),
    },
}
REFUSALS = {
    "reject": BufferError,
    "no_copy": refarray.NoCopyError,
    "both_fail": TypeError,
    "outside": BufferError,
    "all_refuse": BufferError,
}


def given_back(subject):
    """How often memory was given, and how often it was given back."""
    if isinstance(subject, Owner):
        return subject.exporter.gets, subject.exporter.releases
    return int(subject.tensor.issued), subject.tensor.deleter_calls


def report(unraisable):
    """Ignores reports that Python 3.13 makes itself when an import runs out of memory."""
    if "PySys_GetObject" not in (unraisable.err_msg or ""):
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = report
protocol, name = sys.argv[1:]
make, call = SCENARIOS[protocol][name]
failures = 0
for k in range(ROUNDS):
    subject, raised = make(), None
    _testcapi.set_nomemory(k, k + 1)
    try:
        try:
            result = call(subject)
        except BaseException as error:
            raised = error
    except MemoryError as error:  # the interpreter had no memory to handle the exception above
        raised = error
    _testcapi.remove_mem_hooks()
    if isinstance(raised, RuntimeError) and "can't allocate lock" in str(raised):
        raised = MemoryError()  # CPython raises this from an import without memory
    if raised is not None:
        failures += isinstance(raised, MemoryError)
        expected = (MemoryError, REFUSALS.get(name, MemoryError))
        assert isinstance(raised, expected), f"allocation {k}: {raised!r}"
    result = raised = None
    given, back = given_back(subject)
    assert given == back, f"allocation {k}: given {given} times, given back {back} times"
assert failures, "no allocation was reached: the test is void"
assert refarray.from_dlpack(x).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
print("survived", flush=True)
if "t" in sys.abiflags:  # CPython 3.13 without a GIL hangs at its end after a list had no memory
    os._exit(0)
