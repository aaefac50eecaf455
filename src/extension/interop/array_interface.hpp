// Owns what both directions of __array_interface__ share: its typestr codes.
#pragma once

#include <Python.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// The version of the interface that is spoken here, in both directions.
inline constexpr int kInterfaceVersion = 3;

/// "<f4": byte order, kind, bytes. Nothing when the interface has no word for the dtype.
std::optional<std::string> typestr_of(const core::DType& dtype);
/// The dtype of a typestr; nothing when it is no number that we carry, or not in this machine's
/// byte order.
std::optional<core::DType> dtype_of_typestr(std::string_view typestr) noexcept;

/// An array over the host memory that the object's __array_interface__ describes, through the one
/// validator. An empty Ref when it has none. Never a copy. Throws OfferRefused for what we have no
/// words for (a dtype, a mask, odd strides), BufferError for a malformed description, TypeError
/// when it is no dict.
Ref array_from_interface(State& state, PyObject* object);

/// The same for CUDA memory that the object's __cuda_array_interface__ describes; our work on it
/// comes after what is in the stream that it names.
Ref array_from_cuda_interface(State& state, PyObject* object);

/// Strides in bytes, or None where the array is row-major.
Ref byte_strides_of(const core::ArrayView& array);

}  // namespace refarray::extension
