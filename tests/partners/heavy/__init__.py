"""Exchanges with partners that need an environment of their own: `make test-partners`."""
