"""Out of memory: every public call, with each of its allocations failing in turn."""

import sys
from pathlib import Path

# For `oracles`, in the new processes that import this.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "compute"))
