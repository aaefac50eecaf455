"""Interpreter exit with live objects, run as `finalization.py MODE`; passes with exit status 0."""

import atexit
import sys
import threading
import time
import weakref

import adversary
import refarray

mode = sys.argv[1]
DATA = bytes(64)
x = refarray.arange(4, dtype=refarray.float32)


def take(array):
    return adversary.take(array.__dlpack__(max_version=(1, 3)))


class Cycle:
    pass


class Producer:
    """Runs Python code inside from_dlpack."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        for _ in range(10_000):
            pass
        return x.__dlpack__(**keywords)


def run_python() -> None:
    """Python code that runs long enough to lose the GIL."""
    for _ in range(10_000):
        pass


class Index:
    def __index__(self) -> int:
        run_python()
        return 2


class Sequence:
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> float:
        run_python()
        if index >= 3:
            raise IndexError
        return float(index)


class Owner(bytearray):
    def __del__(self) -> None:
        run_python()


class Fleeting:
    """A number that is deleted as soon as it has been read."""

    def __index__(self) -> int:
        return 1

    def __del__(self) -> None:
        run_python()


class FleetingItems(Sequence):
    def __getitem__(self, index: int) -> Fleeting:
        return Fleeting()


class SlowName(type):
    def __repr__(cls) -> str:
        run_python()
        return "slow"


class Refusing(metaclass=SlowName):
    """Refuses with an exception whose traceback keeps a Fleeting alive."""

    @property
    def __array_interface__(self):
        kept = Fleeting()
        raise AttributeError(kept)


def watched() -> None:
    view = x[1:]
    reference = weakref.ref(view, lambda _: run_python())
    del view
    assert reference() is None


def refused(function) -> None:
    try:
        function(Refusing())
    except TypeError:
        return
    raise AssertionError


class Described:
    """Owns the memory that its __array_interface__ describes."""

    def __init__(self) -> None:
        self.kept = refarray.zeros(4)

    @property
    def __array_interface__(self):
        return self.kept.__array_interface__


class Property:
    @property
    def __dlpack__(self):
        run_python()
        return x.__dlpack__

    def __dlpack_device__(self):
        return (1, 0)


if "numpy" in mode:
    import numpy

CALLBACKS = {
    "daemon_index": lambda: refarray.zeros((Index(), Index())),
    "daemon_position": lambda: x[Index()],
    "daemon_assign": lambda: x.__setitem__(0, Index()),
    "daemon_number": lambda: refarray.asarray([Index()]),
    "daemon_sequence": lambda: refarray.asarray(Sequence()),
    "daemon_property": lambda: refarray.from_dlpack(Property()),
    "daemon_buffer": lambda: len(refarray.from_buffer(Owner(8))),
    "daemon_repr": lambda: repr(x),
    "daemon_weakref": watched,
    "daemon_item": lambda: refarray.asarray(FleetingItems()),
    "daemon_capsule": lambda: refarray.from_buffer(Owner(8)).__dlpack__() and None,
    "daemon_consumer": lambda: take(refarray.from_buffer(Owner(8))) and None,
    "daemon_native": lambda: take(refarray.from_buffer(Owner(8))).drop_in_thread(False),
    "daemon_detached": lambda: take(refarray.from_buffer(Owner(8))).drop_without_gil(),
    "daemon_deleter": lambda: len(
        refarray.from_dlpack(adversary.make(data=DATA, deleter=run_python))
    ),
    "daemon_message": lambda: refused(refarray.from_capsule),
    "daemon_refusal": lambda: refused(refarray.from_array_interface),
    "daemon_numpy": lambda: numpy.from_dlpack(refarray.from_buffer(Owner(8))) is x,
    "daemon_numpy_deleter": lambda: len(refarray.from_dlpack(numpy.frombuffer(Owner(8), "u1"))),
}


class Late:
    """Runs other threads during finalization: it is deleted with sys.modules."""

    def __del__(self, clock=time.perf_counter):
        end = clock() + 0.1
        while clock() < end:
            pass


def run_daemons(work) -> None:
    """Start threads that repeat `work` for ever; return once each has run it once."""
    begun = threading.Barrier(4)

    def repeat() -> None:
        work()
        begun.wait()
        while True:
            work()

    for _ in range(3):
        threading.Thread(target=repeat, daemon=True).start()
    begun.wait()
    time.sleep(0.05)  # they leave the barrier, and are inside `work` when the exit begins
    sys.modules["late"] = Late()


def spin() -> None:
    while True:
        y = refarray.from_dlpack(x)
        take(y[1:]).drop_in_thread(True)
        time.sleep(0)


if mode == "module_global":
    kept = [x, x[1:], refarray.from_dlpack(x)]
elif mode == "import_in_global":
    kept = [refarray.from_dlpack(adversary.make(data=DATA))[1:]]
    sys.kept = kept
elif mode == "unconsumed":
    sys.kept = [
        x.__dlpack__(),
        x.__dlpack__(max_version=(1, 3)),
        adversary.make(data=DATA).capsule(),
    ]
elif mode == "cycle":
    cycle = Cycle()
    cycle.me, cycle.array = cycle, refarray.from_dlpack(adversary.make(data=DATA))
elif mode == "static":
    take(x).keep_until_exit()
    adversary.take(x.__dlpack__()).keep_until_exit()
    del x
elif mode == "static_of_import":
    take(refarray.from_dlpack(adversary.make(data=DATA))).keep_until_exit()
elif mode == "thread_during":
    take(x).drop_at_finalization(False)
    take(refarray.from_dlpack(adversary.make(data=DATA))).drop_at_finalization(False)
elif mode == "thread_after":
    take(x).drop_at_finalization(True)
    take(refarray.from_dlpack(adversary.make(data=DATA))).drop_at_finalization(True)
elif mode == "daemon":
    threading.Thread(target=spin, daemon=True).start()
    time.sleep(0.05)
elif mode == "daemon_copy":
    table = refarray.permute_dims(refarray.zeros((300, 300)), (1, 0))
    run_daemons(lambda: refarray.copy(table))
elif mode == "daemon_astype":
    table = refarray.permute_dims(refarray.zeros((300, 300)), (1, 0))
    run_daemons(lambda: refarray.astype(table, refarray.float32))
elif mode == "daemon_producer":
    run_daemons(lambda: refarray.from_dlpack(Producer()))
elif mode == "daemon_producer_asked":
    run_daemons(lambda: refarray.from_dlpack(Producer(), copy=True))
elif mode in CALLBACKS:
    run_daemons(CALLBACKS[mode])
elif mode == "buffer_static":
    take(refarray.from_buffer(bytearray(b"abcd"))).keep_until_exit()
elif mode == "buffer_thread":
    take(refarray.from_buffer(bytearray(b"abcd"))).drop_at_finalization(False)
    take(refarray.from_buffer(bytearray(b"efgh"))).drop_at_finalization(True)
elif mode == "interface_static":
    take(refarray.from_array_interface(Described())).keep_until_exit()
elif mode == "interface_thread":
    take(refarray.from_array_interface(Described())).drop_at_finalization(False)
    take(refarray.from_array_interface(Described())).drop_at_finalization(True)
elif mode == "atexit":
    atexit.register(lambda array: print(refarray.from_dlpack(array).tolist()), x)
elif mode == "table":
    api, tensor = adversary.api(refarray.Array), adversary.make(data=DATA)

    class Last:
        def __del__(self, take=api.to_py, tensor=tensor, show=print):
            try:
                show(take(tensor).shape, flush=True)
            except RuntimeError as error:
                show(error, flush=True)
                tensor.delete()

    last = Last()
else:
    raise SystemExit(f"no mode is called {mode}")
print("alive until here", flush=True)
