"""Ray: every process of the machine reads an array where it lies in the object store."""

import ray

import refarray as ra


@ray.remote
def read(x: ra.Array) -> bool:
    assert x.readonly and str(x.dtype) == "bfloat16"
    y = x.copy()  # to write, copy
    y[0, 0] = 2
    return float(x[0, 0]) == 1


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    x = ra.ones((1024, 1024), dtype="bfloat16")
    with ra.ledger(forbid="copy"):  # refarray copies nothing, Ray once: into the store
        stored = ray.put(x)
    with ra.ledger(forbid="copy"):  # and nobody on the way out
        y = ray.get(stored)
    assert y.readonly and y.dtype == x.dtype
    assert all(ray.get([read.remote(stored) for _ in range(4)]))
    ray.shutdown()
