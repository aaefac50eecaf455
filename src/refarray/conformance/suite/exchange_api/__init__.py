"""Checks of the C exchange API, on both sides."""
