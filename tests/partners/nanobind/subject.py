"""The conformance kit's adapter of nanobind: the tests' extension as a subject."""

from __future__ import annotations

from refarray.conformance import Subject
from refarray.conformance.subjects.subject import DTYPES, array_api

KINDS = ("plain", "strided", "reversed", "transposed", "scalar", "empty", "empty2", "one")
NANOBIND = Subject(
    "nanobind",
    "import numpy as np; from partners.nanobind.build import module; nb = module()",
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
