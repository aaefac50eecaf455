// Owns what both directions of the buffer protocol share: PEP 3118's format codes, and arrays over
// plain bytes.
#pragma once

#include <Python.h>

#include <optional>
#include <string_view>

#include "ref.hpp"
#include "refarray/core/array.hpp"
#include "state.hpp"

namespace refarray::python {

/// The native format of a dtype, or nullptr when PEP 3118 has none for it.
const char* buffer_format(const core::DType& dtype) noexcept;
/// The dtype of a format; nothing when it is no single number, or not in this machine's byte order.
std::optional<core::DType> dtype_of_format(std::string_view format) noexcept;

/// An array over the C-contiguous bytes that `exporter` exports, which are exactly as many as
/// `shape` takes; without a shape one axis of as many elements as there are. Read-only when the
/// bytes are, or when asked for. Throws TypeError when it exports none, ValueError when the number
/// of bytes is wrong.
Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly);

}  // namespace refarray::python
