// share_memory(): a bounded search for indices of two arrays that have the same address.
//
// The distance in bits between element i of b and element j of a is linear in the indices. Axes of
// equal strides are one unknown, the difference of their indices. The search goes from the largest
// stride to the smallest; what the smaller ones can add leaves few values for each.
#include "core/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace refarray::core {
namespace {

/// `stride` times an integer in [low, high].
struct Term {
  std::int64_t stride;  // in bits; positive
  std::int64_t low;
  std::int64_t high;
};

class Search {
 public:
  Search(const ArrayView& a, const ArrayView& b) noexcept
      : lowest_(1 - b.dtype.stored_bits()), highest_(a.dtype.stored_bits() - 1) {
    const std::int64_t bytes = b.data - a.data;
    start_ = bytes * 8 + b.bit - a.bit;
    add(a, /*is_a=*/true);
    add(b, /*is_a=*/false);
    std::sort(terms_.begin(), terms_.begin() + count_,
              [](const Term& x, const Term& y) { return x.stride > y.stride; });
  }

  bool finds() noexcept {
    std::int64_t low = 0, high = 0;
    for (std::size_t i = count_; i-- > 0;) {
      rest_low_[i] = low;
      rest_high_[i] = high;
      low += terms_[i].stride * terms_[i].low;
      high += terms_[i].stride * terms_[i].high;
    }
    return start_ + high >= lowest_ && start_ + low <= highest_ && descend(0, start_);
  }

 private:
  static constexpr int kMaxSteps = 1 << 20;

  void add(const ArrayView& array, bool is_a) noexcept {
    for (int axis = 0; axis < array.ndim; ++axis) {
      const std::int64_t last = array.shape[axis] - 1;
      const std::int64_t stride = array.strides[axis] * array.dtype.stored_bits();
      if (last == 0 || stride == 0) continue;
      // The indices of a negative stride count from the other end.
      if (stride < 0) start_ += is_a ? -stride * last : stride * last;
      Term& term = term_of(stride < 0 ? -stride : stride);
      (is_a ? term.low : term.high) += is_a ? -last : last;
    }
  }

  Term& term_of(std::int64_t stride) noexcept {
    const auto end = terms_.begin() + count_;
    const auto found =
        std::find_if(terms_.begin(), end, [=](const Term& term) { return term.stride == stride; });
    if (found == end) terms_[count_++] = {stride, 0, 0};
    return *found;
  }

  static std::int64_t floor_divide(std::int64_t x, std::int64_t by) noexcept {
    return x / by - (x % by < 0 ? 1 : 0);
  }

  bool descend(std::size_t at, std::int64_t distance) noexcept {
    if (at == count_) return distance >= lowest_ && distance <= highest_;
    if (++steps_ > kMaxSteps) return true;
    const Term& term = terms_[at];
    const std::int64_t need_low = lowest_ - rest_high_[at] - distance;
    const std::int64_t need_high = highest_ - rest_low_[at] - distance;
    const std::int64_t first = std::max(term.low, -floor_divide(-need_low, term.stride));
    const std::int64_t last = std::min(term.high, floor_divide(need_high, term.stride));
    for (std::int64_t i = first; i <= last; ++i)
      if (descend(at + 1, distance + i * term.stride)) return true;
    return false;
  }

  std::int64_t start_ = 0;      // the distance of the first elements
  const std::int64_t lowest_;   // distances from here
  const std::int64_t highest_;  // to here have a bit in common
  std::array<Term, 2 * kMaxRank> terms_{};
  std::array<std::int64_t, 2 * kMaxRank> rest_low_{};  // what the terms after each can add
  std::array<std::int64_t, 2 * kMaxRank> rest_high_{};
  std::size_t count_ = 0;
  int steps_ = 0;
};

}  // namespace

bool share_memory(const ArrayView& a, const ArrayView& b) noexcept {
  if (a.size() == 0 || b.size() == 0 || !may_overlap(a, b)) return false;
  for (const ArrayView& each : {a, b})  // a range that does not fit 64 bits: not searched
    if (!bit_range(each.extents(), each.stride_span(), each.dtype)) return true;
  return Search(a, b).finds();
}

}  // namespace refarray::core
