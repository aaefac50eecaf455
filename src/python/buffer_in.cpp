// Owns arrays over other objects' buffers: the one storage that holds a Python object, and what is
// checked before.
#include <cstdint>
#include <memory>
#include <string>

#include "args.hpp"
#include "buffer.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "methods.hpp"
#include "object.hpp"
#include "refarray/core/error.hpp"
#include "refarray/dlpack/import.hpp"
#include "values.hpp"
#include "words.hpp"

namespace refarray::python {
namespace {

using core::Fault;

/// Releasing runs the exporter's code, which must neither see nor change the exception that is on
/// its way.
struct ReleaseBuffer {
  void operator()(Py_buffer* buffer) const noexcept {
    const ErrorGuard guard;
    compat::park_at_exit([buffer] { PyBuffer_Release(buffer); });
    delete buffer;
  }
};
/// Owns a buffer; on the heap, because exporters may point into the struct.
using HeldBuffer = std::unique_ptr<Py_buffer, ReleaseBuffer>;

/// Keeps a buffer until the last array over it, in whatever library, has gone. When that is after
/// the end of the interpreter, nobody is left to release it to: buffer and exporter are then left
/// alone on purpose.
class BufferStorage final : public core::Storage {
 public:
  BufferStorage(HeldBuffer buffer, InterpreterLease& lease) noexcept
      : Storage(static_cast<std::byte*>(buffer->buf), core::Device{}, buffer->readonly == 0,
                /*foreign=*/true, &destroy),
        lease_(lease.share()),
        buffer_(buffer.release()) {}

 private:
  static void destroy(Storage* storage) noexcept {
    auto* self = static_cast<BufferStorage*>(storage);
    self->lease_->enter([self] { ReleaseBuffer{}(self->buffer_); });
    self->lease_->drop();
    delete self;
  }

  InterpreterLease* lease_;  // one reference
  Py_buffer* buffer_;        // owned
};

HeldBuffer hold(PyObject* exporter, int flags) {
  auto buffer = std::make_unique<Py_buffer>();
  check(calling<PyObject_GetBuffer>(exporter, buffer.get(), flags));
  HeldBuffer held(buffer.release());
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(exporter);  // it said that all is well
  if (held->len < 0) core::fail(Fault::kBuffer, "buffer: len is ", held->len, "; the least is 0");
  return held;
}

/// A shape whose elements lie outside the bytes that were exported would be a lie of the exporter
/// about its own memory.
void check_length(const Py_buffer& buffer, const core::Array& described) {
  const std::int64_t nbytes =
      core::nbytes_of(core::size_of(described.layout.extents()), described.dtype);
  if (nbytes == buffer.len) return;
  core::fail(Fault::kBuffer, "buffer: len is ", buffer.len, " bytes; shape and itemsize make ",
             nbytes);
}

/// The one way from a buffer to an array: described as a DLTensor, through the validator (CONS-07).
Ref wrap(State& state, HeldBuffer buffer, const core::DType& dtype, core::Extents shape,
         const std::int64_t* strides, bool readonly) {
  DLTensor tensor{};
  tensor.data = buffer->buf;
  tensor.device = dlpack::to_dlpack(core::Device{});
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = dlpack::to_dlpack(dtype);
  tensor.shape = const_cast<std::int64_t*>(shape.data());  // read only
  tensor.strides = const_cast<std::int64_t*>(strides);     // read only; nullptr: row-major
  dlpack::TensorContext context{0, dlpack::kVersion.minor, true};
  if (readonly || buffer->readonly != 0) context.flags |= dlpack::kReadOnly;
  if (dtype.padded) context.flags |= dlpack::kPadded;
  dlpack::Imported in;
  dlpack::validate(tensor, context, in);
  check_length(*buffer, in.array);
  in.array.storage = core::StoragePtr::steal(new BufferStorage(std::move(buffer), *state.lease));
  return make_array(state, std::move(in.array));
}

/// What an exporter says about its elements, in our words.
core::DType described_dtype(const Py_buffer& buffer) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const auto dtype = dtype_of_format(format);
  if (!dtype) {
    constexpr std::size_t kLongest = 60;
    core::fail(Fault::kBuffer, "buffer: format '", std::string(format).substr(0, kLongest),
               "' is no single number in this machine's byte order; give dtype= to read its bytes");
  }
  if (buffer.itemsize != dtype->itemsize()) {
    core::fail(Fault::kBuffer, "buffer: itemsize is ", buffer.itemsize, "; format '", format,
               "' has ", dtype->itemsize());
  }
  return *dtype;
}

/// Strides in elements. Where they carry no meaning (one element or none on the axis) they may be
/// anything.
void element_strides(const Py_buffer& buffer, core::Layout& out) {
  for (int axis = 0; axis < out.ndim; ++axis) {
    const Py_ssize_t stride = buffer.strides[axis];
    const bool whole = stride % buffer.itemsize == 0;
    if (!whole && out.shape[axis] > 1) {
      core::fail(Fault::kBuffer, "buffer: strides[", axis, "] is ", stride,
                 " bytes; it must be a multiple of itemsize, ", buffer.itemsize);
    }
    out.strides[axis] = whole ? stride / buffer.itemsize : 1;
  }
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
      core::fail(Fault::kBuffer, "buffer: suboffsets[", axis, "] is ", buffer.suboffsets[axis],
                 "; elements behind pointers cannot be described");
    }
  }
  if (buffer.strides != nullptr) element_strides(buffer, out);
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
  HeldBuffer buffer = hold(object, PyBUF_FULL_RO);
  const core::DType dtype = described_dtype(*buffer);
  const core::Layout layout = described_layout(*buffer);
  const std::int64_t* strides = buffer->strides == nullptr ? nullptr : layout.strides;
  return wrap(state, std::move(buffer), dtype, layout.extents(), strides, false);
}

Ref array_over_bytes(State& state, PyObject* exporter, const core::DType& dtype,
                     std::optional<core::Extents> shape, bool readonly) {
  if (PyObject_CheckBuffer(exporter) == 0) {
    core::fail(Fault::kType, "an object with the buffer protocol is needed, not ",
               type_name(exporter));
  }
  HeldBuffer buffer = hold(exporter, PyBUF_SIMPLE);
  if (!shape) {
    const std::int64_t count[] = {count_elements(buffer->len, dtype)};
    return wrap(state, std::move(buffer), dtype, count, nullptr, readonly);
  }
  const std::int64_t nbytes = core::checked_nbytes(core::checked_size(*shape), dtype);
  if (nbytes != buffer->len) {
    core::fail(Fault::kValue, "the buffer has ", buffer->len, " bytes; shape ",
               core::shape_text(*shape), " of ", core::name(dtype), " takes ", nbytes);
  }
  return wrap(state, std::move(buffer), dtype, *shape, nullptr, readonly);
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

}  // namespace refarray::python
