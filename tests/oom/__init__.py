"""Out of memory: every public call, with each of its allocations failing in turn."""
