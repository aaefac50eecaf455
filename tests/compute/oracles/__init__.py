"""Exact expected values of array functions, written from the standard alone."""
