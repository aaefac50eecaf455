// New arrays on devices, zeroed in stream order.
#include "runtime/memory/new_array.hpp"

#include "runtime/device_context.hpp"
#include "runtime/memory/device_storage.hpp"
#include "runtime/memory/tracked_storage.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

/// Zeroes new memory on `stream` and records the write.
void zero(TrackedStorage& storage, std::size_t nbytes, const StreamPtr& stream) {
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  const auto to = reinterpret_cast<Address>(storage.data());
  context.check(context.api().set_bytes(to, 0, nbytes, stream->handle()), "zeroing memory");
  storage.pending.add(unrecorded_use(stream, /*writes=*/true), storage.pending.newest());
}

core::Array new_device_array(const core::DType& dtype, core::Extents shape,
                             const core::Device& device, bool zeroed, StreamPtr stream) {
  core::Array out{{}, nullptr, dtype, 0, false, core::c_layout(shape)};
  const std::int64_t nbytes = core::checked_nbytes(core::size_of(shape), dtype);
  stream = stream_on(context_of(device), stream);
  out.storage = new_device_storage(device, nbytes, stream);
  out.data = out.storage->data();
  if (nbytes == 0) return out;
  // Kernels write packed elements by operations on whole words, which read the other bits. And
  // equal arrays have equal bytes, with the unused bits after the last packed element.
  if (zeroed || dtype.is_packed()) zero(*tracked(out.storage.get()), whole_words(nbytes), stream);
  return out;
}

}  // namespace

core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream) {
  if (device == core::Device{}) return core::new_array(dtype, shape, zeroed);
  require(device);
  return new_device_array(dtype, shape, device, zeroed, stream);
}

}  // namespace refarray::runtime
