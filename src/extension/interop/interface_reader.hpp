// Reads the fields that the dicts of __array_interface__ and __cuda_array_interface__ share.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "core/layout.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {

/// A copy of the dict, so that code that runs while it is read cannot change or drop its values.
class Fields {
 public:
  explicit Fields(PyObject* dict) : dict_(check(calling<PyDict_Copy>(dict))) {}

  /// The value as a borrowed reference; nullptr if the key is missing or its value is None.
  PyObject* get(const char* key) const {
    const Ref name = check(PyUnicode_InternFromString(key));
    PyObject* value = calling<PyDict_GetItemWithError>(dict_.get(), name.get());
    if (value == nullptr && PyErr_Occurred() != nullptr) throw ErrorSet{};
    return value == Py_None ? nullptr : value;
  }
  PyObject* dict() const noexcept { return dict_.get(); }

 private:
  Ref dict_;
};

/// The object's attribute under the interned `name`, or an empty Ref if it has none or it is None.
/// Throws ProtocolRefused if the object raises BufferError.
Ref find_interface(PyObject* object, PyObject* name);

/// Reads one of the two interfaces. Its error messages begin with the interface's name.
class InterfaceReader {
 public:
  explicit InterfaceReader(const char* name) noexcept : name_(name) {}

  /// Throws a BufferError about the dict.
  template <class... Parts>
  [[noreturn]] void fail_malformed(const Parts&... parts) const {
    core::fail(core::Fault::kBuffer, name_, ": ", parts...);
  }

  /// The object's dict under the interned `name`; an empty Ref if it has no such attribute or the
  /// attribute is None.
  Ref find(PyObject* object, PyObject* name) const;
  std::int64_t to_integer(PyObject* object, const std::string& what) const;
  /// Reads typestr, shape and strides.
  BorrowedElements read_elements(const Fields& fields, Copying& copying) const;
  /// Memory given as (address, read-only). The interface requires consumers to keep `object` alive;
  /// the dict is kept as well, because NumPy's scalars put the memory's owner into it.
  BorrowedMemory memory_at_address(PyObject* object, const Fields& fields, PyObject* pair,
                                   std::int64_t offset) const;
  /// The memory in the "data" field; without that field, the object's own buffer.
  BorrowedMemory read_data(State& state, PyObject* object, const Fields& fields) const;
  /// Throws ProtocolRefused if there is a mask.
  void reject_mask(const Fields& fields) const;

 private:
  void read_typestr(const Fields& fields, BorrowedElements& out, Copying& copying) const;
  int read_tuple(PyObject* object, const char* what, std::int64_t* out) const;
  BorrowedMemory memory_in_buffer(State& state, PyObject* exporter, std::int64_t offset) const;

  const char* name_;
};

}  // namespace refarray::extension
