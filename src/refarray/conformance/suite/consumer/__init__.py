"""Checks of a consumer: the requests and imports of its `from_dlpack`."""
