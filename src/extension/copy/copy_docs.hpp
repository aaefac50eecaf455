// Docstrings of the functions about copies.
//
// The first line of a docstring is the text signature, which inspect.signature() reads. Rows have
// none: function_row.hpp puts it in front.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

// --- functions.cpp: module functions.

inline constexpr FunctionRow kAstype{
    "astype",
    "x, dtype, /, *, copy=True, device=None",
    Category::kDataType,
    2021,
    R"doc(Return the elements of x converted to dtype in a new, writable, row-major array.

Conversion to a float rounds once, to nearest, ties to even. Conversion of a
float to an integer truncates toward zero and saturates at the limits of dtype.
Any non-zero value converts to True.

copy: False returns x itself if neither dtype nor device changes.
device: the device of the result. None keeps the device of x, except that
    pinned host memory is copied to the CPU.

Raises TypeError for a conversion from complex to real and for a conversion of
vector elements to another dtype, and BufferError if the memory of x or the
device cannot be used by this build.)doc",
};

inline constexpr char kCopyFunctionDoc[] = R"doc(copy($module, x, /)
--

Return a new, writable, row-major array with the elements of x.

The copy is on the device of x; pinned host memory is copied to the CPU.

Raises TypeError if x is not an Array, BufferError if its memory cannot be read,
and MemoryError. Extension of the array API; asarray(x, copy=True) is its
standard spelling.)doc";

inline constexpr char kToDeviceFunctionDoc[] =
    R"doc(to_device($module, x, device, /, *, stream=None)
--

Return the elements of x on device.

If x is already there and no stream is given, the result shares its memory;
otherwise it is a copy.

device: a Device or its name, such as 'cpu' or 'cuda:0'.
stream: the stream that the copy is enqueued on: a handle as DLPack defines it
    for the device, or an object with __cuda_stream__. None uses the current
    stream. Between arrays on the CPU only None is allowed.

Raises BufferError if this build cannot allocate on device, ValueError for an
unknown device name or a stream that the device does not have, and TypeError for
arguments of other types. Array API: to_device.)doc";

// --- functions.cpp: methods of Array.

inline constexpr char kAstypeMethodDoc[] = R"doc(astype($self, dtype, /, *, copy=True, device=None)
--

Return the elements converted to dtype in a new, writable, row-major array.

The result is on device; None keeps the array's own, except that pinned host
memory is copied to the CPU. copy=False returns the array itself if neither dtype
nor device changes. Raises TypeError for a conversion from complex to real and for
a conversion of vector elements to another dtype. See refarray.astype for the
rounding rules.)doc";

inline constexpr char kCopyMethodDoc[] = R"doc(copy($self, /)
--

Return a new, writable, row-major array with the same elements.

The copy is on the same device; pinned host memory is copied to the CPU. Raises
BufferError if the memory cannot be read, and MemoryError.)doc";

inline constexpr char kToDeviceMethodDoc[] = R"doc(to_device($self, device, /, *, stream=None)
--

Return the elements on device.

If they are already there and no stream is given, the result shares their
memory; otherwise it is a copy, enqueued on stream. Raises BufferError if this
build cannot allocate on device, and ValueError for a stream that the device
does not have. See refarray.to_device. Array API: to_device.)doc";

// --- settings.cpp.

inline constexpr char kSetCopyThreadsDoc[] = R"doc(set_copy_threads($module, count, /)
--

Set the number of threads that share each copy of more than 4 MiB.

count: 1 to 256, including the calling thread. The default is the value of
    REFARRAY_COPY_THREADS, or 1.

The setting applies to the whole process; a copy in progress keeps its threads.
Helper threads start with a copy and end with it, so that fork() is safe at any
time. Raises ValueError for a count out of range.)doc";

inline constexpr char kGetCopyThreadsDoc[] = R"doc(get_copy_threads($module, /)
--

Return the number of threads that share each copy of more than 4 MiB.

See set_copy_threads.)doc";

inline constexpr char kUseIsaDoc[] = R"doc(_use_isa($module, name, /)
--

Use the copy kernels of an instruction set in the whole process.

name: an entry of _build_info()['isas']. Raises ValueError for any other name.)doc";

// --- benchmarks.cpp.

inline constexpr char kCopyIntoDoc[] = R"doc(_copy_into($module, dst, src, /)
--

Copy the elements of src to dst, which has the same shape; for the benchmarks.)doc";

inline constexpr char kMemcpyDoc[] = R"doc(_memcpy($module, dst, src, /)
--

Copy the bytes of one row-major array to another by memcpy(); for the benchmarks.)doc";

inline constexpr char kPlanCopiesDoc[] = R"doc(_plan_copies($module, dst, src, count, /)
--

Plan the copy of src to dst `count` times without copying; for the benchmarks.)doc";

}  // namespace refarray::extension
