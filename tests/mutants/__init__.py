"""Owns the zoo: producers and consumers that each break one requirement, and that one only."""
