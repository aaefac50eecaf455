"""Checks of a producer: the arrays that `__dlpack__` and `__dlpack_device__` export."""
