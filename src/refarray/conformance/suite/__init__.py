"""The checks, grouped by role and requirement family.

The folder is named after the role under test, and the module's name starts with the family's
(FAMILIES): the consumer's checks of TENS-05 are in consumer/tensors.py. `load` imports every module
it finds.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from refarray.conformance.requirements import Role

if TYPE_CHECKING:
    from refarray.conformance.cases import Check

FAMILIES = {
    "ABI": "abi",
    "VERS": "versions",
    "DTYPE": "dtypes",
    "DEV": "devices",
    "TENS": "tensors",
    "FLAG": "flags",
    "LIFE": "lifetime",
    "PROD": "methods",
    "STRM": "streams",
    "COPY": "copies",
    "CONS": "protocol",
    "CAPI": "table",
    "AAPI": "array_api",
}
"""What the names of a family's modules start with. A large family has several: lifetime.py,
lifetime_at_exit.py. The checks of a pair are in one module."""


def load() -> None:
    """Registers every check, and puts them in the order of place()."""
    from refarray.conformance.cases import CHECKS

    for role in Role:
        package = import_module(f"{__name__}.{role.replace('-', '_')}")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
    ordered = sorted(CHECKS.values(), key=place)
    CHECKS.clear()
    CHECKS.update({each.name: each for each in ordered})


def place(check: Check) -> tuple[int, int, str]:
    """The sort key of a check: role, family, id; a part is placed after the whole. It does not
    depend on the order of imports, since modules import each other."""
    from refarray.conformance.cases import CHECKS

    whole = CHECKS.get(check.part_of, check)
    family = whole.id.partition("-")[0]
    return list(Role).index(whole.role), list(FAMILIES).index(family), whole.id
