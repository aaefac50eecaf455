// Buffer protocol (PEP 3118): formats, export and import.
#include "extension/interop/buffer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/dtype_codes.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {

// --- Formats: PEP 3118 codes ↔ dtypes.

namespace {

using core::DType;
using core::Kind;

constexpr std::uint8_t bits_of(std::size_t bytes) noexcept {
  return static_cast<std::uint8_t>(bytes * 8);
}

/// Accepted aliases, with the same size in native and standard mode: 'c', `long long`, and the
/// complex codes of struct and ctypes in CPython 3.14. PEP 3118, NumPy and CPython 3.15 use Zf, Zd.
std::optional<DType> alias(char code) noexcept {
  switch (code) {
    case 'c':
      return DType{Kind::kUInt, 8};
    case 'q':
      return DType{Kind::kInt, 64};
    case 'Q':
      return DType{Kind::kUInt, 64};
    case 'F':
      return DType{Kind::kComplex, 64};
    case 'D':
      return DType{Kind::kComplex, 128};
    default:
      return std::nullopt;
  }
}

/// Codes whose size differs in native mode ('@', or '^' without padding), or that exist only there
/// (n, N).
std::optional<DType> native_mode(char code) noexcept {
  switch (code) {
    case 'l':
      return DType{Kind::kInt, bits_of(sizeof(long))};
    case 'L':
      return DType{Kind::kUInt, bits_of(sizeof(long))};
    case 'n':
      return DType{Kind::kInt, bits_of(sizeof(Py_ssize_t))};
    case 'N':
      return DType{Kind::kUInt, bits_of(sizeof(std::size_t))};
    default:
      return std::nullopt;
  }
}

/// Without a repeat count of 1, which means the same as none.
std::string_view without_count(std::string_view format) noexcept {
  const std::size_t zeros = format.find_first_not_of('0');
  if (zeros == std::string_view::npos || format[zeros] != '1') return format;
  const std::string_view rest = format.substr(zeros + 1);
  return !rest.empty() && rest[0] >= '0' && rest[0] <= '9' ? format : rest;
}

}  // namespace

const char* buffer_format(const DType& dtype) noexcept {
  return code_of(&DTypeCodes::buffer, dtype);
}

std::optional<DType> dtype_of_format(std::string_view format) noexcept {
  constexpr char kOther = std::endian::native == std::endian::little ? '>' : '<';
  bool standard_sizes = false;
  if (!format.empty() && std::string_view("@^=<>!").find(format[0]) != std::string_view::npos) {
    const bool swapped = format[0] == kOther || (format[0] == '!' && kOther == '>');
    standard_sizes = format[0] != '@' && format[0] != '^';
    format = without_count(format.substr(1));
    if (swapped && !(format.size() == 1 &&
                     std::string_view("?bBc").find(format[0]) != std::string_view::npos)) {
      return std::nullopt;  // single bytes have no order
    }
  } else {
    format = without_count(format);
  }
  if (format == "l" && standard_sizes) return DType{Kind::kInt, 32};
  if (format == "L" && standard_sizes) return DType{Kind::kUInt, 32};
  if (const auto dtype = dtype_of_code(&DTypeCodes::buffer, format)) return dtype;
  if (format == "Ze") return DType{Kind::kComplex, 32};
  if (format.size() != 1) return std::nullopt;
  if (const auto dtype = alias(format[0])) return dtype;
  return standard_sizes ? std::nullopt : native_mode(format[0]);
}

// --- Export: checks the consumer's request and fills in the Py_buffer.

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

/// Where addresses have 32 bits, a broadcast array can be longer than a buffer.
void check_lengths(const core::ArrayView& array, std::int64_t nbytes) {
  const auto fits = [](std::int64_t count) { return std::in_range<Py_ssize_t>(count); };
  if (!fits(nbytes) || !std::ranges::all_of(array.extents(), fits)) {
    core::fail(Fault::kBuffer, "shape is ", core::shape_text(array.extents()), ", ", nbytes,
               " bytes; the limit of a buffer is ", PY_SSIZE_T_MAX);
  }
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
  check_lengths(array, nbytes);
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

// --- Import: from_buffer(), and the checks of an exporter's Py_buffer.

namespace {

constexpr char kFromBufferDoc[] = R"doc(from_buffer($module, obj, /, *, dtype=None)
--

Return an array over the memory that obj exports by the buffer protocol (PEP 3118).

Never copies.

obj: any object with the buffer protocol.
dtype: None takes shape, strides and dtype from the exporter. Its format must be a
    single number in native byte order; 'c' is read as uint8. With a dtype, the
    C-contiguous bytes of the buffer become a one-dimensional array of such elements,
    whatever its format; the buffer's size must be a multiple of the element size.

The array is read-only if the buffer is. It holds the buffer until its last view is
gone: until then a bytearray cannot be resized and an mmap cannot be closed.

Raises TypeError if obj has no buffer protocol, BufferError for a buffer that cannot
be represented (naming the field, its value and the limit) and for a masked array of
NumPy, ValueError if the size is not a multiple of the element size, and any exception
of the exporter.)doc";

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
