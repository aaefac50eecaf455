"""Mutants of the array API namespace, which `make gate G=mutants` runs against two test suites."""

from importlib import import_module

FILES = (
    "unary",
    "binary",
    "integers",
    "comparisons",
    "operators",
    "methods",
    "reductions",
    "statistics",
    "scans",
    "indexing",
    "sorting",
    "sets",
    "movement",
    "products.matrices",
    "products.contractions",
    "fourier.sequences",
    "fourier.several_axes",
    "fourier.others",
    "linalg.alike",
    "linalg.factors",
    "linalg.singular_values",
    "linalg.eigenvalues",
    "linalg.inverses",
    "linalg.entries",
    "linalg.norms",
    "linalg.rare",
    "creation",
    "conversion",
    "dtypes",
)


def load() -> None:
    """Fills the list of mutants."""
    for name in FILES:
        import_module(f"array_api.namespace_mutants.{name}")
