// The device kernels: their names in the module and their numbers in a plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace refarray::runtime::kernels {

/// Row of kKernelNames. For kernels with a variant per word size, the number is that of 1-byte
/// words; add log2 of the word size.
enum class Kernel : std::uint8_t {
  kStrided = 0,  // 1, 2, 4, 8, 16 bytes
  kFill = 5,     // 1, 2, 4, 8, 16 bytes
  kTiled = 10,   // 1, 2, 4, 8 bytes
  kRows = 14,
  kBits = 15,
  kFillBits = 16,
  kCast = 17,
};

inline constexpr std::array kKernelNames{
    "refarray_strided_1",  "refarray_strided_2", "refarray_strided_4", "refarray_strided_8",
    "refarray_strided_16", "refarray_fill_1",    "refarray_fill_2",    "refarray_fill_4",
    "refarray_fill_8",     "refarray_fill_16",   "refarray_tiled_1",   "refarray_tiled_2",
    "refarray_tiled_4",    "refarray_tiled_8",   "refarray_rows",      "refarray_bits",
    "refarray_fill_bits",  "refarray_cast"};

static_assert(kKernelNames.size() == static_cast<std::size_t>(Kernel::kCast) + 1);

}  // namespace refarray::runtime::kernels
