"""A test for each case of some requirements; the workflow checks all of them."""

from collections.abc import Callable

from refarray.conformance import parametrize

KNOWN = {"VERS-02[consumer-major0]": "NumPy reads the tensor before it compares the version"}


@parametrize("tinyarray", ids=["VERS", "DEV", "FLAG"], expected_failures=KNOWN)
def test_dlpack(check: Callable[[], None]) -> None:
    check()
