// The export of arrays on virtual devices, and the ordering of an exported array's pending work,
// which all protocols share that export device memory.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

/// runtime::order(), releasing the GIL only if it has to call a driver.
[[gnu::noinline]] runtime::Lent order_without_gil(const core::ArrayView& array,
                                                  const runtime::StreamChoice& choice);

/// __dlpack__() of an array on a virtual device: to the host only, and as a copy. The arguments may
/// be absent (nullptr).
Ref export_from_virtual(PyObject* self, PyObject* stream, PyObject* max_version,
                        PyObject* dl_device, PyObject* copy);

}  // namespace refarray::extension
