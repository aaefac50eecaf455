// Array.__arrow_c_array__: one-dimensional arrays as Arrow arrays (Arrow C data interface).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/dtype_codes.hpp"
#include "extension/objects/array_object.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {
namespace {

using core::DType;
using core::Fault;
using core::Kind;

/// Names of the capsules (Arrow PyCapsule interface).
constexpr const char* kArrowSchemaCapsule = "arrow_schema";
constexpr const char* kArrowArrayCapsule = "arrow_array";

/// The type of an Arrow array. A consumer may move the struct by copying its bytes and setting
/// `release` of the original to nullptr. `release` frees what the struct refers to, not the struct.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

/// The memory of an Arrow array; moved and released as ArrowSchema is.
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

static_assert(sizeof(void*) != 8 || (sizeof(ArrowSchema) == 72 && sizeof(ArrowArray) == 80));
static_assert(sizeof(void*) != 8 ||
              (offsetof(ArrowSchema, release) == 56 && offsetof(ArrowArray, release) == 64));

/// Releases the contents, unless a consumer has moved them, and frees the struct.
struct ReleaseArrow {
  template <class Struct>
  void operator()(Struct* owned) const noexcept {
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  }
};
template <class Struct>
using ArrowPtr = std::unique_ptr<Struct, ReleaseArrow>;

// --- Format strings.

/// The integers up to 2 to this power are exact in a float of so many bits.
constexpr int exact_bits(int float_bits) noexcept {
  return float_bits == 16 ? 11 : float_bits == 32 ? 24 : 53;
}

/// The format string of a dtype, null-terminated, or nullptr if Arrow has no such type.
const char* arrow_format(const DType& dtype) noexcept { return code_of(&DTypeCodes::arrow, dtype); }

/// Whether `to` has every value of `from`; both are dtypes with a format. False for bool.
bool keeps_values(const DType& from, const DType& to) noexcept {
  if (from.kind == Kind::kBool || to.kind == Kind::kBool) return false;
  if (from.kind == to.kind) return to.bits >= from.bits;
  if (to.kind == Kind::kFloat) return exact_bits(to.bits) >= from.bits;
  return from.kind == Kind::kUInt && to.kind == Kind::kInt && to.bits > from.bits;
}

// --- Export.

constexpr char kArrowArrayDoc[] = R"doc(__arrow_c_array__($self, /, requested_schema=None)
--

Return the array as capsules with an ArrowSchema and an ArrowArray.

Contiguous aligned elements are shared, which Arrow treats as immutable: do not assign
to them while a consumer has them. Arrays with another stride are copied, and so is bool,
which is a bit in Arrow. No value is missing: the null count is 0 and NaN stays NaN.

requested_schema: None or a capsule with an ArrowSchema, which stays the caller's. If it
    is a type of numbers that has every element of the array, the elements are
    converted: to any wider type, to integers if all are in its range, to narrower
    floats if none is rounded. For other types of numbers the array's own type is
    exported, which the interface permits.

Raises TypeError for an object that is no capsule, ValueError for another capsule and for
a schema that is not of bool or numbers.)doc";

/// What an exported ArrowArray refers to: the memory, and the array of its two buffers, of which
/// the first, the bitmap of missing values, is absent.
struct ExportedArrow {
  core::StoragePtr storage;
  const void* buffers[2];
};

void release_schema(ArrowSchema* schema) { schema->release = nullptr; }

/// Consumers call this on any thread, with or without the GIL, also after the interpreter has
/// ended.
void release_array(ArrowArray* array) {
  const std::unique_ptr<ExportedArrow> exported(static_cast<ExportedArrow*>(array->private_data));
  array->private_data = nullptr;
  array->release = nullptr;  // first: the end of this function may run foreign code
}

ArrowPtr<ArrowSchema> make_schema(const core::DType& dtype) {
  // The flags are 0: not nullable.
  return ArrowPtr<ArrowSchema>(new ArrowSchema{arrow_format(dtype), "", nullptr, 0, 0, nullptr,
                                               nullptr, &release_schema, nullptr});
}

ArrowPtr<ArrowArray> make_arrow_array(std::int64_t length, const void* data,
                                      core::StoragePtr storage) {
  std::unique_ptr<ExportedArrow> exported(new ExportedArrow{{}, {nullptr, data}});
  ArrowPtr<ArrowArray> out(new ArrowArray{length, 0, 0, 2, 0, exported->buffers, nullptr, nullptr,
                                          &release_array, exported.get()});
  exported->storage = std::move(storage);
  (void)exported.release();  // `out` owns it; nothing below can fail
  return out;
}

/// Destructor of an array capsule that nobody consumed, or whose consumer moved the contents. Runs
/// with the GIL, perhaps while an exception is pending, which it leaves untouched.
void drop_array(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, kArrowArrayCapsule) == 0) return;  // renamed: somebody else's
  ArrowPtr<ArrowArray> array(
      static_cast<ArrowArray*>(PyCapsule_GetPointer(capsule, kArrowArrayCapsule)));
  core::StoragePtr storage;
  if (array->release == &release_array) {
    storage = std::move(static_cast<ExportedArrow*>(array->private_data)->storage);
  }
  const ErrorGuard guard;
  const Attached here;
  array.reset();
  drop_storage(std::move(storage));
}

void drop_schema(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, kArrowSchemaCapsule) == 0) return;
  const ErrorGuard guard;
  ArrowPtr<ArrowSchema>(
      static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsule, kArrowSchemaCapsule)));
}

template <class Struct>
Ref to_capsule(ArrowPtr<Struct> owned, const char* name, PyCapsule_Destructor destructor) {
  Ref capsule = check(PyCapsule_New(owned.get(), name, destructor));
  (void)owned.release();  // the capsule owns it from here on
  return capsule;
}

/// Packs bytes that are zero or not into bits, the first into the lowest bit of the first byte.
void pack_bits(const std::byte* in, std::int64_t count, std::byte* out) noexcept {
  for (std::int64_t i = 0; i < count; i += 8) {
    const std::int64_t in_byte = count - i < 8 ? count - i : 8;
    unsigned bits = 0;
    for (std::int64_t bit = 0; bit < in_byte; ++bit)
      bits |= static_cast<unsigned>(in[i + bit] != std::byte{0}) << bit;
    out[i / 8] = static_cast<std::byte>(bits);
  }
}

core::Array packed_bits(const core::ArrayView& array) {
  core::Array owner;
  core::ArrayView bytes = array;
  if (!core::is_c_contiguous(array.extents(), array.stride_span())) {
    owner = working_copy(array, array.dtype);
    bytes = owner;
  }
  const std::int64_t count = bytes.size();
  const std::int64_t shape[] = {count / 8 + (count % 8 != 0 ? 1 : 0)};
  core::note(core::Entry::kCopy, shape[0]);
  core::Array out = core::new_array({core::Kind::kUInt, 8}, shape, /*zeroed=*/false);
  const GilRelease released(count >= kReleaseGilAbove);
  pack_bits(bytes.data, count, out.data);
  return out;
}

/// The elements as `dtype` in memory that Arrow can describe: those of the array where possible.
core::Array arrow_memory(const core::ArrayView& array, const core::DType& dtype) {
  if (dtype.kind == core::Kind::kBool) return packed_bits(array);
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(array.data) % static_cast<unsigned>(dtype.itemsize()) == 0;
  const bool is_compact = core::is_c_contiguous(array.extents(), array.stride_span());
  if (dtype != array.dtype || !is_aligned || !is_compact) return copy_to_new(array, dtype);
  return core::with_layout(array, core::Layout(array.extents(), array.stride_span()), 0);
}

/// Whether every integer of the array is one of `to`, another type of integers.
bool integers_fit(const core::ArrayView& array, const core::DType& to) {
  const bool is_signed = array.dtype.kind == core::Kind::kInt;
  const core::Array wide = working_copy(array, {array.dtype.kind, 64});
  const auto* const numbers = reinterpret_cast<const std::uint64_t*>(wide.data);
  const std::int64_t count = array.size();
  const int value_bits = to.bits - (to.kind == core::Kind::kInt ? 1 : 0);
  const GilRelease released(count * 8 >= kReleaseGilAbove);
  return std::all_of(numbers, numbers + count, [=](std::uint64_t number) {
    const bool is_negative = is_signed && number >> 63 != 0;
    if (is_negative && to.kind == core::Kind::kUInt) return false;
    const std::uint64_t magnitude = is_negative ? ~number : number;  // -1 - number
    return value_bits == 64 || magnitude >> value_bits == 0;
  });
}

/// Whether every element keeps all its bits through a narrower type of floats.
bool floats_fit(const core::ArrayView& array, const core::DType& to) {
  const core::Array here = working_copy(array, array.dtype);
  const core::Array back = working_copy(working_copy(here, to), array.dtype);
  const GilRelease released(array.nbytes() >= kReleaseGilAbove);
  return array.size() == 0 ||
         std::memcmp(here.data, back.data, static_cast<std::size_t>(array.nbytes())) == 0;
}

/// Whether the elements are the same numbers in `to`.
bool fits(const core::ArrayView& array, const core::DType& to) {
  const auto is_integer = [](core::Kind kind) {
    return kind == core::Kind::kInt || kind == core::Kind::kUInt;
  };
  if (keeps_values(array.dtype, to)) return true;
  if (is_integer(array.dtype.kind) && is_integer(to.kind)) return integers_fit(array, to);
  return array.dtype.kind == core::Kind::kFloat && to.kind == core::Kind::kFloat &&
         floats_fit(array, to);
}

/// The dtype that the consumer requests, or the array's own for another encoding of numbers.
/// Throws for what no array of numbers can become ("Schema Requests" in the PyCapsule interface).
/// The capsule stays the caller's.
core::DType requested_dtype(PyObject* request, const core::DType& own) {
  if (!is_given(request)) return own;
  if (!PyCapsule_CheckExact(request)) {
    core::fail(Fault::kType, "requested_schema must be a capsule named \"", kArrowSchemaCapsule,
               "\" or None, not ", type_name(request));
  }
  const auto* schema =
      static_cast<const ArrowSchema*>(PyCapsule_GetPointer(request, kArrowSchemaCapsule));
  if (schema == nullptr) throw ErrorSet{};  // ValueError: another name
  if (schema->release == nullptr || schema->format == nullptr)
    core::fail(Fault::kValue, "requested_schema has been released");
  const bool encoded = schema->dictionary != nullptr && schema->dictionary->format != nullptr;
  const std::string_view format(encoded ? schema->dictionary->format : schema->format);
  const auto dtype = dtype_of_code(&DTypeCodes::arrow, format);
  if (!dtype || schema->n_children != 0) {
    constexpr std::size_t kLongest = 60;
    core::fail(Fault::kValue, "requested_schema has the format '", format.substr(0, kLongest),
               "'; an array of ", core::name(own), " has the format '", arrow_format(own), "'");
  }
  return encoded ? own : *dtype;
}

Ref arrow_c_array(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<1> kSignature{"__arrow_c_array__", {Key::kRequestedSchema}, 1, 0, 0};
  const auto [request] = bind(kSignature, State::of_object(self), args, nargs, kwnames);
  const core::ArrayView array = view_of(self);
  core::DType dtype = requested_dtype(request, array.dtype);
  require_host(array, "__arrow_c_array__", /*writes=*/false);  // pinned memory: waits for devices
  if (dtype != array.dtype && !fits(array, dtype)) dtype = array.dtype;
  core::Array memory = arrow_memory(array, dtype);
  Ref schema = to_capsule(make_schema(dtype), kArrowSchemaCapsule, &drop_schema);
  const void* data =
      address_of(memory, lend_to_host(memory, "__arrow_c_array__", /*writes=*/false));
  Ref exported = to_capsule(make_arrow_array(array.size(), data, std::move(memory.storage)),
                            kArrowArrayCapsule, &drop_array);
  return check(calling<PyTuple_Pack>(2, schema.get(), exported.get()));
}

PyMethodDef kMethod{"__arrow_c_array__", method<&arrow_c_array>(), METH_FASTCALL | METH_KEYWORDS,
                    kArrowArrayDoc};

}  // namespace

Ref arrow_method(PyObject* self, void*) {
  const core::ArrayView array = view_of(self);
  require_sharing(self, sharing::kArrow);
  if (array.ndim == 1 && arrow_format(array.dtype) != nullptr)
    return check(calling<PyCFunction_NewEx>(&kMethod, self, nullptr));
  raise(PyExc_AttributeError,
        "__arrow_c_array__ needs ndim 1 and a dtype of Arrow; this array has ndim %d, dtype %s",
        array.ndim, core::name(array.dtype).c_str());
}

}  // namespace refarray::extension
