"""The conformance kit's adapter of nanobind: the tests' extension as a subject."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from refarray.conformance import Subject
from refarray.conformance.subjects.subject import DTYPES, array_api


def module() -> ModuleType:
    """The extension, compiled when needed."""
    from . import build

    folder = str(build.build())
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(build.NAME)
    finally:
        sys.path.remove(folder)


KINDS = ("plain", "strided", "reversed", "transposed", "scalar", "empty", "empty2", "one")
NANOBIND = Subject(
    "nanobind",
    "import numpy as np; from partners.nanobind.subject import module; nb = module()",
    arrays={
        **{kind: f"nb.pass_on({array_api('np')[kind]})" for kind in KINDS},
        "readonly": "nb.pass_on_ro(np.broadcast_to(np.arange(6, dtype=np.float32), 6))",
    },
    big="nb.pass_on(np.ones({}, dtype=np.float32))",
    dtype="nb.pass_on(np.ones(3, dtype='{}'))",
    dtypes=DTYPES[:14],
    from_dlpack="nb.pass_on({})",
    distribution="nanobind",
    carrier=True,
    overloads=True,
    through="numpy",
    array_api=False,
    note="an extension that passes NumPy's arrays on",
)
