// ConversionChain: the sequence of kernels that converts a span of elements to another type.
#pragma once

#include "core/copy/strided_span.hpp"
#include "core/kernels/table.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// The kernel between two types that differ at most in being packed or padded; one of them is
/// packed.
Kernel move_kernel(const DType& to, const DType& from) noexcept;

/// Up to four kernels, connected by buffers in L1. None copies elements of whole bytes.
class ConversionChain {
 public:
  /// Requires can_convert(from, to). Equal types that are not packed have 1 to 16 bytes, a power of
  /// two.
  ConversionChain(const DType& to, const DType& from, const kernels::Table& table) noexcept;
  void apply(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) const noexcept;

 private:
  void push(Kernel kernel, int output_bits) noexcept;
  void push_cast(ScalarType to, ScalarType from) noexcept;

  static constexpr int kMaxSteps = 4;  // unpack, to float32, from float32, pack
  const kernels::Table* table_;
  Kernel steps_[kMaxSteps];
  int bits_[kMaxSteps];  // of one element of the output of a step
  int count_ = 0;
  int src_bits_;
  std::int64_t chunk_ = 0;            // elements that fit each buffer
  std::int64_t scattered_chunk_ = 0;  // the same if the last output is buffered, too
  // Conversion kernels are vectorized for contiguous elements only. Other spans are copied through
  // a contiguous buffer first.
  bool buffers_src_ = false;
  bool buffers_dst_ = false;
};

}  // namespace refarray::core
