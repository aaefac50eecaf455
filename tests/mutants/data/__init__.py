"""Mutants that corrupt data, copies, dtypes, flags or lifetimes, written from the requirements."""
