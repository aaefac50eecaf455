// Kernels of complex functions. complex64 is computed in double and rounded once. They exist once,
// not for each instruction set.
#include "compute/ops/complex_kernels.hpp"

#include <cmath>
#include <complex>

#include "compute/kernels/kernel_rows.hpp"
#include "compute/ops/complex_functions.hpp"
#include "compute/ops/functors/arithmetic.hpp"

namespace refarray::core {
namespace {

using functors::Complex;
using functors::is_finite;
using functors::is_infinite;
using functors::is_nan;
using kernels::KernelRow;
using Z = complex_functions::Number;
using enum Elementwise;

constexpr double kNaN = functors::kNaN<double>;

template <Z (*F)(Z)>
struct ComplexCall {
  template <class T>
  static T apply(T x) noexcept {
    using Part = typename T::Part;
    const Z out = F({x.real, x.imag});
    return {static_cast<Part>(out.real), static_cast<Part>(out.imag)};
  }
};

struct ComplexSign {
  template <class T>
  static T apply(T x) noexcept {
    using Part = typename T::Part;
    if (x.real == 0 && x.imag == 0) return {0, 0};
    if (is_nan(x.real) || is_nan(x.imag)) return {functors::kNaN<Part>, functors::kNaN<Part>};
    double a = x.real, b = x.imag;
    if (std::fabs(a) > 1e300 || std::fabs(b) > 1e300) a *= 0.25, b *= 0.25;
    if (is_infinite(a) || is_infinite(b)) return of_infinite(x);
    if (std::fabs(a) < 1e-290 && std::fabs(b) < 1e-290) a *= 0x1p200, b *= 0x1p200;
    const double magnitude = std::hypot(a, b);
    return {static_cast<Part>(a / magnitude), static_cast<Part>(b / magnitude)};
  }

 private:
  /// x / inf, by the rules of division: an infinite part over infinity is NaN.
  template <class T>
  static T of_infinite(T x) noexcept {
    using Part = typename T::Part;
    constexpr Part kInfinite = functors::kInfinity<Part>;
    return {x.real / kInfinite, x.imag / kInfinite};
  }
};

bool is_zero(Z x) noexcept { return x.real == 0 && x.imag == 0; }
bool is_finite_number(Z x) noexcept { return is_finite(x.real) && is_finite(x.imag); }

/// x to a small integer by squaring, in the wider format; otherwise exp(y log(x)).
Z power(Z x, Z y) noexcept {
  constexpr double kMostMultiplied = 64;
  const double n = y.real;
  if (is_zero(y)) return {1, 0};
  const bool is_small = y.imag == 0 && std::fabs(n) <= kMostMultiplied && n == std::trunc(n);
  if (is_small && is_finite_number(x)) {
    using Wide = Complex<long double>;
    Wide base{x.real, x.imag}, out{};
    bool is_first = true;  // a product with 1 + 0j would lose the signs of zeros
    for (int left = static_cast<int>(std::fabs(n)); left != 0; left >>= 1) {
      if (left & 1) {
        out = is_first ? base : functors::Multiply::apply(out, base);
        is_first = false;
      }
      base = functors::Multiply::apply(base, base);
    }
    const Z product{static_cast<double>(out.real), static_cast<double>(out.imag)};
    if (is_finite_number(product) && !is_zero(product)) {
      if (n > 0) return product;
      const auto inverse = functors::complex_reciprocal<double>({product.real, product.imag});
      return {inverse.real, inverse.imag};
    }
  }
  if (is_zero(x)) return n > 0 ? Z{} : Z{kNaN, kNaN};
  const auto [size, angle] = complex_functions::logarithm(x);
  using Factor = std::complex<double>;  // products of infinite numbers by C99's annex G
  const Factor product = Factor(y.real, y.imag) * Factor(size, angle);
  return complex_functions::exponential({product.real(), product.imag()});
}

struct Power {
  template <class T>
  static T apply(T x, T y) noexcept {
    using Part = typename T::Part;
    const Z out = power({x.real, x.imag}, {y.real, y.imag});
    return {static_cast<Part>(out.real), static_cast<Part>(out.imag)};
  }
};

template <Elementwise Operation, Z (*F)(Z)>
constexpr KernelRow row() {
  return kernels::kernel_row<Operation, ComplexCall<F>, dtype_sets::kComplex>();
}

constexpr auto kRows = std::to_array<KernelRow>({
    row<kAcos, complex_functions::arc_cosine>(),
    row<kAcosh, complex_functions::arc_hyperbolic_cosine>(),
    row<kAsin, complex_functions::arc_sine>(),
    row<kAsinh, complex_functions::arc_hyperbolic_sine>(),
    row<kAtan, complex_functions::arc_tangent>(),
    row<kAtanh, complex_functions::arc_hyperbolic_tangent>(),
    row<kCos, complex_functions::cosine>(),
    row<kCosh, complex_functions::hyperbolic_cosine>(),
    row<kExp, complex_functions::exponential>(),
    row<kExpm1, complex_functions::exponential_minus_1>(),
    row<kLog, complex_functions::logarithm>(),
    row<kLog10, complex_functions::logarithm10>(),
    row<kLog1p, complex_functions::logarithm_of_1_plus>(),
    row<kLog2, complex_functions::logarithm2>(),
    row<kSin, complex_functions::sine>(),
    row<kSinh, complex_functions::hyperbolic_sine>(),
    row<kSqrt, complex_functions::square_root>(),
    row<kTan, complex_functions::tangent>(),
    row<kTanh, complex_functions::hyperbolic_tangent>(),
    kernels::kernel_row<kSign, ComplexSign, dtype_sets::kComplex>(),
    kernels::kernel_row<kPow, Power, dtype_sets::kComplex>(),
});

}  // namespace

const kernels::ElementwiseTable& complex_kernels() noexcept {
  static const kernels::ElementwiseTable table = [] {
    kernels::ElementwiseTable out{};
    kernels::add_rows(out, kRows);
    return out;
  }();
  return table;
}

}  // namespace refarray::core
