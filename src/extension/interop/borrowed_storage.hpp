// Owns arrays over host memory that a Python object answers for: a buffer that is held, or an owner
// that is kept alive.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// Releasing runs the exporter's code, which must neither see nor change the exception that is on
/// its way.
struct ReleaseBuffer {
  void operator()(Py_buffer* buffer) const noexcept;
};
/// Owns a buffer; on the heap, because exporters may point into the struct.
using HeldBuffer = std::unique_ptr<Py_buffer, ReleaseBuffer>;

/// What the exporter gives for `flags`. Throws what it raises: OfferRefused for a BufferError, and
/// for ValueError and TypeError, by which NumPy says the same; BufferError when it fails in
/// silence.
HeldBuffer hold_buffer(PyObject* exporter, int flags);

/// Host memory, and who keeps it.
struct Borrowed {
  HeldBuffer buffer;  // empty when `owner` alone keeps the memory
  Ref owner;          // empty when the buffer does
  void* data = nullptr;
  bool readonly = false;
  std::int64_t offset = 0;              // bytes from data to the first element; not negative
  std::optional<std::int64_t> nbytes;   // bytes from data on that are known to be there
  std::optional<std::int64_t> payload;  // bytes of all elements together, by the exporter's word
};

/// The one way from borrowed memory to an array: described as a DLTensor, through the validator
/// (CONS-07). `strides` in elements; nullptr: row-major. Throws BufferError.
Ref array_over_borrowed(State& state, Borrowed memory, const core::DType& dtype,
                        core::Extents shape, const std::int64_t* strides);

/// Makes elements of the strides in `layout`, which are in bytes. Where a stride carries no meaning
/// (one element or none on the axis) it may be anything; elsewhere it is refused unless a multiple
/// of `itemsize`, which is not 0. `from` begins the message.
void count_strides_in_elements(const char* from, std::int64_t itemsize, core::Layout& layout);

}  // namespace refarray::extension
