"""Side-by-side measurements of the array exchange and its footprint; run `python -m benchmarks`."""
