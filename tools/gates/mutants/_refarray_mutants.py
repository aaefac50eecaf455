"""Which mutant is on, for Python: the file of state.cpp."""

import mmap
import os
from pathlib import Path

SIZE = 4 + (1 << 20)
_path = os.environ.get("REFARRAY_MUTANTS")
if _path:
    with Path(_path).open("r+b") as _file:
        STATE = mmap.mmap(_file.fileno(), SIZE)
else:
    STATE = mmap.mmap(-1, SIZE)


def mutant(number: int) -> bool:
    STATE[4 + number] = 1
    return STATE[0] | STATE[1] << 8 | STATE[2] << 16 == number
