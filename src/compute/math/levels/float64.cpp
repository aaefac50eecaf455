// Kernels of the mathematics of float64. Compiled once per instruction set (cmake/Compute.cmake).
#include "compute/kernels/kernel_rows.hpp"
#include "compute/math/levels/float64_functions.hpp"
#include "compute/math/levels/math_kernels.hpp"

namespace refarray::core::math {
namespace {

[[gnu::always_inline]] inline Doubles load(const std::byte* from) noexcept {
  Doubles x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}
/// NaNs are one: which of them an instruction makes depends on the processor.
[[gnu::always_inline]] inline void store(std::byte* to, Doubles x) noexcept {
  x = select(x == x, x, broadcast(kNaN));
  __builtin_memcpy(to, &x, sizeof x);
}

/// Two vectors a step: instructions of the one fill the latencies of the other's.
constexpr std::int64_t kStep = 2 * kVectorBytes, kStepElements = 2 * kLanes;

/// Calls `kernel` for the last elements, fewer than a step has.
[[gnu::noinline]] void compute_last(kernels::ElementwiseFunction kernel, std::byte* out,
                                    const std::byte* const* in, int inputs, std::int64_t count,
                                    unsigned scalars) noexcept {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(double);
  Doubles last[3][2];
  const std::byte* from[2];
  for (int i = 0; i < inputs; ++i) {
    last[i][0] = last[i][1] = broadcast(0.5);
    from[i] = reinterpret_cast<const std::byte*>(last[i]);
    __builtin_memcpy(last[i], in[i], scalars >> i & 1 ? sizeof(double) : bytes);
  }
  kernel(reinterpret_cast<std::byte*>(last[2]), from, kStepElements, scalars);
  __builtin_memcpy(out, last[2], bytes);
}

template <class F>
void compute(std::byte* out, const std::byte* const* in, std::int64_t count,
             unsigned scalars) noexcept {
  const std::byte* x = in[0];
  for (; count >= kStepElements; count -= kStepElements, x += kStep, out += kStep) {
    const Doubles first = load(x), second = load(x + kVectorBytes);
    if constexpr (requires(Doubles y) { F::apply(y); }) {
      const Doubles a = F::apply(first), b = F::apply(second);
      store(out, a);
      store(out + kVectorBytes, b);
    } else {
      Words rare[2];
      Doubles a = F::apply(first, rare[0]), b = F::apply(second, rare[1]);
      if (any(rare[0] | rare[1])) [[unlikely]] {
        a = F::finish(first, a);
        b = F::finish(second, b);
      }
      store(out, a);
      store(out + kVectorBytes, b);
    }
  }
  if (count > 0) compute_last(&compute<F>, out, &x, 1, count, scalars);
}

template <class F>
void compute2(std::byte* out, const std::byte* const* in, std::int64_t count,
              unsigned scalars) noexcept {
  const auto broadcast_first = [](const std::byte* from) {
    double value;
    __builtin_memcpy(&value, from, sizeof value);
    return broadcast(value);
  };
  const std::byte* at[2] = {in[0], in[1]};
  Doubles x[2], y[2];
  x[0] = x[1] = broadcast_first(at[0]);
  y[0] = y[1] = broadcast_first(at[1]);
  for (; count >= kStepElements; count -= kStepElements, out += kStep) {
    if ((scalars & 1) == 0) {
      x[0] = load(at[0]);
      x[1] = load(at[0] + kVectorBytes);
      at[0] += kStep;
    }
    if ((scalars & 2) == 0) {
      y[0] = load(at[1]);
      y[1] = load(at[1] + kVectorBytes);
      at[1] += kStep;
    }
    Words rare[2];
    Doubles a = F::apply(x[0], y[0], rare[0]), b = F::apply(x[1], y[1], rare[1]);
    if (any(rare[0] | rare[1])) [[unlikely]] {
      a = F::finish(x[0], y[0], a);
      b = F::finish(x[1], y[1], b);
    }
    store(out, a);
    store(out + kVectorBytes, b);
  }
  if (count > 0) compute_last(&compute2<F>, out, at, 2, count, scalars);
}

/// The magnitudes of complex numbers.
void compute_magnitudes(std::byte* out, const std::byte* const* in, std::int64_t count,
                        unsigned scalars) noexcept {
  const std::byte* x = in[0];
  for (; count >= kLanes; count -= kLanes, x += kStep, out += kVectorBytes) {
    const auto [a, b] = split_parts(load(x), load(x + kVectorBytes));
    Words rare;
    Doubles length = Hypot::apply(a, b, rare);
    if (any(rare)) [[unlikely]]
      length = Hypot::finish(a, b, length);
    store(out, length);
  }
  if (count == 0) return;
  Doubles last[3] = {};
  __builtin_memcpy(last, x, static_cast<std::size_t>(count) * 2 * sizeof(double));
  const std::byte* const from = reinterpret_cast<const std::byte*>(last);
  compute_magnitudes(reinterpret_cast<std::byte*>(last + 2), &from, kLanes, scalars);
  __builtin_memcpy(out, last + 2, static_cast<std::size_t>(count) * sizeof(double));
}

template <class F>
void add(kernels::ElementwiseTable& table) noexcept {
  kernels::ElementwiseFunction& kernel =
      kernels::kernel_in(table, F::kOperation, ScalarType::kFloat64);
  if constexpr (requires(Doubles x, Words rare) { F::apply(x, x, rare); })
    kernel = &compute2<F>;
  else
    kernel = &compute<F>;
}

template <class... F>
void add_all(kernels::ElementwiseTable& table) noexcept {
  (add<F>(table), ...);
}

}  // namespace

namespace REFARRAY_MATH {

void add_float64(kernels::ElementwiseTable& table) noexcept {
  add_all<Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, Cosh, Exp, Expm1, Hypot, Log, Log10,
          Log1p, Log2, Logaddexp, Pow, Sin, Sinh, Tan, Tanh>(table);
  kernels::kernel_in(table, Elementwise::kAbs, ScalarType::kComplex128) = &compute_magnitudes;
}

}  // namespace REFARRAY_MATH
}  // namespace refarray::core::math
