// Implements clear_triangle(), row by row.
#include "core/triangle.hpp"

#include <algorithm>
#include <cstring>

namespace refarray::core {

bool clear_triangle(const ArrayView& array, std::int64_t k, bool below,
                    const InterruptCheck& interrupt) noexcept {
  constexpr std::int64_t kCheckInterval = std::int64_t{1} << 20;  // elements
  const std::int64_t size = array.size();
  const std::int64_t rows = array.shape[array.ndim - 2];
  const std::int64_t columns = array.shape[array.ndim - 1];
  const std::int64_t itemsize = array.dtype.itemsize();
  if (size == 0) return true;
  // Beyond these limits nothing or everything is cleared, and row + k could overflow.
  k = std::clamp(k, -rows - 1, columns + 1);
  std::byte* row = array.data;
  std::int64_t since_check = 0;
  for (std::int64_t i = 0; i < size / columns; ++i, row += columns * itemsize) {
    const std::int64_t diagonal = i % rows + k;
    const std::int64_t begin = below ? 0 : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
    const std::int64_t end = below ? std::clamp<std::int64_t>(diagonal, 0, columns) : columns;
    std::memset(row + begin * itemsize, 0, static_cast<std::size_t>((end - begin) * itemsize));
    since_check += columns;
    if (since_check < kCheckInterval) continue;
    if (interrupt()) return false;
    since_check = 0;
  }
  return true;
}

}  // namespace refarray::core
