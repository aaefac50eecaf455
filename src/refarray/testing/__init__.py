"""Inputs for the tests of libraries that take arrays: hard arrays, hard producers, and checks.

`hard_arrays` and `hard_producers` list them, `refarray.testing.fixtures` has pytest fixtures of
them, and `refarray.testing.strategies` has Hypothesis strategies. `checked` and `CheckedConsumer`
check one side of an exchange against the standards.
"""
# Nothing here imports pytest or Hypothesis; `fixtures` and `strategies` do.

from refarray.testing.arrays import DTYPES, LAYOUTS, HardArray, hard_array, hard_arrays
from refarray.testing.checking import CheckedConsumer, Request, checked
from refarray.testing.comparing import assert_array_equal
from refarray.testing.producers import PRODUCERS, HardProducer, hard_producer, hard_producers

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "PRODUCERS",
    "CheckedConsumer",
    "HardArray",
    "HardProducer",
    "Request",
    "assert_array_equal",
    "checked",
    "hard_array",
    "hard_arrays",
    "hard_producer",
    "hard_producers",
]
