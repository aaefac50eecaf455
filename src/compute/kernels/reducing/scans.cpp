// Kernels of running sums and products.
#include "compute/kernels/operations.hpp"
#include "compute/kernels/reducing/lanes.hpp"
#include "compute/ops/functors/arithmetic.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

using functors::Complex;

template <class Op, class T>
constexpr bool is_integer_sum = std::is_same_v<Op, functors::Add> && std::is_integral_v<T>;

/// `kRows` sequences at once: each addition waits for the one before it, so several sequences keep
/// the processor busy.
template <class Op, class T, int kRows>
void scan_rows(const Scan& call, std::int64_t row) noexcept {
  const std::byte* in = call.in + row * call.in_pitch;
  std::byte* out = call.out + row * call.out_pitch;
  std::byte* const carry = call.carry + row * static_cast<std::int64_t>(sizeof(T));
  T last[kRows];
  for (int r = 0; r < kRows; ++r) {
    const T first = load<T>(in + r * call.in_pitch);
    last[r] =
        call.begins ? first : Op::apply(load<T>(carry + r * static_cast<int>(sizeof(T))), first);
    store(out + r * call.out_pitch, last[r]);
  }
  std::int64_t i = 1;
  if constexpr (is_integer_sum<Op, T> && kRows == 1) {
    // Integers may be added in any order: only one addition in four waits for the one before it.
    for (; i + 4 <= call.count; i += 4) {
      const T a = load<T>(in + call.in_step);
      const T b = a + load<T>(in + 2 * call.in_step);
      const T c = load<T>(in + 3 * call.in_step);
      const T d = c + load<T>(in + 4 * call.in_step);
      store(out + call.out_step, last[0] + a);
      store(out + 2 * call.out_step, last[0] + b);
      store(out + 3 * call.out_step, last[0] + b + c);
      last[0] += b + d;
      store(out + 4 * call.out_step, last[0]);
      in += 4 * call.in_step;
      out += 4 * call.out_step;
    }
  }
  for (; i < call.count; ++i) {
    in += call.in_step;
    out += call.out_step;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      last[r] = Op::apply(last[r], load<T>(in + r * call.in_pitch));
      store(out + r * call.out_pitch, last[r]);
    }
  }
  __builtin_memcpy(carry, last, sizeof last);
}

/// Sequences whose elements of equal index are contiguous: the compiler vectorizes the inner loop.
template <class Op, class T>
void scan_columns(const Scan& call) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr std::int64_t kColumns = 1024 / kSize;
  for (std::int64_t begin = 0; begin < call.rows; begin += kColumns) {
    const std::int64_t columns = min(kColumns, call.rows - begin);
    const std::byte* in = call.in + begin * kSize;
    std::byte* out = call.out + begin * kSize;
    T last[kColumns];
    const bool begins = call.begins;
    __builtin_memcpy(last, begins ? in : call.carry + begin * kSize,
                     static_cast<std::size_t>(columns * kSize));
    for (std::int64_t i = 0; i < call.count; ++i, in += call.in_step, out += call.out_step) {
      if (i > 0 || !begins) {
        for (std::int64_t j = 0; j < columns; ++j)
          last[j] = Op::apply(last[j], load<T>(in + j * kSize));
      }
      __builtin_memcpy(out, last, static_cast<std::size_t>(columns * kSize));
    }
    __builtin_memcpy(call.carry + begin * kSize, last, static_cast<std::size_t>(columns * kSize));
  }
}

template <class Op, class T>
void scan(const Scan& call) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  if (call.rows >= 4 && call.in_pitch == kSize && call.out_pitch == kSize)
    return scan_columns<Op, T>(call);
  std::int64_t row = 0;
  if constexpr (!is_integer_sum<Op, T>) {
    for (; row + 4 <= call.rows; row += 4) scan_rows<Op, T, 4>(call, row);
  }
  for (; row < call.rows; ++row) scan_rows<Op, T, 1>(call, row);
}

template <class Op>
ScanKernel kernel_of(const ScalarInfo& info) noexcept {
  switch (info.kind) {
    case Kind::kComplex:
      return info.bits == 128 ? &scan<Op, Complex<double>> : &scan<Op, Complex<float>>;
    case Kind::kFloat:
      return info.bits == 64 ? &scan<Op, double> : &scan<Op, float>;
    default:
      return &scan<Op, std::uint64_t>;
  }
}

}  // namespace

/// `dtype` is int64, uint64, float32, float64, complex64 or complex128.
ScanKernel scan_kernel(bool product, ScalarType dtype) noexcept {
  const ScalarInfo& info = info_of(dtype);
  return product ? kernel_of<functors::Multiply>(info) : kernel_of<functors::Add>(info);
}

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
