"""refarray's exchange table works after everything of refarray that can be freed is gone."""

import gc
import sys

import adversary
import refarray


class Foreign:
    """A type from which refarray imports through its exchange table."""

    __dlpack_c_exchange_api__ = adversary.table().capsule()

    def __init__(self) -> None:
        self.tensor = adversary.make(data=bytes(64))


assert refarray.from_dlpack(Foreign()).tolist() == [0.0] * 3
api = adversary.api(refarray.Array)  # stores the table's address, owns nothing
address = api.members()["address"]
for name in [name for name in sys.modules if name.partition(".")[0] == "refarray"]:
    del sys.modules[name]
del refarray
gc.collect()


def work(api=api, make=adversary.make) -> None:
    code, owned, errors = api.allocate(make(shape=(3,), data=None))
    assert (code, errors) == (0, []), errors
    owned.write(bytes(12))
    assert owned.read(12) == bytes(12)
    owned.drop()


class Late:
    """Runs at finalization: it is deleted with sys.modules."""

    def __del__(self, work=work, write=sys.stdout.write, flush=sys.stdout.flush) -> None:
        work()
        write("at the end too\n")
        flush()


work()
assert api.members()["address"] == address
print("the table still works", flush=True)
sys.modules["late"] = Late()
