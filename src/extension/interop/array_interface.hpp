// __array_interface__ and __cuda_array_interface__: typestr codes, import, byte strides.
#pragma once

#include <Python.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// The version that we export.
inline constexpr int kInterfaceVersion = 3;

/// The typestr of a dtype: byte order, kind, bytes, as in "<f4". Nothing if the dtype has none.
std::optional<std::string> typestr_of(const core::DType& dtype);
/// The dtype of a typestr, in which the byte order may be '=' or missing, as NumPy reads it.
/// Nothing for unsupported types and for non-native byte order.
std::optional<core::DType> dtype_of_typestr(std::string_view typestr) noexcept;

struct Copying;

/// A validated view of the host memory that the object's __array_interface__ describes, or a copy
/// of what cannot be shared; an empty Ref if the object has no such attribute. Throws
/// ProtocolRefused for unsupported contents (dtype, mask), BufferError for a malformed dict,
/// TypeError if the attribute is not a dict.
Ref array_from_interface(State& state, PyObject* object, Copying& copying);

/// The same for an __array_struct__ attribute, a capsule with the interface as a C struct.
Ref array_from_struct(State& state, PyObject* object, Copying& copying);

/// The same for CUDA memory and __cuda_array_interface__, but elements of the other byte order are
/// refused. Our work on the memory is ordered after the work in the stream that the dict names.
Ref array_from_cuda_interface(State& state, PyObject* object, Copying& copying);

/// A tuple of strides in bytes, or None for a row-major array.
Ref byte_strides_of(const core::ArrayView& array);

}  // namespace refarray::extension
