// Ref: a strong reference to a Python object, or empty. Everywhere `Ref` owns, `PyObject*` borrows.
//
// A header of this folder stands for Python.h and for the headers of this folder that it includes;
// so do objects/array_object.hpp and objects/function_row.hpp.
#pragma once

#include <Python.h>

#include <utility>

#include "refarray/core/forced_unwind.hpp"

namespace refarray::extension {

class Ref {
 public:
  Ref() noexcept = default;
  static Ref steal(PyObject* object) noexcept { return Ref(object); }
  static Ref borrow(PyObject* object) noexcept { return Ref(Py_XNewRef(object)); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  ~Ref() {
    if (object_ != nullptr) core::park_at_exit([this] { Py_DECREF(object_); });
  }

  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(PyObject* object) noexcept : object_(object) {}
  PyObject* object_ = nullptr;
};

}  // namespace refarray::extension
