// DLPack in one header: import of a managed tensor with validation, and export of memory with an
// owner. Copy this file or include it: it needs C++20 and <dlpack/dlpack.h> 1.x, and no Python.
#pragma once
#if __cplusplus <= 201703L
#error "refarray's C++ headers need C++20; compile with -std=c++20 or newer"
#endif

#include <dlpack/dlpack.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if defined(__GLIBCXX__) && defined(__GLIBC__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace refarray {

/// A tensor that cannot be used as requested. The message names the field, its value and the limit.
/// pybind11, nanobind and Cython (`except +`) raise it as ValueError.
class exchange_error : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline constexpr int kMaxRank = 64;  // the greatest accepted number of dimensions

/// The DLPack type of the C++ type T. Specialize it for further types, such as std::float16_t.
template <class T>
struct element {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, long double>,
                "no DLPack type is known for T: specialize refarray::element");
  static constexpr DLDataTypeCode code = std::is_same_v<T, bool>       ? kDLBool
                                         : std::is_floating_point_v<T> ? kDLFloat
                                         : std::is_signed_v<T>         ? kDLInt
                                                                       : kDLUInt;
  static constexpr DLDataType dtype{code, sizeof(T) * 8, 1};
};
template <class T>
struct element<std::complex<T>> {
  static constexpr DLDataType dtype{kDLComplex, sizeof(T) * 16, 1};
};

namespace detail {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw exchange_error(message.str());
}

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
/// value * count, with count >= 0.
inline std::int64_t multiply(const char* field, int axis, std::int64_t value, std::int64_t count) {
  if (count != 0 && (value > kMax / count || value < -(kMax / count)))
    refuse(field, "[", axis, "]: ", value, " times ", count, " exceeds ", kMax);
  return value * count;
}

inline void check_fields(const DLTensor& tensor) {
  const auto& [data, device, ndim, dtype, shape, strides, byte_offset] = tensor;
  if (ndim < 0 || ndim > kMaxRank) refuse("ndim is ", ndim, "; it must be 0 to ", kMaxRank);
  if (ndim > 0 && shape == nullptr) refuse("shape is NULL although ndim is ", ndim);
  if (dtype.bits == 0 || dtype.lanes == 0)
    refuse("dtype: bits is ", +dtype.bits, " and lanes is ", dtype.lanes, "; neither may be 0");
  for (int axis = 0; axis < ndim; ++axis)
    if (shape[axis] < 0) refuse("shape[", axis, "] is ", shape[axis], "; extents are 0 or more");
}

/// Refuses a tensor whose elements do not lie inside the address space.
inline void check_memory(const DLTensor& tensor) {
  for (int axis = 0; axis < tensor.ndim; ++axis)
    if (tensor.shape[axis] == 0) return;  // without elements no address is used
  const std::int64_t itemsize = (std::int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
  std::int64_t below = 0, above = itemsize, row_major = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    const std::int64_t extent = tensor.shape[axis];
    const std::int64_t stride = tensor.strides == nullptr ? row_major : tensor.strides[axis];
    row_major = multiply("shape", axis, row_major, extent);
    const std::int64_t steps = multiply("strides", axis, stride, extent - 1);
    const std::int64_t reach = multiply("strides", axis, steps, itemsize);
    std::int64_t& side = reach < 0 ? below : above;
    const std::int64_t distance = reach < 0 ? -reach : reach;
    if (side > kMax - distance)
      refuse("strides[", axis, "]: the elements span more than ", kMax, " bytes");
    side += distance;
  }
  if (tensor.data == nullptr) refuse("data is NULL although the tensor has elements");
  constexpr std::uint64_t last = std::numeric_limits<std::uintptr_t>::max();
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (tensor.byte_offset > last - data)
    refuse("byte_offset is ", tensor.byte_offset, "; data + byte_offset must be at most ", last);
  const std::uint64_t first = data + tensor.byte_offset;
  if (static_cast<std::uint64_t>(below) > first || static_cast<std::uint64_t>(above) > last - first)
    refuse("strides: bytes -", below, " to ", above, " from the first element at ", first,
           " leave the address space");
}

}  // namespace detail

/// Calls the deleter of a managed tensor, which may be NULL.
struct call_deleter {
  template <class M>
  void operator()(M* tensor) const noexcept {
    if (tensor->deleter == nullptr) return;
#if defined(__GLIBCXX__) && defined(__GLIBC__)
    try {  // boundary: Python before 3.14 ends threads at exit by unwinding, from inside deleters
      tensor->deleter(tensor);
    } catch (const abi::__forced_unwind&) {  // boundary: as above; here it would call terminate()
      for (;;) pause();
    }
#else
    tensor->deleter(tensor);
#endif
  }
};
/// Owns a managed tensor. M is DLManagedTensorVersioned or the legacy DLManagedTensor.
template <class M>
using managed_ptr = std::unique_ptr<M, call_deleter>;

/// An imported tensor: validated, of either kind, and released by its producer's deleter.
class managed_tensor {
 public:
  /// Takes `tensor`: its deleter runs once, during this call if it throws exchange_error.
  explicit managed_tensor(managed_ptr<DLManagedTensorVersioned> tensor) : owner_(checked(tensor)) {}
  explicit managed_tensor(managed_ptr<DLManagedTensor> tensor) : owner_(checked(tensor)) {}

  const DLTensor& fields() const {
    return std::visit([](auto& owner) -> const DLTensor& { return owner->dl_tensor; }, owner_);
  }
  /// 0 for a legacy tensor, which has none.
  std::uint64_t flags() const {
    const auto* owner = std::get_if<managed_ptr<DLManagedTensorVersioned>>(&owner_);
    return owner == nullptr ? 0 : (*owner)->flags;
  }
  bool readonly() const { return (flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }
  bool is_copied() const { return (flags() & DLPACK_FLAG_BITMASK_IS_COPIED) != 0; }

 private:
  template <class M>
  static managed_ptr<M> checked(managed_ptr<M>& tensor) {
    if (tensor == nullptr) detail::refuse("the managed tensor is NULL");
    if constexpr (std::is_same_v<M, DLManagedTensorVersioned>) {
      if (tensor->version.major != DLPACK_MAJOR_VERSION)  // no further member may be read
        detail::refuse("version: major is ", tensor->version.major, "; it must be ",
                       DLPACK_MAJOR_VERSION);
    }
    detail::check_fields(tensor->dl_tensor);
    detail::check_memory(tensor->dl_tensor);
    return std::move(tensor);
  }
  std::variant<managed_ptr<DLManagedTensorVersioned>, managed_ptr<DLManagedTensor>> owner_;
};

/// A managed tensor over `data` that keeps `owner` (a vector, a shared_ptr …) until its deleter is
/// called. Strides count elements. Elements of a const T are exported as read-only, which the
/// legacy struct cannot say: that throws exchange_error, as does an invalid shape.
template <class M = DLManagedTensorVersioned, class T, class Owner>
managed_ptr<M> export_tensor(Owner owner, T* data, std::vector<std::int64_t> shape,
                             std::vector<std::int64_t> strides, std::uint64_t flags = 0,
                             DLDevice device = {kDLCPU, 0}) {
  struct Exported {
    M managed{};
    Owner owner;
    std::vector<std::int64_t> shape, strides;
  };
  if (shape.size() != strides.size())
    detail::refuse("strides has ", strides.size(), " numbers; shape has ", shape.size());
  auto out = std::make_unique<Exported>(
      Exported{{}, std::move(owner), std::move(shape), std::move(strides)});
  M& managed = out->managed;
  using Element = std::remove_const_t<T>;
  const auto ndim = static_cast<std::int32_t>(out->shape.size());
  managed.dl_tensor = {
      const_cast<Element*>(data), device, ndim, element<Element>::dtype, out->shape.data(),
      out->strides.data(),        0};
  detail::check_fields(managed.dl_tensor);
  detail::check_memory(managed.dl_tensor);
  if (std::is_const_v<T>) flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if constexpr (std::is_same_v<M, DLManagedTensorVersioned>) {
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.flags = flags;
  } else if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    detail::refuse("the elements are read-only, which a legacy tensor cannot say");
  }
  managed.manager_ctx = out.get();
  managed.deleter = [](M* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return managed_ptr<M>(&out.release()->managed);
}

}  // namespace refarray
