// Products of few rows with a matrix that is read in place: packing would take longer.
#pragma once

#include "compute/kernels/products/multiply_add.hpp"
#include "compute/kernels/products/products.hpp"
#include "core/kernels/transpose.hpp"

namespace refarray::core::kernels::REFARRAY_PRODUCTS {
namespace {

template <class T>
[[gnu::always_inline]] inline void add_to(std::byte* out, T sum, bool adds) noexcept {
  store<T>(out, adds ? static_cast<T>(load<T>(out) + sum) : sum);
}

/// Adds products of `kDeep` indices of the depth to the sums of `width` columns.
template <int kDeep, class T>
[[gnu::always_inline]] inline void add_rows(T* sums, const RowsProduct& call, const std::byte* left,
                                            const std::byte* right, std::int64_t width) noexcept {
  using V = Vector<T>;
  T factors[kDeep];
  V wide[kDeep];
#pragma GCC unroll 8
  for (int d = 0; d < kDeep; ++d) {
    factors[d] = load<T>(left + d * call.left_step);
    wide[d] = broadcast(factors[d]);
  }
  std::int64_t j = 0;
  for (; j + kLanes<T> <= width; j += kLanes<T>) {
    const std::byte* const from = right + j * static_cast<int>(sizeof(T));
    auto* const to = reinterpret_cast<std::byte*>(sums + j);
    V sum = load<V>(to);
#pragma GCC unroll 8
    for (int d = 0; d < kDeep; ++d)
      sum = multiply_add<T>(wide[d], load<V>(from + d * call.right_pitch), sum);
    store(to, sum);
  }
  for (; j < width; ++j) {
    const std::byte* const from = right + j * static_cast<int>(sizeof(T));
#pragma GCC unroll 8
    for (int d = 0; d < kDeep; ++d)
      sums[j] = multiply_add<T>(factors[d], load<T>(from + d * call.right_pitch), sums[j]);
  }
}

/// One row: the right operand is read row by row.
template <class T>
[[gnu::always_inline]] inline void multiply_row(const RowsProduct& call) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr std::int64_t kWidth = 2048 / kSize;
  T sums[kWidth];
  for (std::int64_t begin = 0; begin < call.columns; begin += kWidth) {
    const std::int64_t width = min(kWidth, call.columns - begin);
    const std::byte* left = call.left;
    const std::byte* right = call.right + begin * kSize;
    for (std::int64_t j = 0; j < width; ++j) sums[j] = kNothing<T>;
    std::int64_t k = 0;
    for (; k + 8 <= call.depth; k += 8) {
      add_rows<8>(sums, call, left, right, width);
      left += 8 * call.left_step;
      right += 8 * call.right_pitch;
    }
    for (; k < call.depth; ++k) {
      add_rows<1>(sums, call, left, right, width);
      left += call.left_step;
      right += call.right_pitch;
    }
    std::byte* const out = call.out + begin * kSize;
    for (std::int64_t j = 0; j < width; ++j) add_to(out + j * kSize, sums[j], call.adds);
  }
}

/// `kRows` rows and the columns of X: a vector or an element.
template <int kRows, class T, class X>
[[gnu::always_inline]] inline void multiply_block(const RowsProduct& call, std::int64_t row,
                                                  std::int64_t column) noexcept {
  const std::byte* left = call.left + row * call.left_pitch;
  const std::byte* right = call.right + column * static_cast<int>(sizeof(T));
  std::byte* const out = call.out + row * call.out_pitch + column * static_cast<int>(sizeof(T));
  X sums[kRows];
  for (X& sum : sums) sum = kNothing<T> - X{};
  for (std::int64_t k = 0; k < call.depth; ++k) {
    const X other = load<X>(right);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const T factor = load<T>(left + i * call.left_pitch);
      if constexpr (std::is_same_v<X, T>)
        sums[i] = multiply_add<T>(factor, other, sums[i]);
      else
        sums[i] = multiply_add<T>(broadcast(factor), other, sums[i]);
    }
    left += call.left_step;
    right += call.right_pitch;
  }
  for (int i = 0; i < kRows; ++i) add_to(out + i * call.out_pitch, sums[i], call.adds);
}

template <int kRows, class T>
[[gnu::always_inline]] inline void multiply_rows(const RowsProduct& call,
                                                 std::int64_t row) noexcept {
  std::int64_t j = 0;
  for (; j + kLanes<T> <= call.columns; j += kLanes<T>)
    multiply_block<kRows, T, Vector<T>>(call, row, j);
  for (; j < call.columns; ++j) multiply_block<kRows, T, T>(call, row, j);
}

/// The right operand is contiguous along its columns.
template <class T>
void multiply_along(const RowsProduct& call) noexcept {
  if (call.rows == 1) return multiply_row<T>(call);
  std::int64_t row = 0;
  for (; row + 4 <= call.rows; row += 4) multiply_rows<4, T>(call, row);
  for (; row < call.rows; ++row) multiply_rows<1, T>(call, row);
}

// Shuffles of 32 bytes: those of 64 take longer than they save.
constexpr int kNarrowBytes = kVectorBytes < 32 ? kVectorBytes : 32;
template <class T>
using Narrow = typename VectorOf<T, kNarrowBytes>::type;
template <class T>
constexpr int kNarrowLanes = kNarrowBytes / static_cast<int>(sizeof(T));

/// Adds products of as many indices of the depth as 16 bytes have to those of one vector of
/// columns.
template <class T>
[[gnu::always_inline]] inline Narrow<T> add_columns(Narrow<T> sum, const RowsProduct& call,
                                                    const std::byte* left,
                                                    const std::byte* right) noexcept {
  using B = Block<sizeof(T), kNarrowBytes>;
  typename B::V columns[B::kColumns];
  B::read_columns(columns, right, call.right_pitch);
#pragma GCC unroll 4
  for (int d = 0; d < B::kColumns; ++d) {
    const Narrow<T> factor = broadcast<T, kNarrowBytes>(load<T>(left + d * call.left_step));
    sum = multiply_add<T>(factor, (Narrow<T>)columns[d], sum);
  }
  return sum;
}

/// Of `kGroups` vectors of columns, so that several sums are in progress.
template <int kGroups, class T>
[[gnu::always_inline]] inline void multiply_groups(const RowsProduct& call, const std::byte* left,
                                                   const std::byte* right,
                                                   std::byte* out) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr int kStep = 16 / sizeof(T);
  constexpr int kColumns = kGroups * kNarrowLanes<T>;
  Narrow<T> sums[kGroups];
  for (auto& sum : sums) sum = kNothing<T> - Narrow<T>{};
  const auto add = [&](std::int64_t k, int group, Narrow<T> sum) {
    return add_columns<T>(sum, call, left + k * call.left_step,
                          right + group * kNarrowLanes<T> * call.right_pitch + k * kSize);
  };
  std::int64_t k = 0;
#pragma GCC unroll 4
  for (; k + kStep <= call.depth; k += kStep)
    for (int group = 0; group < kGroups; ++group) sums[group] = add(k, group, sums[group]);
  T lanes[kColumns];
  __builtin_memcpy(lanes, sums, sizeof lanes);
  for (; k < call.depth; ++k) {
    const T factor = load<T>(left + k * call.left_step);
    for (int j = 0; j < kColumns; ++j) {
      const T other = load<T>(right + j * call.right_pitch + k * kSize);
      lanes[j] = multiply_add<T>(factor, other, lanes[j]);
    }
  }
  for (int j = 0; j < kColumns; ++j) add_to(out + j * kSize, lanes[j], call.adds);
}

/// The right operand is contiguous along the depth.
template <class T>
void multiply_across(const RowsProduct& call) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr std::int64_t kWide = kNarrowLanes<T>;
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const std::byte* const left = call.left + row * call.left_pitch;
    const std::byte* right = call.right;
    std::byte* out = call.out + row * call.out_pitch;
    std::int64_t j = 0;
    for (; j + 2 * kWide <= call.columns; j += 2 * kWide) {
      multiply_groups<2, T>(call, left, right, out);
      right += 2 * kWide * call.right_pitch;
      out += 2 * kWide * kSize;
    }
    for (; j + kWide <= call.columns; j += kWide) {
      multiply_groups<1, T>(call, left, right, out);
      right += kWide * call.right_pitch;
      out += kWide * kSize;
    }
    const std::int64_t rest = call.columns - j;
    T sums[kWide];
    for (T& sum : sums) sum = kNothing<T>;
    for (std::int64_t k = 0; k < call.depth; ++k) {
      const T factor = load<T>(left + k * call.left_step);
      for (std::int64_t i = 0; i < rest; ++i) {
        const T other = load<T>(right + i * call.right_pitch + k * kSize);
        sums[i] = multiply_add<T>(factor, other, sums[i]);
      }
    }
    for (std::int64_t i = 0; i < rest; ++i) add_to(out + i * kSize, sums[i], call.adds);
  }
}

using RowsKernel = void (*)(const RowsProduct& call) noexcept;

// Where a fused multiply-add is a function of the C library, nothing else takes time.
#if defined(__x86_64__) && !defined(__FMA__)
constexpr bool kReadsInPlace = false;
#else
constexpr bool kReadsInPlace = true;
#endif

/// nullptr for dtypes that are rarely multiplied.
template <class T>
constexpr RowsKernel multiply_along_kernel() noexcept {
  if constexpr (kReadsInPlace && sizeof(T) >= 4) return &multiply_along<T>;
  return nullptr;
}
template <class T>
constexpr RowsKernel multiply_across_kernel() noexcept {
  if constexpr (kReadsInPlace && std::is_floating_point_v<T>) return &multiply_across<T>;
  return nullptr;
}

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_PRODUCTS
