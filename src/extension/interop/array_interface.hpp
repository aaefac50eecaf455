// __array_interface__, __array_struct__ and __cuda_array_interface__: typestr codes, import, byte
// strides, and a reader of the fields that both dicts have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/array.hpp"
#include "core/error.hpp"
#include "core/layout.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/objects/foreign_objects.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// The version that we export.
inline constexpr int kInterfaceVersion = 3;

/// The typestr of a dtype: byte order, kind, bytes, as in "<f4". Nothing if the dtype has none.
std::optional<std::string> typestr_of(const core::DType& dtype);
/// The dtype of a typestr, in which the byte order may be '=' or missing, as NumPy reads it.
/// Nothing for unsupported types and for non-native byte order.
std::optional<core::DType> dtype_of_typestr(std::string_view typestr) noexcept;

/// A validated view of the host memory that the object's __array_interface__ describes, or a copy
/// of what cannot be shared; an empty Ref if the object has no such attribute. Throws
/// ProtocolRefused for unsupported contents (dtype, mask), BufferError for a malformed dict,
/// TypeError if the attribute is not a dict.
Ref array_from_interface(State& state, PyObject* object, Copying& copying);

/// The same for an __array_struct__ attribute, a capsule with the interface as a C struct.
Ref array_from_struct(State& state, PyObject* object, Copying& copying);

/// The same for CUDA memory and __cuda_array_interface__, but elements of the other byte order are
/// refused. Our work on the memory is ordered after the work in the stream that the dict names.
Ref array_from_cuda_interface(State& state, PyObject* object, Copying& copying);

/// A tuple of strides in bytes, or None for a row-major array.
Ref byte_strides_of(const core::ArrayView& array);

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
