// Kernels of the mathematics of float32. Compiled once per instruction set (cmake/Compute.cmake);
// the results are correctly rounded, so that every instruction set gives the same bits.
#include "compute/kernels/kernel_rows.hpp"
#include "compute/math/accurate.hpp"
#include "compute/math/levels/corrections.hpp"
#include "compute/math/levels/float32_functions.hpp"
#include "compute/math/levels/math_kernels.hpp"

namespace refarray::core::math {
namespace {

using Halves = kernels::VectorOf<std::int32_t, kVectorBytes / 2>::type;

[[gnu::always_inline]] inline Floats load(const std::byte* from, std::int64_t count) noexcept {
  Floats x{};
  if (count >= kLanes)
    __builtin_memcpy(&x, from, sizeof x);
  else
    __builtin_memcpy(&x, from, static_cast<std::size_t>(count) * sizeof(float));
  return x;
}
[[gnu::always_inline]] inline void store(std::byte* to, Floats x, std::int64_t count) noexcept {
  if (count >= kLanes)
    __builtin_memcpy(to, &x, sizeof x);
  else
    __builtin_memcpy(to, &x, static_cast<std::size_t>(count) * sizeof(float));
}
[[gnu::always_inline]] inline Floats broadcast_float(const std::byte* from) noexcept {
  float value;
  __builtin_memcpy(&value, from, sizeof value);
  return value - Floats{};
}
[[gnu::always_inline]] inline Doubles widen(Floats x) noexcept {
  return __builtin_convertvector(x, Doubles);
}
[[gnu::always_inline]] inline Floats narrow(Doubles x) noexcept {
  return __builtin_convertvector(x, Floats);
}
/// NaNs are one: which of them an instruction makes depends on the processor.
[[gnu::always_inline]] inline Floats unify_nan(Floats x) noexcept {
  return x == x ? x : __builtin_nanf("") - Floats{};
}

/// Whether the bits that rounding to float drops are a half, give or take `reach`.
[[gnu::always_inline]] inline Words drops_about_half(Doubles x, std::int64_t reach) noexcept {
  constexpr std::int64_t kDropped = (1 << 29) - 1, kHalf = 1 << 28;
  return (add_bits(bits_of(x), broadcast_bits(reach - kHalf)) & kDropped) < 2 * reach;
}

template <Elementwise kOperation>
[[gnu::noinline]] void correct(Floats& out, Floats x) noexcept {
  const auto bits = __builtin_bit_cast(Halves, x);  // clang casts the first element for each x[i]
  for (const Correction& each : kCorrections<kOperation>)
    for (int i = 0; i < kLanes; ++i)
      if (static_cast<std::uint32_t>(bits[i]) == each.input)
        out[i] = __builtin_bit_cast(float, each.output);
}

template <class F>
[[gnu::always_inline]] inline Floats apply(Floats x) noexcept {
  const Doubles value = F::apply(widen(x));
  Floats out = unify_nan(narrow(value));
  if constexpr (!kCorrections<F::kOperation>.empty()) {
    constexpr std::int64_t kReach = 32;  // 2^-47 of the result, more than the error
    if (any(drops_about_half(value, kReach))) [[unlikely]]
      correct<F::kOperation>(out, x);
  }
  return out;
}

template <class F>
void compute(std::byte* out, const std::byte* const* in, std::int64_t count,
             unsigned /*scalars*/) noexcept {
  constexpr std::int64_t kStep = sizeof(Floats);
  const std::byte* x = in[0];
  for (; count >= 2 * kLanes; count -= 2 * kLanes, x += 2 * kStep, out += 2 * kStep) {
    const Floats first = load(x, kLanes), second = load(x + kStep, kLanes);
    store(out, apply<F>(first), kLanes);
    store(out + kStep, apply<F>(second), kLanes);
  }
  for (; count > 0; count -= kLanes, x += kStep, out += kStep)
    store(out, apply<F>(load(x, count)), count);
}

constexpr double kError = 0x1p-43;  // of functions of two numbers, relative

/// Whether the float that is nearest to the exact result may be another one than the nearest to
/// `x`. Subnormal floats drop more bits.
[[gnu::always_inline]] inline Words is_near_middle(Doubles x) noexcept {
  return drops_about_half(x, 1 << 10) | (magnitude(x) < broadcast(0x1p-126));
}

template <class F>
[[gnu::noinline]] void compute_accurately(Floats& out, Doubles value, Words doubtful, Floats x,
                                          Floats y) noexcept {
  for (int i = 0; i < kLanes; ++i) {
    const auto least = static_cast<float>(value[i] * (1 - kError));
    const auto most = static_cast<float>(value[i] * (1 + kError));
    if (doubtful[i] != 0 || least < most || most < least) out[i] = F::apply_accurately(x[i], y[i]);
  }
}

template <class F>
[[gnu::always_inline]] inline Floats apply2(Floats a, Floats b) noexcept {
  const Result2 result = F::apply(widen(a), widen(b));
  Floats rounded = unify_nan(narrow(result.value));
  if (any(is_near_middle(result.value) | result.doubtful)) [[unlikely]]
    compute_accurately<F>(rounded, result.value, result.doubtful, a, b);
  return rounded;
}

template <class F>
void compute2(std::byte* out, const std::byte* const* in, std::int64_t count,
              unsigned scalars) noexcept {
  constexpr std::int64_t kStep = sizeof(Floats);
  const std::byte *x = in[0], *y = in[1];
  const Floats first = broadcast_float(x), second = broadcast_float(y);
  for (; count > 0; count -= kLanes, x += kStep, y += kStep, out += kStep) {
    const Floats a = scalars & 1 ? first : load(x, count);
    const Floats b = scalars & 2 ? second : load(y, count);
    store(out, apply2<F>(a, b), count);
  }
}

/// The magnitudes of complex numbers.
void compute_magnitudes(std::byte* out, const std::byte* const* in, std::int64_t count,
                        unsigned /*scalars*/) noexcept {
  constexpr std::int64_t kStep = sizeof(Floats);
  const std::byte* x = in[0];
  for (; count > 0; count -= kLanes, x += 2 * kStep, out += kStep) {
    const Floats a = load(x, 2 * count);
    const Floats b = 2 * count > kLanes ? load(x + kStep, 2 * count - kLanes) : Floats{};
    const Parts<Floats> parts = split_parts(a, b);
    store(out, apply2<Hypot>(parts.real, parts.imag), count);
  }
}

template <class F>
void add(kernels::ElementwiseTable& table) noexcept {
  kernels::ElementwiseFunction& kernel =
      kernels::kernel_in(table, F::kOperation, ScalarType::kFloat32);
  if constexpr (requires(Doubles x) { F::apply(x); })
    kernel = &compute<F>;
  else
    kernel = &compute2<F>;
}

template <class... F>
void add_all(kernels::ElementwiseTable& table) noexcept {
  (add<F>(table), ...);
}

}  // namespace

namespace REFARRAY_MATH {

void add_float32(kernels::ElementwiseTable& table) noexcept {
  add_all<Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, Cosh, Exp, Expm1, Hypot, Log, Log10,
          Log1p, Log2, Logaddexp, Pow, Sin, Sinh, Tan, Tanh>(table);
  kernels::kernel_in(table, Elementwise::kAbs, ScalarType::kComplex64) = &compute_magnitudes;
}

}  // namespace REFARRAY_MATH
}  // namespace refarray::core::math
