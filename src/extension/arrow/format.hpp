// Arrow's format strings of our dtypes, and which conversions between them keep every value.
#pragma once

#include <optional>
#include <string_view>

#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// The format string of a dtype, null-terminated, or nullptr if Arrow has no such type. Arrow's
/// bool is a bit, ours a byte.
const char* arrow_format(const core::DType& dtype) noexcept;
/// The dtype of a format string. Nothing for types other than bool and numbers.
std::optional<core::DType> dtype_of_arrow_format(std::string_view format) noexcept;
/// Whether `to` has every value of `from`; both are dtypes with a format. False for bool.
bool keeps_values(const core::DType& from, const core::DType& to) noexcept;

}  // namespace refarray::extension
