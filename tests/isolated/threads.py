"""Four threads share arrays and exchange capsules; every managed tensor is deleted exactly once."""

import gc
import queue
import threading

import adversary
import refarray

THREADS, ROUNDS = 4, 300
shared = refarray.arange(64, dtype=refarray.float32)
given = [refarray.from_dlpack(adversary.make(shape=(16,), data=bytes(64)))]
capsules: queue.SimpleQueue = queue.SimpleQueue()
barrier = threading.Barrier(THREADS)
errors: list[BaseException] = []


def work(me: int) -> None:
    try:
        barrier.wait()
        for number in range(ROUNDS):
            source = shared if number % 2 else given[0]
            capsules.put(source[me:].__dlpack__(max_version=(1, 3) if number % 3 else None))
            array = refarray.from_capsule(capsules.get())
            assert array.ndim == 1
            tensor = adversary.make(data=bytes(64))
            view = refarray.from_dlpack(tensor)[1:]
            owned = adversary.take(view.__dlpack__(max_version=(1, 3)))
            del view
            assert tensor.deleter_calls == 0
            owned.drop_in_thread(number % 2 == 0)
            assert tensor.deleter_calls == 1
    except BaseException as error:
        errors.append(error)
        raise


threads = [threading.Thread(target=work, args=(me,)) for me in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
given.clear()
gc.collect()
wrong = [row for row in adversary.ledger(0) if row[1] != row[2]]
assert not wrong, wrong
assert shared.tolist() == [float(i) for i in range(64)]
print("balanced")
