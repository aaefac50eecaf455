// Owns the consumer's side of DLPack: taking a managed tensor (step 7) and keeping it until the
// last drop (step 8).
#include "dlpack/import.hpp"

#include <cstdlib>
#include <new>

#include "core/error.hpp"
#include "dlpack/export.hpp"
#include "runtime/runtime.hpp"

namespace refarray::dlpack {
namespace {

/// The mirror image of Exported: keeps a stranger's managed tensor until the last array over it has
/// gone.
template <class M>
class ImportedStorage final : public core::Storage {
 public:
  ImportedStorage(std::byte* data, core::Device device, bool writable) noexcept
      : Storage(data, device, writable, /*foreign=*/true, &ImportedStorage::destroy) {}

  void keep(Managed<M>& tensor) noexcept { tensor_ = tensor.release(); }

 private:
  static void destroy(core::Storage* base) noexcept {
    auto* self = static_cast<ImportedStorage*>(base);
    Managed<M> tensor(self->tensor_);
    delete self;
  }  // [8] last drop: the producer's deleter runs here, after our own memory has gone

  M* tensor_ = nullptr;
};

/// Device memory, and pinned memory, which devices use too: kept until our work on it is done.
template <class M>
core::StoragePtr keep_tracked(Managed<M>& tensor, const Imported& checked) {
  const auto let_go = [](void* keeper) noexcept { Managed<M>(static_cast<M*>(keeper)); };
  core::StoragePtr storage = runtime::new_foreign_storage(
      checked.array.data, checked.device, !checked.array.readonly, let_go, tensor.get());
  (void)tensor.release();  // ownership moves here: nothing after it can fail
  return storage;
}

}  // namespace

template <class M>
void check_tensor(const M& tensor, Imported& out) {  // [7] validate
  if (!Wire<M>::is_known_major(tensor)) {
    if constexpr (Wire<M>::versioned) {
      core::fail(core::Fault::kBuffer, "version: the tensor's major version is ",
                 tensor.version.major, "; refarray reads ", kVersion.major, " only");
    }
  }
  validate(tensor.dl_tensor, {Wire<M>::flags(tensor), Wire<M>::minor(tensor), Wire<M>::versioned},
           out);
}

template <class M>
core::StoragePtr keep(Managed<M>& tensor, const Imported& checked) {
  core::Storage* own = own_storage(*tensor);
  if (own != nullptr && own->device() == checked.device) return open_own(std::move(tensor));
  if (checked.device.kind != core::DeviceKind::kCpu) return keep_tracked(tensor, checked);
  auto* storage =
      new ImportedStorage<M>(checked.array.data, checked.device, !checked.array.readonly);
  storage->keep(tensor);  // ownership moves here: nothing after it can fail
  return core::StoragePtr::steal(storage);
}

template <class M>
void to_array(Managed<M> tensor, Imported& out) {
  check_tensor(*tensor, out);
  out.array.storage = keep(tensor, out);
}

template void check_tensor(const DLManagedTensor&, Imported&);
template void check_tensor(const DLManagedTensorVersioned&, Imported&);
template core::StoragePtr keep(Managed<DLManagedTensor>&, const Imported&);
template core::StoragePtr keep(Managed<DLManagedTensorVersioned>&, const Imported&);
template void to_array(Managed<DLManagedTensor>, Imported&);
template void to_array(Managed<DLManagedTensorVersioned>, Imported&);

}  // namespace refarray::dlpack
