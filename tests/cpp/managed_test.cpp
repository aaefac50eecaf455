// Tests of the DLPack structs and of exported managed tensors, without Python.
#include "refarray/dlpack/managed.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "check.hpp"
#include "dlpack/exchange_api.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;
using refarray::dlpack::Imported;
using refarray::dlpack::make_managed;
using refarray::dlpack::Managed;
using refarray::dlpack::own_storage;

constexpr DType kFloat{Kind::kFloat, 32, 1, false};
constexpr std::int64_t kShape[] = {3, 5};

template <class M>
Managed<M> export_of(const Array& array) {
  StoragePtr storage = array.storage;
  const Device device = storage->device();
  return make_managed<M>(array, std::move(storage), device, /*copied=*/false,
                         refarray::runtime::order_cpu({}));
}

// req: ABI-01
const Case layout("sizes and offsets of the structs on LP64", [] {
  if (sizeof(void*) != 8) return;  // others by refarray/dlpack/wire.hpp
  expect(sizeof(DLPackVersion), 8U);
  expect(sizeof(DLDevice), 8U);
  expect(sizeof(DLDataType), 4U);
  expect(sizeof(DLTensor), 48U);
  expect(offsetof(DLTensor, device), 8U);
  expect(offsetof(DLTensor, ndim), 16U);
  expect(offsetof(DLTensor, dtype), 20U);
  expect(offsetof(DLTensor, shape), 24U);
  expect(offsetof(DLTensor, strides), 32U);
  expect(offsetof(DLTensor, byte_offset), 40U);
  expect(sizeof(DLManagedTensor), 64U);
  expect(offsetof(DLManagedTensor, manager_ctx), 48U);
  expect(offsetof(DLManagedTensor, deleter), 56U);
  expect(sizeof(DLManagedTensorVersioned), 80U);
  expect(offsetof(DLManagedTensorVersioned, manager_ctx), 8U);
  expect(offsetof(DLManagedTensorVersioned, deleter), 16U);
  expect(offsetof(DLManagedTensorVersioned, flags), 24U);
  expect(offsetof(DLManagedTensorVersioned, dl_tensor), 32U);
  expect(sizeof(DLPackExchangeAPIHeader), 16U);
  expect(sizeof(DLPackExchangeAPI), 56U);
  expect(offsetof(DLPackExchangeAPI, managed_tensor_allocator), 16U);
  expect(offsetof(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync), 24U);
  expect(offsetof(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync), 32U);
  expect(offsetof(DLPackExchangeAPI, dltensor_from_py_object_no_sync), 40U);
  expect(offsetof(DLPackExchangeAPI, current_work_stream), 48U);
});

// req: LIFE-22, LIFE-04
const Case one_reference("an export holds one reference to the storage, which its deleter drops",
                         [] {
                           const Array array = new_array(kFloat, kShape, true);
                           check(array.storage->is_last_reference());
                           auto first = export_of<DLManagedTensorVersioned>(array);
                           auto second = export_of<DLManagedTensor>(array);
                           check(!array.storage->is_last_reference());
                           check(own_storage(*first) == array.storage.get() &&
                                 own_storage(*second) == array.storage.get());
                           first.reset();
                           check(!array.storage->is_last_reference());
                           std::thread([&second] { second.reset(); }).join();  // on any thread
                           check(array.storage->is_last_reference());
                         });

// req: LIFE-22
const Case not_ours("a copy of an exported struct is a foreign tensor", [] {
  const Array array = new_array(kFloat, kShape, true);
  const auto managed = export_of<DLManagedTensorVersioned>(array);
  DLManagedTensorVersioned other = *managed;
  check(own_storage(other) == nullptr);
  other.manager_ctx = nullptr;
  check(own_storage(other) == nullptr);
});

// req: LIFE-16, TENS-16
const Case outlives("the tensor's data, shape and strides outlive the array", [] {
  auto array = std::make_unique<Array>(new_array(kFloat, kShape, true));
  const auto* values = reinterpret_cast<const float*>(array->data);
  auto managed = export_of<DLManagedTensorVersioned>(*array);
  array.reset();
  expect(managed->dl_tensor.shape[0], 3);
  expect(managed->dl_tensor.shape[1], 5);
  expect(managed->dl_tensor.strides[0], 5);
  expect(managed->dl_tensor.strides[1], 1);
  check(managed->dl_tensor.data == values && values[14] == 0.0F);
});

/// Allocated bytes of the heap; 0 under sanitizers, which replace the heap and detect leaks, and
/// with other C libraries than glibc.
std::size_t heap_in_use() {
#if defined(__GLIBC__)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

template <class M>
void export_and_drop_often() {
  const Array array = new_array(kFloat, kShape, true);
  export_of<M>(array).reset();
  const std::size_t before = heap_in_use();
  for (int i = 0; i < 100'000; ++i) export_of<M>(array).reset();
  const std::size_t after = heap_in_use();
  check(after < before + 1000,
        "100000 exports leaked " + std::to_string(after - before) + " bytes");
}

// req: LIFE-01
const Case no_leak("a deleter frees the struct, its shape and its strides", [] {
  export_and_drop_often<DLManagedTensor>();
  export_and_drop_often<DLManagedTensorVersioned>();
});

struct Errors {
  int count = 0;
  std::string kind;
};
void collect(void* context, const char* kind, const char* message) {
  auto& errors = *static_cast<Errors*>(context);
  ++errors.count;
  errors.kind = kind;
  check(*message != '\0', "empty error message");
}

/// A prototype of (3, 5) floats.
DLTensor prototype_of(std::int64_t* shape) {
  DLTensor out{};
  out.device = {kDLCPU, 0};
  out.dtype = {kDLFloat, 32, 1};
  out.ndim = 2;
  out.shape = shape;
  return out;
}

// req: CAPI-20, CAPI-21, CAPI-23, CAPI-24
const Case allocates("the allocator needs no Python, and reports a failure exactly once", [] {
  using refarray::dlpack::allocate_managed;
  std::int64_t shape[] = {3, 5};
  DLTensor prototype = prototype_of(shape);
  Errors errors;
  DLManagedTensorVersioned* made = nullptr;
  expect(allocate_managed(&prototype, &made, &errors, &collect), 0);
  expect(errors.count, 0);
  const Managed<DLManagedTensorVersioned> owner(made);
  check(made->flags == 0 && made->dl_tensor.strides[0] == 5 && made->dl_tensor.strides[1] == 1);
  expect(allocate_managed(&prototype, nullptr, &errors, &collect), -1);
  expect(errors.count, 1);
  expect(errors.kind, "ValueError");
  expect(allocate_managed(nullptr, &made, &errors, &collect), -1);
  expect(errors.count, 2);
  check(made == nullptr, "the output is NULL after a failure");
  expect(allocate_managed(nullptr, &made, nullptr, nullptr), -1);
  prototype.dtype.bits = 33;
  expect(allocate_managed(&prototype, &made, &errors, &collect), -1);
  expect(errors.kind, "BufferError");
});

// req: CAPI-21, CAPI-24
const Case no_memory("the allocator reports MemoryError when out of memory", [] {
  exchange_allocator(std::make_shared<Allocator>(
      Allocator{[](std::size_t, std::size_t, void*) -> void* { return nullptr; },
                [](void*, std::size_t, void*) {}, nullptr}));
  std::int64_t shape[] = {3, 5};
  DLTensor prototype = prototype_of(shape);
  Errors errors;
  DLManagedTensorVersioned* made = nullptr;
  expect(refarray::dlpack::allocate_managed(&prototype, &made, &errors, &collect), -1);
  exchange_allocator({});
  expect(errors.count, 1);
  expect(errors.kind, "MemoryError");
  check(made == nullptr);
});

// req: DEV-02
const Case devices("DLPack devices map to ours and back; unsupported types map to nothing", [] {
  using refarray::dlpack::to_core;
  using refarray::dlpack::to_core_normalized;
  using refarray::dlpack::to_dlpack;
  for (int type = -1; type < 40; ++type) {
    const DLDevice device{static_cast<DLDeviceType>(type), 7};
    const auto found = to_core(device);
    const bool supported = type == kDLCPU || type == kDLCUDA || type == kDLCUDAHost ||
                           type == kDLROCM || type == kDLROCMHost || type == kDLCUDAManaged;
    check(found.has_value() == supported);
    check(to_core_normalized(device).has_value() == supported);
    if (!found) continue;
    expect(static_cast<int>(found->kind), type);
    check(to_dlpack(*found).device_type == type && to_dlpack(*found).device_id == 7);
    const bool numbered = type == kDLCUDA || type == kDLROCM;
    expect(to_core_normalized(device)->id, numbered ? 7 : 0);
  }
});

// req: LIFE-02
const Case no_deleter("a tensor without a deleter can be dropped", [] {
  DLManagedTensorVersioned tensor{};
  Managed<DLManagedTensorVersioned>(&tensor).reset();
  check(tensor.deleter == nullptr);
});

}  // namespace
