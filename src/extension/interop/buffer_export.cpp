// Buffer protocol export: checks the consumer's request and fills in the Py_buffer.
#include <array>
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// A consumer's flags. Several PyBUF_* constants are multi-bit and include others.
struct BufferRequest {
  int flags;
  bool has(int mask) const noexcept { return (flags & mask) == mask; }
};

std::array<std::byte, 1> no_bytes;

void check_contents(const core::ArrayView& array, BufferRequest request) {
  if (request.has(PyBUF_WRITABLE) && !array.writable()) {
    core::fail(Fault::kBuffer, "the array is read-only; a writable buffer was requested");
  }
  if (request.has(PyBUF_FORMAT) && buffer_format(array.dtype) == nullptr) {
    core::fail(Fault::kBuffer, "PEP 3118 has no format for elements of ", core::name(array.dtype),
               "; request a buffer without PyBUF_FORMAT");
  }
  if (request.has(PyBUF_FORMAT) && !request.has(PyBUF_ND)) {
    core::fail(Fault::kBuffer,
               "PyBUF_FORMAT was requested without PyBUF_ND; a buffer without a shape is bytes");
  }
}

void check_order(const core::ArrayView& array, BufferRequest request) {
  const bool rows = core::is_c_contiguous(array.extents(), array.stride_span());
  const bool columns = core::is_f_contiguous(array.extents(), array.stride_span());
  const auto refuse = [&array](const char* requested) {
    core::fail(Fault::kBuffer, "strides are ", core::shape_text(array.stride_span()),
               " elements for shape ", core::shape_text(array.extents()), "; ", requested,
               " was requested");
  };
  if (request.has(PyBUF_C_CONTIGUOUS) && !rows) refuse("a C-contiguous buffer");
  if (request.has(PyBUF_F_CONTIGUOUS) && !columns) refuse("a Fortran-contiguous buffer");
  if (request.has(PyBUF_ANY_CONTIGUOUS) && !rows && !columns) refuse("a contiguous buffer");
  if (!request.has(PyBUF_STRIDES) && !rows)
    refuse("a buffer without strides, which is C-contiguous,");
}

/// Fills in shape and strides (in bytes), allocated together and freed by array_releasebuffer().
void fill_axes(const core::ArrayView& array, BufferRequest request, Py_buffer& out) {
  const auto ndim = static_cast<std::size_t>(array.ndim);
  auto* axes = static_cast<Py_ssize_t*>(PyMem_Malloc(2 * ndim * sizeof(Py_ssize_t)));
  if (axes == nullptr)
    core::fail(Fault::kMemory, "no memory for the shape and strides of a buffer, ndim ",
               array.ndim);
  out.internal = axes;
  out.shape = axes;
  for (std::size_t axis = 0; axis < ndim; ++axis)
    axes[axis] = static_cast<Py_ssize_t>(array.shape[axis]);
  byte_strides(array, axes + ndim);
  if (request.has(PyBUF_STRIDES)) out.strides = axes + ndim;
}

/// Packed elements have no strides in bytes. They are exported as a one-dimensional uint8 view,
/// which refers to `nbytes` and `stride`.
core::ArrayView as_bytes(const core::ArrayView& array, const std::int64_t& nbytes,
                         const std::int64_t& stride) {
  const bool rows = core::is_c_contiguous(array.extents(), array.stride_span());
  if (!rows || array.bit != 0) {
    core::fail(Fault::kBuffer, "strides are ", core::shape_text(array.stride_span()),
               " elements, the first at bit ", int{array.bit}, "; a buffer of packed ",
               core::name(array.dtype), " elements must be C-contiguous and begin at bit 0");
  }
  core::ArrayView out = array;
  out.dtype = {core::Kind::kUInt, 8};
  out.ndim = 1;
  out.shape = &nbytes;
  out.strides = &stride;
  return out;
}

void fill_buffer(PyObject* self, Py_buffer* out, int flags) {
  require_sharing(self, sharing::kBuffer);
  core::ArrayView array = view_of(self);
  const BufferRequest request{flags};
  check_contents(array, request);
  const std::int64_t nbytes = array.nbytes();
  const std::int64_t one = 1;
  if (array.dtype.is_packed()) array = as_bytes(array, nbytes, one);
  check_order(array, request);
  const runtime::Lent lent = lend_to_host(array, "a buffer", array.writable());
  // With poisoned views an array of its own, which is an owner, keeps the memory.
  Ref exporter = is_watched(self) ? alias_array(State::of_object(self), self) : Ref::borrow(self);
  *out = Py_buffer{};
  out->buf = address_of(array, lent);
  out->len = static_cast<Py_ssize_t>(nbytes);
  out->readonly = array.writable() ? 0 : 1;
  out->itemsize = array.dtype.itemsize();  // the format's, even if no format was requested
  if (request.has(PyBUF_ND)) {
    out->ndim = array.ndim;
    if (array.ndim > 0) fill_axes(array, request, *out);
    if (request.has(PyBUF_FORMAT))
      out->format = const_cast<char*>(buffer_format(array.dtype));  // only read
  } else {  // plain bytes: one-dimensional without a shape
    out->ndim = 1;
  }
  out->obj = exporter.release();  // last: from here on the consumer owns the buffer
}

}  // namespace

void* address_of(const core::ArrayView& array, runtime::Lent) noexcept {
  return array.data == nullptr ? no_bytes.data() : array.data;
}

void byte_strides(const core::ArrayView& array, Py_ssize_t* out) noexcept {
  const bool empty = array.size() == 0;
  Py_ssize_t row_major = array.dtype.itemsize();
  for (int axis = array.ndim - 1; axis >= 0; --axis) {
    const auto extent = static_cast<Py_ssize_t>(array.shape[axis]);
    out[axis] = extent > 1 && !empty
                    ? static_cast<Py_ssize_t>(array.strides[axis]) * array.dtype.itemsize()
                    : row_major;
    if (extent > 1) row_major *= extent;
  }
}

int array_getbuffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  if (view == nullptr) {
    PyErr_SetString(PyExc_BufferError, "the buffer to be filled in is NULL");
    return -1;
  }
  view->obj = nullptr;
  return slot<fill_buffer>(self, view, flags);
}

void array_releasebuffer(PyObject*, Py_buffer* view) noexcept {
  PyMem_Free(view->internal);
  view->internal = nullptr;
}

}  // namespace refarray::extension
