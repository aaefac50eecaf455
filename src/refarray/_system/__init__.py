"""Processes on this system, for what runs other libraries: how descriptors reach a process, how to
wait for its pipes, whether it works, how it ended; the memory and the signals of this process."""

import sys

if sys.platform == "win32":
    from refarray._system import windows as system
else:
    from refarray._system import posix as system

__all__ = ["system"]
