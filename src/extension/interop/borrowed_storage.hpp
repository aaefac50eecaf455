// Arrays over host memory that a Python object owns: a PEP 3118 buffer or any other object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Calls PyBuffer_Release(), which runs the exporter's code. A pending exception is saved
/// meanwhile.
struct BufferDeleter {
  void operator()(Py_buffer* buffer) const noexcept;
};
/// Owns an acquired buffer. On the heap, because exporters may store pointers into the struct.
using BufferPtr = std::unique_ptr<Py_buffer, BufferDeleter>;

/// PyObject_GetBuffer(). If the exporter raises BufferError, ValueError or TypeError (NumPy raises
/// the latter two), throws ProtocolRefused with that exception set; any other exception propagates.
/// Raises BufferError if the exporter fails without an exception. Refuses masked arrays of NumPy.
BufferPtr acquire_buffer(const State& state, PyObject* exporter, int flags);

/// Host memory and what keeps it alive: `buffer`, or `owner` with `description`.
struct BorrowedMemory {
  BufferPtr buffer;
  Ref owner;        // the exporter
  Ref description;  // its dict or capsule, which may own the memory
  void* data = nullptr;
  bool readonly = false;
  std::int64_t offset = 0;             // bytes from `data` to the first element; not negative
  std::optional<std::int64_t> nbytes;  // bytes that are accessible from `data` on, if known
  std::optional<std::int64_t> len;     // Py_buffer::len: bytes of all elements together
};

/// The elements of borrowed memory as their owner describes them.
struct BorrowedElements {
  const char* source;     // the protocol: the prefix of error messages
  core::DType dtype{};    // of whole bytes, unless row-major
  bool swapped = false;   // each number is in the other byte order
  bool strided = false;   // otherwise row-major
  core::Layout layout{};  // strides in BYTES
  // Set by prepare_elements() for elements that have to be copied:
  int byte_axes = 0;            // the last axes of `layout`: the bytes of an element
  std::int64_t first_byte = 0;  // the offset of the first of them

  core::DType shared_dtype() const noexcept {
    return byte_axes == 0 ? dtype : core::DType{core::Kind::kUInt, 8};
  }
};

/// Whether elements that cannot be shared may be copied, and the outcome.
struct Copying {
  bool allowed;
  bool done = false;
  bool was_needed = false;  // but not allowed

  /// For elements that cannot be shared.
  bool permits() noexcept {
    was_needed = !allowed;
    return allowed;
  }
};

/// A validated array over borrowed memory: described as a DLTensor, it goes through the same
/// validator as every DLPack import (CONS-07). Elements in the other byte order, or with a stride
/// that is no multiple of the item size on an axis of two or more, cannot be shared: they are
/// copied, or ProtocolRefused is thrown. Throws BufferError.
Ref array_over_borrowed(State& state, BorrowedMemory memory, BorrowedElements elements,
                        Copying& copying);

/// For elements that an array can share: converts the strides from bytes to elements. For others:
/// adds two axes for the numbers of an element and the bytes of a number, in native order, so that
/// from_bytes() can copy them. Throws ProtocolRefused if they may not be copied.
void prepare_elements(BorrowedElements& elements, Copying& copying);

/// A new array of the elements whose bytes prepare_elements() described.
core::Array from_bytes(const core::ArrayView& bytes, const BorrowedElements& elements);

}  // namespace refarray::extension
