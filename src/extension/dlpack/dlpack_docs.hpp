// Docstrings of the DLPack functions and methods. The first line is the text signature.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension::doc {

inline constexpr const char* kDlpack =
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

inline constexpr const char* kDlpackDevice =
    R"doc(__dlpack_device__($self, /)
--

Return the device of the array as (DLDeviceType, id), numbered as in DLPack.)doc";

inline constexpr const char* kToCapsule =
    R"doc(to_capsule($module, x, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Export an array as a bare DLPack capsule, for libraries that exchange capsules directly.

The keyword arguments are those of Array.__dlpack__. The capsule is a legacy one unless
max_version is (1, 0) or later. The first consumer to take it owns the tensor; if nobody
does, the capsule's destructor releases the memory.

Raises TypeError when x is not an Array, and whatever Array.__dlpack__ raises.)doc";

inline constexpr FunctionRow kFromDlpack{
    "from_dlpack",
    "x, /, *, device=None, copy=None, max_version=None",
    Category::kCreation,
    2021,
    R"doc(Import the data of any DLPack producer as an array (array API 2025.12, DLPack 1.3).

x: An object whose type has __dlpack__ and __dlpack_device__: both are called, the device
    first. Exactly numpy.ndarray is not asked for its device. A type with only a C exchange
    table is imported by it, without keyword arguments.
device: The device of the result. None is the device of x.
copy: True returns independent, writable data whatever the producer does; False never
    copies; None copies if needed.
max_version: The (major, minor) to pass to the producer, lowered to the version that
    refarray implements. An extension of the standard.

The result keeps the producer's memory alive and calls the producer's deleter exactly once,
after its last view has been deleted. Read-only data stays read-only.

With REFARRAY_AUDIT=1 in the environment, the audit event refarray.from_dlpack(type, route)
says which of the three it is.

Raises AttributeError when x is not a producer; BufferError for data that cannot be used,
naming the field, the value and the limit, and for a masked array of NumPy; NoCopyError
when copy=False is impossible; and whatever the producer raises.)doc",
};

inline constexpr const char* kFromCapsule =
    R"doc(from_capsule($module, capsule, /)
--

Import the managed tensor in a bare DLPack capsule, legacy or versioned, as an array.

A capsule has one consumer: it is renamed before anything in it is read, and importing it
again raises BufferError.

Raises TypeError for anything but a capsule, and BufferError for a tensor that cannot be
used, after calling its deleter.)doc";

inline constexpr const char* kFromExchangeApi =
    R"doc(_from_exchange_api($module, x, /)
--

Import x through the C exchange table of its type, even if x is an Array.

Raises TypeError when the type has no usable table, and whatever from_dlpack raises.)doc";

}  // namespace refarray::extension::doc
