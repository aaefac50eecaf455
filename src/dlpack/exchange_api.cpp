// The C exchange API without Python: finding a usable table in a chain, and refarray's
// managed_tensor_allocator.
#include "dlpack/exchange_api.hpp"

#include <exception>
#include <new>

#include "core/error.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "runtime/runtime.hpp"

namespace refarray::dlpack {
namespace {

/// More links than there will ever be major versions; bounds a cyclic chain (CAPI-06).
constexpr int kMaxChain = 16;

bool is_complete(const DLPackExchangeAPI& table) noexcept {
  return table.managed_tensor_allocator != nullptr &&
         table.managed_tensor_from_py_object_no_sync != nullptr &&
         table.managed_tensor_to_py_object_no_sync != nullptr &&
         table.current_work_stream != nullptr;
}

/// CAPI-24: the name of a builtin exception type.
const char* exception_name(core::Fault fault) noexcept {
  return fault == core::Fault::kMemory ? "MemoryError" : "BufferError";
}

/// The caller works on current_work_stream or, with memory of the host, on any.
runtime::Lent order_for_caller(const core::ArrayView& array, const core::Device& device) {
  if (device.is_host()) return runtime::lend(array);
  const runtime::StreamPtr current = runtime::current_stream(device);
  return runtime::order(array, runtime::choice_of(*current));
}

}  // namespace

const DLPackExchangeAPI* usable_table(const DLPackExchangeAPI* table) noexcept {
  const DLPackExchangeAPIHeader* header = table == nullptr ? nullptr : &table->header;
  for (int step = 0; header != nullptr && step < kMaxChain; ++step, header = header->prev_api) {
    if (header->version.major != kVersion.major)
      continue;  // only the header of a foreign major is stable
    // The header is the first member, so a header of our major begins a table of our layout.
    const auto* found = reinterpret_cast<const DLPackExchangeAPI*>(header);
    if (is_complete(*found)) return found;
  }
  return nullptr;
}

int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                     void (*set_error)(void*, const char*, const char*)) noexcept {
  const auto report = [&](const char* kind, const char* message) {
    if (set_error != nullptr) set_error(error_context, kind, message);
    return -1;
  };
  if (out == nullptr) return report("ValueError", "managed_tensor_allocator: out is NULL");
  *out = nullptr;
  if (prototype == nullptr)
    return report("ValueError", "managed_tensor_allocator: prototype is NULL");
  try {  // boundary: a C caller must never see an exception (CAPI-10)
    core::Array array = allocate_like(*prototype);
    const core::Device device = array.storage->device();
    const runtime::Lent lent = order_for_caller(array, device);
    core::StoragePtr storage = array.storage;
    *out = make_managed<DLManagedTensorVersioned>(array, std::move(storage), device,
                                                  /*copied=*/false, lent)
               .release();
    return 0;
  } catch (const core::Error& error) {
    return report(exception_name(error.fault()), error.what());
  } catch (const std::bad_alloc&) {
    return report("MemoryError", "managed_tensor_allocator: out of memory");
  } catch (...) {
    return report("RuntimeError", "managed_tensor_allocator: unknown failure");
  }
}

}  // namespace refarray::dlpack
