// Kernels of functions of the C library. Of complex ones it has most with the special cases of
// C99's annex G, which are those of the array API standard; the others are here.
#include "compute/ops/math.hpp"

#include <cmath>
#include <complex>

#include "compute/kernels/kernel_rows.hpp"
#include "compute/ops/functors/arithmetic.hpp"

namespace refarray::core {
namespace {

using functors::Complex;
using functors::is_finite;
using functors::is_infinite;
using functors::is_nan;
using kernels::KernelRow;
using Z = std::complex<double>;
using enum Elementwise;

constexpr double kNaN = functors::kNaN<double>;
constexpr double kInfinity = functors::kInfinity<double>;
constexpr double kLogarithmOf2 = 0.693147180559945309417232121458;

// --- real

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
    if (x == y) return x + kLogarithmOf2;  // infinities too
    const double distance = std::fabs(x - y);
    if (is_nan(distance)) return x + y;
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

// --- complex

template <Z (*F)(const Z&)>
struct ComplexCall {
  template <class T>
  static T apply(T x) noexcept {
    using Part = typename T::Part;
    const Z out = F(Z(x.real, x.imag));
    return {static_cast<Part>(out.real()), static_cast<Part>(out.imag())};
  }
};

Z logarithm2(const Z& z) noexcept {
  const Z out = std::log(z);
  return {out.real() / kLogarithmOf2, out.imag() / kLogarithmOf2};
}

/// expm1(a) cos(b) + (cos(b) - 1) + j exp(a) sin(b): no difference of near numbers at 0.
Z exponential_minus_1(const Z& z) noexcept {
  const double a = z.real(), b = z.imag();
  if (b == 0) return {std::expm1(a) + 0.0, b};
  if (!is_finite(b)) {
    if (a == -kInfinity) return {-1.0, functors::with_sign(0.0, b)};
    return {a == kInfinity ? kInfinity : kNaN, kNaN};
  }
  if (a == -kInfinity) return {-1.0, 0.0 * std::sin(b)};
  const double half = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - 2 * half * half, std::exp(a) * std::sin(b)};
}

/// The real part by log1p of |1 + z|^2 - 1, in the wider format where z is near -2 or 0.
Z logarithm_of_1_plus(const Z& z) noexcept {
  const double a = z.real(), b = z.imag();
  if (!is_finite(a) || !is_finite(b) || std::fabs(a) > 1e100 || std::fabs(b) > 1e100)
    return std::log(Z(1.0 + a, b));
  if (b == 0 && a >= -1) return {std::log1p(a), b};
  const long double wide = a;
  const long double excess = wide * (2 + wide) + static_cast<long double>(b) * b;
  const double real = excess > -0.5L ? static_cast<double>(std::log1p(excess) / 2)
                                     : std::log(std::hypot(1.0 + a, b));
  return {real, std::atan2(b, 1.0 + a)};
}

/// At an infinite real part the imaginary part is +0 or -0 with the sign of b, as the standard
/// says; C99 gives it the sign of sin(2b).
Z hyperbolic_tangent(const Z& z) noexcept {
  if (is_infinite(z.real()))
    return {functors::with_sign(1.0, z.real()), functors::with_sign(0.0, z.imag())};
  return std::tanh(z);
}

/// tan(z) = -j tanh(jz)
Z tangent(const Z& z) noexcept {
  const Z out = hyperbolic_tangent(Z(-z.imag(), z.real()));
  return {out.imag(), -out.real()};
}

struct Magnitude {
  template <class T>
  static auto apply(T x) noexcept {
    using Part = typename T::Part;
    return static_cast<Part>(std::hypot(double{x.real}, double{x.imag}));
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

/// x to a small integer by squaring, in the wider format; otherwise exp(y log(x)).
Z power(const Z& x, const Z& y) noexcept {
  constexpr double kMostMultiplied = 64;
  const double n = y.real();
  if (y == Z{}) return 1.0;
  const bool is_small = y.imag() == 0 && std::fabs(n) <= kMostMultiplied && n == std::trunc(n);
  if (is_small && is_finite(x.real()) && is_finite(x.imag())) {
    using Wide = Complex<long double>;
    Wide base{x.real(), x.imag()}, out{};
    bool is_first = true;  // a product with 1 + 0j would lose the signs of zeros
    for (int left = static_cast<int>(std::fabs(n)); left != 0; left >>= 1) {
      if (left & 1) {
        out = is_first ? base : functors::Multiply::apply(out, base);
        is_first = false;
      }
      base = functors::Multiply::apply(base, base);
    }
    const Z product(static_cast<double>(out.real), static_cast<double>(out.imag));
    if (is_finite(product.real()) && is_finite(product.imag()) && product != Z{}) {
      if (n > 0) return product;
      const auto inverse = functors::complex_reciprocal<double>({product.real(), product.imag()});
      return {inverse.real, inverse.imag};
    }
  }
  if (x == Z{}) return n > 0 ? Z{} : Z(kNaN, kNaN);
  return std::exp(y * std::log(x));
}

struct Power {
  template <class T>
  static T apply(T x, T y) noexcept {
    using Part = typename T::Part;
    const Z out = power(Z(x.real, x.imag), Z(y.real, y.imag));
    return {static_cast<Part>(out.real()), static_cast<Part>(out.imag())};
  }
};

template <Elementwise Operation, Z (*F)(const Z&)>
constexpr KernelRow complex_row() {
  return kernels::kernel_row<Operation, ComplexCall<F>, dtype_sets::kComplex>();
}

constexpr auto kComplexRows = std::to_array<KernelRow>({
    complex_row<kAcos, std::acos>(),
    complex_row<kAcosh, std::acosh>(),
    complex_row<kAsin, std::asin>(),
    complex_row<kAsinh, std::asinh>(),
    complex_row<kAtan, std::atan>(),
    complex_row<kAtanh, std::atanh>(),
    complex_row<kCos, std::cos>(),
    complex_row<kCosh, std::cosh>(),
    complex_row<kExp, std::exp>(),
    complex_row<kExpm1, exponential_minus_1>(),
    complex_row<kLog, std::log>(),
    complex_row<kLog10, std::log10>(),
    complex_row<kLog1p, logarithm_of_1_plus>(),
    complex_row<kLog2, logarithm2>(),
    complex_row<kSin, std::sin>(),
    complex_row<kSinh, std::sinh>(),
    complex_row<kSqrt, std::sqrt>(),
    complex_row<kTan, tangent>(),
    complex_row<kTanh, hyperbolic_tangent>(),
    kernels::kernel_row<kAbs, Magnitude, dtype_sets::kComplex>(),
    kernels::kernel_row<kSign, ComplexSign, dtype_sets::kComplex>(),
    kernels::kernel_row<kPow, Power, dtype_sets::kComplex>(),
});

}  // namespace

const kernels::ElementwiseTable& math_kernels() noexcept {
  static const kernels::ElementwiseTable table = [] {
    kernels::ElementwiseTable out{};
    kernels::add_rows(out, kRows);
    kernels::add_rows(out, kComplexRows);
    return out;
  }();
  return table;
}

}  // namespace refarray::core
