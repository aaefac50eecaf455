// Docstrings of from_buffer, from_array_interface and the NumPy methods.
#pragma once

namespace refarray::extension {

inline constexpr char kFromBufferDoc[] = R"doc(from_buffer($module, obj, /, *, dtype=None)
--

Return an array over the memory that obj exports by the buffer protocol (PEP 3118).

Never copies.

obj: any object with the buffer protocol.
dtype: None takes shape, strides and dtype from the exporter. Its format must be a
    single number in native byte order; 'c' is read as uint8. With a dtype, the
    C-contiguous bytes of the buffer become a one-dimensional array of such elements,
    whatever its format; the buffer's size must be a multiple of the element size.

The array is read-only if the buffer is. It holds the buffer until its last view is
gone: until then a bytearray cannot be resized and an mmap cannot be closed.

Raises TypeError if obj has no buffer protocol, BufferError for a buffer that cannot
be represented (naming the field, its value and the limit) and for a masked array of
NumPy, ValueError if the size is not a multiple of the element size, and any exception
of the exporter.)doc";

inline constexpr char kFromArrayInterfaceDoc[] = R"doc(from_array_interface($module, x, /)
--

Return an array over the memory described by x.__array_interface__ (version 3).

Never copies.

x: an object whose attribute __array_interface__ is a dict. The dict's data is
    (address, read-only), an object with the buffer protocol, or None for x's own
    buffer. Its strides are in bytes. Its descr is ignored.

The array keeps x and the dict's values, or the buffer, alive until its last view is
gone, and is read-only if the memory is. An array of refarray shares its storage.
Elements outside a buffer are rejected; an address cannot be checked.

Raises TypeError if x has no such dict, BufferError if the dict is malformed or
describes an array that refarray does not support: a mask (also a masked array's), a
dtype that is not a number in native byte order, strides that are not multiples of the
item size.)doc";

inline constexpr char kArrayMethodDoc[] = R"doc(__array__($self, /, dtype=None, copy=None)
--

Return the array as a numpy.ndarray (NumPy 2's array protocol).

dtype: the dtype of the result. None keeps the array's own: the dtypes of ml_dtypes for
    bfloat16, complex32, float8 and padded float6 and float4.
copy: True always copies, False never does, None copies only to convert the dtype.

A result that is not a copy shares the memory, keeps it alive, and is read-only if the
array is.

Raises NoCopyError, a ValueError, if copy=False is impossible; TypeError for dtypes that
NumPy does not have and for device memory; ImportError without NumPy or ml_dtypes.)doc";

inline constexpr char kNumpyMethodDoc[] = R"doc(numpy($self, /)
--

Return a numpy.ndarray that shares the array's memory. Never copies.

The result keeps the memory alive and is read-only if the array is. Elements of
bfloat16, float8 and padded float6 and float4 get the dtypes of ml_dtypes.

Raises TypeError for dtypes that NumPy does not have (complex32, vectors, packed
elements) and for device memory; ImportError without NumPy or ml_dtypes.)doc";

}  // namespace refarray::extension
