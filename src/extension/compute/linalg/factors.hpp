// The two operands of a product of matrices or vectors, or of a linear system.
#pragma once

#include <Python.h>

#include <memory>
#include <string>

#include "core/array.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

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

}  // namespace refarray::extension
