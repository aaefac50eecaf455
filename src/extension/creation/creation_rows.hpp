// The rows of the creation functions.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kAsarray{
    "asarray",
    "obj, /, *, dtype=None, device=None, copy=None",
    Category::kCreation,
    2021,
    R"doc(Return obj as an array, without a copy where possible.

obj: the first of these that applies: a Python number or a NumPy scalar; an
    Array; a DLPack producer; an object with the buffer protocol (bytes become uint8),
    __array_interface__, __cuda_array_interface__ or __array__; a sequence of
    numbers, sequences and arrays, nested at most 64 levels deep. A number is
    also an object with __index__. If a protocol fails with BufferError, the next
    one is tried; if all fail, the first error is raised.
dtype: None keeps the dtype of exported memory. For numbers None selects the
    first of bool, int64, float64 and complex128 that represents all of them, and
    float64 if there are none. NumPy scalars and arrays that all have one dtype
    keep it.
device: the device of the result. None keeps the device of exported memory;
    numbers are stored on the CPU. For "cpu", pinned and managed memory is not
    copied but relabelled.
copy: True always copies, False never does, and None copies only if dtype, device,
    the byte order or strides that no array can have require it.

A result that is not a copy shares the memory of obj, keeps it alive, and is
read-only if obj is. Numbers keep their values when converted: of a kind above
that of dtype, 1.0 becomes an int8 and 1 a bool, but 1.5 to int8 and 2 to bool
raise TypeError, and an int out of range OverflowError. Arrays are converted as
by astype().

Raises ValueError for ragged sequences, naming the item; TypeError for str and
other objects that are not array-like, as longdouble, datetime64 and Fraction;
BufferError for exported memory that cannot be used and for masked arrays of
NumPy; and NoCopyError if copy=False and a copy is required.)doc",
};

inline constexpr FunctionRow kArange{
    "arange",
    "start, /, stop=None, step=1, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return the numbers start, start + step, ... up to but excluding stop.

start, stop: the interval. If stop is None, start is the stop and the interval
    begins at 0.
step: any number but 0; a negative step counts down.
dtype: any but bool. None is int64 if all three arguments are integers, and
    float64 otherwise.
device: the device of the result. None is the CPU.

The length is ceil((stop - start) / step). It and the elements are exact for
integers of any size, also if some are floats. Other numbers are computed in
float64; ints are subtracted before they are rounded.

Raises TypeError for arguments that are not real numbers and for floats with an
integer dtype; ValueError for a step of 0, NaN, infinity, and more than 2**63 - 1
numbers; OverflowError for an int that dtype cannot represent; and MemoryError.)doc",
};

inline constexpr FunctionRow kEmpty{
    "empty",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array with uninitialized elements.

shape: an integer, or a sequence of at most 64 integers >= 0.
dtype: None is float64.
device: None is the CPU.

The memory is aligned to 256 bytes. Raises ValueError for a negative extent or
too many axes, OverflowError if the number of bytes does not fit 63 bits,
MemoryError, and BufferError for a device that cannot be used.)doc",
};

inline constexpr FunctionRow kZeros{
    "zeros",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array of zeros.

Parameters and errors are those of empty(). Raises ValueError also for
float8_e8m0fnu, which cannot represent zero.)doc",
};

inline constexpr FunctionRow kOnes{
    "ones",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array of ones; True for bool.

Parameters and errors are those of empty().)doc",
};

inline constexpr FunctionRow kFull{
    "full",
    "shape, fill_value, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array in which every element is fill_value.

fill_value: a number or an array of ndim 0; for a vector dtype, one number or a
    sequence with a number for each lane.
dtype: None is the dtype of an array, and bool, int64, float64 or complex128 for
    a Python number of that kind.

The other parameters and errors are those of empty(). Raises also OverflowError
for an int that dtype cannot represent, and TypeError for a number of a kind
above that of dtype.)doc",
};

inline constexpr FunctionRow kEmptyLike{
    "empty_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array with the shape of x and uninitialized elements.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of empty(); raises TypeError if x is not an Array.)doc",
};

inline constexpr FunctionRow kZerosLike{
    "zeros_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array of zeros with the shape of x.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of zeros(); raises TypeError if x is not an Array.)doc",
};

inline constexpr FunctionRow kOnesLike{
    "ones_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array of ones with the shape of x.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of ones(); raises TypeError if x is not an Array.)doc",
};

inline constexpr FunctionRow kFullLike{
    "full_like",
    "x, /, fill_value, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array with the shape of x in which every element is fill_value.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of full(); raises TypeError if x is not an Array.)doc",
};

}  // namespace refarray::extension
