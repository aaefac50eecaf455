// Buffer protocol import: from_buffer(), and the checks of an exporter's Py_buffer.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/type_lookup.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/interop_docs.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/foreign_objects.hpp"

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

/// Reads dtype and byte order from format and itemsize.
void read_format(const Py_buffer& buffer, BorrowedElements& out, Copying& copying) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  auto dtype = dtype_of_format(format);
  if (!dtype && (format[0] == '<' || format[0] == '>' || format[0] == '!')) {
    dtype = dtype_of_format(std::string("=").append(format + 1));
    out.swapped = true;
    if (dtype && !copying.permits()) dtype.reset();
  }
  if (!dtype) {
    constexpr std::size_t kLongest = 60;
    refuse_protocol("buffer: format '", std::string_view(format).substr(0, kLongest),
                    "' is not a single number in native byte order; pass dtype= to read the bytes");
  }
  if (buffer.itemsize != dtype->itemsize()) {
    core::fail(Fault::kBuffer, "buffer: itemsize is ", buffer.itemsize, "; format '", format,
               "' has ", dtype->itemsize());
  }
  out.dtype = *dtype;
}

/// Reads shape and strides.
void read_layout(const Py_buffer& buffer, BorrowedElements& elements) {
  if (buffer.ndim < 0 || buffer.ndim > core::kMaxRank) {
    core::fail(Fault::kBuffer, "buffer: ndim is ", buffer.ndim, "; it must be 0 to ",
               core::kMaxRank);
  }
  core::Layout& out = elements.layout;
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
  elements.strided = buffer.strides != nullptr;
  for (int axis = 0; elements.strided && axis < out.ndim; ++axis)
    out.strides[axis] = buffer.strides[axis];
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

/// Whether the class has `__buffer__ = None`, which the interpreter takes for a method.
bool opts_out(const State& state, PyObject* object) {
  return find_on_type(state, Py_TYPE(object), state.get(Slot::kBufferName)).get() == Py_None;
}

Ref from_buffer(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<2> kSignature{"from_buffer", {Key::kObj, Key::kDtype}, 1, 1};
  State& state = State::of_module(module);
  const auto [object, dtype] = bind(kSignature, state, args, nargs, kwnames);
  if (is_given(dtype))
    return array_over_bytes(state, object, to_dtype(state, dtype), std::nullopt, false);
  Copying never{.allowed = false};
  Ref out = array_from_buffer(state, object, never);
  if (out) return out;
  core::fail(Fault::kType, "from_buffer needs an object with the buffer protocol, not ",
             type_name(object));
}

}  // namespace

Ref array_from_buffer(State& state, PyObject* object, Copying& copying) {
  if (PyObject_CheckBuffer(object) == 0 || opts_out(state, object)) return {};
  BufferPtr buffer = acquire_buffer(state, object, PyBUF_FULL_RO);
  // NumPy's time scalars export the bytes of their count of units.
  if (buffer->itemsize == 1 && is_time_scalar(state, object)) {
    refuse_protocol("buffer: a ", type_name(object),
                    " exports bytes without a format; pass dtype= to read them");
  }
  BorrowedElements elements{.source = "buffer"};
  read_format(*buffer, elements, copying);
  read_layout(*buffer, elements);
  BorrowedMemory memory = borrow(object, std::move(buffer), false);
  memory.len = memory.buffer->len;
  return array_over_borrowed(state, std::move(memory), elements, copying);
}

Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly) {
  if (PyObject_CheckBuffer(exporter) == 0) {
    core::fail(Fault::kType, "an object with the buffer protocol is needed, not ",
               type_name(exporter));
  }
  BufferPtr buffer = acquire_buffer(state, exporter, PyBUF_SIMPLE);
  Copying never{.allowed = false};
  BorrowedElements elements{.source = "buffer", .dtype = dtype};
  if (!shape) {
    elements.layout.push(count_elements(buffer->len, dtype), 0);
    return array_over_borrowed(state, borrow(exporter, std::move(buffer), readonly), elements,
                               never);
  }
  const std::int64_t nbytes = core::checked_nbytes(core::checked_size(*shape), dtype);
  if (nbytes != buffer->len) {
    core::fail(Fault::kValue, "the buffer has ", buffer->len, " bytes; shape ",
               core::shape_text(*shape), " of ", core::name(dtype), " takes ", nbytes);
  }
  elements.layout = core::c_layout(*shape);
  return array_over_borrowed(state, borrow(exporter, std::move(buffer), readonly), elements, never);
}

PyMethodDef kBufferFunctions[] = {
    {"from_buffer", method<from_buffer>(), METH_FASTCALL | METH_KEYWORDS, kFromBufferDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
