// Implements shifts along axes.
#include "extension/compute/manipulation/rolling.hpp"

#include "core/ledger.hpp"
#include "extension/copy/copying.hpp"

namespace refarray::extension {
namespace {

/// Copies the parts before and after the shift, along this axis and those after it.
void roll_from(int axis, const core::Array& to, const core::Array& from,
               const std::int64_t* shifts) {
  while (axis < from.layout.ndim && shifts[axis] == 0) ++axis;
  if (axis == from.layout.ndim) return move_elements(to, from);
  const std::int64_t extent = from.layout.shape[axis];
  const std::int64_t shift = shifts[axis];
  const auto part = [axis](const core::Array& array, std::int64_t begin, std::int64_t count) {
    core::Layout layout = array.layout;
    layout.shape[axis] = count;
    return core::with_layout(array, layout, core::wrapped_product(begin, layout.strides[axis]));
  };
  roll_from(axis + 1, part(to, shift, extent - shift), part(from, 0, extent - shift), shifts);
  roll_from(axis + 1, part(to, 0, shift), part(from, extent - shift, shift), shifts);
}

}  // namespace

core::Array rolled(const core::ArrayView& array, const std::int64_t* shifts) {
  core::note(core::Entry::kCopy, array.nbytes());
  const core::Device device = default_copy_device(array.device());
  Unfinished out(
      allocate_on(device, array.dtype, array.extents(), /*zeroed=*/array.dtype.is_packed()));
  const core::Layout layout(array.extents(), array.stride_span());
  if (array.size() != 0) roll_from(0, out.array(), core::with_layout(array, layout, 0), shifts);
  return out.finish();
}

std::int64_t total_shift(std::int64_t shift, std::int64_t more, std::int64_t extent) noexcept {
  if (extent == 0) return 0;
  more %= extent;
  if (more < 0) more += extent;
  return shift >= extent - more ? shift - (extent - more) : shift + more;
}

}  // namespace refarray::extension
