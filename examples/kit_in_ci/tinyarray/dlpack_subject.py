"""The adapter for the conformance kit: expressions that make and import the library's arrays."""

from refarray.conformance import Subject

TINYARRAY = Subject(
    "tinyarray",
    imports="import tinyarray",
    arrays={"plain": "tinyarray.arange(6)", "empty": "tinyarray.arange(0)"},
    dtype="tinyarray.ones(3, dtype='{}')",
    dtypes=("int32", "int64", "float32", "float64"),
    from_dlpack="tinyarray.from_dlpack({})",
    array_api=False,
)
