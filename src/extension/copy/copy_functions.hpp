// astype(), copy() and to_device() for C++ callers, and the process-wide settings of copies: the
// instruction set of the copy kernels and the thread count.
#pragma once

#include "extension/capi/ref.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

inline constexpr char kToDeviceMethodDoc[] = R"doc(to_device($self, device, /, *, stream=None)
--

Return the elements on device.

If they are already there and no stream is given, the result shares their
memory; otherwise it is a copy, enqueued on stream. Raises BufferError if this
build cannot allocate on device, and ValueError for a stream that the device
does not have. See refarray.to_device. Array API: to_device.)doc";

/// Throws kType unless astype() converts elements of a dtype into those of another.
void require_convertible(const core::DType& from, const core::DType& to);

/// Array.copy(); pickle.cpp also uses it for __copy__ and __deepcopy__. Ignores its second
/// argument.
Ref copy_method(PyObject* self, PyObject*);

/// Applies the environment variables REFARRAY_ISA and REFARRAY_COPY_THREADS. Throws kValue for an
/// invalid value.
void read_copy_settings();

}  // namespace refarray::extension
