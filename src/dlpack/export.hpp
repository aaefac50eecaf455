// Owns the producer's side: deciding how an array answers a request, and making the managed tensor.
// Steps 2 and 4.
#pragma once

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::dlpack {

/// copy= of the standard: None, True, False.
enum class Copy { kIfNeeded, kAlways, kNever };

/// What a consumer asks for. `device` holds raw numbers: a consumer may name devices that we do not
/// know.
struct ExportRequest {
  bool versioned = false;  // max_version >= (1, 0)
  Copy copy = Copy::kIfNeeded;
  std::optional<DLDevice> device;  // dl_device; empty: the array's own
};

/// How it will be answered; nothing can be refused after this.
struct ExportPlan {
  bool copy = false;
  core::Device device;  // the label in the struct
};

/// Step 2. Every refusal of an export is made here, before anything is allocated. Throws kBuffer
/// naming what cannot be described: read-only or padded data for a legacy consumer, a device we
/// cannot serve, packed data that does not begin and stride on whole bytes.
[[gnu::noinline]] ExportPlan decide_unusual_export(const core::ArrayView& array,
                                                   const ExportRequest& request);
inline ExportPlan decide_export(const core::ArrayView& array,
                                const ExportRequest& request) {  // [2] decide
  const DLDevice own = to_dlpack(array.device());
  const bool here = !request.device || (request.device->device_type == own.device_type &&
                                        request.device->device_id == own.device_id);
  const bool usual = here && request.copy != Copy::kAlways && !array.dtype.is_packed() &&
                     (request.versioned || (!array.readonly && !array.dtype.padded));
  if (usual) return {false, array.device()};
  return decide_unusual_export(array, request);
}

/// Step 4. One heap block holds the tensor, its shape and strides, and one reference to the
/// storage; the deleter frees it and touches no Python: any thread, no GIL, no interpreter needed
/// (LIFE-04, LIFE-05). Offset folded into `data`, byte_offset 0; NULL data for size 0 (TENS-03);
/// strides never NULL (TENS-06). Throws kMemory.
template <class M>
Managed<M> make_managed(const core::ArrayView& array, core::StoragePtr storage, core::Device device,
                        bool copied);

/// Fills a borrowed DLTensor: shape and strides stay the array's own (CAPI-15).
void borrow(const core::ArrayView& array, DLTensor& out) noexcept;

/// The storage behind a managed tensor that make_managed made, else nullptr.
template <class M>
core::Storage* own_storage(const M& tensor) noexcept;

/// Takes the storage out of a managed tensor that make_managed made, for which own_storage is not
/// nullptr: the struct goes and its reference moves to the caller, so that n hops through refarray
/// cost what one does.
template <class M>
core::StoragePtr open_own(Managed<M> tensor) noexcept;

}  // namespace refarray::dlpack
