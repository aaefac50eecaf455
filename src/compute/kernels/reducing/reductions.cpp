// Kernels of sums, products, minima, maxima, counts and statistics.
#include "compute/kernels/operations.hpp"
#include "compute/kernels/reducing/lanes.hpp"
#include "compute/ops/functors/arithmetic.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

using functors::Complex;

/// Combines results of neighbouring blocks until one is left, results[0].
template <class T, class Combine>
inline void fold_pairs(T* results, std::int64_t count, Combine combine) noexcept {
  for (std::int64_t step = 1; step < count; step *= 2) {
    for (std::int64_t i = 0; i + step < count; i += 2 * step)
      results[i] = combine(results[i], results[i + step]);
  }
}

template <class Op>
inline Folded<Op> fold_sequence(const Op& op, const std::byte* in, std::int64_t bytes) noexcept {
  if (bytes <= kBlockBytes) return fold_block(op, in, bytes);
  Folded<Op> results[kBlocksPerCall];
  std::int64_t blocks = 0;
  for (std::int64_t at = 0; at < bytes; at += kBlockBytes)
    results[blocks++] = fold_block(op, in + at, min(kBlockBytes, bytes - at));
  fold_pairs(results, blocks, [&op](Folded<Op> a, Folded<Op> b) {
    for (int i = 0; i < Op::kUnit; ++i) a.parts[i] = op.combine(a.parts[i], b.parts[i]);
    return a;
  });
  return results[0];
}

template <class Op>
void fold(const Fold& call) noexcept {
  constexpr int kSize = sizeof(typename Op::Lane) * Op::kUnit;
  const Op op(call.flip);
  for (std::int64_t row = 0; row < call.rows; ++row) {
    Folded<Op> out = fold_sequence(op, call.in + row * call.pitch, call.count * kSize);
    for (auto& part : out.parts) part = op.raw(part);
    store(call.out + row * kSize, out);
  }
}

/// Combines a row of accumulators with `kRows` rows of elements.
template <int kRows, class Op>
void accumulate_rows(const Op& op, std::byte* out, const std::byte* acc, const std::byte* in,
                     std::int64_t pitch, std::int64_t bytes) noexcept {
  using T = typename Op::Lane;
  using V = Vector<T>;
  constexpr std::int64_t kShortRow = 1024;
  if (bytes < kShortRow) {  // too short for the hardware prefetcher to follow
    for (std::int64_t at = 0; at < bytes; at += 64)
      unrolled<kRows>([&](auto row) { __builtin_prefetch(in + (row + 8) * pitch + at); });
  }
  const auto combine = [&]<class X>(X, std::int64_t at) {
    X key = op.key(load<X>(acc + at));
    unrolled<kRows>(
        [&](auto row) { key = op.combine(key, op.key(load<X>(in + row * pitch + at))); });
    store(out + at, static_cast<X>(op.raw(key)));
  };
  const std::int64_t whole = bytes - bytes % kVectorBytes;
  for (std::int64_t at = 0; at < whole; at += kVectorBytes) combine(V{}, at);
  for (std::int64_t at = whole; at < bytes; at += sizeof(T)) combine(T{}, at);
}

template <class Op>
void accumulate(const Accumulate& call) noexcept {
  const Op op(call.flip);
  const auto bytes = call.count * static_cast<std::int64_t>(sizeof(typename Op::Lane)) * Op::kUnit;
  const std::byte* acc = call.acc;
  std::int64_t row = 0;
  if (call.out_pitch == 0) {
    for (; row + 4 <= call.rows; row += 4, acc = call.out)
      accumulate_rows<4>(op, call.out, acc, call.in + row * call.in_pitch, call.in_pitch, bytes);
  }
  for (; row < call.rows; ++row) {
    accumulate_rows<1>(op, call.out + row * call.out_pitch,
                       call.out_pitch == 0 ? acc : call.acc + row * call.out_pitch,
                       call.in + row * call.in_pitch, call.in_pitch, bytes);
    acc = call.out;
  }
}

/// No complex number is neutral in a product with infinities, so lanes without an element are left
/// out.
template <class T>
Complex<T> multiply_block(const std::byte* in, std::int64_t count) noexcept {
  using C = Complex<T>;
  constexpr std::int64_t kLanes = kRowBytes / sizeof(C);
  C lanes[kLanes];
  const std::int64_t active = min(kLanes, count);
  for (std::int64_t i = 0; i < active; ++i) lanes[i] = load<C>(in + i * sizeof(C));
  for (std::int64_t i = active; i < count; ++i)
    lanes[i % kLanes] = functors::Multiply::apply(lanes[i % kLanes], load<C>(in + i * sizeof(C)));
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half && i + half < active; ++i)
      lanes[i] = functors::Multiply::apply(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

template <class T>
void multiply_complex(const Fold& call) noexcept {
  using C = Complex<T>;
  constexpr std::int64_t kBlock = kBlockBytes / sizeof(C);
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const std::byte* const in = call.in + row * call.pitch;
    C results[kBlocksPerCall];
    std::int64_t blocks = 0;
    for (std::int64_t at = 0; at < call.count; at += kBlock)
      results[blocks++] = multiply_block<T>(in + at * sizeof(C), min(kBlock, call.count - at));
    fold_pairs(results, blocks, [](C a, C b) { return functors::Multiply::apply(a, b); });
    store(call.out + row * sizeof(C), results[0]);
  }
}

template <class T>
void accumulate_products(const Accumulate& call) noexcept {
  using C = Complex<T>;
  constexpr std::int64_t kSize = sizeof(C);
  const std::byte* acc = call.acc;
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const std::byte* const in = call.in + row * call.in_pitch;
    std::byte* const out = call.out + row * call.out_pitch;
    if (call.out_pitch != 0) acc = call.acc + row * call.out_pitch;
    for (std::int64_t i = 0; i < call.count; ++i) {
      const C x = load<C>(in + i * kSize);
      store(out + i * kSize, functors::Multiply::apply(load<C>(acc + i * kSize), x));
    }
    acc = out;
  }
}

/// Counts in lanes of one byte, which are added up before they overflow.
std::int64_t count_nonzero_bytes(const std::byte* in, std::int64_t count) noexcept {
  using V = Vector<std::uint8_t>;
  std::int64_t out = 0;
  std::int64_t at = 0;
  while (count - at >= kVectorBytes) {
    const std::int64_t vectors = min(255, (count - at) / kVectorBytes);
    V zeros{};
    for (std::int64_t i = 0; i < vectors; ++i, at += kVectorBytes)
      zeros -= reinterpret_cast<V>(load<V>(in + at) == 0);
    out += vectors * kVectorBytes;
    for (int i = 0; i < kVectorBytes; ++i) out -= zeros[i];
  }
  for (; at < count; ++at) out += in[at] != std::byte{0} ? 1 : 0;
  return out;
}

void count_nonzero(const Fold& call) noexcept {
  for (std::int64_t row = 0; row < call.rows; ++row)
    store(call.out + row * 8, count_nonzero_bytes(call.in + row * call.pitch, call.count));
}

template <class Op>
constexpr FoldKernels kernels_of(std::uint64_t flip = 0) noexcept {
  return {&fold<Op>, &accumulate<Op>, flip};
}

FoldKernels sum_kernels(DType dtype) noexcept {
  const bool is_double = dtype.bits == (dtype.is_complex() ? 128 : 64);
  if (dtype.is_complex())
    return is_double ? kernels_of<Add<double, 2>>() : kernels_of<Add<float, 2>>();
  if (dtype.kind == Kind::kFloat)
    return is_double ? kernels_of<Add<double>>() : kernels_of<Add<float>>();
  return kernels_of<Add<std::uint64_t>>();
}

FoldKernels product_kernels(DType dtype) noexcept {
  if (dtype.is_complex()) {
    if (dtype.bits == 128) return {&multiply_complex<double>, &accumulate_products<double>, 0};
    return {&multiply_complex<float>, &accumulate_products<float>, 0};
  }
  if (dtype.kind == Kind::kFloat)
    return dtype.bits == 64 ? kernels_of<Multiply<double>>() : kernels_of<Multiply<float>>();
  return kernels_of<Multiply<std::uint64_t>>();
}

FoldKernels least_kernels(bool greatest, DType dtype) noexcept {
  const std::uint64_t flip = order_flip(greatest, dtype.kind == Kind::kUInt, dtype.bits);
  if (dtype.kind == Kind::kFloat) {
    return dtype.bits == 64 ? kernels_of<Least<std::int64_t, true>>(flip)
                            : kernels_of<Least<std::int32_t, true>>(flip);
  }
  switch (dtype.bits) {
    case 8:
      return kernels_of<Least<std::int8_t, false>>(flip);
    case 16:
      return kernels_of<Least<std::int16_t, false>>(flip);
    case 32:
      return kernels_of<Least<std::int32_t, false>>(flip);
    default:
      return kernels_of<Least<std::int64_t, false>>(flip);
  }
}

template <class T, class Rounding>
void divide_values(std::byte* values, std::int64_t count, double divisor,
                   const Rounding& rounding) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const double quotient = static_cast<double>(load<T>(values + i * sizeof(T))) / divisor;
    store<T>(values + i * sizeof(T), rounding(quotient));
  }
}

/// Of the two floats around x the odd one, unless x is a float: rounded again, to 16 bits, it gives
/// what x gives.
float round_to_odd(double x) noexcept {
  const float nearest = static_cast<float>(x);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  if (static_cast<double>(nearest) == x || functors::is_nan(nearest) || (bits & 1) != 0)
    return nearest;
  const bool is_beyond = functors::absolute(static_cast<double>(nearest)) > functors::absolute(x);
  return __builtin_bit_cast(float, is_beyond ? bits - 1 : bits + 1);
}

}  // namespace

/// `dtype` is one in which reductions compute: int64, uint64, float32, float64 and the complex ones
/// for sums and products, every real one but float16 and bfloat16 for minima and maxima.
FoldKernels fold_kernels(Folding folding, ScalarType dtype) noexcept {
  const ScalarInfo& info = info_of(dtype);
  const DType type{info.kind, info.bits};
  switch (folding) {
    case Folding::kSum:
      return sum_kernels(type);
    case Folding::kProduct:
      return product_kernels(type);
    case Folding::kMin:
    case Folding::kMax:
      return least_kernels(folding == Folding::kMax, type);
    case Folding::kCountNonzero:
      break;
  }
  return {&count_nonzero, &accumulate<Add<std::uint64_t>>, 0};
}

void divide(ScalarType dtype, std::byte* values, std::int64_t count, double divisor) noexcept {
  const ScalarInfo& info = info_of(dtype);
  const bool is_complex = info.kind == Kind::kComplex;
  const std::int64_t reals = is_complex ? 2 * count : count;
  if (info.bits == (is_complex ? 128 : 64))
    return divide_values<double>(values, reals, divisor, [](double x) { return x; });
  if (info.bits == 16) return divide_values<float>(values, reals, divisor, round_to_odd);
  divide_values<float>(values, reals, divisor, [](double x) { return static_cast<float>(x); });
}

void deviate(std::byte* values, const std::byte* means, std::int64_t mean_step,
             std::int64_t count) noexcept {
  const auto square = [](double x) { return x * x; };
  if (mean_step == 0) {  // a loop of its own, which is vectorized
    const double mean = load<double>(means);
    for (std::int64_t i = 0; i < count; ++i)
      store(values + i * 8, square(load<double>(values + i * 8) - mean));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double mean = load<double>(means + i * mean_step * 8);
    store(values + i * 8, square(load<double>(values + i * 8) - mean));
  }
}

void square_root(std::byte* values, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    store(values + i * 8, __builtin_sqrt(load<double>(values + i * 8)));
}

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
