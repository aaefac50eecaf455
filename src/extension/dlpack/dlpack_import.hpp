// from_dlpack() for C++ callers that have looked up the producer.
#pragma once

#include "extension/capi/state.hpp"
#include "extension/dlpack/producer.hpp"

namespace refarray::extension {

/// The module function.
Ref module_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames);

/// from_dlpack(x, device=device, copy=copy) for a foreign producer, or for a refarray.Array that is
/// to be relabelled; nullptr leaves an argument out.
Ref import_producer(const State& state, PyObject* x, const ProducerInfo& producer, PyObject* device,
                    PyObject* copy);

/// Reads the environment variable REFARRAY_AUDIT: see from_dlpack()'s docstring. To be called
/// before the first import.
void read_audit_setting() noexcept;

}  // namespace refarray::extension
