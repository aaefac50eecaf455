// The managed tensor of a producer, made from fuzzer input; counts the calls of its deleter.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "input.hpp"
#include "refarray/dlpack/wire.hpp"

namespace refarray::fuzz {

inline constexpr std::int64_t kBlock = 256;  // bytes of actual memory that `data` may point to

/// The fields of the tensor, before the struct is built.
struct Fields {
  DLPackVersion version{1, 3};
  std::uint64_t flags = 0;
  DLDevice device{kDLCPU, 0};
  DLDataType dtype{kDLFloat, 32, 1};
  std::int32_t ndim = 0;
  bool has_shape = true;
  bool has_strides = true;
  bool has_deleter = true;
  bool as_cpu = false;
  std::int64_t shape[64] = {};
  std::int64_t strides[64] = {};
  std::uintptr_t data = 0;
  std::uint64_t byte_offset = 0;

  /// Entries of shape and strides that may be read: none if ndim is out of range.
  std::size_t entries() const noexcept {
    return ndim < 0 || ndim > 64 ? 0 : static_cast<std::size_t>(ndim);
  }
};

/// Usually a plausible number, sometimes one at the limit of its range, sometimes any.
inline std::int64_t extent_from(Input& input) {
  switch (input.below(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return std::int64_t{1} << input.below(64);
    case 3:
      return input.take<std::int64_t>();
    case 4:
      return -input.below(4);
    default:
      return input.below(7);
  }
}
inline std::int64_t stride_from(Input& input) {
  switch (input.below(8)) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::int64_t>(std::uint64_t{1} << input.below(64));
    case 2:
      return static_cast<std::int64_t>(std::uint64_t{0} - (std::uint64_t{1} << input.below(64)));
    case 3:
      return input.take<std::int64_t>();
    default:
      return input.below(32) - 16;
  }
}
inline DLDataType dtype_from(Input& input) {
  static constexpr DLDataType kSome[] = {
      {kDLFloat, 32, 1}, {kDLInt, 8, 1}, {kDLUInt, 64, 1}, {kDLBool, 8, 1},  {kDLComplex, 128, 1},
      {17, 4, 1},        {15, 6, 1},     {16, 6, 4},       {kDLFloat, 16, 3}};
  const int which = input.below(12);
  if (which < 9) return kSome[which];
  return {input.byte(), input.byte(), input.take<std::uint16_t>()};
}
inline std::uintptr_t data_from(Input& input, std::uintptr_t block) {
  switch (input.below(8)) {
    case 0:
      return 0;
    case 1:
      return ~std::uintptr_t{0} - input.byte();
    case 2:
      return input.take<std::uint64_t>();
    default:
      return block + input.byte();
  }
}

inline Fields fields_from(Input& input, std::uintptr_t block) {
  Fields out;
  const std::uint8_t choices = input.byte();
  out.has_shape = (choices & 7) != 7;
  out.has_strides = (choices & 0x18) != 0x18;
  out.has_deleter = (choices & 0xE0) != 0xE0;
  out.as_cpu = input.one_in(4);
  if (input.one_in(8)) out.version = {input.byte() % 3U, input.byte() % 6U};
  out.flags = static_cast<std::uint64_t>(input.below(8));
  if (input.one_in(8)) out.flags = input.take<std::uint64_t>();
  if (input.one_in(8)) {
    const auto type =
        static_cast<std::int32_t>(input.one_in(3) ? input.take<std::int32_t>() : input.below(20));
    std::memcpy(&out.device.device_type, &type, sizeof type);  // may not be an enumerator
    out.device.device_id = input.take<std::int32_t>();
  }
  out.dtype = dtype_from(input);
  out.ndim = input.one_in(10) ? input.take<std::int32_t>() : input.below(6);
  for (std::size_t axis = 0; axis < out.entries(); ++axis) {
    out.shape[axis] = extent_from(input);
    out.strides[axis] = stride_from(input);
  }
  out.data = data_from(input, block);
  out.byte_offset = input.one_in(4) ? input.take<std::uint64_t>() : input.byte() % 64U;
  return out;
}

/// A managed tensor on the heap. Shape and strides are blocks of exactly their size, and the struct
/// ends after `flags` where later fields must not be read, so that ASan detects any access beyond.
template <class M>
class Producer {
 public:
  Producer(const Fields& fields, int& deleter_calls) : calls_(deleter_calls) {
    const std::size_t entries = fields.entries();
    if (fields.has_shape) shape_ = copy(fields.shape, entries);
    if (fields.has_strides) strides_ = copy(fields.strides, entries);
    M full{};
    full.dl_tensor = {reinterpret_cast<void*>(fields.data),
                      fields.device,
                      fields.ndim,
                      fields.dtype,
                      shape_.get(),
                      strides_.get(),
                      fields.byte_offset};
    full.manager_ctx = this;
    full.deleter = fields.has_deleter ? &Producer::deleted : nullptr;
    std::size_t bytes = sizeof(M);
    if constexpr (dlpack::Wire<M>::versioned) {
      full.version = fields.version;
      full.flags = fields.flags;
      if (fields.version.major != 1) bytes = offsetof(M, dl_tensor);
    }
    managed_ = static_cast<M*>(::operator new(bytes));
    std::memcpy(static_cast<void*>(managed_), &full, bytes);
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  ~Producer() { release(); }

  M* managed() const noexcept { return managed_; }

 private:
  static std::unique_ptr<std::int64_t[]> copy(const std::int64_t* values, std::size_t count) {
    std::unique_ptr<std::int64_t[]> out(new std::int64_t[count]);
    std::copy_n(values, count, out.get());
    return out;
  }
  /// Frees everything that a consumer could still access.
  void release() noexcept {
    ::operator delete(managed_);
    managed_ = nullptr;
    shape_.reset();
    strides_.reset();
  }
  static void deleted(M* managed) {
    auto* self = static_cast<Producer*>(managed->manager_ctx);
    ++self->calls_;
    self->release();
  }

  int& calls_;
  std::unique_ptr<std::int64_t[]> shape_;
  std::unique_ptr<std::int64_t[]> strides_;
  M* managed_ = nullptr;
};

}  // namespace refarray::fuzz
