// Buffer protocol (PEP 3118): format codes, exported addresses and strides, arrays over raw bytes.
#pragma once

#include <optional>
#include <string_view>

#include "core/array.hpp"
#include "extension/capi/state.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::extension {

/// The native format code of a dtype, or nullptr if PEP 3118 has none.
const char* buffer_format(const core::DType& dtype) noexcept;
/// The dtype of a format. Nothing unless it is a single number in native byte order.
std::optional<core::DType> dtype_of_format(std::string_view format) noexcept;

/// The address of element (0,...,0). Never NULL, which some consumers take for an error: an empty
/// array without storage gives the address of a static byte.
void* address_of(const core::ArrayView& array, runtime::Lent lent) noexcept;
/// Writes one stride in bytes per axis. Strides without meaning (of axes of extent 0 or 1 and of
/// empty arrays) are the row-major ones. Not for packed elements.
void byte_strides(const core::ArrayView& array, Py_ssize_t* out) noexcept;

struct Copying;

/// A validated view of an object's buffer, read-only if the buffer is, or a copy of what cannot be
/// shared. An empty Ref if the object has no buffer protocol, or opts out by `__buffer__ = None`;
/// throws if its buffer cannot be represented.
Ref array_from_buffer(State& state, PyObject* object, Copying& copying);

/// An array over the C-contiguous bytes that `exporter` exports. Their number must match `shape`;
/// without a shape the result is one-dimensional. Read-only if the buffer is or if `readonly` is
/// set. Throws TypeError if `exporter` has no buffer protocol, ValueError if the number of bytes
/// does not match.
Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly);

}  // namespace refarray::extension
