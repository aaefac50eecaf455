"""Mutants of the products of matrices and vectors."""
