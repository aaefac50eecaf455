"""Models: for each function of the standard, random arguments and the result in plain Python.

tests/compute/properties/test_every_function.py runs them all, and `make check` fails for a
function that has none. A model draws the arguments of one call and returns them with what the call
must return.
"""

import importlib
import pkgutil

from properties.models.registry import MODELS

__all__ = ["MODELS"]

for each in pkgutil.iter_modules(__path__):  # each adds its models to MODELS
    importlib.import_module(f"{__name__}.{each.name}")
