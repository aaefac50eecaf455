// The order in which asarray() tries an object's protocols, and which errors let it go on.
#pragma once

#include <Python.h>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
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

/// The result of try_protocols().
struct ProtocolResult {
  Ref array;  // empty: the object supports no protocol, or is a NumPy scalar, which is a number
  /// The exporter received device= and copy=, and its result was checked against both. For the
  /// other protocols: the array is a copy that nobody else refers to.
  bool request_honored = false;
};

/// Imports `object`, which is not an Array, by the first protocol that succeeds: DLPack, the buffer
/// protocol, __array_interface__, __array_struct__, __cuda_array_interface__, __array__. `device`
/// and `copy` are asarray()'s arguments or nullptr; `no_copy` means copy=False. Elements that
/// cannot be shared are copied, or NoCopyError is raised. If every protocol refuses, raises the
/// first refusal; any other error is raised at once.
ProtocolResult try_protocols(State& state, PyObject* object, PyObject* device, PyObject* copy,
                             bool no_copy);

/// The object itself if it is an Array, else a view of its memory by the first protocol that
/// succeeds, or a copy if none can share it. An empty Ref if the object supports none or is a NumPy
/// scalar.
Ref array_over(State& state, PyObject* object);

}  // namespace refarray::extension
