"""What a machine with an NVIDIA GPU can say: `make gpu-hardware`, or `python -m benchmarks.gpu`.

stages.py      the device, the tests beside each partner, the memory checker, the figures: each a
               process of its own, with a share of the time
figures.py     group D of the benchmarks, in that process
exchanges.py   what an export costs, and an allocation
copies.py      what is copied, by whom, and the share of the driver's own copy that it has to reach
clocks.py      interleaved rounds between two events of the device
loops.cpp      what the driver itself costs, called from C++
report.py      the table, the record, and what was not run and why
__main__.py    the command; its exit status tells passed, failed, in part and not run apart
"""
