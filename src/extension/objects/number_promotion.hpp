// The dtypes that arrays and Python numbers promote to.
#pragma once

#include "core/promotion.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {

// In the functions below `function` names the Python function in error messages.

/// The scalar type of a dtype of `accepts`. Throws kType for others.
core::ScalarType require_computable(const core::DType& dtype, const char* function,
                                    core::DtypeSet accepts);

/// The type that a Python number takes beside an array of the type `other`: the same, but a
/// complex number beside real floats is complex. Throws kType where the standard leaves the
/// combination undefined.
core::ScalarType type_beside(NumberKind kind, core::ScalarType other, const char* function);

}  // namespace refarray::extension
