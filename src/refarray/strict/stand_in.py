"""A pytest plugin that puts refarray.strict in the place of array_api_strict.

    pytest -p refarray.strict.stand_in

Tests of other projects run unmodified, and array-api-strict need not be installed. The plugin must
be named on the command line (or in PYTEST_PLUGINS): modules that conftest.py files import would
otherwise see array_api_strict first, and then it raises ImportError.
"""

from __future__ import annotations

import sys

import refarray.strict
from refarray.strict import _array_object, _devices, _flags, _typing

NAME = "array_api_strict"


def install() -> None:
    """Let `import array_api_strict` return refarray.strict, for the life of the process."""
    found = sys.modules.get(NAME)
    if found is refarray.strict:
        return
    if found is not None:
        raise ImportError(
            f"{NAME} has been imported from {getattr(found, '__file__', None)}; "
            "refarray.strict.stand_in must come before that: pytest -p refarray.strict.stand_in"
        )
    # array-api-compat recognises array-api-strict by the name of the module.
    refarray.strict.__name__ = NAME
    sys.modules[NAME] = refarray.strict
    for module in (_array_object, _devices, _flags, _typing):  # which public suites import
        sys.modules[f"{NAME}.{module.__name__.rpartition('.')[2]}"] = module


def pytest_report_header() -> str:
    return f"{NAME}: refarray.strict of refarray {refarray.__version__}"


install()
