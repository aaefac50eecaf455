// What arrays over mapped files need: an array over a part of a buffer, and flush().
#include <cstdint>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/mapped_pages.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr char kOverBufferDoc[] =
    R"doc(_over_buffer($module, buffer, dtype, shape, strides, offset, /)
--

Return an array over a part of a buffer, which it holds.

strides: in elements; None is row-major. offset: bytes from the buffer's first to the
first element. Raises BufferError for elements outside of the buffer.)doc";

constexpr char kFlushDoc[] = R"doc(flush($self, /)
--

Write the pages of the array that have changed to their file, and wait for it.

For arrays of memmap() and open() with mode="r+", and for every other array in the
memory of a mapped file. Without it the system writes them at some time, even if the
process is killed, but not if the machine stops. Does nothing for other memory.

Raises BufferError for memory of a device, and OSError if the system cannot write.
Extension of the array API.)doc";

/// Strides in bytes, as BorrowedElements wants them.
void set_strides(BorrowedElements& elements, const Integers& strides) {
  if (strides.count != elements.layout.ndim) {
    core::fail(Fault::kValue, "strides has ", strides.count, " entries; shape has ",
               elements.layout.ndim);
  }
  elements.strided = true;
  for (int axis = 0; axis < strides.count; ++axis) {
    std::int64_t& out = elements.layout.strides[axis];
    if (__builtin_mul_overflow(strides.values[axis], elements.dtype.itemsize(), &out)) {
      core::fail(Fault::kOverflow, "strides[", axis, "] is ", strides.values[axis],
                 " elements, more than 2**63 - 1 bytes");
    }
  }
}

Ref over_buffer(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  constexpr Py_ssize_t kArguments = 5;
  if (nargs != kArguments)
    raise(PyExc_TypeError, "_over_buffer() takes %zd arguments (%zd given)", kArguments, nargs);
  State& state = State::of_module(module);
  BorrowedElements elements{.source = "buffer", .dtype = to_dtype(state, args[1])};
  elements.layout = core::c_layout(to_shape(args[2]).span());
  if (args[3] != Py_None) set_strides(elements, to_integers(args[3], "strides"));
  const std::int64_t offset = to_int64(args[4], "offset");
  if (offset < 0) core::fail(Fault::kValue, "offset is ", offset, "; it must be 0 or more bytes");
  BorrowedMemory memory;
  memory.buffer = acquire_buffer(state, args[0], PyBUF_SIMPLE);
  memory.data = memory.buffer->buf;
  memory.readonly = memory.buffer->readonly != 0;
  memory.nbytes = memory.buffer->len;
  memory.offset = offset;
  Copying never{.allowed = false};
  return array_over_borrowed(state, std::move(memory), elements, never);
}

Ref flush(PyObject* self, PyObject*) {
  static const SharingWay kFlush{"flush()", &PyExc_BufferError, SharingWay::Reader::kHost};
  require_sharing(self, kFlush);
  const core::ArrayView array = view_of(self);
  if (array.size() == 0) return Ref::borrow(Py_None);
  core::BitRange range = core::checked_bit_range(array.extents(), array.stride_span(), array.dtype);
  range.begin += array.bit;
  range.end += array.bit;
  const auto data = reinterpret_cast<std::uintptr_t>(array.data);
  const std::uintptr_t low = data + static_cast<std::uintptr_t>(range.first_byte());
  const std::uintptr_t high = data + static_cast<std::uintptr_t>(range.end_byte());
  bool written = false;
  {
    const GilRelease released(true);
    written = write_mapped_pages(low, high);
  }
  if (!written) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw ErrorSet{};
  }
  return Ref::borrow(Py_None);
}

}  // namespace

PyMethodDef kFileFunctions[] = {
    {"_over_buffer", method<&over_buffer>(), METH_FASTCALL, kOverBufferDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kFileMethods[] = {
    {"flush", method<&flush>(), METH_NOARGS, kFlushDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
