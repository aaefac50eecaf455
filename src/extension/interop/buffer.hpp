// Owns what the buffer protocol's files share with each other and with __array_interface__: format
// codes, addresses and strides in bytes, and arrays over plain bytes.
#pragma once

#include <Python.h>

#include <optional>
#include <string_view>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// The native format of a dtype, or nullptr when PEP 3118 has none for it.
const char* buffer_format(const core::DType& dtype) noexcept;
/// The dtype of a format; nothing when it is no single number, or not in this machine's byte order.
std::optional<core::DType> dtype_of_format(std::string_view format) noexcept;

/// Where the elements begin, for consumers that take NULL for an error: of an empty array the
/// address of some byte, which nobody reads.
void* address_of(const core::ArrayView& array) noexcept;
/// Strides in bytes, one for each axis; those that carry no meaning are the row-major ones. Not for
/// packed elements.
void byte_strides(const core::ArrayView& array, Py_ssize_t* out) noexcept;

/// An array over the C-contiguous bytes that `exporter` exports, which are exactly as many as
/// `shape` takes; without a shape one axis of as many elements as there are. Read-only when the
/// bytes are, or when asked for. Throws TypeError when it exports none, ValueError when the number
/// of bytes is wrong.
Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly);

}  // namespace refarray::extension
