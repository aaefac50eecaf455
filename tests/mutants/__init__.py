"""Mutants: producers, consumers and exchange tables that each break exactly one requirement."""
