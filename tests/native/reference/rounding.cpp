// Compares results in float32 with functions of the C library in double.
#include <bit>
#include <cmath>
#include <cstdint>

namespace {

constexpr double kError = 0x1p-49;  // relative, of the C library's functions: 16 ULP

/// Whether `got` is not sure to be the exact value, which `nearly` is, rounded once.
bool is_doubtful(float got, double nearly) noexcept {
  constexpr std::uint32_t kNaN = 0x7FC00000;
  if (std::isnan(nearly)) return std::bit_cast<std::uint32_t>(got) != kNaN;
  const auto least = static_cast<float>(nearly * (1 - kError));
  const auto most = static_cast<float>(nearly * (1 + kError));
  return least != most || std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(most);
}

template <class Reference>
std::int64_t find(Reference reference, const float* got, std::int64_t count, std::int64_t* found,
                  std::int64_t most) noexcept {
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < count && number < most; ++i)
    if (is_doubtful(got[i], reference(i))) found[number++] = i;
  return number;
}

}  // namespace

/// Writes the indices of at most `most` results that mpmath must decide, and returns their number.
extern "C" std::int64_t find_doubtful(double (*reference)(double), const float* x, const float* got,
                                      std::int64_t count, std::int64_t* found, std::int64_t most) {
  return find([=](std::int64_t i) { return reference(double{x[i]}); }, got, count, found, most);
}

extern "C" std::int64_t find_doubtful2(double (*reference)(double, double), const float* x,
                                       const float* y, const float* got, std::int64_t count,
                                       std::int64_t* found, std::int64_t most) {
  return find([=](std::int64_t i) { return reference(double{x[i]}, double{y[i]}); }, got, count,
              found, most);
}

/// What the C library lacks. Where the terms cancel the result may be doubtful without need.
extern "C" double reference_logaddexp(double x, double y) {
  if (x == y) return x + std::log(2.0);
  const long double distance = std::fabs(static_cast<long double>(x) - y);
  return static_cast<double>(std::fmax(x, y) + std::log1p(std::exp(-distance)));
}

/// Some C libraries have numbers for arguments below 1.
extern "C" double reference_acosh(double x) { return x < 1 ? std::nan("") : std::acosh(x); }
