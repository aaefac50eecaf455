// The matrices of stacked operands, one after the other, and the boundary to Eigen's exceptions.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
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

  /// At the index of the `first` matrix in row-major order.
  explicit Stack(std::span<const Stacked> operands, std::int64_t first = 0) noexcept;

  /// There are no matrices, or no operand has an element: any number of them is no work.
  bool is_empty() const noexcept { return is_empty_; }
  std::int64_t count() const noexcept {
    return size_of({shape_, static_cast<std::size_t>(leading_)});
  }
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

/// How the matrices of a stack ended that threads share.
class SharedOutcome {
 public:
  /// Whether this matrix is of interest: none before it has failed.
  bool wants(std::int64_t matrix) const noexcept { return matrix < first_; }
  void fail_at(const Outcome& outcome) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!wants(outcome.matrix)) return;
    outcome_ = outcome;
    first_ = outcome.matrix;
  }
  const Outcome& get() const noexcept { return outcome_; }

 private:
  std::mutex mutex_;
  std::atomic<std::int64_t> first_{INT64_MAX};
  Outcome outcome_;
};

/// Calls `body(stack, progress)` for the matrices [begin, end) until its Outcome is not kDone.
template <class Body>
Outcome some_matrices(std::span<const Stacked> operands, std::int64_t begin, std::int64_t end,
                      Progress& progress, Body body) {
  Stack stack(operands, begin);
  for (std::int64_t matrix = begin; matrix < end; ++matrix, stack.advance()) {
    Outcome outcome = body(stack, progress);
    outcome.matrix = matrix;
    if (outcome.ending != Ending::kDone) return outcome;
  }
  return {};
}

/// Elements of a matrix whose products share no threads.
constexpr std::int64_t kSmallMatrix = 128 * 128;
constexpr std::int64_t kSharedElements = std::int64_t{1} << 15;  // of a stack that threads share
constexpr std::int64_t kPieceElements = std::int64_t{1} << 12;

/// each_matrix() by several threads. Throws std::bad_alloc.
template <class Body>
Outcome share_matrices(std::span<const Stacked> operands, std::int64_t count, std::int64_t piece,
                       const InterruptCheck& interrupt, const Body& body) {
  SharedOutcome shared;
  const auto work = [&](std::int64_t index, const InterruptCheck& check) {
    const std::int64_t begin = index * piece;
    if (!shared.wants(begin)) return;
    Progress progress(check);
    const std::int64_t end = std::min(begin + piece, count);
    const Outcome outcome = some_matrices(operands, begin, end, progress, body);
    if (outcome.ending != Ending::kDone) shared.fail_at(outcome);
  };
  if (!share_fallible_work((count + piece - 1) / piece, copy_threads(), interrupt, work))
    return {Ending::kInterrupted};
  return shared.get();
}

/// Calls a copy of `body(stack, progress)`, which owns what it works with, for each matrix until
/// its Outcome is not kDone; stacks of small matrices by several threads. Throws kMemory.
template <class Body>
Outcome each_matrix(std::span<const Stacked> operands, const InterruptCheck& interrupt,
                    const Body& body) {
  const Stack stack(operands);
  if (stack.is_empty()) return {};
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < operands.size(); ++i) elements = std::max(elements, stack[i].size());
  const std::int64_t count = stack.count();
  const bool shares = elements <= kSmallMatrix && count >= kSharedElements / elements;
  try {  // boundary: Eigen reports failed allocations by its own exception
    if (shares && copy_threads() > 1) {
      const std::int64_t piece = std::max(kPieceElements / elements, std::int64_t{1});
      return share_matrices(operands, count, piece, interrupt, body);
    }
    Progress progress(interrupt);
    return some_matrices(operands, 0, count, progress, body);
  } catch (const std::bad_alloc&) {
    fail(Fault::kMemory, "no memory for the decomposition of a matrix");
  }
}

}  // namespace refarray::core
