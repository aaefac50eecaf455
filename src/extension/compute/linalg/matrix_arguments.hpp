// Arguments and results of functions of linear algebra: matrices, the two operands of a product or
// of a linear system, and numbers.
#pragma once

#include <memory>
#include <string>

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

// --- Two operands.

class Factors {
 public:
  /// Throws kType if an argument is not an Array of a dtype of `accepts`, or the promotion is
  /// undefined; also as require_computable_memory(). `function` names the Python function in
  /// messages.
  Factors(const State& state, PyObject* x1, PyObject* x2, const char* function,
          core::DtypeSet accepts = core::dtype_sets::kNumeric);
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;

  const core::ArrayView& x1() const noexcept { return views_[0]; }
  const core::ArrayView& x2() const noexcept { return views_[1]; }
  /// Of the result.
  const core::DType& dtype() const noexcept { return dtype_; }
  /// In which it is computed: float32 for float16 and bfloat16, otherwise dtype(), unless
  /// compute_in() set another.
  const core::DType& computed() const noexcept { return computed_; }
  void compute_in(const core::DType& dtype) noexcept { computed_ = dtype; }

  /// Throws `fault` with both shapes and `why` they do not fit.
  [[noreturn, gnu::cold]] void fail_shapes(const std::string& why,
                                           core::Fault fault = core::Fault::kValue) const;
  /// The shape that the leading axes of the operands broadcast to. Throws kValue.
  core::Layout broadcast(core::Extents a, core::Extents b) const;

  /// An axis of both operands, counted from the end: -1 by default, and at least minus the lesser
  /// ndim. Throws kAxis, and kValue for an operand of ndim 0.
  int common_axis(PyObject* argument) const;

  /// Converts both operands to computed(), where they have another dtype.
  void convert();
  /// A result in computed(), which is converted to dtype().
  core::Array&& finished(core::Array& result) const;

 private:
  const char* function_;
  core::DType dtype_;
  core::DType computed_;
  core::ArrayView views_[2];
  std::unique_ptr<const core::Array> owners_[2];  // of converted operands
};

/// About the time of `count` sums of `depth` products, in the bytes that run_interruptibly() takes.
std::int64_t bytes_like(std::int64_t count, std::int64_t depth) noexcept;

/// The axes of an operand without the last two.
inline core::Extents leading(const core::Layout& layout) noexcept {
  return layout.extents().first(static_cast<std::size_t>(layout.ndim - 2));
}

// --- Matrices.

// float16, bfloat16 and float32 are computed in float64, complex64 in complex128; the result is
// rounded once. The functions below map the dtype of an argument.

/// In which it is computed.
core::DType decomposed_dtype(const core::DType& dtype) noexcept;
/// Of real results: the real dtype of the same precision.
core::DType real_dtype(const core::DType& dtype) noexcept;
/// Of complex results: complex128 for 64-bit parts, otherwise complex64.
core::DType complex_dtype(const core::DType& dtype) noexcept;

/// An argument with a stack of matrices.
class Matrices {
 public:
  /// Throws kType if the argument is not an Array of a floating-point dtype, kValue if its ndim is
  /// less than 2 or, with `square`, the last two extents differ; also as
  /// require_computable_memory(). `function` names the Python function in messages.
  Matrices(const State& state, PyObject* x, const char* function, bool square);
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  const char* function() const noexcept { return function_; }
  /// In the dtype in which it is computed.
  const core::ArrayView& view() const noexcept { return view_; }
  /// Of the argument.
  const core::DType& dtype() const noexcept { return dtype_; }
  std::int64_t rows() const noexcept { return view_.shape[view_.ndim - 2]; }
  std::int64_t columns() const noexcept { return view_.shape[view_.ndim - 1]; }
  core::Extents leading() const noexcept {
    return view_.extents().first(static_cast<std::size_t>(view_.ndim - 2));
  }

  /// A new array with the leading axes of the stack and further ones.
  core::Array new_result(const core::DType& dtype, std::initializer_list<std::int64_t> axes) const;
  /// About the time of a decomposition, in the bytes that run_interruptibly() takes.
  std::int64_t work() const noexcept;

 private:
  const char* function_;
  core::DType dtype_;
  core::ArrayView view_;
  std::unique_ptr<const core::Array> owner_;  // of the converted argument
};

/// The result itself, converted to `dtype`: not one more array in the frame of the caller.
core::Array&& finished(core::Array& result, const core::DType& dtype);

namespace detail {
[[noreturn, gnu::cold]] void fail_outcome(const char* function, const char* x,
                                          core::Extents leading, const core::Outcome& outcome);
}

/// Calls `work(interrupt)`, which returns an Outcome; `bytes` as for run_interruptibly(). Throws
/// kValue unless it is kDone, naming the matrix of `x` that failed by its index among the axes
/// `leading`.
template <class Work>
void run_decomposition(const char* function, const char* x, core::Extents leading,
                       std::int64_t bytes, const Work& work) {
  core::Outcome outcome;
  run_interruptibly(bytes, [&](const core::InterruptCheck& interrupt) {
    outcome = work(interrupt);
    return outcome.ending != core::Ending::kInterrupted;
  });
  if (outcome.ending != core::Ending::kDone) detail::fail_outcome(function, x, leading, outcome);
}
template <class Work>
void run_decomposition(const Matrices& x, const Work& work) {
  run_decomposition(x.function(), "x", x.leading(), x.work(), work);
}

// --- Numbers.

/// A real number that to_exact_number() takes, or an integer array of ndim 0, but no bool. `what`
/// names the argument in messages. Throws kType for others, kValue for NaN, OverflowError for an
/// int beyond float64.
double to_real(const State& state, PyObject* object, const char* function, const char* what);
/// The shortest decimals that identify the number, for messages.
std::string number_text(double value);

}  // namespace refarray::extension
