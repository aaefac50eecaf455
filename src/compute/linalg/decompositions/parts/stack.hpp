// The matrices of stacked operands, one after the other, and the boundary to Eigen's exceptions.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/error.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// An array whose last `axes` axes are those of a matrix (2), a vector (1) or a number (0).
struct Stacked {
  const ArrayView& array;
  int axes;
};

/// The operands at one index of the leading axes, whose extents all operands have in common.
class Stack {
 public:
  static constexpr std::size_t kMaxOperands = 4;

  explicit Stack(std::span<const Stacked> operands) noexcept;

  /// There are no matrices, or no operand has an element: any number of them is no work.
  bool is_empty() const noexcept { return is_empty_; }
  /// False after the last index.
  bool advance() noexcept;
  const ArrayView& operator[](std::size_t operand) const noexcept { return parts_[operand]; }

 private:
  std::size_t count_;
  int leading_;  // axes
  bool is_empty_;
  const std::int64_t* shape_;
  std::int64_t index_[kMaxRank];
  ArrayView parts_[kMaxOperands];
  std::int64_t steps_[kMaxOperands][kMaxRank];  // bytes
};

/// Calls the interrupt check about once per millisecond of work.
class Progress {
 public:
  explicit Progress(const InterruptCheck& interrupt) noexcept : interrupt_(interrupt) {}

  const InterruptCheck& interrupt() const noexcept { return interrupt_; }
  /// To be called after `products` multiplications, or about their time. True: stop.
  bool is_stopped_after(double products) noexcept {
    done_ += products;
    if (done_ < kProductsBetweenChecks) return false;
    done_ = 0;
    return interrupt_();
  }

 private:
  static constexpr double kProductsBetweenChecks = 1e6;
  const InterruptCheck& interrupt_;
  double done_ = 0;
};

/// Calls `body(stack, progress)` for each matrix until its Outcome is not kDone. Throws kMemory.
template <class Body>
Outcome each_matrix(std::span<const Stacked> operands, const InterruptCheck& interrupt,
                    const Body& body) {
  Stack stack(operands);
  if (stack.is_empty()) return {};
  Progress progress(interrupt);
  std::int64_t matrix = 0;
  try {  // boundary: Eigen reports failed allocations by its own exception
    do {
      Outcome outcome = body(stack, progress);
      outcome.matrix = matrix++;
      if (outcome.ending != Ending::kDone) return outcome;
    } while (stack.advance());
  } catch (const std::bad_alloc&) {
    fail(Fault::kMemory, "no memory for the decomposition of a matrix");
  }
  return {};
}

}  // namespace refarray::core
