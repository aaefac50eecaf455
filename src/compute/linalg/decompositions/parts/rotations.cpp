// Implements sweeps of rotations: some rows of the matrix are packed and take all of them.
#include "compute/linalg/decompositions/parts/rotations.hpp"

#include <algorithm>
#include <cmath>

namespace refarray::core {
namespace {

constexpr Eigen::Index kRows = 16;  // that are packed: as many as fit registers

/// `x` is a packed column, `step` numbers lead to the next one.
void rotate_columns(double* x, Eigen::Index step, const Rotation* rotation,
                    const Rotation* end) noexcept {
  using Column = Eigen::Array<double, kRows, 1>;
  Column carried = Eigen::Map<const Column, Eigen::Aligned16>(x);
  for (; rotation != end; ++rotation, x += step) {
    Eigen::Map<Column, Eigen::Aligned16> to(x);
    const Eigen::Map<const Column, Eigen::Aligned16> y(x + step);
    const double c = rotation->c, s = rotation->s;
    to = carried * c + y * s;
    carried = y * c - carried * s;
  }
  Eigen::Map<Column, Eigen::Aligned16>{x} = carried;
}

}  // namespace

Rotation rotation_to_zero(double x, double y, double& r) noexcept {
  if (y == 0) {
    r = x;
    return {1, 0};
  }
  const double greatest = std::max(std::abs(x), std::abs(y));
  // A power of two, so that the greater square is a normal number.
  const double scale = greatest < 0x1p-400 ? 0x1p600 : 1;
  const double scaled_x = x * scale, scaled_y = y * scale;
  const double size = std::sqrt(scaled_x * scaled_x + scaled_y * scaled_y);
  r = size / scale;
  return {scaled_x / size, scaled_y / size};
}

double Sweeps::apply() {
  if (rotations_.empty()) return 0;
  packed_.resize(static_cast<std::size_t>(kRows * columns_));
  for (Eigen::Index row = 0; row < rows_; row += kRows) {
    const Eigen::Index count = std::min(kRows, rows_ - row);
    for (Eigen::Index j = 0; j < columns_; ++j)
      std::copy_n(matrix_ + row + j * stride_, count, packed_.data() + j * kRows);
    rotate_packed();
    for (Eigen::Index j = 0; j < columns_; ++j)
      std::copy_n(packed_.data() + j * kRows, count, matrix_ + row + j * stride_);
  }
  const auto count = static_cast<double>(rotations_.size());
  sweeps_.clear();
  rotations_.clear();
  return 4 * count * static_cast<double>(rows_);
}

void Sweeps::rotate_packed() noexcept {
  for (std::size_t i = 0; i < sweeps_.size(); ++i) {
    const auto& [column, step, first] = sweeps_[i];
    const std::size_t end = i + 1 < sweeps_.size() ? sweeps_[i + 1].first : rotations_.size();
    rotate_columns(packed_.data() + column * kRows, step * kRows, rotations_.data() + first,
                   rotations_.data() + end);
  }
}

}  // namespace refarray::core
