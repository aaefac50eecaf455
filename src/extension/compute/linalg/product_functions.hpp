// Products of matrices, for the operators @ and @=.
#pragma once

#include "extension/capi/state.hpp"

namespace refarray::extension {

/// x1 @ x2. Throws kType for arguments that are no Arrays of numeric dtypes or do not promote,
/// kValue for shapes that do not fit.
Ref compute_matmul(const State& state, PyObject* x1, PyObject* x2);
/// x1 @= x2 in the memory of x1, an Array. Also throws kType and kValue if the result has another
/// dtype or shape, or x1 is read-only; x1 then is unchanged.
Ref compute_matmul_in_place(const State& state, PyObject* x1, PyObject* x2);

}  // namespace refarray::extension
