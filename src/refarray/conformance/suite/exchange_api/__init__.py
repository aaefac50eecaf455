"""Checks of the C exchange table that a library offers on its array type."""
