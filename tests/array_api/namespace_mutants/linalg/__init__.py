"""Mutants of the extension linalg."""
