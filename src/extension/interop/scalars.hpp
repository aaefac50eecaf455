// Objects of other libraries: which are numbers, and which export arrays. docs/interop.md has the
// rules.
#pragma once

#include <optional>

#include "extension/capi/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

struct Scalar {
  Ref number;                        // a bool, int, float or complex
  std::optional<core::DType> dtype;  // the scalar's own, if refarray has it
};

/// The number that an object is which is no instance of Python's own: a NumPy scalar, or an object
/// with __index__. Empty for other objects. Runs user code and throws what it raises. Throws
/// TypeError for longdouble, which would be rounded, and for datetime64 and timedelta64.
std::optional<Scalar> to_scalar(const State& state, PyObject* object);

/// Whether to_scalar() takes or refuses the object for the buffer that it exports: the protocols of
/// arrays are not tried then.
bool is_buffer_scalar(const State& state, PyObject* object);

/// Whether the object has no length, and describes a time by __array_interface__: datetime64,
/// timedelta64.
bool is_time_scalar(const State& state, PyObject* object);

/// A number that computations take: as plain_number(), or a scalar unless the namespace is strict.
/// Otherwise an empty Ref.
Ref to_exact_number(const State& state, PyObject* object);

/// As to_exact_number(), and also an array or buffer of ndim 0, and every object with __index__.
/// For functions that convert.
Ref to_number(State& state, PyObject* object);

/// Whether asarray() could share the object's memory: it has DLPack, a buffer, or an array
/// interface.
bool exports_memory(const State& state, PyObject* object);

}  // namespace refarray::extension
