"""Checks of a consumer: what its from_dlpack asks for and accepts."""
