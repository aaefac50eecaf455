"""Exchanges with the real partner libraries, in both directions."""
