// Implements norms of vectors: sums of scaled powers in blocks, pairwise.
#include "compute/linalg/norms.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace refarray::core {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kBlock = 128;                    // elements that are added in lanes
constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // elements between checks for interrupts
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double magnitude(double x) noexcept { return std::fabs(x); }
double magnitude(const std::complex<double>& x) noexcept { return std::hypot(x.real(), x.imag()); }
struct Magnitude {
  template <class T>
  double operator()(const T& x) const noexcept {
    return magnitude(x);
  }
};
/// Of finite complex numbers the magnitude may be infinite; its quarter is not.
struct QuarterMagnitude {
  template <class T>
  double operator()(const T& x) const noexcept {
    return magnitude(x * 0.25);
  }
};
double square(double x) noexcept { return x * x; }
double square(const std::complex<double>& x) noexcept {
  return x.real() * x.real() + x.imag() * x.imag();
}

template <class T, class Term>
double block_sum(const T* x, std::int64_t count, const Term& term) noexcept {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(x[i + lane]);
  for (std::int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += term(x[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

template <class T, class Term>
double pairwise_sum(const T* x, std::int64_t count, const Term& term) noexcept {
  if (count <= kBlock) return block_sum(x, count, term);
  const std::int64_t half = (count / 2 + kBlock - 1) / kBlock * kBlock;
  return pairwise_sum(x, half, term) + pairwise_sum(x + half, count - half, term);
}

/// One vector, read in pieces.
template <class T>
class Row {
 public:
  Row(const T* data, std::int64_t count, const InterruptCheck& interrupt) noexcept
      : data_(data), count_(count), interrupt_(interrupt) {}

  bool is_interrupted() const noexcept { return is_interrupted_; }

  template <class Term>
  double sum(const Term& term) noexcept {
    double total = 0, lost = 0;  // the part of the pieces' sums that rounding took away
    each_piece([&](const T* x, std::int64_t count) {
      const double each = pairwise_sum(x, count, term), next = total + each;
      lost += std::fabs(total) >= std::fabs(each) ? (total - next) + each : (each - next) + total;
      total = next;
    });
    // Of an infinite sum the lost part is NaN.
    return std::isfinite(total) ? total + lost : total;
  }

  /// NaN if there is one.
  double greatest() noexcept {
    return extreme(0, Magnitude{}, [](double a, double b) { return a > b; });
  }
  template <class Size = Magnitude>
  double least(const Size& size = {}) noexcept {
    return extreme(kInfinity, size, [](double a, double b) { return a < b; });
  }

 private:
  template <class Body>
  void each_piece(const Body& body) noexcept {
    for (std::int64_t i = 0; i < count_ && !is_interrupted_; i += kPiece) {
      body(data_ + i, std::min(kPiece, count_ - i));
      if (count_ > kPiece) is_interrupted_ = interrupt_();
    }
  }

  template <class Size, class Beats>
  double extreme(double of_none, const Size& size, const Beats& beats) noexcept {
    double out = of_none;
    bool has_nan = false;
    each_piece([&](const T* x, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        const double each = size(x[i]);
        if (beats(each, out)) out = each;
        has_nan |= std::isnan(each);
      }
    });
    return has_nan ? kNaN : out;
  }

  const T* data_;
  std::int64_t count_;
  const InterruptCheck& interrupt_;
  bool is_interrupted_ = false;
};

template <class T>
double euclidean(Row<T>& row) noexcept {
  const double squares = row.sum([](const T& x) { return square(x); });
  // Smaller sums have lost digits of squares below the normal numbers.
  if (squares > 0x1p-900 && squares < kInfinity) return std::sqrt(squares);
  const double scale = row.greatest();
  if (scale == 0 || !std::isfinite(scale)) return scale;
  const int exponent = std::ilogb(scale);
  const double half = std::ldexp(1.0, -exponent / 2),
               rest = std::ldexp(1.0, -exponent + exponent / 2);
  const double scaled = row.sum([=](const T& x) { return square(x * half * rest); });
  return std::ldexp(std::sqrt(scaled), exponent);
}

/// `order` is neither 0 nor infinite. The element that decides becomes 1, so that no power and no
/// sum of powers overflows.
template <class T, class Size>
double of_order(Row<T>& row, double order, double decisive, const Size& size) noexcept {
  if (decisive == 0 || !std::isfinite(decisive)) return decisive;
  const double sum = row.sum([=](const T& x) {
    const double each = size(x);
    return each == decisive ? 1.0 : std::pow(each / decisive, order);
  });
  return decisive * std::pow(sum, 1 / order);
}

/// The result may be finite although magnitudes overflow: of numbers above 1 quarters are exact.
template <class T>
double of_negative_order(Row<T>& row, double order) noexcept {
  const double least = row.least();
  if (std::is_same_v<T, double> || !(least > 1)) return of_order(row, order, least, Magnitude{});
  const QuarterMagnitude quarter;
  return 4 * of_order(row, order, std::isinf(least) ? row.least(quarter) : least / 4, quarter);
}

template <class T>
double norm(Row<T>& row, double order) noexcept {
  if (order == 2) return euclidean(row);
  if (order == 1) return row.sum([](const T& x) { return magnitude(x); });
  if (order == kInfinity) return row.greatest();
  if (order == -kInfinity) return row.least();
  if (order == 0) return row.sum([](const T& x) { return x == T(0) ? 0.0 : 1.0; });
  if (order < 0) return of_negative_order(row, order);
  return of_order(row, order, row.greatest(), Magnitude{});
}

template <class T>
bool norms_of_rows(const ArrayView& out, const ArrayView& x, double order,
                   const InterruptCheck& interrupt) noexcept {
  const auto* data = reinterpret_cast<const T*>(x.data);
  auto* const to = reinterpret_cast<double*>(out.data);
  const std::int64_t count = x.shape[1];
  std::int64_t since_check = 0;
  for (std::int64_t i = 0; i < x.shape[0]; ++i, data += count) {
    // Short rows are checked together.
    since_check = since_check > kPiece ? 0 : since_check + count + 1;
    Row<T> row(data, count, interrupt);
    to[i] = count == 0 ? 0 : norm(row, order);
    if (row.is_interrupted() || (since_check == 0 && interrupt())) return false;
  }
  return true;
}

}  // namespace

bool vector_norms(const ArrayView& out, const ArrayView& x, double order,
                  const InterruptCheck& interrupt) noexcept {
  return x.dtype.is_complex() ? norms_of_rows<std::complex<double>>(out, x, order, interrupt)
                              : norms_of_rows<double>(out, x, order, interrupt);
}

}  // namespace refarray::core
