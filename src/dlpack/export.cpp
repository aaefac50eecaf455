// DLPack export without Python: request → plan → managed tensor, and its deleter. Mirrors
// import.cpp.
#include "dlpack/export.hpp"

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/memory/small_blocks.hpp"
#include "dlpack/import.hpp"
#include "runtime/runtime.hpp"

namespace refarray::dlpack {
namespace {

using core::ArrayView;
using core::Fault;

/// The heap block behind an exported tensor; shape and strides follow it in the same allocation. It
/// is never moved: the consumer holds a pointer to `tensor`.
template <class M>
struct Exported {
  core::Storage* storage;  // one reference
  bool small;              // allocated by SmallBlocks
  M tensor;

  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }

  /// The deleter that consumers call.
  static void destroy(M* tensor) noexcept {
    auto* self = static_cast<Exported*>(tensor->manager_ctx);
    core::Storage* storage = self->storage;
    free(self);  // before the storage, whose last release may run a foreign deleter
    storage->release();
  }

  /// A block for `rank` axes. Throws std::bad_alloc.
  static Exported* allocate(std::size_t rank) {
    const bool small = core::kKeepsMemory && rank <= kSmallRank;
    void* block = small ? core::SmallBlocks::allocate()
                        : std::malloc(sizeof(Exported) + 2 * rank * sizeof(std::int64_t));
    if (block == nullptr) throw std::bad_alloc();
    auto* self = ::new (block) Exported;
    self->small = small;
    return self;
  }
  static void free(Exported* self) noexcept {
    self->small ? core::SmallBlocks::free(self) : std::free(self);
  }

 private:
  static constexpr std::size_t kSmallRank = 8;
};
static_assert(sizeof(Exported<DLManagedTensorVersioned>) + 16 * sizeof(std::int64_t) <=
              core::kSmallBlockSize);

/// Strides count elements and byte_offset counts bytes, so packed data can be described only
/// when it is compact, or when its last axis (of extent > 1) has unit stride and the other axes
/// step over whole bytes.
void check_packed(const ArrayView& array) {
  const int bits = array.dtype.stored_bits();
  if (array.bit != 0) {
    core::fail(Fault::kBuffer, "cannot export a ", core::name(array.dtype),
               " view that begins at bit ", int{array.bit},
               " of a byte; DLPack addresses whole bytes: copy() it first");
  }
  if (core::is_c_contiguous(array.extents(), array.stride_span())) return;
  bool last = true;
  for (int axis = array.ndim - 1; axis >= 0; --axis) {
    if (array.shape[axis] <= 1) continue;
    if (last ? array.strides[axis] != 1 : (array.strides[axis] * bits) % 8 != 0) {
      core::fail(Fault::kBuffer, "cannot export packed ", core::name(array.dtype), " with stride ",
                 array.strides[axis], " on axis ", axis,
                 "; packed data needs unit stride on the last axis and whole bytes on the others: "
                 "copy() it first");
    }
    last = false;
  }
}

[[noreturn, gnu::cold]] void refuse_device(core::Device own, DLDevice asked) {
  const DLDevice mine = to_dlpack(own);
  core::fail(Fault::kBuffer, "dl_device=", device_text(asked),
             " cannot be served: this array is on ", core::name(own),
             ", which can be exported as (", static_cast<int>(mine.device_type), ", ",
             mine.device_id, ")", own == core::Device{} ? "" : " or (1, 0)");
}

/// For a supported kind of device that this process cannot use; the message gives the reason.
[[noreturn, gnu::cold]] void refuse_unusable(DLDevice asked, const core::Device& target) {
  std::string why = core::text("no memory on ", core::name(target));
  try {  // boundary: the reason becomes part of the message below
    runtime::require(target);
  } catch (const core::Error& error) {
    why = error.what();
  }
  core::fail(Fault::kBuffer, "dl_device=(", static_cast<int>(asked.device_type), ", ",
             asked.device_id, ") cannot be served: ", why);
}

/// The target device, and whether reaching it takes a copy.
ExportPlan decide_device(const ArrayView& array, const ExportRequest& request) {
  const core::Device own = array.device();
  if (!request.device) return {false, own};
  const DLDevice asked = *request.device;
  const DLDevice mine = to_dlpack(own);
  if (asked.device_type == mine.device_type && asked.device_id == mine.device_id) {
    return {false, own};
  }
  // Memory that the CPU can access needs no copy, only another device in the struct.
  const bool reachable = own.is_host() || own.kind == core::DeviceKind::kCudaManaged;
  if (asked.device_type == kDLCPU && asked.device_id == 0 && reachable) return {};
  const std::optional<core::Device> target = to_core(asked);
  if (!target) refuse_device(own, asked);
  if (request.copy == Copy::kNever) {
    core::fail(Fault::kNoCopy, "copy=False, but from ", core::name(own), " to ",
               core::name(*target), " the data has to be copied");
  }
  if (!runtime::can_allocate(*target)) refuse_unusable(asked, *target);
  return {true, *target};
}

void fill(const ArrayView& array, core::Device device, std::int64_t* shape, std::int64_t* strides,
          DLTensor& out) noexcept {
  bool empty = false;
  for (int axis = 0; axis < array.ndim; ++axis) empty |= array.shape[axis] == 0;
  out.data = empty ? nullptr : array.data;
  out.device = to_dlpack(device);
  out.ndim = array.ndim;
  out.dtype = to_dlpack(array.dtype);
  out.shape = shape;
  out.strides = strides;
  out.byte_offset = 0;
}

}  // namespace

ExportPlan decide_unusual_export(const ArrayView& array, const ExportRequest& request) {
  ExportPlan plan = decide_device(array, request);
  plan.copy |= request.copy == Copy::kAlways;
  if (plan.copy && !runtime::can_allocate(plan.device)) {
    core::fail(
        Fault::kBuffer, "copy=True needs memory on ", core::name(plan.device),
        ", which this process cannot allocate; dl_device=(1, 0) asks for a copy in host memory");
  }
  if (!request.versioned) {
    if (array.readonly && !plan.copy) {
      core::fail(
          Fault::kBuffer,
          "cannot export a read-only array in a legacy capsule, which has no read-only flag; "
          "pass max_version=(1, 0) or later, or copy=True");
    }
    if (array.dtype.padded) {
      core::fail(Fault::kBuffer, "cannot export padded ", core::name(array.dtype),
                 " in a legacy capsule, which has no flag for padding; pass max_version=(1, 1) or "
                 "later");
    }
  }
  if (array.dtype.is_packed() && !plan.copy) check_packed(array);
  return plan;
}

template <class M>
Managed<M> make_managed(const ArrayView& array, core::StoragePtr storage, core::Device device,
                        bool copied, runtime::Lent) {
  const auto rank = static_cast<std::size_t>(array.ndim);
  auto* self = Exported<M>::allocate(rank);  // [4] make the managed tensor
  std::int64_t* shape = self->dims();
  std::int64_t* strides = shape + rank;
  for (std::size_t axis = 0; axis < rank; ++axis) {  // ranks are small: faster than two memcpys
    shape[axis] = array.shape[axis];
    strides[axis] = array.strides[axis];
  }
  fill(array, device, shape, strides, self->tensor.dl_tensor);
  self->tensor.manager_ctx = self;
  self->tensor.deleter = &Exported<M>::destroy;
  Wire<M>::stamp(self->tensor, (array.readonly ? kReadOnly : 0) | (copied ? kIsCopied : 0) |
                                   (array.dtype.padded ? kPadded : 0));
  self->storage = storage.release();  // the tensor owns the reference; nothing below can fail
  return Managed<M>(&self->tensor);
}

void borrow(const ArrayView& array, DLTensor& out, runtime::Lent) noexcept {
  // DLTensor has no const; CAPI-15 forbids the consumer to write to the producer's dims.
  fill(array, array.device(), const_cast<std::int64_t*>(array.shape),
       const_cast<std::int64_t*>(array.strides), out);
}

template <class M>
core::Storage* own_storage(const M& tensor) noexcept {
  if (tensor.deleter != &Exported<M>::destroy) return nullptr;
  auto* self = static_cast<Exported<M>*>(tensor.manager_ctx);
  return self != nullptr && &self->tensor == &tensor ? self->storage : nullptr;
}

template <class M>
core::StoragePtr open_own(Managed<M> tensor) noexcept {
  auto* self = static_cast<Exported<M>*>(tensor->manager_ctx);
  core::Storage* storage = self->storage;
  (void)tensor.release();  // instead of the deleter: free the block and keep the reference
  Exported<M>::free(self);
  return core::StoragePtr::steal(storage);
}

template core::StoragePtr open_own(Managed<DLManagedTensor>) noexcept;
template core::StoragePtr open_own(Managed<DLManagedTensorVersioned>) noexcept;
template Managed<DLManagedTensor> make_managed(const ArrayView&, core::StoragePtr, core::Device,
                                               bool, runtime::Lent);
template Managed<DLManagedTensorVersioned> make_managed(const ArrayView&, core::StoragePtr,
                                                        core::Device, bool, runtime::Lent);
template core::Storage* own_storage(const DLManagedTensor&) noexcept;
template core::Storage* own_storage(const DLManagedTensorVersioned&) noexcept;

}  // namespace refarray::dlpack
