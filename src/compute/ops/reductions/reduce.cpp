// reduce(): sharing a reduction among pieces, and combining and converting their results.
#include "compute/ops/reductions/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "compute/kernels_in_use.hpp"
#include "compute/ops/reductions/work.hpp"
#include "core/copy/chunks.hpp"
#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"

namespace refarray::core {

namespace {

constexpr DType kFloat32{Kind::kFloat, 32};
constexpr DType kFloat64{Kind::kFloat, 64};
constexpr DType kInt64{Kind::kInt, 64};
constexpr std::int64_t kPieceBytes = 1 << 20;
constexpr std::size_t kSmallResults = 512;  // bytes that need no allocation

/// The dtype in which elements of `x` reach the kernels.
DType work_dtype(Reduction operation, const DType& x, const DType& out) noexcept {
  switch (operation) {
    case Reduction::kAll:
    case Reduction::kAny:
    case Reduction::kCountNonzero:
      return {Kind::kBool, 8};
    case Reduction::kSum:
    case Reduction::kProd:
    case Reduction::kMean:
      return accumulator_dtype(out);
    case Reduction::kStd:
    case Reduction::kVar:
      return kFloat64;
    default:
      return x.bits == 16 && x.kind != Kind::kInt && x.kind != Kind::kUInt ? kFloat32 : x;
  }
}

/// The result of no elements, or the index of the first one, in every element of `out`.
bool fill_identity(const ArrayView& out, Reduction operation, const InterruptCheck& interrupt) {
  double value = 0;
  if (operation == Reduction::kAll || operation == Reduction::kProd) value = 1;
  if (operation == Reduction::kMean || operation == Reduction::kStd || operation == Reduction::kVar)
    value = std::numeric_limits<double>::quiet_NaN();
  double parts[2] = {value, value};
  if (operation != Reduction::kMean) parts[1] = 0;
  const std::int64_t strides[kMaxRank] = {};
  const DType wide{out.dtype.is_complex() ? Kind::kComplex : Kind::kFloat,
                   std::uint8_t(out.dtype.is_complex() ? 128 : 64)};
  const DType dtype = value == 0 ? out.dtype : wide;  // no bits are zero in every dtype
  return copy(
      out,
      {nullptr, reinterpret_cast<std::byte*>(parts), dtype, 0, true, out.ndim, out.shape, strides},
      interrupt);
}

/// Whether the reduction of one element is that element, converted.
bool keeps_one(const ReductionWork& work, const ReductionCall& call, const DType& out) noexcept {
  switch (call.operation) {
    case Reduction::kAll:
    case Reduction::kAny:
      return true;
    case Reduction::kCountNonzero:
    case Reduction::kStd:
    case Reduction::kVar:
      return false;
    default:
      return work.x.dtype == out;
  }
}

/// The results of a reduction, one or more rows of them: in `out` itself, if they can be stored
/// there, or in memory of their own.
class Results {
 public:
  Results(const ReductionWork& work, const ArrayView& out, bool in_out)
      : work_(work), piece_(work.block * work.blocks_per_piece) {
    rows_ = std::max<std::int64_t>((work.count + piece_ - 1) / piece_, 1);
    if (in_out && rows_ == 1 && !work.searches && out.dtype == work.stored &&
        work.kept.is_contiguous_to()) {
      data_ = out.data;
      is_out_ = true;
      return;
    }
    const std::int64_t row_bytes = checked_nbytes(work.outputs, {Kind::kUInt, 8}) * work.out_size;
    const std::int64_t shape[2] = {rows_, row_bytes};
    if (checked_size(shape) <= static_cast<std::int64_t>(kSmallResults)) {
      data_ = small_;
    } else {
      memory_ = new_storage(size_of(shape), /*zeroed=*/false);
      data_ = memory_->data();
    }
  }

  std::byte* data() const noexcept { return data_; }
  bool is_out() const noexcept { return is_out_; }

  bool compute(const InterruptCheck& interrupt) const noexcept {
    const std::int64_t length = std::min(work_.count, piece_);
    const std::int64_t group = std::clamp<std::int64_t>(kPieceBytes / (length * work_.in_size),
                                                        rows_ == 1 ? 1 : 64, work_.outputs);
    const std::int64_t groups = (work_.outputs + group - 1) / group;
    const std::int64_t bytes = work_.outputs * work_.count * work_.in_size;
    const auto piece = [&](std::int64_t i) {
      const std::int64_t row = i % rows_;
      const std::int64_t first = i / rows_ * group;
      work_.run_piece(first, std::min(first + group, work_.outputs), row * piece_,
                      std::min((row + 1) * piece_, work_.count),
                      data_ + (row * work_.outputs + first) * work_.out_size);
    };
    if (!share_work(groups * rows_, threads_for(bytes), interrupt, piece)) return false;
    combine();
    return true;
  }

  [[gnu::noinline]] bool copy_to(const ArrayView& out,
                                 const InterruptCheck& interrupt) const noexcept {
    if (store_one(out)) return true;
    const StridedAxes& kept = work_.kept;
    std::int64_t strides[kMaxRank];
    std::int64_t next = work_.searches ? 2 : 1;
    for (int i = kept.count - 1; i >= 0; --i) {
      strides[i] = next;
      next *= kept.extents[i];
    }
    std::byte* const from = data_ + (work_.searches ? offsetof(kernels::Best, index) : 0);
    const ArrayView to{nullptr, out.data, out.dtype, 0, false, kept.count, kept.extents, kept.to};
    const ArrayView source{
        nullptr,      from,   work_.searches ? kInt64 : work_.stored, 0, false, kept.count,
        kept.extents, strides};
    return run(Plan(to, source), interrupt);
  }

 private:
  /// A single index or bool, which is not worth a plan.
  bool store_one(const ArrayView& out) const noexcept {
    if (work_.outputs != 1) return false;
    if (work_.searches) {
      std::memcpy(out.data, data_ + offsetof(kernels::Best, index), sizeof(std::int64_t));
      return true;
    }
    if (out.dtype.kind != Kind::kBool || work_.out_size != 1) return false;
    *out.data = std::byte{*data_ != std::byte{0}};
    return true;
  }

  void combine() const noexcept {
    if (rows_ == 1) return;
    if (!work_.searches)
      return combine_rows(work_.fold, data_, rows_, work_.outputs, work_.out_size);
    auto* const best = reinterpret_cast<kernels::Best*>(data_);
    for (std::int64_t row = 1; row < rows_; ++row) {
      for (std::int64_t i = 0; i < work_.outputs; ++i) {
        const kernels::Best& other = best[row * work_.outputs + i];
        if (other.key < best[i].key) best[i] = other;
      }
    }
  }

  const ReductionWork& work_;
  std::int64_t piece_;  // elements
  std::int64_t rows_;   // one for each piece of the elements of an output
  std::byte* data_;
  bool is_out_ = false;
  StoragePtr memory_;
  alignas(16) std::byte small_[kSmallResults];
};

/// The second pass of var and std, and the final results of both.
[[gnu::noinline]] bool reduce_deviations(ReductionWork& work, const Results& means,
                                         const ArrayView& out, const ReductionCall& call,
                                         const InterruptCheck& interrupt) {
  work.means = means.data();
  const Results squares(work, out, true);
  if (!squares.compute(interrupt)) return false;
  const kernels::Statistics& statistics = kernels::operations().reductions.statistics;
  double divisor = static_cast<double>(work.count) - call.correction;
  if (!(divisor > 0)) divisor = std::numeric_limits<double>::quiet_NaN();  // as the standard says
  statistics.divide(kFloat64.scalar(), squares.data(), work.outputs, divisor);
  if (call.operation == Reduction::kStd) statistics.square_root(squares.data(), work.outputs);
  return squares.is_out() || squares.copy_to(out, interrupt);
}

}  // namespace

bool reduce(const ArrayView& out, const ArrayView& x, const ReductionCall& call,
            const InterruptCheck& interrupt) {
  if (out.size() == 0) return true;
  if (x.size() == 0) return fill_identity(out, call.operation, interrupt);
  const bool is_variance = call.operation == Reduction::kVar || call.operation == Reduction::kStd;
  ReductionWork work(out, x, call, work_dtype(call.operation, x.dtype, out.dtype));
  if (work.count == 1 && work.outputs > 1) {
    if (work.searches) return fill_identity(out, call.operation, interrupt);
    if (keeps_one(work, call, out.dtype)) return copy(out, work.x, interrupt);
  }
  const Results results(work, out, !is_variance);
  if (!results.compute(interrupt)) return false;
  if (call.operation == Reduction::kMean || is_variance) {
    kernels::operations().reductions.statistics.divide(
        is_variance ? work.stored.scalar() : out.dtype.scalar(), results.data(), work.outputs,
        static_cast<double>(work.count));
  }
  if (is_variance) return reduce_deviations(work, results, out, call, interrupt);
  return results.is_out() || results.copy_to(out, interrupt);
}

}  // namespace refarray::core
