// Objects of other libraries: the methods of their protocols, what the errors of these mean, and
// NumPy's masked arrays, which imports refuse.
#pragma once

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Thrown with a Python exception set: the exporter declined, or its format is unsupported.
/// asarray() tries the next protocol; functions that use one protocol only let the exception
/// propagate.
struct ProtocolRefused : ErrorSet {};

/// Sets a BufferError with the message `parts` and throws ProtocolRefused.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_protocol(const Parts&... parts) {
  PyErr_Format(PyExc_BufferError, "%s", core::text(parts...).c_str());
  throw ProtocolRefused{};
}

/// For a pending exception that an exporter's own code raised: throws ProtocolRefused if it is a
/// BufferError, else ErrorSet.
[[noreturn]] inline void throw_exporter_error() {
  if (PyErr_ExceptionMatches(PyExc_BufferError) != 0) throw ProtocolRefused{};
  throw ErrorSet{};
}

/// The method or attribute of a protocol, found on the type. Empty also for None, by which a class
/// opts out, as by `__hash__ = None`.
Ref find_protocol(const State& state, PyTypeObject* type, PyObject* name);

/// Whether the callee had begun when it raised `error`, so that it must not be called again. Not if
/// the traceback has no entry below our call, or one by which Cython names a function that refuses
/// its arguments: the code of such an entry has no variables, unlike a function that takes
/// keywords.
bool was_entered(PyObject* error);

/// Appends `first` to the end of `second`'s chain of __context__, as `raise` in an except block
/// does.
void chain_errors(PyObject* second, Ref first) noexcept;

/// Whether the type is numpy.ndarray itself.
bool is_ndarray(const State& state, PyTypeObject* type);

/// Throws ProtocolRefused (a BufferError) for a numpy.ma.MaskedArray: its mask would be lost. NumPy
/// is never imported: until somebody has imported numpy.ma, no object has its types.
void refuse_masked(const State& state, PyObject* object);

}  // namespace refarray::extension
