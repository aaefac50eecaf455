// Owns reading what __array_interface__ and __cuda_array_interface__ have in common: a dict, and
// what of it is refused.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "core/layout.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {

/// A private copy of the dict: whatever code runs while it is read, its values stay.
class Fields {
 public:
  explicit Fields(PyObject* dict) : dict_(check(PyDict_Copy(dict))) {}

  /// Borrowed; nullptr when the key is not there or its value is None, which mean the same.
  PyObject* get(const char* key) const {
    const Ref name = check(PyUnicode_InternFromString(key));
    PyObject* value = calling<PyDict_GetItemWithError>(dict_.get(), name.get());
    if (value == nullptr && PyErr_Occurred() != nullptr) throw ErrorSet{};
    return value == Py_None ? nullptr : value;
  }

 private:
  Ref dict_;
};

/// Reads one of the two interfaces; errors begin with its name.
class InterfaceReader {
 public:
  explicit InterfaceReader(const char* name) noexcept : name_(name) {}

  /// BufferError about the dict.
  template <class... Parts>
  [[noreturn]] void malformed(const Parts&... parts) const {
    core::fail(core::Fault::kBuffer, name_, ": ", parts...);
  }

  /// The dict under the interned `name`; an empty Ref when there is none: no such attribute, or
  /// None.
  Ref look_up(PyObject* object, PyObject* name) const;
  std::int64_t to_integer(PyObject* object, const std::string& what) const;
  core::DType read_typestr(const Fields& fields) const;
  /// Shape and, unless there are none, strides in elements; returns whether there are.
  bool read_layout(const Fields& fields, const core::DType& dtype, core::Layout& out) const;
  /// (address, read-only): the object itself keeps the memory, as the interface asks consumers to
  /// arrange.
  Borrowed at_address(PyObject* object, PyObject* pair, std::int64_t offset) const;
  /// What "data" says, or without it the object's own buffer.
  Borrowed read_data(PyObject* object, const Fields& fields) const;
  /// Throws OfferRefused when a mask is given.
  void refuse_mask(const Fields& fields) const;

 private:
  int read_tuple(PyObject* tuple, const char* what, std::int64_t* out) const;
  Borrowed in_buffer(PyObject* exporter, std::int64_t offset) const;

  const char* name_;
};

}  // namespace refarray::extension
