"""Dask: an array goes from worker to worker; the sender's memory is what the socket reads."""

import dask.sizeof
from distributed import Client, LocalCluster

import refarray as ra


def tell_size() -> None:
    """Dask asks sys.getsizeof() otherwise, which knows nothing of elements."""
    dask.sizeof.sizeof.register(ra.Array)(lambda x: x.nbytes)


def make(value: float) -> ra.Array:
    return ra.full((1024, 1024), value, dtype="bfloat16")


def read(x: ra.Array, y: ra.Array) -> float:
    assert x.dtype == y.dtype == ra.bfloat16
    return float(x[0, 0]) + float(y[-1, -1])


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(tell_size)
        first, second = client.scheduler_info()["workers"]
        x = client.submit(make, 1.0, workers=[first])
        y = client.submit(make, 2.0, workers=[second])
        assert client.submit(read, x, y, workers=[second]).result() == 3
