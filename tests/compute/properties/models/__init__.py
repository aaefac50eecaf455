"""Models: for each function of the standard, random arguments and the result in plain Python.

tests/compute/properties/test_models.py runs them all, and `make check` fails for a function that
has none. A model draws the arguments of one call and returns them with what the call must return.
"""

from properties.models import (  # each adds its models to MODELS
    creation,
    decompositions,
    dtypes,
    elementwise,
    fourier,
    linear_algebra,
    manipulation,
    norms,
    reductions,
    searching,
    singular_values,
    systems,
)
from properties.models.registry import MODELS

__all__ = [
    "MODELS",
    "creation",
    "decompositions",
    "dtypes",
    "elementwise",
    "fourier",
    "linear_algebra",
    "manipulation",
    "norms",
    "reductions",
    "searching",
    "singular_values",
    "systems",
]
