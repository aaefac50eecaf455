// Buffer protocol import: from_buffer(), and the checks of an exporter's Py_buffer.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/docstrings.hpp"
#include "extension/interop/protocol_order.hpp"
#include "extension/interop/scalars.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

BorrowedMemory borrow(PyObject* exporter, BufferPtr buffer, bool readonly) {
  BorrowedMemory out;
  if (buffer->obj == nullptr) out.owner = Ref::borrow(exporter);  // the buffer holds no reference
  out.data = buffer->buf;
  out.readonly = readonly || buffer->readonly != 0;
  out.buffer = std::move(buffer);
  return out;
}

/// The dtype that format and itemsize describe.
core::DType dtype_of(const Py_buffer& buffer) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const auto dtype = dtype_of_format(format);
  if (!dtype) {
    constexpr std::size_t kLongest = 60;
    refuse_protocol("buffer: format '", std::string_view(format).substr(0, kLongest),
                    "' is not a single number in native byte order; pass dtype= to read the bytes");
  }
  if (buffer.itemsize != dtype->itemsize()) {
    core::fail(Fault::kBuffer, "buffer: itemsize is ", buffer.itemsize, "; format '", format,
               "' has ", dtype->itemsize());
  }
  return *dtype;
}

/// Shape and strides (in elements) of a buffer.
core::Layout layout_of(const Py_buffer& buffer) {
  if (buffer.ndim < 0 || buffer.ndim > core::kMaxRank) {
    core::fail(Fault::kBuffer, "buffer: ndim is ", buffer.ndim, "; it must be 0 to ",
               core::kMaxRank);
  }
  core::Layout out;
  out.ndim = buffer.ndim;
  if (out.ndim > 0 && buffer.shape == nullptr)
    core::fail(Fault::kBuffer, "buffer: shape is NULL, ndim ", out.ndim);
  for (int axis = 0; axis < out.ndim; ++axis) {
    out.shape[axis] = buffer.shape[axis];
    if (buffer.suboffsets != nullptr && buffer.suboffsets[axis] >= 0) {
      refuse_protocol("buffer: suboffsets[", axis, "] is ", buffer.suboffsets[axis],
                      "; indirect buffers are not supported");
    }
  }
  if (buffer.strides == nullptr) return out;
  for (int axis = 0; axis < out.ndim; ++axis) out.strides[axis] = buffer.strides[axis];
  convert_strides_to_elements("buffer", buffer.itemsize, out);
  return out;
}

/// The number of elements of `dtype` in `nbytes` bytes.
std::int64_t count_elements(std::int64_t nbytes, const core::DType& dtype) {
  const std::int64_t element_bits = dtype.stored_bits();
  if (nbytes > INT64_MAX / 8)
    core::fail(Fault::kOverflow, "the buffer has ", nbytes, " bytes; the limit is 2**60");
  if (nbytes * 8 % element_bits == 0) return nbytes * 8 / element_bits;
  core::fail(Fault::kValue, "the buffer has ", nbytes, " bytes (", nbytes * 8,
             " bits), not a multiple of the ", element_bits, " bits of a ", core::name(dtype),
             " element");
}

Ref from_buffer(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<2> kSignature{"from_buffer", {Key::kObj, Key::kDtype}, 1, 1};
  State& state = State::of_module(module);
  const auto [object, dtype] = bind(kSignature, state, args, nargs, kwnames);
  if (is_given(dtype))
    return array_over_bytes(state, object, to_dtype(state, dtype), std::nullopt, false);
  Ref out = array_from_buffer(state, object);
  if (out) return out;
  core::fail(Fault::kType, "from_buffer needs an object with the buffer protocol, not ",
             type_name(object));
}

}  // namespace

Ref array_from_buffer(State& state, PyObject* object) {
  if (PyObject_CheckBuffer(object) == 0) return {};
  BufferPtr buffer = acquire_buffer(state, object, PyBUF_FULL_RO);
  // NumPy's time scalars export the bytes of their count of units.
  if (buffer->itemsize == 1 && is_time_scalar(state, object)) {
    refuse_protocol("buffer: a ", type_name(object),
                    " exports bytes without a format; pass dtype= to read them");
  }
  const core::DType dtype = dtype_of(*buffer);
  const core::Layout layout = layout_of(*buffer);
  const std::int64_t* strides = buffer->strides == nullptr ? nullptr : layout.strides;
  BorrowedMemory memory = borrow(object, std::move(buffer), false);
  memory.len = memory.buffer->len;
  return array_over_borrowed(state, std::move(memory), dtype, layout.extents(), strides);
}

Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly) {
  if (PyObject_CheckBuffer(exporter) == 0) {
    core::fail(Fault::kType, "an object with the buffer protocol is needed, not ",
               type_name(exporter));
  }
  BufferPtr buffer = acquire_buffer(state, exporter, PyBUF_SIMPLE);
  if (!shape) {
    const std::int64_t count[] = {count_elements(buffer->len, dtype)};
    return array_over_borrowed(state, borrow(exporter, std::move(buffer), readonly), dtype, count,
                               nullptr);
  }
  const std::int64_t nbytes = core::checked_nbytes(core::checked_size(*shape), dtype);
  if (nbytes != buffer->len) {
    core::fail(Fault::kValue, "the buffer has ", buffer->len, " bytes; shape ",
               core::shape_text(*shape), " of ", core::name(dtype), " takes ", nbytes);
  }
  return array_over_borrowed(state, borrow(exporter, std::move(buffer), readonly), dtype, *shape,
                             nullptr);
}

PyMethodDef kBufferFunctions[] = {
    {"from_buffer", method<from_buffer>(), METH_FASTCALL | METH_KEYWORDS, kFromBufferDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
