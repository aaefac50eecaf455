"""Exchanges with partners that need their own environments: `make test-partners`."""
