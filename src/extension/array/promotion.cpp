// Implements the promotion of Python numbers beside arrays.
#include "extension/array/promotion.hpp"

#include <cstddef>

#include "core/error.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr bool contains(core::DtypeSet set, int row) noexcept { return (set >> row & 1) != 0; }

const char* kind_name(NumberKind kind) noexcept {
  constexpr const char* kNames[] = {"bool", "int", "float", "complex"};
  return kNames[static_cast<int>(kind)];
}

/// The dtypes of the standard's table for Python numbers of a kind.
core::DtypeSet dtypes_beside(NumberKind kind) noexcept {
  using namespace core::dtype_sets;
  switch (kind) {
    case NumberKind::kBool:
      return kBool;
    case NumberKind::kInt:
      return kNumeric;
    default:
      return kFloating;
  }
}

/// complex64 for up to 32 bits, complex128 for float64.
int complex_row(int real) noexcept {
  const unsigned bits = core::kScalars[static_cast<std::size_t>(real)].bits > 32 ? 128 : 64;
  return core::scalar_index(static_cast<unsigned>(core::Kind::kComplex), bits);
}

}  // namespace

int computable_row(const core::DType& dtype, const char* function, core::DtypeSet accepts) {
  const int row = core::computable_index(dtype);
  if (row >= 0 && contains(accepts, row)) [[likely]]
    return row;
  core::fail(Fault::kType, function, "() takes arrays of ", core::name(accepts), " dtypes, not ",
             core::name(dtype), "; astype() converts");
}

int row_beside(NumberKind kind, int other, const char* function) {
  if (!contains(dtypes_beside(kind), other)) {
    core::fail(Fault::kType, function, "(): a Python ", kind_name(kind), " beside an array of ",
               core::kScalars[static_cast<std::size_t>(other)].name,
               " has no common dtype in the standard; use astype()");
  }
  const bool becomes_complex =
      kind == NumberKind::kComplex && contains(core::dtype_sets::kRealFloating, other);
  return becomes_complex ? complex_row(other) : other;
}

}  // namespace refarray::extension
