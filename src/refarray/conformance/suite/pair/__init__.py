"""Checks of a library together with refarray."""
