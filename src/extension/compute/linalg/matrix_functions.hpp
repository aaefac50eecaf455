// Arguments and results of functions of matrices: their dtypes, shapes and failures.
#pragma once

#include <Python.h>

#include <memory>
#include <string>

#include "compute/linalg/decompositions/outcome.hpp"
#include "core/array.hpp"
#include "core/promotion.hpp"
#include "extension/capi/signals.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

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

}  // namespace refarray::extension
