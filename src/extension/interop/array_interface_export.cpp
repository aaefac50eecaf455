// Array.__array_interface__, and the typestr codes of import and export.
#include <array>
#include <bit>
#include <vector>

#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::DType;
using core::Kind;

struct TypeCode {
  DType dtype;
  std::string_view text;  // without the byte order
};
constexpr std::array<TypeCode, 14> kCodes{{
    {{Kind::kBool, 8}, "b1"},
    {{Kind::kInt, 8}, "i1"},
    {{Kind::kUInt, 8}, "u1"},
    {{Kind::kInt, 16}, "i2"},
    {{Kind::kUInt, 16}, "u2"},
    {{Kind::kInt, 32}, "i4"},
    {{Kind::kUInt, 32}, "u4"},
    {{Kind::kInt, 64}, "i8"},
    {{Kind::kUInt, 64}, "u8"},
    {{Kind::kFloat, 16}, "f2"},
    {{Kind::kFloat, 32}, "f4"},
    {{Kind::kFloat, 64}, "f8"},
    {{Kind::kComplex, 64}, "c8"},
    {{Kind::kComplex, 128}, "c16"},
}};
constexpr char kNative = std::endian::native == std::endian::little ? '<' : '>';

}  // namespace

std::optional<std::string> typestr_of(const DType& dtype) {
  for (const TypeCode& code : kCodes) {
    if (code.dtype == dtype) {
      return std::string(1, dtype.bits == 8 ? '|' : kNative).append(code.text);
    }
  }
  return std::nullopt;
}

std::optional<DType> dtype_of_typestr(std::string_view typestr) noexcept {
  char order = '=';  // also if there is none, as NumPy reads it
  if (!typestr.empty() && std::string_view("<>|=").find(typestr[0]) != std::string_view::npos) {
    order = typestr[0];
    typestr.remove_prefix(1);
  }
  for (const TypeCode& code : kCodes) {
    if (code.text != typestr) continue;
    // Single bytes have no order. For NumPy '|' means the native order of larger ones.
    const bool native = code.dtype.bits == 8 || order == kNative || order == '=' || order == '|';
    return native ? std::optional(code.dtype) : std::nullopt;
  }
  return std::nullopt;
}

Ref byte_strides_of(const core::ArrayView& array) {
  if (core::is_c_contiguous(array.extents(), array.stride_span())) return Ref::borrow(Py_None);
  std::vector<Py_ssize_t> bytes(static_cast<std::size_t>(array.ndim));
  byte_strides(array, bytes.data());
  const std::vector<std::int64_t> strides(bytes.begin(), bytes.end());
  return make_int_tuple(strides);
}

Ref array_interface(PyObject* self, void*) {
  require_sharing(self, sharing::kArrayInterface);
  const core::ArrayView array = view_of(self);
  const auto typestr = typestr_of(array.dtype);
  if (!typestr) {
    raise(PyExc_AttributeError, "__array_interface__ has no typestr for elements of %s",
          core::name(array.dtype).c_str());
  }
  const runtime::Lent lent = lend_to_host(array, "__array_interface__", array.writable());
  const Ref shape = make_int_tuple(array.extents());
  const Ref strides = byte_strides_of(array);
  const Ref address = check(PyLong_FromVoidPtr(address_of(array, lent)));
  return check(calling<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i}", "shape", shape.get(), "typestr",
                                      typestr->c_str(), "data", address.get(),
                                      array.writable() ? Py_False : Py_True, "strides",
                                      strides.get(), "version", kInterfaceVersion));
}

}  // namespace refarray::extension
