// The export of arrays on virtual devices, and the ordering of an exported array's pending work,
// which all protocols share that export device memory.
#pragma once

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

inline constexpr char kDlpackDoc[] =
    R"doc(__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Export the array as a DLPack capsule (array API 2025.12, DLPack 1.3).

stream: The stream on which the consumer will use the data: an int, numbered as the array
    API defines, or an object with __cuda_stream__. For device memory, None is the legacy
    default stream. For pinned and managed memory, None waits on the host. -1 orders
    nothing. The CPU has no streams: only None is valid.
max_version: The newest (major, minor) that the consumer reads. None or a major version
    below 1 requests the legacy capsule, which cannot mark data as read-only.
dl_device: The (type, id) to export to. None is the array's own device; (1, 0) is the CPU.
copy: True always copies, False never copies, None copies if needed. A copy carries the
    flag IS_COPIED and belongs to the consumer alone.

The capsule holds a reference to the array's memory, not to this object, and needs no
interpreter to release it.

Raises BufferError when the data cannot be described as requested, or when waiting for
unfinished work would invalidate a graph capture; ValueError for a stream that the device
does not have; TypeError for a keyword argument of the wrong type.)doc";

inline constexpr char kDlpackDeviceDoc[] = R"doc(__dlpack_device__($self, /)
--

Return the device of the array as (DLDeviceType, id), numbered as in DLPack.)doc";

/// runtime::order(), releasing the GIL only if it has to call a driver.
[[gnu::noinline]] runtime::Lent order_without_gil(const core::ArrayView& array,
                                                  const runtime::StreamChoice& choice);

/// __dlpack__() of an array on a virtual device: to the host only, and as a copy. The arguments may
/// be absent (nullptr).
Ref export_from_virtual(PyObject* self, PyObject* stream, PyObject* max_version,
                        PyObject* dl_device, PyObject* copy);

}  // namespace refarray::extension
