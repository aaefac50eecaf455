// Operands of computations: arrays that the CPU can read, and Python numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/state.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {

// In the functions below `function` names the Python function in error messages.

/// A view of an argument that must be an Array in memory that the CPU can read, with a dtype of
/// `accepts`. Throws kType otherwise, and as require_computable_memory().
core::ArrayView computable_view(const State& state, PyObject* x, const char* function,
                                core::DtypeSet accepts = core::dtype_sets::kAll);

/// An argument that is an Array, or a number, which takes the dtype of the array beside it: one
/// that to_exact_number() takes.
class Operand {
 public:
  /// Empty if the object is neither. Runs user code.
  Operand(const State& state, PyObject* object);
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  bool is_array() const noexcept { return is_array_; }
  bool is_number() const noexcept { return static_cast<bool>(number_); }
  /// The bool, int, float or complex object; nullptr if it is no number.
  PyObject* number() const noexcept { return number_.get(); }
  explicit operator bool() const noexcept { return is_array_ || number_; }
  const core::ArrayView& view() const noexcept { return view_; }

  /// As the other type_beside(), for a number.
  core::ScalarType type_beside(core::ScalarType other, const char* function) const {
    return extension::type_beside(number_kind(number_.get()), other, function);
  }
  /// Makes a number an array of ndim 0. Throws OverflowError if the dtype cannot represent it.
  void convert_number(const core::DType& dtype);

 private:
  Ref number_;  // a bool, int, float or complex
  core::ArrayView view_;
  bool is_array_;
  alignas(16) std::byte element_[16];
};

/// The operands of a function, for messages.
inline constexpr char kTakesNumbers[] = "arrays and Python numbers";

/// Throws kType for an argument that is neither an array of the namespace nor a number.
[[noreturn, gnu::cold]] void fail_operand(const char* function, PyObject* object,
                                          const char* takes = kTakesNumbers);

/// Throws kType unless the operand, the argument `name` of a function, is an array or a number;
/// also as require_computable_memory().
void require_value(const Operand& operand, PyObject* object, const char* function,
                   const char* name);

/// The array itself, or `owner`, a copy of it with another dtype.
core::ArrayView converted(const core::ArrayView& array, const core::DType& dtype,
                          core::Array& owner);

/// What an operator returns for an operand that is neither: NotImplemented, so that the operand's
/// own method is called. Throws as fail_operand() if it exports memory: NumPy would compute with
/// it, or take the two for unequal; in strict namespaces also for sequences.
[[gnu::cold]] Ref not_implemented(const State& state, const char* function, PyObject* object,
                                  const char* takes = kTakesNumbers);

/// The type to which two operands promote; numbers are converted to it. One of them at
/// least must be an array. Throws kType where the standard leaves the promotion undefined.
core::ScalarType promote_operands(Operand& x1, Operand& x2, const char* function);

}  // namespace refarray::extension
