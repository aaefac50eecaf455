#!/usr/bin/env python3
"""Parquet, decoded by PyArrow in worker processes, into shared batches for PyTorch in the parent.

No element is copied after decoding: each worker decodes into memory that the parent maps too, and
the parent's tensors are views of it. A ledger counts the bytes that refarray copies: none.
`shared_batches.py [FILES]`; needs pyarrow and torch.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import refarray
import refarray.shared as shared

ROWS, COLUMNS = 50_000, 8


def make_file(path: Path, seed: int) -> Path:
    values = np.random.default_rng(seed).random((COLUMNS, ROWS), dtype=np.float32)
    pq.write_table(pa.table({f"c{i}": column for i, column in enumerate(values)}), path)
    return path


def decode(path: Path) -> refarray.Array:
    """Runs in a worker: one row group after the other, each column into its row of the batch."""
    file = pq.ParquetFile(path)
    batch = shared.empty((file.metadata.num_columns, file.metadata.num_rows), "float32")
    rows = np.from_dlpack(batch)  # shares the memory
    begin = 0
    for group in file.iter_batches(use_threads=False):
        for i, column in enumerate(group.columns):
            rows[i, begin : begin + group.num_rows] = column  # the decoded values, once
        begin += group.num_rows
    return batch


def show(done: int, total: int) -> None:
    width = 30 * done // total
    print(f"\r[{'#' * width}{'.' * (30 - width)}] {done}/{total}", end="", file=sys.stderr)


def main(count: int = 12) -> None:
    arena = shared.Arena()
    shared.use(arena)
    with tempfile.TemporaryDirectory() as folder:
        paths = [make_file(Path(folder) / f"{i}.parquet", i) for i in range(count)]
        weights = torch.zeros(COLUMNS)
        context = multiprocessing.get_context("spawn")
        with (
            context.Pool(2, initializer=shared.use, initargs=(arena,)) as pool,
            refarray.ledger(forbid="copy") as ledger,
        ):
            for done, batch in enumerate(pool.imap_unordered(decode, paths), 1):
                tensor = torch.from_dlpack(batch)
                assert tensor.data_ptr() == batch.__array_interface__["data"][0]
                weights += tensor.mean(dim=1)
                show(done, count)
    print(file=sys.stderr)
    print(f"{count} batches of {COLUMNS} x {ROWS}, mean {float(weights.mean()) / count:.3f}")
    print(f"bytes copied by refarray: {ledger.copied_bytes}")
    del batch, tensor
    shared.collect()
    print(f"left in the arena: {arena.usage().held} arrays, {arena.usage().sent} handles")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
