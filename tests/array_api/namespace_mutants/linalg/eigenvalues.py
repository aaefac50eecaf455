"""Mutants of eig, eigh, eigvals and eigvalsh."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import complex_, first, of, real, then, when
from array_api.namespace_mutants.linalg.kinds import adjoint, field, finite, huge, tiny, wide

import refarray as xp

REAL_OF = {"complex64": "float32", "complex128": "float64"}


def mean_of_triangles(x: Any) -> Any:
    return x / 2 + adjoint(x) / 2


def imaginary_diagonal(x: Any) -> Any:
    """The imaginary parts of the diagonal are added to the real ones."""
    out = xp.copy(x)
    diagonal = xp.linalg.diagonal(out)
    diagonal[...] = diagonal + xp.astype(xp.imag(diagonal), x.dtype)
    return out


def unconjugated(x: Any) -> Any:
    """The lower triangle is the upper one too, not conjugated, as if the matrix were real."""
    return xp.conj(x)


def as_complex(values: Any) -> Any:
    return xp.astype(values, "complex128" if values.dtype == xp.float64 else "complex64")


def by_magnitude(values: Any) -> Any:
    """The values ascend by magnitude."""
    return xp.take_along_axis(values, xp.argsort(xp.abs(values), axis=-1), axis=-1)


def descending(f: Any, x: Any) -> Any:
    """Eigenvalues and eigenvectors in descending order."""
    out = f(x)
    return type(out)(*(xp.flip(each, axis=-1) for each in out))


def reversed_values(values: Any) -> Any:
    return xp.flip(values, axis=-1)


def next_vectors(vectors: Any) -> Any:
    """Eigenvectors of the next matrix of a stack."""
    return xp.roll(vectors, -1, axis=0) if vectors.ndim > 2 else vectors


def slightly_longer(vectors: Any) -> Any:
    return vectors * (1 + 1e-3)


def not_orthogonal(vectors: Any) -> Any:
    """The last column is orthogonal to about half of the digits."""
    out = xp.copy(vectors)
    if out.shape[-1] > 1:
        out[..., -1] += out[..., 0] * xp.finfo(vectors.dtype).eps ** 0.5
    return out


for name in ("eigh", "eigvalsh"):
    target = f"linalg.{name}"
    plant(target, "triangle", "the upper triangle is read", first(adjoint))
    plant(target, "mean", "the mean of both triangles is read", first(mean_of_triangles))
    plant(
        target,
        "diagonal",
        "the diagonal's imaginary parts count",
        when(complex_, first(imaginary_diagonal)),
    )
VALUES = "eigenvalues"
plant("linalg.eigh", "descending", "eigenvalues descend", descending)
plant("linalg.eigh", "reversed", "eigenvalues alone descend", field(VALUES, reversed_values))
plant("linalg.eigh", "complex", "complex eigenvalues", when(complex_, field(VALUES, as_complex)))
plant("linalg.eigvalsh", "descending", "eigenvalues descend", then(reversed_values))
plant("linalg.eigvalsh", "complex", "complex eigenvalues", when(complex_, then(as_complex)))
plant("linalg.eigvalsh", "magnitude", "eigenvalues ascend by magnitude", then(by_magnitude))
plant("linalg.eigvalsh", "absolute", "eigenvalues are not negative", then(xp.abs))
plant("linalg.eigvalsh", "conj", "imaginary parts are lost", when(complex_, first(xp.real)))
plant("linalg.eigvalsh", "hidden", "NaN becomes 0", then(finite(0.0)))
VECTORS = "eigenvectors"
for name in ("eigh", "eig"):
    target = f"linalg.{name}"
    plant(target, "rows", "eigenvectors are rows", field(VECTORS, lambda v: xp.copy(v.mT)))
    plant(target, "longer", "eigenvectors are not normalized", field(VECTORS, slightly_longer))
    plant(target, "next", "eigenvectors of the next matrix", field(VECTORS, next_vectors))
    plant(target, "hidden", "vectors of what is not finite are 0", field(VECTORS, finite(0.0)))
    plant(target, "hidden-values", "values of what is not finite are 0", field(VALUES, finite(0.0)))
plant("linalg.eigh", "conj", "conjugated eigenvectors", when(complex_, field(VECTORS, xp.conj)))
plant("linalg.eigh", "orthogonal", "not quite orthogonal", field(VECTORS, not_orthogonal))


def real_if_real(values: Any) -> Any:
    """Real eigenvalues are of a real dtype."""
    if xp.any(xp.imag(values) != 0):
        return values
    return xp.astype(xp.real(values), REAL_OF[values.dtype.name])


def both_real_if_real(f: Any, x: Any) -> Any:
    out = f(x)
    if xp.any(xp.imag(out.eigenvalues) != 0):
        return out
    return type(out)(*map(real_if_real, out))


def always_double(f: Any, x: Any) -> Any:
    """float16 and bfloat16 give complex128."""
    out = f(x)
    return type(out)(*map(wide, out)) if isinstance(out, tuple) else wide(out)


def turned(factor: complex) -> Any:
    """The eigenvectors have another phase."""
    return lambda vectors: vectors * factor


def greatest_one(vectors: Any) -> Any:
    """The greatest component of an eigenvector is 1."""
    return vectors / xp.astype(xp.max(xp.abs(vectors), axis=-2, keepdims=True), vectors.dtype)


def first_real(vectors: Any) -> Any:
    """The first component of an eigenvector is real and positive, not the greatest one."""
    lengths = xp.abs(vectors[..., :1, :])
    phase = xp.where(lengths > 0, xp.conj(vectors[..., :1, :]) / lengths, 1.0)
    return xp.astype(vectors * phase, vectors.dtype)


def as_hermitian(f: Any, x: Any) -> Any:
    """Eigenvectors of the Hermitian matrix with the same lower triangle."""
    out = f(x)
    if not isinstance(out, tuple):
        return xp.astype(xp.linalg.eigvalsh(x), out.dtype)
    pair = xp.linalg.eigh(x)
    return type(out)(*(xp.astype(b, a.dtype) for a, b in zip(out, pair, strict=True)))


def left_vectors(f: Any, x: Any) -> Any:
    """Left eigenvectors: those of the transposed matrix."""
    out = f(x)
    other = f(xp.copy(x.mT))
    return out._replace(eigenvectors=other.eigenvectors)


def conjugate_pairs_lost(values: Any) -> Any:
    """The imaginary parts of all eigenvalues are positive."""
    return xp.astype(xp.real(values) + 1j * xp.abs(xp.imag(values)), values.dtype)


EIG, EIGVALS = "linalg.eig", "linalg.eigvals"
plant(EIG, "real", "real results if all are real", when(real, both_real_if_real))
plant(EIGVALS, "real", "real results if all are real", when(real, then(real_if_real)))
plant(EIG, "conj", "conjugated eigenvalues", field(VALUES, xp.conj))
plant(EIG, "conj-vectors", "conjugated eigenvectors", field(VECTORS, xp.conj))
plant(EIG, "reversed", "eigenvalues alone are reversed", field(VALUES, reversed_values))
plant(EIG, "minus", "eigenvectors have another sign", field(VECTORS, turned(-1)))
plant(EIG, "phase", "eigenvectors have another phase", field(VECTORS, turned(1j)))
plant(EIG, "greatest", "the greatest component is 1", field(VECTORS, greatest_one))
plant(EIG, "first-real", "the first component is real", field(VECTORS, first_real))
plant(EIG, "left", "left eigenvectors", left_vectors)
plant(EIGVALS, "conj", "complex: conjugated", when(complex_, then(xp.conj)))
plant(EIGVALS, "pairs", "imaginary parts are positive", then(conjugate_pairs_lost))
plant(EIGVALS, "double", "eigenvalues are doubled", then(lambda values: values + values))
plant(EIGVALS, "hidden", "NaN becomes 0", then(finite(0.0)))
plant(
    EIGVALS, "huge", "huge elements overflow", when(huge, then(lambda v: xp.full_like(v, xp.inf)))
)
plant(EIGVALS, "tiny", "tiny elements underflow", when(tiny, then(xp.zeros_like)))
plant("linalg.eigvalsh", "tiny", "tiny elements underflow", when(tiny, then(xp.zeros_like)))
for name in ("eig", "eigvals"):
    target = f"linalg.{name}"
    plant(target, "hermitian", "the upper triangle is ignored", as_hermitian)
    plant(
        target,
        "half",
        "float16 and bfloat16 give complex128",
        when(of("float16", "bfloat16"), always_double),
    )
