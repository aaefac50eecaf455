"""Fails the k-th Python allocation, for every k, in one import or export of a foreign protocol."""

import _testcapi
import sys

import adversary
import refarray

ROUNDS = 90  # more allocations than any scenario makes


class InterfaceOwner:
    """Describes an exporter's buffer by __array_interface__."""

    def __init__(self, exporter, **fields):
        self.interface = {"version": 3, "shape": (2,), "typestr": "<f4", "data": exporter, **fields}

    @property
    def __array_interface__(self):
        return self.interface


class RefusingOwner(InterfaceOwner):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise BufferError("refused")


class BufferOwner:
    """Holds the exporter itself, so that every scenario takes one object with an exporter."""

    def __init__(self, exporter):
        self.exporter = exporter


def export(owner):
    x = refarray.from_buffer(owner.exporter)
    interfaces = x.__array_interface__, x[::-1].__array_interface__
    with memoryview(x) as view:
        return interfaces, view.shape


SCENARIOS = {
    "buffer": (BufferOwner, lambda owner: refarray.from_buffer(owner.exporter)),
    "bytes": (BufferOwner, lambda owner: refarray.from_buffer(owner.exporter, dtype="int16")),
    "asarray": (BufferOwner, lambda owner: refarray.asarray(owner.exporter)),
    "interface": (InterfaceOwner, refarray.from_array_interface),
    "outside": (
        lambda exporter: InterfaceOwner(exporter, shape=(9,)),
        refarray.from_array_interface,
    ),
    "fallback": (RefusingOwner, refarray.asarray),
    "all_refuse": (lambda exporter: RefusingOwner(exporter, typestr="<c4"), refarray.asarray),
    "export": (BufferOwner, export),
}
REFUSED = ("outside", "all_refuse")
name = sys.argv[1]
make, call = SCENARIOS[name]
failures = 0
for k in range(ROUNDS):
    exporter, raised = adversary.exporter(data=bytes(8), shape=(2,)), None
    owner = make(exporter)
    _testcapi.set_nomemory(k, k + 1)
    try:
        result = call(owner)
    except BaseException as error:
        raised = error
    _testcapi.remove_mem_hooks()
    if raised is not None:
        failures += isinstance(raised, MemoryError)
        expected = (MemoryError, BufferError) if name in REFUSED else MemoryError
        assert isinstance(raised, expected), f"allocation {k}: {raised!r}"
    result = raised = owner = None
    gets, releases = exporter.gets, exporter.releases
    assert gets == releases, f"allocation {k}: {gets} buffers acquired, {releases} released"
assert failures, "no allocation was reached: the test is void"
print("survived")
