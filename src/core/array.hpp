// Array and ArrayView: a storage with a dtype and a layout. The metadata of an array is immutable;
// a view is a new Array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/layout.hpp"
#include "core/memory/storage.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// A non-owning view of an array, valid as long as that array.
struct ArrayView {
  Storage* storage = nullptr;  // nullptr if the caller keeps the memory alive
  std::byte* data = nullptr;   // of element (0,...,0); may be nullptr if the array is empty
  DType dtype;
  std::uint8_t bit = 0;   // 0..7: offset of that element in data[0]; 0 unless dtype.is_packed()
  bool readonly = false;  // inherited by all views
  int ndim = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  // in elements

  Extents extents() const noexcept { return {shape, static_cast<std::size_t>(ndim)}; }
  Extents stride_span() const noexcept { return {strides, static_cast<std::size_t>(ndim)}; }
  std::int64_t size() const noexcept { return size_of(extents()); }
  std::int64_t nbytes() const noexcept { return nbytes_of(size(), dtype); }
  Device device() const noexcept { return storage == nullptr ? Device{} : storage->device(); }
  /// Neither the array nor its storage is read-only.
  bool writable() const noexcept {
    return !readonly && (storage == nullptr || storage->writable());
  }
};

/// An array that owns a reference to its storage.
struct Array {
  StoragePtr storage;
  std::byte* data = nullptr;
  DType dtype;
  std::uint8_t bit = 0;
  bool readonly = false;
  Layout layout;

  Array() = default;
  // As an aggregate, all of the layout would be zeroed first, 1 KiB.
  Array(StoragePtr owner, std::byte* first, const DType& type, std::uint8_t first_bit,
        bool is_readonly, const Layout& of) noexcept
      : storage(std::move(owner)),
        data(first),
        dtype(type),
        bit(first_bit),
        readonly(is_readonly),
        layout(of) {}

  ArrayView view() const noexcept {
    return {storage.get(), data, dtype, bit, readonly, layout.ndim, layout.shape, layout.strides};
  }
  operator ArrayView() const noexcept { return view(); }  // NOLINT: implicit, as for string_view
};

/// A new row-major array of `shape` on the CPU. Throws kValue, kOverflow or kMemory.
Array new_array(const DType& dtype, Extents shape, bool zeroed);
/// A view of the same storage with another layout, whose element (0,...,0) is `offset` elements
/// after that of `array`.
Array with_layout(const ArrayView& array, const Layout& layout, std::int64_t offset);

/// The layout with the last two axes swapped; ndim must be 2 or more.
Layout last_axes_swapped(const ArrayView& array) noexcept;

/// The same bytes as elements of another dtype, without a copy. If the sizes of the elements
/// differ, the last axis is shortened or lengthened, so it must be contiguous and hold a whole
/// number of the new elements, as must the strides of the other axes. Throws kValue.
Array with_dtype(const ArrayView& array, const DType& dtype);

/// Throws kType for dtypes whose elements have no byte address, naming `operation` ("take()").
void check_byte_sized(const DType& dtype, const char* operation);

/// Whether the address ranges of the two arrays intersect.
bool may_overlap(const ArrayView& a, const ArrayView& b) noexcept;
/// Whether the address range of `part` is inside that of `whole`. An empty part is.
bool lies_within(const ArrayView& part, const ArrayView& whole) noexcept;

}  // namespace refarray::core
