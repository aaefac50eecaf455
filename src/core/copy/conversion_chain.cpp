// Selection of the kernels of a conversion chain, and its application to a span.
#include "core/copy/conversion_chain.hpp"

#include <algorithm>
#include <bit>

namespace refarray::core {

namespace {

/// Three of them are on the stack, in less than 4 KiB. Holds a multiple of four elements of each
/// size, so that those of the next chunk begin at a whole byte.
constexpr std::int64_t kBufferBytes = 1216;
constexpr std::int64_t kBufferingThreshold =
    8;  // elements: shorter spans are not worth a contiguous buffer

DType padded(DType dtype) noexcept {
  dtype.padded = true;
  return dtype;
}

/// Copies elements of whole bytes between two strided spans, without conversion.
void copy_words(const kernels::Table& table, const StridedSpan& dst, const StridedSpan& src,
                int bits, std::int64_t count) noexcept {
  const int word = std::countr_zero(static_cast<unsigned>(bits)) - 3;
  table.strided[word]({dst.data, src.data, count, dst.stride / 8, src.stride / 8, 1, 0, 0, false});
}

}  // namespace

ConversionChain::ConversionChain(const DType& to, const DType& from,
                                 const kernels::Table& table) noexcept
    : table_(&table), src_bits_(from.stored_bits()) {
  if (to.kind == from.kind && to.bits == from.bits) {
    if (to.is_packed() || from.is_packed()) push(move_kernel(to, from), to.stored_bits());
    return;
  }
  buffers_src_ = !from.is_packed();
  if (from.is_packed()) push(move_kernel(padded(from), from), 8);
  push_cast(to.scalar(), from.scalar());
  buffers_dst_ = !to.is_packed();
  if (to.is_packed()) push(move_kernel(to, padded(to)), to.stored_bits());
  const auto elements = [](int bits) {
    return kBufferBytes >> std::countr_zero(static_cast<unsigned>(bits) / 8);
  };
  int widest = std::max(src_bits_, 8);
  for (int step = 0; step + 1 < count_; ++step) widest = std::max(widest, bits_[step]);
  chunk_ = elements(widest);
  scattered_chunk_ = elements(std::max(widest, bits_[count_ - 1]));
}

void ConversionChain::push(Kernel kernel, int output_bits) noexcept {
  steps_[count_] = kernel;
  bits_[count_] = output_bits;
  ++count_;
}

/// Pairs without a direct kernel go through float32 or complex64, which hold every value of the
/// source that is in the range of the destination exactly, or from real to complex numbers through
/// the type of the parts: each conversion rounds once.
void ConversionChain::push_cast(ScalarType to, ScalarType from) noexcept {
  const auto stored = [](ScalarType type) { return (int{info_of(type).bits} + 7) / 8 * 8; };
  if (const Kernel direct = table_->cast(to, from); direct != nullptr) {
    push(direct, stored(to));
    return;
  }
  ScalarType via = ScalarType::kFloat32;
  if (to == ScalarType::kComplex128 && info_of(from).kind != Kind::kComplex)
    via = ScalarType::kFloat64;
  else if (info_of(from).kind == Kind::kComplex)
    via = ScalarType::kComplex64;
  push_cast(via, from);
  push(table_->cast(to, via), stored(to));
}

void ConversionChain::apply(const StridedSpan& dst, const StridedSpan& src,
                            std::int64_t count) const noexcept {
  if (count_ == 0) return copy_words(*table_, dst, src, src_bits_, count);
  const bool is_long = count >= kBufferingThreshold;
  const bool gathers = buffers_src_ && is_long && src.stride != src_bits_;
  const bool scatters = buffers_dst_ && is_long && dst.stride != bits_[count_ - 1];
  if (count_ == 1 && !gathers && !scatters) return steps_[0](dst, src, count);
  alignas(64) std::byte buffers[3][kBufferBytes];
  const std::int64_t most = scatters ? scattered_chunk_ : chunk_;
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t chunk = std::min(most, count - done);
    StridedSpan input = src.at(done * src.stride);
    if (gathers) {
      const StridedSpan contiguous{buffers[2], src_bits_, 0, src.width};
      copy_words(*table_, contiguous, input, src_bits_, chunk);
      input = contiguous;
    }
    const int buffered = scatters ? count_ : count_ - 1;
    for (int step = 0; step < buffered; ++step) {
      const StridedSpan output{buffers[step % 2], bits_[step], 0, bits_[step]};
      steps_[step](output, input, chunk);
      input = output;
    }
    const StridedSpan output = dst.at(done * dst.stride);
    if (scatters)
      copy_words(*table_, output, input, bits_[count_ - 1], chunk);
    else
      steps_[count_ - 1](output, input, chunk);
  }
}

}  // namespace refarray::core
