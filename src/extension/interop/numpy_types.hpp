// NumPy's masked arrays, which imports refuse, and its scalars, which are numbers. NumPy is never
// imported: until somebody has imported it, no object has one of its types.
#pragma once

#include <Python.h>

#include <optional>

#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Throws ProtocolRefused (a BufferError) for a numpy.ma.MaskedArray: its mask would be lost.
void refuse_masked(State& state, PyObject* object);

/// Whether the object is a NumPy scalar other than text, bytes and structures: a number of NumPy or
/// ml_dtypes, or a time.
bool is_numpy_scalar(State& state, PyObject* object);

/// As is_numpy_scalar(), for datetime64 and timedelta64 only.
bool is_time_scalar(State& state, PyObject* object);

struct NumpyNumber {
  Ref number;  // a bool, int, float or complex; longdouble is rounded to float64
  std::optional<core::DType> dtype;  // the scalar's own, if refarray has it
};

/// The number that a NumPy scalar is; empty for objects that are not NumPy scalars. Throws
/// TypeError for datetime64 and timedelta64, and what the scalar's class raises.
std::optional<NumpyNumber> to_numpy_number(State& state, PyObject* object);

}  // namespace refarray::extension
