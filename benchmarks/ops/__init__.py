"""Computations side by side with NumPy and PyTorch: `python -m benchmarks.ops`.

cases.py     the statements and their targets, group C
__main__.py  measures, prints the table, records it
"""
