// Implements the promotion of Python numbers beside arrays.
#include "extension/objects/number_promotion.hpp"

#include "core/error.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::ScalarType;

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

ScalarType complex_of(ScalarType real) noexcept {
  return real == ScalarType::kFloat64 ? ScalarType::kComplex128 : ScalarType::kComplex64;
}

}  // namespace

ScalarType require_computable(const core::DType& dtype, const char* function,
                              core::DtypeSet accepts) {
  const ScalarType type = core::computable_scalar(dtype);
  if (type != ScalarType::kNone && core::contains(accepts, type)) [[likely]]
    return type;
  core::fail(Fault::kType, function, "() takes arrays of ", core::name(accepts), " dtypes, not ",
             core::name(dtype), "; astype() converts");
}

ScalarType type_beside(NumberKind kind, ScalarType other, const char* function) {
  if (!core::contains(dtypes_beside(kind), other)) {
    core::fail(Fault::kType, function, "(): a Python ", kind_name(kind), " beside an array of ",
               core::info_of(other).name, " has no common dtype in the standard; use astype()");
  }
  const bool becomes_complex =
      kind == NumberKind::kComplex && core::contains(core::dtype_sets::kRealFloating, other);
  return becomes_complex ? complex_of(other) : other;
}

}  // namespace refarray::extension
