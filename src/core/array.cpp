// New arrays, views with another layout, and the overlap of address ranges.
#include "core/array.hpp"

#include "core/error.hpp"

namespace refarray::core {
namespace {

/// Addresses [begin, end) of the bytes of an array's elements; `begin == end` if it has none.
struct AddressRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};

std::optional<AddressRange> address_range(const ArrayView& array) noexcept {
  const std::optional<BitRange> bits = bit_range(array.extents(), array.stride_span(), array.dtype);
  if (!bits) return std::nullopt;
  if (bits->begin == bits->end) return AddressRange{0, 0};
  // From bits to whole bytes, rounded outwards. Shift first: adding array.bit to the full offset
  // could overflow.
  const std::int64_t first = (bits->begin >> 3) + (((bits->begin & 7) + array.bit) >> 3);
  const std::int64_t last = (bits->end >> 3) + (((bits->end & 7) + array.bit + 7) >> 3);
  const auto origin = reinterpret_cast<std::uintptr_t>(array.data);
  return AddressRange{origin + static_cast<std::uintptr_t>(first),
                      origin + static_cast<std::uintptr_t>(last)};
}

template <class... Parts>
[[noreturn, gnu::cold]] void fail_view(const ArrayView& array, const DType& dtype,
                                       const Parts&... parts) {
  fail(Fault::kValue, "cannot view ", name(array.dtype), " (", array.dtype.stored_bits(),
       " bits) as ", name(dtype), " (", dtype.stored_bits(), " bits)", parts...);
}

/// The layout of an array whose elements become larger or smaller.
Layout resized_layout(const ArrayView& array, const DType& dtype) {
  const std::int64_t old_bits = array.dtype.stored_bits();
  const std::int64_t new_bits = dtype.stored_bits();
  if (array.ndim == 0) fail_view(array, dtype, ": ndim is 0; the sizes must be equal");
  Layout out(array.extents(), array.stride_span());
  const int last = out.ndim - 1;
  const bool empty = array.size() == 0;
  std::int64_t bits = 0;
  if (__builtin_mul_overflow(out.shape[last], old_bits, &bits) || bits % new_bits != 0) {
    fail_view(array, dtype, ": the last axis has ", out.shape[last],
              " elements, not a whole number of the new ones");
  }
  if (out.shape[last] > 1 && out.strides[last] != 1 && !empty) {
    fail_view(array, dtype, ": the stride of the last axis is ", out.strides[last],
              " elements; it must be 1");
  }
  out.shape[last] = bits / new_bits;
  if (empty) return c_layout(out.extents());
  out.strides[last] = 1;
  for (int axis = 0; axis < last; ++axis) {
    // The stride of an axis of extent 1 has no meaning and may overflow.
    const std::int64_t step = out.shape[axis] > 1 ? out.strides[axis] * old_bits : 0;
    if (step % new_bits != 0) {
      fail_view(array, dtype, ": strides[", axis, "] is ", step,
                " bits, not a whole number of the new elements");
    }
    out.strides[axis] = step / new_bits;
  }
  return out;
}

}  // namespace

Array new_array(const DType& dtype, Extents shape, bool zeroed) {
  Array out{{}, nullptr, dtype, 0, false, c_layout(shape)};
  const std::int64_t size = size_of(shape);
  const std::int64_t nbytes = checked_nbytes(size, dtype);
  out.storage = new_storage(nbytes, zeroed);
  out.data = out.storage->data();
  // Clear the unused bits after the last packed element, so that equal arrays have equal bytes.
  if (dtype.is_packed() && nbytes > 0) out.data[nbytes - 1] = std::byte{0};
  return out;
}

Array with_layout(const ArrayView& array, const Layout& layout, std::int64_t offset) {
  const bool readonly = !array.writable();
  Array out{StoragePtr::share(array.storage), array.data, array.dtype, array.bit, readonly, layout};
  // An empty view keeps the address of `array`: `offset` may point outside of the storage.
  if (offset == 0 || array.data == nullptr || size_of(layout.extents()) == 0) return out;
  if (!array.dtype.is_packed()) {
    out.data += offset * array.dtype.itemsize();
    return out;
  }
  const std::int64_t position = array.bit + offset * array.dtype.stored_bits();
  out.data += position >> 3;  // rounds down, also if negative
  out.bit = static_cast<std::uint8_t>(position & 7);
  return out;
}

Layout last_axes_swapped(const ArrayView& array) noexcept {
  Layout out(array.extents(), array.stride_span());
  std::swap(out.shape[out.ndim - 1], out.shape[out.ndim - 2]);
  std::swap(out.strides[out.ndim - 1], out.strides[out.ndim - 2]);
  return out;
}

Array with_dtype(const ArrayView& array, const DType& dtype) {
  Array out = with_layout(array, Layout(array.extents(), array.stride_span()), 0);
  out.dtype = dtype;
  if (dtype.stored_bits() == array.dtype.stored_bits()) return out;
  if (array.bit != 0 && !dtype.is_packed())
    fail_view(array, dtype, ": the first element begins at bit ", int{array.bit}, " of a byte");
  out.layout = resized_layout(array, dtype);
  return out;
}

void check_byte_sized(const DType& dtype, const char* operation) {
  if (!dtype.is_packed()) return;
  fail(Fault::kType, operation, " needs elements of whole bytes; ", name(dtype), " has ",
       dtype.stored_bits(), " bits; astype() converts to a padded or wider dtype");
}

bool may_overlap(const ArrayView& a, const ArrayView& b) noexcept {
  const std::optional<AddressRange> of_a = address_range(a);
  const std::optional<AddressRange> of_b = address_range(b);
  if (!of_a || !of_b) return true;
  return of_a->begin < of_b->end && of_b->begin < of_a->end;
}

bool lies_within(const ArrayView& part, const ArrayView& whole) noexcept {
  if (part.size() == 0) return true;
  const std::optional<AddressRange> inner = address_range(part);
  const std::optional<AddressRange> outer = address_range(whole);
  return inner && outer && inner->begin >= outer->begin && inner->end <= outer->end;
}

}  // namespace refarray::core
