"""Tests and benchmarks on a machine with an NVIDIA GPU: `make gpu-hardware`.

__main__.py    the command `python -m benchmarks.gpu` and its exit status
stages.py      device detection, the tests with each partner, compute-sanitizer and the benchmarks,
               each in its own process with a time limit
figures.py     group D of the benchmarks, in such a process
session.py     the state that all rows share: device, stream, driver, partners
exchanges.py   the cost of exports and allocations
copies.py      copies relative to the driver's own copy
clocks.py      interleaved timing with device events
loops.cpp      the cost of the driver calls alone, from C++
report.py      the table, the record, and the parts that were not run
"""
