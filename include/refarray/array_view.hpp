// array_view: typed access to the elements of an imported tensor, or of memory of your own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "refarray/dlpack/exchange.hpp"

namespace refarray {

/// "float32", "bool", "bfloat16", "float32x4"; "code 10, 8 bits" for types without a C++ name.
inline std::string dtype_text(DLDataType dtype) {
  constexpr const char* names[] = {"int", "uint", "float", nullptr, "bfloat", "complex", "bool"};
  const char* name = dtype.code < std::size(names) ? names[dtype.code] : nullptr;
  std::string out = name != nullptr ? name : "code " + std::to_string(dtype.code) + ", ";
  if (dtype.code != kDLBool || dtype.bits != 8) out += std::to_string(dtype.bits);
  if (name == nullptr) out += " bits";
  return dtype.lanes == 1 ? out : out + "x" + std::to_string(dtype.lanes);
}

/// N-dimensional elements of type T in memory of the CPU; `const T` for elements that are only
/// read. Owns nothing: the tensor that it was made of must outlive it. Strides count elements and
/// may be 0 or negative.
template <class T, std::size_t N>
class array_view {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  static constexpr std::size_t rank = N;
  using Extents = std::array<std::int64_t, N>;

  array_view(T* data, const Extents& shape, const Extents& strides) noexcept
      : data_(data), shape_(shape), strides_(strides) {}
  /// Row-major.
  array_view(T* data, const Extents& shape) noexcept : data_(data), shape_(shape) {
    set_row_major();
  }
  /// Throws exchange_error unless the tensor has this type and rank, is memory that the CPU can
  /// access, is aligned for T and, if T is not const, is writable.
  explicit array_view(const managed_tensor& tensor) {
    check(tensor);
    const DLTensor& fields = tensor.fields();
    for (std::size_t axis = 0; axis < N; ++axis) {
      shape_[axis] = fields.shape[axis];
      if (fields.strides != nullptr) strides_[axis] = fields.strides[axis];
    }
    if (fields.strides == nullptr) set_row_major();
    if (size() == 0) return;  // `data` of an empty tensor has no meaning
    const auto address = reinterpret_cast<std::uintptr_t>(fields.data) + fields.byte_offset;
    if (address % alignof(T) != 0)
      detail::refuse("data: the first element's address ", address, " is not a multiple of ",
                     alignof(T), ", the alignment of ", dtype_text(element<value_type>::dtype),
                     "; pass a copy");
    data_ = reinterpret_cast<T*>(address);
  }
  /// The tensor would be released at once, and the view dangle.
  explicit array_view(managed_tensor&& tensor) = delete;
  /// A view of the same elements that does not write to them.
  operator array_view<const T, N>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {data_, shape_, strides_};
  }

  T* data() const noexcept { return data_; }
  const Extents& shape() const noexcept { return shape_; }
  const Extents& strides() const noexcept { return strides_; }
  std::int64_t extent(std::size_t axis) const noexcept { return shape_[axis]; }
  std::int64_t stride(std::size_t axis) const noexcept { return strides_[axis]; }
  std::int64_t size() const noexcept {
    std::int64_t out = 1;
    for (const std::int64_t extent : shape_) out *= extent;
    return out;
  }
  /// Row-major without gaps, so that the elements are data()[0] to data()[size() - 1].
  bool is_contiguous() const noexcept {
    std::int64_t expected = 1;
    for (std::size_t axis = N; axis-- > 0;) {
      if (shape_[axis] != 1 && strides_[axis] != expected) return size() == 0;
      expected *= shape_[axis];
    }
    return true;
  }

  /// The element at an index; not checked.
  template <class... Index>
    requires(sizeof...(Index) == N && (std::is_integral_v<Index> && ...))
  T& operator()(Index... index) const noexcept {
    return at_offsets(std::index_sequence_for<Index...>{}, index...);
  }
  /// The element at an index; throws std::out_of_range unless 0 <= index < extent on every axis.
  template <class... Index>
    requires(sizeof...(Index) == N && (std::is_integral_v<Index> && ...))
  T& at(Index... index) const {
    const Extents wanted{static_cast<std::int64_t>(index)...};
    for (std::size_t axis = 0; axis < N; ++axis) {
      if (wanted[axis] < 0 || wanted[axis] >= shape_[axis])
        throw std::out_of_range("index " + std::to_string(wanted[axis]) + " on axis " +
                                std::to_string(axis) + " is not in 0 to " +
                                std::to_string(shape_[axis] - 1));
    }
    return (*this)(index...);
  }

 private:
  static void check(const managed_tensor& tensor) {
    const DLTensor& fields = tensor.fields();
    constexpr DLDataType wanted = element<value_type>::dtype;
    if (fields.dtype.code != wanted.code || fields.dtype.bits != wanted.bits ||
        fields.dtype.lanes != wanted.lanes)
      detail::refuse("dtype is ", dtype_text(fields.dtype), "; it must be ", dtype_text(wanted));
    if (fields.ndim != static_cast<std::int32_t>(N))
      detail::refuse("ndim is ", fields.ndim, "; it must be ", N);
    const auto device = static_cast<std::int32_t>(fields.device.device_type);
    if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost)
      detail::refuse("device is (", device, ", ", fields.device.device_id,
                     "); the CPU can access types 1, 3 and 11 only");
    if (!std::is_const_v<T> && tensor.readonly())
      detail::refuse("the elements are read-only; writable ones are needed");
  }

  void set_row_major() noexcept {
    std::int64_t stride = 1;
    for (std::size_t axis = N; axis-- > 0;) {
      strides_[axis] = stride;
      stride *= shape_[axis];
    }
  }

  template <std::size_t... Axis, class... Index>
  T& at_offsets(std::index_sequence<Axis...>, Index... index) const noexcept {
    return data_[(std::int64_t{0} + ... + (static_cast<std::int64_t>(index) * strides_[Axis]))];
  }

  T* data_ = nullptr;
  Extents shape_{}, strides_{};
};

/// A managed tensor of the viewed elements; see export_tensor().
template <class M = DLManagedTensorVersioned, class T, std::size_t N, class Owner>
managed_ptr<M> export_tensor(Owner owner, const array_view<T, N>& view, std::uint64_t flags = 0) {
  return export_tensor<M>(std::move(owner), view.size() == 0 ? nullptr : view.data(),
                          {view.shape().begin(), view.shape().end()},
                          {view.strides().begin(), view.strides().end()}, flags);
}

}  // namespace refarray
