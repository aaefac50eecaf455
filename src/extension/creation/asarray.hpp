// asarray(): its row, which strict namespaces share, and the function for C++ callers; and arrays
// from nested sequences of numbers and arrays.
#pragma once

#include "core/array.hpp"
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

/// The module function; creation.cpp lists it.
Ref asarray(State& state, const Given<kAsarray>& given);

/// asarray(object) for functions that accept array-likes (assignment, full): the Array itself, a
/// view of exported memory, or a new array; converted to `dtype` unless that is nullptr. Throws as
/// asarray(), and kType for arrays of other namespaces, in sequences too.
Ref as_array(State& state, PyObject* object, const core::DType* dtype);

/// What asarray() takes and assignments refuse: arrays of other namespaces, and numbers of a kind
/// above that of the dtype if the dtype has one of equal value.
enum class Leniency : bool { kNone, kOfAsarray };

/// A new array on the CPU from a number, or from nested sequences of numbers and arrays. The
/// innermost level of a vector dtype (lanes > 1) holds the lanes; a single number fills all lanes.
/// `dtype` nullptr: inferred from the numbers. Throws ValueError for ragged sequences, TypeError
/// for other objects, and what reading the sequences raises.
core::Array array_from_nested(State& state, PyObject* object, const core::DType* dtype,
                              Leniency leniency = Leniency::kNone);

}  // namespace refarray::extension
