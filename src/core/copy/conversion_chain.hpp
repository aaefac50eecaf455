// Owns what happens to the elements of one run when a copy is more than moving bytes: the chain of
// kernels between two types.
#pragma once

#include "core/copy/strided_span.hpp"
#include "core/kernels/table.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// For equal kind, bits and lanes; packed and padded forms may differ.
Kernel move_kernel(const DType& to, const DType& from) noexcept;

/// Up to four kernels, with buffers of kChunk elements between them.
class ConversionChain {
 public:
  /// Nothing can_convert refuses may be asked for.
  ConversionChain(const DType& to, const DType& from, const kernels::Table& table) noexcept;
  void apply(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) const noexcept;

 private:
  void push(Kernel kernel, int output_bits) noexcept;
  void push_cast(int to, int from) noexcept;

  static constexpr int kMaxSteps = 4;  // unpack, to float32, from float32, pack
  const kernels::Table* table_;
  Kernel steps_[kMaxSteps];
  int bits_[kMaxSteps];  // of one element that a step leaves behind
  int count_ = 0;
  int src_bits_;
  // Conversions are vectors only between gapless elements: others are moved to or from such first.
  bool gathers_ = false;
  bool scatters_ = false;
};

}  // namespace refarray::core
