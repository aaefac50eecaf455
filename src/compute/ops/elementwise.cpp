// Elementwise computation: the kernel of a function, shapes, and the path of contiguous operands.
#include "compute/ops/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "compute/kernels_in_use.hpp"
#include "compute/ops/blocks.hpp"
#include "compute/ops/complex_kernels.hpp"
#include "core/error.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{256} << 10;

/// Whether the kernel can take all operands whole: each is one element, or contiguous like `out`.
bool is_direct(const ElementwiseKernel& kernel, const ArrayView& out,
               std::span<const ArrayView> inputs, unsigned& scalars) noexcept {
  if (out.dtype != kernel.out || !is_c_contiguous(out.extents(), out.stride_span())) return false;
  scalars = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView& input = inputs[i];
    if (input.dtype != kernel.in[i]) return false;
    if (input.ndim == 0 && out.ndim > 0)
      scalars |= 1U << i;
    else if (!std::ranges::equal(input.extents(), out.extents()) ||
             !is_c_contiguous(input.extents(), input.stride_span()))
      return false;
  }
  return scalars + 1 != 1U << inputs.size();
}

/// Contiguous operands, cut into pieces that can be shared and interrupted.
bool run_direct(const ElementwiseKernel& kernel, const ArrayView& out,
                std::span<const ArrayView> inputs, unsigned scalars,
                const InterruptCheck& interrupt) noexcept {
  const std::int64_t size = out.size();
  int itemsize = out.dtype.itemsize();
  for (const ArrayView& input : inputs) itemsize = std::max(itemsize, input.dtype.itemsize());
  const std::int64_t elements = kPieceBytes / itemsize;
  const auto piece = [&](std::int64_t index) {
    const std::int64_t begin = index * elements;
    const std::byte* in[kMaxInputs];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t at = (scalars >> i & 1) != 0 ? 0 : begin * inputs[i].dtype.itemsize();
      in[i] = inputs[i].data + at;
    }
    kernel.function(out.data + begin * out.dtype.itemsize(), in, std::min(elements, size - begin),
                    scalars);
  };
  if (size <= elements) {
    piece(0);
    return true;
  }
  return share_work((size + elements - 1) / elements, threads_for(size * itemsize), interrupt,
                    piece);
}

bool run_blocks(const ElementwiseKernel& kernel, const ArrayView& out,
                std::span<const ArrayView> inputs, const InterruptCheck& interrupt) noexcept {
  const BlockWalk blocks(kernel, out, inputs);
  constexpr std::int64_t kPerPiece = kPieceBytes / BlockWalk::kBlockBytes;
  const std::int64_t per_piece =
      std::max(kPerPiece, blocks.count() / std::max<std::int64_t>(out.nbytes() / kPieceBytes, 1));
  const auto piece = [&](std::int64_t index) {
    blocks.run(index * per_piece, std::min((index + 1) * per_piece, blocks.count()));
  };
  return share_work((blocks.count() + per_piece - 1) / per_piece, threads_for(out.nbytes()),
                    interrupt, piece);
}

}  // namespace

DType result_dtype(Result rule, ScalarType dtype) noexcept {
  if (rule == Result::kBoolDtype) return scalar_dtype(ScalarType::kBool);
  DType out = scalar_dtype(dtype);
  if (rule == Result::kRealDtype && out.is_complex()) {
    out.kind = Kind::kFloat;
    out.bits = static_cast<std::uint8_t>(out.bits / 2);
  }
  return out;
}

ElementwiseKernel find_kernel(Elementwise operation, ScalarType dtype) noexcept {
  const auto row = static_cast<std::size_t>(operation);
  const auto& arithmetic = kernels::operations().elementwise().by_dtype[row];
  const auto find = [row, &arithmetic](ScalarType type) {
    const auto column = static_cast<std::size_t>(type);
    for (const auto kernel : {arithmetic[column], kernels::mathematics().by_dtype[row][column]})
      if (kernel != nullptr) return kernel;
    return complex_kernels().by_dtype[row][column];
  };
  ElementwiseKernel out{find(dtype), {}, {}};
  if (out.function == nullptr && is_half(dtype)) {
    const bool is_arithmetic =
        arithmetic[static_cast<std::size_t>(ScalarType::kFloat32)] != nullptr;
    dtype = is_arithmetic ? ScalarType::kFloat32 : ScalarType::kFloat64;
    out.function = find(dtype);
  }
  std::fill_n(out.in, kMaxInputs, scalar_dtype(dtype));
  out.out = result_dtype(row_of(operation).result, dtype);
  return out;
}

ElementwiseKernel find_where_kernel(ScalarType dtype) noexcept {
  const DType value = scalar_dtype(dtype);
  return {kernels::operations().where[std::countr_zero(static_cast<unsigned>(value.itemsize()))],
          {scalar_dtype(ScalarType::kBool), value, value},
          value};
}

Layout broadcast_shapes(Extents a, Extents b) {
  const Extents longer = a.size() >= b.size() ? a : b;
  const Extents shorter = a.size() >= b.size() ? b : a;
  Layout out(longer, longer);
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = out.shape[missing + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) {
      fail(Fault::kValue, "shapes ", shape_text(a), " and ", shape_text(b),
           " do not broadcast: axis ", missing + i, " of the result has extents ", extent, " and ",
           shorter[i], "; they must be equal, or one of them 1");
    }
    extent = shorter[i];
  }
  return out;
}

Layout result_layout(Extents shape, std::span<const ArrayView> inputs) {
  Layout out = c_layout(shape);
  for (const ArrayView& input : inputs) {
    if (input.ndim < 2 || !std::ranges::equal(input.extents(), shape)) continue;
    if (is_c_contiguous(input.extents(), input.stride_span())) return out;
    const auto steps = [&input](int axis) {  // of an axis of extent 1 any, also the least integer
      const auto stride = static_cast<std::uint64_t>(input.strides[axis]);
      return input.strides[axis] < 0 ? 0 - stride : stride;
    };
    int order[kMaxRank];
    std::iota(order, order + out.ndim, 0);
    for (int end = 1; end < out.ndim; ++end) {  // stable, by descending strides
      for (int i = end; i > 0 && steps(order[i]) > steps(order[i - 1]); --i)
        std::swap(order[i], order[i - 1]);
    }
    std::int64_t stride = 1;
    for (int i = out.ndim - 1; i >= 0; --i) {
      out.strides[order[i]] = stride;
      stride *= std::max<std::int64_t>(shape[static_cast<std::size_t>(order[i])], 1);
    }
    return out;
  }
  return out;
}

bool run_elementwise(const ElementwiseKernel& kernel, const ArrayView& out,
                     std::span<const ArrayView> inputs, const InterruptCheck& interrupt) {
  if (out.size() == 0) return true;
  unsigned scalars = 0;
  if (is_direct(kernel, out, inputs, scalars)) [[likely]]
    return run_direct(kernel, out, inputs, scalars, interrupt);
  return run_blocks(kernel, out, inputs, interrupt);
}

}  // namespace refarray::core
