"""Checks of a library and refarray together."""
