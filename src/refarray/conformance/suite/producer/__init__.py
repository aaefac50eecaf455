"""Checks of a producer: what its two methods export."""
