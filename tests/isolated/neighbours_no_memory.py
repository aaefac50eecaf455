"""Lets the k-th allocation of Python fail, for every k, in one way from or to a neighbour."""

import _testcapi
import sys

import adversary
import refarray

ROUNDS = 90  # more allocations than any way makes


class Offer:
    """Describes an exporter's bytes, or refuses DLPack before."""

    def __init__(self, exporter, **fields):
        self.said = {"version": 3, "shape": (2,), "typestr": "<f4", "data": exporter, **fields}

    @property
    def __array_interface__(self):
        return self.said


class Refusing(Offer):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise BufferError("refused")


class Exporting:
    """The exporter itself, so that all ways are called alike."""

    def __init__(self, exporter):
        self.exporter = exporter


def export(offer):
    x = refarray.from_buffer(offer.exporter)
    said = x.__array_interface__, x[::-1].__array_interface__
    with memoryview(x) as view:
        return said, view.shape


WAYS = {
    "buffer": (Exporting, lambda offer: refarray.from_buffer(offer.exporter)),
    "bytes": (Exporting, lambda offer: refarray.from_buffer(offer.exporter, dtype="int16")),
    "asarray": (Exporting, lambda offer: refarray.asarray(offer.exporter)),
    "interface": (Offer, refarray.from_array_interface),
    "outside": (lambda exporter: Offer(exporter, shape=(9,)), refarray.from_array_interface),
    "fallback": (Refusing, refarray.asarray),
    "all_refuse": (lambda exporter: Refusing(exporter, typestr="<c4"), refarray.asarray),
    "export": (Exporting, export),
}
REFUSED = ("outside", "all_refuse")
name = sys.argv[1]
make, way = WAYS[name]
failures = 0
for k in range(ROUNDS):
    exporter, raised = adversary.exporter(data=bytes(8), shape=(2,)), None
    offer = make(exporter)
    _testcapi.set_nomemory(k, k + 1)
    try:
        result = way(offer)
    except BaseException as error:
        raised = error
    _testcapi.remove_mem_hooks()
    if raised is not None:
        failures += isinstance(raised, MemoryError)
        expected = (MemoryError, BufferError) if name in REFUSED else MemoryError
        assert isinstance(raised, expected), f"allocation {k}: {raised!r}"
    result = raised = offer = None
    gets, releases = exporter.gets, exporter.releases
    assert gets == releases, f"allocation {k}: {gets} buffers lent, {releases} given back"
assert failures, "no allocation was reached: this test tests nothing"
print("survived")
