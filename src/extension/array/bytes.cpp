// tobytes(), view() and __sizeof__(): the bytes of an array.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr char kTobytesDoc[] = R"doc(tobytes($self, /, order='C')
--

Return a copy of the elements as bytes, without gaps.

order: 'C' or None for row-major order, 'F' for column-major order, 'A' for column-major
    order if the array is Fortran-contiguous and not C-contiguous, else row-major order.

Packed elements of less than a byte stay packed; the bits after the last one are 0.
Device memory is copied to the CPU first. Raises ValueError for another order, TypeError
for an order that is no str.)doc";

constexpr char kViewDoc[] = R"doc(view($self, /, dtype)
--

Return a view of the same bytes as elements of another dtype. Never copies.

If the elements have the same size, the layout stays. Otherwise the last axis, which must
have stride 1, gets the number of new elements in its bytes, and every other stride must
be a whole number of new elements. The view shares and keeps alive the memory, and is
read-only if the array is. bool elements should be 0 or 1 bytes.

Raises ValueError with the numbers if the layout does not permit the view, and for size
changes of arrays of ndim 0.)doc";

constexpr char kSizeofDoc[] = R"doc(__sizeof__($self, /)
--

Return the bytes of the object with the memory that it owns, for sys.getsizeof().

Host memory that refarray allocated counts for the array that was made with it, and once
that array is gone, for its last view. So it never counts twice. Memory of other
libraries, pinned memory and device memory do not count.)doc";

/// The order of the elements in tobytes(). 'A' is column-major for arrays that are.
bool is_column_major(const core::ArrayView& array, PyObject* order) {
  if (!is_given(order)) return false;
  if (!PyUnicode_Check(order))
    core::fail(Fault::kType, "order must be 'C', 'F', 'A' or None, not ", type_name(order));
  const std::string text = utf8(order);
  if (text == "C" || text == "F") return text == "F";
  if (text != "A")
    core::fail(Fault::kValue, "order is ", short_repr(order), "; it must be 'C', 'F', 'A' or None");
  return core::is_f_contiguous(array.extents(), array.stride_span()) &&
         !core::is_c_contiguous(array.extents(), array.stride_span());
}

/// Uninitialized. Its MemoryError names the size.
Ref new_bytes(std::int64_t nbytes) {
  const bool fits = std::in_range<Py_ssize_t>(nbytes);
  Ref out = fits ? Ref::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes)))
                 : Ref();
  if (out) return out;
  if (fits && PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw ErrorSet{};
  compat::clear_raised();  // replaced by a message with the size
  core::fail(Fault::kMemory, "no memory for ", nbytes, " bytes");
}

Ref tobytes(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<1> kSignature{"tobytes", {Key::kOrder}, 1, 0, 0};
  const auto [order] = bind(kSignature, State::of_object(self), args, nargs, kwnames);
  const core::ArrayView array = view_of(self);
  const bool reversed = is_column_major(array, order);
  const std::int64_t nbytes = core::checked_nbytes(array.size(), array.dtype);
  core::Array owner;
  const core::ArrayView readable = read_elements(self, "tobytes()", owner);
  const core::Layout from = reversed
                                ? core::reversed_axes(readable.extents(), readable.stride_span())
                                : core::Layout(readable.extents(), readable.stride_span());
  Ref out = new_bytes(nbytes);
  if (nbytes == 0) return out;
  core::Array into{{},          reinterpret_cast<std::byte*>(PyBytes_AsString(out.get())),
                   array.dtype, 0,
                   false,       core::c_layout(from.extents())};
  into.data[nbytes - 1] = std::byte{0};  // the unused bits after packed elements
  const bool is_transfer = is_off_host(self) || owner.storage;  // which ledgers have counted
  const auto write = is_transfer ? &move_elements : &copy_elements;
  write(into, core::with_layout(readable, from, 0));
  return out;
}

Ref view(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<1> kSignature{"view", {Key::kDtype}, 1, 1, 0};
  const State& state = State::of_object(self);
  const auto [dtype] = bind(kSignature, state, args, nargs, kwnames);
  return make_array(state, core::with_dtype(view_of(self), to_dtype(state, dtype)));
}

Ref size_in_memory(PyObject* self, PyObject*) {
  return check(PyLong_FromSize_t(bytes_owned(self)));
}

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kByteMethods[] = {
    {"tobytes", method<&tobytes>(), kKeywords, kTobytesDoc},
    {"view", method<&view>(), kKeywords, kViewDoc},
    {"__sizeof__", method<&size_in_memory>(), METH_NOARGS, kSizeofDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
