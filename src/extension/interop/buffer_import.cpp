// Owns arrays over other objects' buffers: what an exporter says, and whether it can be believed.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/array/values.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// The memory behind a buffer. An exporter that names no object to release it to is kept itself.
Borrowed borrow(PyObject* exporter, HeldBuffer buffer, bool readonly) {
  Borrowed out;
  if (buffer->obj == nullptr) out.owner = Ref::borrow(exporter);
  out.data = buffer->buf;
  out.readonly = readonly || buffer->readonly != 0;
  out.buffer = std::move(buffer);
  return out;
}

/// What an exporter says about its elements, in our words.
core::DType described_dtype(const Py_buffer& buffer) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const auto dtype = dtype_of_format(format);
  if (!dtype) {
    constexpr std::size_t kLongest = 60;
    refuse_offer("buffer: format '", std::string_view(format).substr(0, kLongest),
                 "' is no single number in this machine's byte order; give dtype= to read its "
                 "bytes");
  }
  if (buffer.itemsize != dtype->itemsize()) {
    core::fail(Fault::kBuffer, "buffer: itemsize is ", buffer.itemsize, "; format '", format,
               "' has ", dtype->itemsize());
  }
  return *dtype;
}

core::Layout described_layout(const Py_buffer& buffer) {
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
      refuse_offer("buffer: suboffsets[", axis, "] is ", buffer.suboffsets[axis],
                   "; elements behind pointers cannot be described");
    }
  }
  if (buffer.strides == nullptr) return out;
  for (int axis = 0; axis < out.ndim; ++axis) out.strides[axis] = buffer.strides[axis];
  count_strides_in_elements("buffer", buffer.itemsize, out);
  return out;
}

/// Number of elements of `dtype` in `nbytes` bytes.
std::int64_t count_elements(std::int64_t nbytes, const core::DType& dtype) {
  const std::int64_t step = dtype.stored_bits();
  if (nbytes > INT64_MAX / 8)
    core::fail(Fault::kOverflow, "the buffer has ", nbytes, " bytes; the limit is 2**60");
  if (nbytes * 8 % step == 0) return nbytes * 8 / step;
  core::fail(Fault::kValue, "the buffer has ", nbytes, " bytes, ", nbytes * 8,
             " bits; an element of ", core::name(dtype), " takes ", step,
             " bits, which must divide that");
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
  HeldBuffer buffer = hold_buffer(object, PyBUF_FULL_RO);
  const core::DType dtype = described_dtype(*buffer);
  const core::Layout layout = described_layout(*buffer);
  const std::int64_t* strides = buffer->strides == nullptr ? nullptr : layout.strides;
  Borrowed memory = borrow(object, std::move(buffer), false);
  memory.payload = memory.buffer->len;
  return array_over_borrowed(state, std::move(memory), dtype, layout.extents(), strides);
}

Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly) {
  if (PyObject_CheckBuffer(exporter) == 0) {
    core::fail(Fault::kType, "an object with the buffer protocol is needed, not ",
               type_name(exporter));
  }
  HeldBuffer buffer = hold_buffer(exporter, PyBUF_SIMPLE);
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
    {"from_buffer", method<from_buffer>(), METH_FASTCALL | METH_KEYWORDS,
     "from_buffer($module, obj, /, *, dtype=None)\n--\n\n"
     "An array over the memory that obj exports by the buffer protocol (PEP 3118), never a "
     "copy.\n\n"
     "dtype: None takes shape, strides and dtype from the exporter; its format must be one number "
     "('c' is uint8) in\n"
     "    this machine's byte order. A dtype reads C-contiguous bytes as one axis of such "
     "elements, whatever the\n"
     "    format; their size in bits must divide the buffer's.\n"
     "The array is read-only if the buffer is. It holds the buffer until its last view is gone: a "
     "bytearray cannot be\n"
     "resized nor an mmap closed meanwhile. Raises TypeError when obj has no buffer, BufferError "
     "for one that cannot\n"
     "be described (naming the field, the value and the limit), ValueError when the size does not "
     "divide, and what\n"
     "the exporter raises."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
