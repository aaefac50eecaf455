"""Helpers shared by several test files: the array model, leak counts, spies, requirement marks."""
