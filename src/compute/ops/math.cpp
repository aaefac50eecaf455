// Kernels of real functions of the C library.
#include "compute/ops/math.hpp"

#include <cmath>

#include "compute/kernels/kernel_rows.hpp"

namespace refarray::core {
namespace {

using kernels::KernelRow;
using enum Elementwise;

/// A function of the C library as a functor.
template <double (*F)(double)>
struct Call {
  static double apply(double x) noexcept { return F(x); }
  static float apply(float x) noexcept { return static_cast<float>(F(x)); }
};
template <double (*F)(double, double)>
struct Call2 {
  static double apply(double x, double y) noexcept { return F(x, y); }
  static float apply(float x, float y) noexcept { return static_cast<float>(F(x, y)); }
};

/// The larger plus log(1 + e^-distance): nothing overflows.
struct LogAddExp {
  static double apply(double x, double y) noexcept {
    if (x == y) return x + 0.693147180559945309417232121458;  // log(2); infinities too
    const double distance = std::fabs(x - y);
    if (functors::is_nan(distance)) return x + y;
    return (x > y ? x : y) + std::log1p(std::exp(-distance));
  }
  static float apply(float x, float y) noexcept {
    return static_cast<float>(apply(double{x}, double{y}));
  }
};

template <Elementwise Operation, double (*F)(double)>
constexpr KernelRow row() {
  return kernels::kernel_row<Operation, Call<F>, dtype_sets::kRealFloating>();
}

constexpr auto kRows = std::to_array<KernelRow>({
    row<kAcos, std::acos>(),
    row<kAcosh, std::acosh>(),
    row<kAsin, std::asin>(),
    row<kAsinh, std::asinh>(),
    row<kAtan, std::atan>(),
    row<kAtanh, std::atanh>(),
    row<kCos, std::cos>(),
    row<kCosh, std::cosh>(),
    row<kExp, std::exp>(),
    row<kExpm1, std::expm1>(),
    row<kLog, std::log>(),
    row<kLog10, std::log10>(),
    row<kLog1p, std::log1p>(),
    row<kLog2, std::log2>(),
    row<kSin, std::sin>(),
    row<kSinh, std::sinh>(),
    row<kTan, std::tan>(),
    row<kTanh, std::tanh>(),
    kernels::kernel_row<kAtan2, Call2<std::atan2>>(),
    kernels::kernel_row<kHypot, Call2<std::hypot>>(),
    kernels::kernel_row<kLogaddexp, LogAddExp>(),
    kernels::kernel_row<kPow, Call2<std::pow>, dtype_sets::kRealFloating>(),
});

}  // namespace

const kernels::ElementwiseTable& math_kernels() noexcept {
  static const kernels::ElementwiseTable table = [] {
    kernels::ElementwiseTable out{};
    kernels::add_rows(out, kRows);
    detail::add_complex_math(out);
    return out;
  }();
  return table;
}

}  // namespace refarray::core
