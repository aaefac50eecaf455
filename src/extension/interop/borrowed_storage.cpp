// Owns the one storage that holds a Python object, and what is checked before there is an array
// over it.
#include "extension/interop/borrowed_storage.hpp"

#include "core/error.hpp"
#include "dlpack/import.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// Keeps a buffer or an owner until the last array over it, in whatever library, has gone. When
/// that is after the end of the interpreter, nobody is left to release it to: the object is then
/// left alone on purpose.
class BorrowedStorage final : public core::Storage {
 public:
  BorrowedStorage(Borrowed&& memory, InterpreterLease& lease) noexcept
      : Storage(static_cast<std::byte*>(memory.data), core::Device{}, !memory.readonly,
                /*foreign=*/true, &destroy),
        lease_(lease.share()),
        buffer_(std::move(memory.buffer)),
        owner_(std::move(memory.owner)) {}

 private:
  static void destroy(Storage* storage) noexcept {
    auto* self = static_cast<BorrowedStorage*>(storage);
    if (!self->lease_->enter([self] { self->let_go(); })) {
      (void)self->buffer_.release();
      (void)self->owner_.release();
    }
    self->lease_->drop();
    delete self;
  }

  void let_go() noexcept {
    const ErrorGuard guard;
    buffer_.reset();
    compat::park_at_exit([this] { owner_ = Ref(); });
  }

  InterpreterLease* lease_;  // one reference
  HeldBuffer buffer_;
  Ref owner_;
};

/// A shape that takes more or fewer bytes than were exported would be a lie of the exporter about
/// its own memory.
void check_payload(std::int64_t payload, const core::Array& array) {
  const std::int64_t nbytes = core::nbytes_of(core::size_of(array.layout.extents()), array.dtype);
  if (payload == nbytes) return;
  core::fail(Fault::kBuffer, "buffer: len is ", payload, " bytes; shape and itemsize make ",
             nbytes);
}

/// Of a tensor that the validator has passed, whose offsets therefore fit.
void check_bounds(std::int64_t offset, std::int64_t nbytes, const core::Array& array) {
  const core::Layout& layout = array.layout;
  if (core::size_of(layout.extents()) == 0) return;
  const core::BitRange range =
      core::checked_bit_range(layout.extents(), layout.stride_span(), array.dtype);
  const std::int64_t low = range.first_byte();
  const std::int64_t high = range.end_byte();
  if (offset <= nbytes && low >= -offset && high <= nbytes - offset) return;
  core::fail(Fault::kBuffer, "the elements take bytes ", low, " to ", high, " from offset ", offset,
             "; the buffer has ", nbytes);
}

}  // namespace

void ReleaseBuffer::operator()(Py_buffer* buffer) const noexcept {
  const ErrorGuard guard;
  compat::park_at_exit([buffer] { PyBuffer_Release(buffer); });
  delete buffer;
}

HeldBuffer hold_buffer(PyObject* exporter, int flags) {
  auto buffer = std::make_unique<Py_buffer>();
  if (calling<PyObject_GetBuffer>(exporter, buffer.get(), flags) != 0) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exporter));
    if (PyErr_Occurred() == nullptr)
      raise(PyExc_BufferError, "the buffer protocol of %R failed without saying why", type);
    for (PyObject* saying_no : {PyExc_BufferError, PyExc_ValueError, PyExc_TypeError}) {
      if (PyErr_ExceptionMatches(saying_no) != 0) throw OfferRefused{};
    }
    throw ErrorSet{};
  }
  HeldBuffer held(buffer.release());
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(exporter);  // it said that all is well
  if (held->len < 0) core::fail(Fault::kBuffer, "buffer: len is ", held->len, "; the least is 0");
  return held;
}

Ref array_over_borrowed(State& state, Borrowed memory, const core::DType& dtype,
                        core::Extents shape, const std::int64_t* strides) {
  DLTensor tensor{};
  tensor.data = memory.data;
  tensor.device = dlpack::to_dlpack(core::Device{});
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = dlpack::to_dlpack(dtype);
  tensor.shape = const_cast<std::int64_t*>(shape.data());  // read only
  tensor.strides = const_cast<std::int64_t*>(strides);     // read only; nullptr: row-major
  tensor.byte_offset = static_cast<std::uint64_t>(memory.offset);
  dlpack::TensorContext context{0, dlpack::kVersion.minor, true};
  if (memory.readonly) context.flags |= dlpack::kReadOnly;
  if (dtype.padded) context.flags |= dlpack::kPadded;
  dlpack::Imported in;
  dlpack::validate(tensor, context, in);
  if (memory.payload) check_payload(*memory.payload, in.array);
  if (memory.nbytes) check_bounds(memory.offset, *memory.nbytes, in.array);
  in.array.storage = core::StoragePtr::steal(new BorrowedStorage(std::move(memory), *state.lease));
  return make_array(state, std::move(in.array));
}

void count_strides_in_elements(const char* from, std::int64_t itemsize, core::Layout& layout) {
  for (int axis = 0; axis < layout.ndim; ++axis) {
    std::int64_t& stride = layout.strides[axis];
    const bool whole = stride % itemsize == 0;
    if (!whole && layout.shape[axis] > 1) {
      refuse_offer(from, ": strides[", axis, "] is ", stride,
                   " bytes; it must be a multiple of itemsize, ", itemsize);
    }
    stride = whole ? stride / itemsize : 1;
  }
}

}  // namespace refarray::extension
