// The dtypes that arrays and Python numbers promote to.
#pragma once

#include "core/promotion.hpp"
#include "extension/array/element.hpp"

namespace refarray::extension {

// In the functions below `function` names the Python function in error messages.

/// Index into kScalars of a dtype of `accepts`. Throws kType for others.
int computable_row(const core::DType& dtype, const char* function, core::DtypeSet accepts);

/// The row of kScalars that a Python number takes beside an array of row `other`: the same, but a
/// complex number beside real floats is complex. Throws kType where the standard leaves the
/// combination undefined.
int row_beside(NumberKind kind, int other, const char* function);

}  // namespace refarray::extension
