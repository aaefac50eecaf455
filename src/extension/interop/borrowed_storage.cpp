// The storage that keeps a Python object alive, and the checks before an array is created over it.
#include "extension/interop/borrowed_storage.hpp"

#include "core/error.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/gil.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// Holds a buffer or an owning object until the last array over it, in any library, is gone. If the
/// interpreter has ended by then, the object is leaked on purpose: nobody can release it any more.
class BorrowedStorage final : public core::Storage {
 public:
  BorrowedStorage(BorrowedMemory&& memory, InterpreterLease& lease) noexcept
      : Storage(static_cast<std::byte*>(memory.data), core::Device{}, !memory.readonly,
                /*foreign=*/true, &destroy),
        lease_(lease.share()),
        buffer_(std::move(memory.buffer)),
        owner_(std::move(memory.owner)),
        description_(std::move(memory.description)) {}

 private:
  static void destroy(Storage* storage) noexcept {
    auto* self = static_cast<BorrowedStorage*>(storage);
    if (!self->lease_->enter([self] { self->release_objects(); })) {
      delete self->buffer_.release();  // only the struct: its object is leaked
      (void)self->owner_.release();
      (void)self->description_.release();
    }
    self->lease_->drop();
    delete self;
  }

  void release_objects() noexcept {
    const ErrorGuard guard;
    buffer_.reset();
    description_ = Ref();
    owner_ = Ref();
  }

  InterpreterLease* lease_;  // owns one reference
  BufferPtr buffer_;
  Ref owner_;
  Ref description_;
};

/// The array of ours behind the memory: the exporter itself, or what a memoryview or a PickleBuffer
/// is of. Empty if there is none.
Ref own_exporter(const BorrowedMemory& memory) {
  PyObject* exporter = memory.owner ? memory.owner.get() : memory.buffer->obj;
  Ref under =
      PyMemoryView_Check(exporter) ? compat::memoryview_exporter(exporter) : Ref::borrow(exporter);
  return under && is_any_array(under.get()) ? std::move(under) : Ref();
}

/// The storage of the array of ours behind the memory, as for our own managed tensors: otherwise
/// each exchange would add a holder to a chain. nullptr if there is no such array, if its storage
/// has another device, or if the elements are not inside the array.
core::StoragePtr open_own(const BorrowedMemory& memory, const core::Array& array) {
  const Ref own = own_exporter(memory);
  if (!own) return {};
  const core::ArrayView from = view_of(own.get());
  if (from.device() != core::Device{} || !core::lies_within(array, from)) return {};
  return share_storage(own.get());
}

/// PEP 3118: len must equal product(shape) * itemsize.
void check_len(std::int64_t len, const core::Array& array) {
  const std::int64_t nbytes = core::nbytes_of(core::size_of(array.layout.extents()), array.dtype);
  if (len == nbytes) return;
  core::fail(Fault::kBuffer, "buffer: len is ", len, " bytes; shape and itemsize require ", nbytes);
}

/// Checks that all elements lie inside the buffer's `nbytes` bytes. The array must be validated
/// already, so that the arithmetic cannot overflow.
void check_bounds(std::int64_t offset, std::int64_t nbytes, const core::Array& array) {
  const core::Layout& layout = array.layout;
  if (core::size_of(layout.extents()) == 0) return;
  const core::BitRange range =
      core::checked_bit_range(layout.extents(), layout.stride_span(), array.dtype);
  const std::int64_t low = range.first_byte();
  const std::int64_t high = range.end_byte();
  if (offset <= nbytes && low >= -offset && high <= nbytes - offset) return;
  core::fail(Fault::kBuffer, "the elements occupy bytes ", low, " to ", high, " from offset ",
             offset, "; the buffer has ", nbytes, " bytes");
}

}  // namespace

void BufferDeleter::operator()(Py_buffer* buffer) const noexcept {
  const ErrorGuard guard;
  compat::park_at_exit([buffer] { PyBuffer_Release(buffer); });
  delete buffer;
}

BufferPtr acquire_buffer(const State& state, PyObject* exporter, int flags) {
  refuse_masked(state, exporter);
  auto buffer = std::make_unique<Py_buffer>();
  if (calling<PyObject_GetBuffer>(exporter, buffer.get(), flags) != 0) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exporter));
    if (PyErr_Occurred() == nullptr)
      raise(PyExc_BufferError, "the buffer protocol of %R failed without an exception", type);
    for (PyObject* refusal : {PyExc_BufferError, PyExc_ValueError, PyExc_TypeError}) {
      if (PyErr_ExceptionMatches(refusal) != 0) throw ProtocolRefused{};
    }
    throw ErrorSet{};
  }
  BufferPtr acquired(buffer.release());
  if (PyErr_Occurred() != nullptr) report_unraisable(exporter);  // set despite success
  if (acquired->len < 0)
    core::fail(Fault::kBuffer, "buffer: len is ", acquired->len, "; the minimum is 0");
  return acquired;
}

namespace {

/// The first axis of two or more that does not step over whole elements; ndim if there is none.
int find_odd_stride(const BorrowedElements& elements) noexcept {
  const core::Layout& layout = elements.layout;
  int axis = elements.strided ? 0 : layout.ndim;
  while (axis < layout.ndim &&
         (layout.shape[axis] <= 1 || layout.strides[axis] % elements.dtype.itemsize() == 0))
    ++axis;
  return axis;
}

/// Fills in the strides of row-major elements. The validator refuses what wraps around.
void fill_strides(BorrowedElements& elements) noexcept {
  core::Layout& layout = elements.layout;
  std::int64_t stride = elements.dtype.itemsize();
  for (int axis = layout.ndim - 1; axis >= 0; --axis) {
    layout.strides[axis] = stride;
    stride = core::wrapped_product(stride, layout.shape[axis]);
  }
  elements.strided = true;
}

}  // namespace

void prepare_elements(BorrowedElements& elements, Copying& copying) {
  core::Layout& layout = elements.layout;
  const std::int64_t itemsize = elements.dtype.itemsize();
  const int odd = find_odd_stride(elements);
  if (odd == layout.ndim && !elements.swapped) {
    for (int axis = 0; elements.strided && axis < layout.ndim; ++axis) {
      std::int64_t& stride = layout.strides[axis];
      stride = stride % itemsize == 0 ? stride / itemsize : 1;  // 1: without meaning there
    }
    return;
  }
  if (odd < layout.ndim && !copying.permits()) {
    refuse_protocol(elements.source, ": strides[", odd, "] is ", layout.strides[odd],
                    " bytes; it must be a multiple of itemsize, ", itemsize);
  }
  constexpr int kMost = core::kMaxRank - 2;
  if (layout.ndim > kMost) {
    refuse_protocol(elements.source, ": ndim is ", layout.ndim,
                    "; elements with odd strides or another byte order have at most ", kMost,
                    " axes");
  }
  if (!elements.strided) fill_strides(elements);
  const std::int64_t numbers = elements.dtype.kind == core::Kind::kComplex ? 2 : 1;
  const std::int64_t width = itemsize / numbers;
  layout.push(numbers, width);
  layout.push(width, elements.swapped ? -1 : 1);
  elements.first_byte = elements.swapped ? width - 1 : 0;
  elements.byte_axes = 2;
}

core::Array from_bytes(const core::ArrayView& bytes, const BorrowedElements& elements) {
  core::Array out = copy_to_new(bytes, bytes.dtype, bytes.device());
  out.dtype = elements.dtype;
  out.layout = core::c_layout(
      bytes.extents().first(static_cast<std::size_t>(bytes.ndim - elements.byte_axes)));
  return out;
}

Ref array_over_borrowed(State& state, BorrowedMemory memory, BorrowedElements elements,
                        Copying& copying) {
  prepare_elements(elements, copying);
  memory.offset += elements.first_byte;
  const core::DType dtype = elements.shared_dtype();
  core::Layout& layout = elements.layout;
  DLTensor tensor{};
  tensor.data = memory.data;
  tensor.device = dlpack::to_dlpack(core::Device{});
  tensor.ndim = layout.ndim;
  tensor.dtype = dlpack::to_dlpack(dtype);
  tensor.shape = layout.shape;
  tensor.strides = elements.strided ? layout.strides : nullptr;  // nullptr: row-major
  tensor.byte_offset = static_cast<std::uint64_t>(memory.offset);
  dlpack::TensorContext context{0, dlpack::kVersion.minor};
  if (memory.readonly) context.flags |= dlpack::kReadOnly;
  if (dtype.padded) context.flags |= dlpack::kPadded;
  dlpack::Imported in;
  dlpack::validate(tensor, context, in);
  if (memory.len) check_len(*memory.len, in.array);
  if (memory.nbytes) check_bounds(memory.offset, *memory.nbytes, in.array);
  in.array.storage = open_own(memory, in.array);
  if (!in.array.storage) {
    in.array.storage =
        core::StoragePtr::steal(new BorrowedStorage(std::move(memory), *state.lease));
  }
  if (elements.byte_axes == 0) return make_array(state, std::move(in.array));
  core::Array copy = from_bytes(in.array, elements);
  drop_storage(std::move(in.array.storage));
  copying.done = true;
  return make_array(state, std::move(copy));
}

}  // namespace refarray::extension
