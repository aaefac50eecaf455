// The order in which asarray() tries an object's protocols, and which errors let it go on.
#pragma once

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

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
