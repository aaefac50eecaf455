// Arrays over host memory that a Python object owns: a PEP 3118 buffer or any other object.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

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

/// Creates an array over borrowed memory: describes it as a DLTensor, which goes through the same
/// validator as every DLPack import (CONS-07). `strides` are in elements; nullptr means row-major.
/// Throws BufferError.
Ref array_over_borrowed(State& state, BorrowedMemory memory, const core::DType& dtype,
                        core::Extents shape, const std::int64_t* strides);

/// Converts the strides in `layout` from bytes to elements. Throws ProtocolRefused for a stride
/// that is not a multiple of `itemsize` (nonzero), except on axes of extent 0 or 1, where strides
/// have no meaning. `source` is the prefix of the error message.
void convert_strides_to_elements(const char* source, std::int64_t itemsize, core::Layout& layout);

}  // namespace refarray::extension
