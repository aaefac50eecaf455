"""The checks, grouped by role and requirement family.

The folder is the role under test. The module starts with the family's name (FAMILIES), so the
consumer's checks of TENS-05 are in consumer/tensors.py. `load` imports every module it finds.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

ROLES = {
    "producer": "producer",
    "consumer": "consumer",
    "exchange_api": "exchange-api",
    "pair": "pair",
}
"""The role of each folder, in the order in which the checks run."""
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
lifetime_of_capsules.py. The checks of a pair are in one module."""


def load() -> None:
    """Registers every check."""
    for folder in ROLES:
        package = import_module(f"{__name__}.{folder}")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
