"""Strided copies in units of a memcpy of as many bytes: `make bench-copy`.

cases.py       what is copied: B1 to B16, transposes of growing size, HPTT's 57 permutations
contenders.py  who copies it: refarray, NumPy, PyTorch, HPTT, and memcpy itself
measure.py     interleaved rounds over the same memory, minima, and where a missed row's time goes
__main__.py    the command: measure, print the table, record it
"""
