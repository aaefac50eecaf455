// DLPack export without Python: decide how to answer a request (step 2) and make the managed tensor
// (step 4).
#pragma once

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "refarray/dlpack/managed.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::dlpack {

/// copy= of the standard: None, True, False.
enum class Copy { kIfNeeded, kAlways, kNever };

/// The arguments of __dlpack__. `device` holds raw numbers: consumers may name unsupported devices.
struct ExportRequest {
  bool versioned = false;  // max_version >= (1, 0)
  Copy copy = Copy::kIfNeeded;
  std::optional<DLDevice> device;  // dl_device; empty: the array's own
};

/// How the request will be answered.
struct ExportPlan {
  bool copy = false;
  core::Device device;  // of the exported data, as the struct will say
};

/// Step 2 for requests that decide_export() does not answer itself.
[[gnu::noinline]] ExportPlan decide_unusual_export(const core::ArrayView& array,
                                                   const ExportRequest& request);

/// Step 2, before anything is allocated. Throws kNoCopy, or kBuffer naming what cannot be
/// described: read-only or padded data in a legacy struct, an unusable device, packed data that
/// does not begin and stride on whole bytes. The runtime makes the refusals of step 2 that
/// concern streams: choose_stream(), check_copy() and order(). After those only allocation
/// and driver calls can fail.
inline ExportPlan decide_export(const core::ArrayView& array,
                                const ExportRequest& request) {  // [2] decide
  const DLDevice own = to_dlpack(array.device());
  const bool stays = !request.device || (request.device->device_type == own.device_type &&
                                         request.device->device_id == own.device_id);
  const bool usual = stays && request.copy != Copy::kAlways && !array.dtype.is_packed() &&
                     (request.versioned || (!array.readonly && !array.dtype.padded));
  if (usual) return {false, array.device()};
  return decide_unusual_export(array, request);
}

/// Step 4. One heap block holds the tensor, its shape and strides, and one reference to the
/// storage. The deleter frees the block and needs no Python: any thread may call it, without the
/// GIL or an interpreter (LIFE-04, LIFE-05). The offset is folded into `data` and byte_offset is 0;
/// data is NULL for size 0 (TENS-03); strides are never NULL (TENS-06). Throws std::bad_alloc.
template <class M>
Managed<M> make_managed(const core::ArrayView& array, core::StoragePtr storage, core::Device device,
                        bool copied, runtime::Lent lent);

/// Fills a borrowed DLTensor, whose shape and strides stay the array's own (CAPI-15).
void borrow(const core::ArrayView& array, DLTensor& out, runtime::Lent lent) noexcept;

/// The storage behind a managed tensor from make_managed(); nullptr for any other tensor.
template <class M>
core::Storage* own_storage(const M& tensor) noexcept;

/// Frees a managed tensor for which own_storage() is not nullptr, and moves its reference to the
/// storage to the caller: an array that comes back shares its old storage without a wrapper.
template <class M>
core::StoragePtr open_own(Managed<M> tensor) noexcept;

}  // namespace refarray::dlpack
