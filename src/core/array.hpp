// Owns Array: a storage seen through a dtype and a layout. Its metadata never changes; a view is a
// new Array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/layout.hpp"
#include "core/memory/storage.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// A borrowed look at an array: valid while the array it came from lives. Cheap to make; owns
/// nothing.
struct ArrayView {
  Storage* storage =
      nullptr;  // keeps the bytes; may be nullptr for memory that somebody else keeps alive
  std::byte* data =
      nullptr;  // the byte that holds the first bit of element (0,...,0); may be nullptr when empty
  DType dtype;
  std::uint8_t bit = 0;   // 0..7: where in that byte it begins; 0 unless dtype.is_packed()
  bool readonly = false;  // sticky: every view of a read-only array is read-only
  int ndim = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  // in elements

  Extents extents() const noexcept { return {shape, static_cast<std::size_t>(ndim)}; }
  Extents stride_span() const noexcept { return {strides, static_cast<std::size_t>(ndim)}; }
  std::int64_t size() const noexcept { return size_of(extents()); }
  std::int64_t nbytes() const noexcept { return nbytes_of(size(), dtype); }
  Device device() const noexcept { return storage == nullptr ? Device{} : storage->device(); }
  /// Neither the array nor the memory below it is read-only.
  bool writable() const noexcept {
    return !readonly && (storage == nullptr || storage->writable());
  }
};

/// The owning value.
struct Array {
  StoragePtr storage;
  std::byte* data = nullptr;
  DType dtype;
  std::uint8_t bit = 0;
  bool readonly = false;
  Layout layout;

  ArrayView view() const noexcept {
    return {storage.get(), data, dtype, bit, readonly, layout.ndim, layout.shape, layout.strides};
  }
  operator ArrayView() const noexcept {
    return view();
  }  // NOLINT: an Array may be passed where a look is enough
};

/// A new row-major array of `shape` on the CPU. Throws kValue, kOverflow or kMemory.
Array new_array(const DType& dtype, Extents shape, bool zeroed);
/// The same elements through another layout whose element (0,...,0) lies `offset` elements from the
/// old one's.
Array with_layout(const ArrayView& array, const Layout& layout, std::int64_t offset);

/// True when the two arrays' address ranges intersect.
bool may_overlap(const ArrayView& a, const ArrayView& b) noexcept;

}  // namespace refarray::core
