// Module state: names, the producer cache, GC traversal and clearing.
#include "extension/capi/state.hpp"

#include <memory>
#include <new>

#include "dlpack/exchange_api.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/object_pool.hpp"

namespace refarray::extension {

Ref State::module_of_current_interpreter() noexcept {
  PyObject* dict = PyInterpreterState_GetDict(PyInterpreterState_Get());  // borrowed
  if (dict == nullptr) return {};
  return compat::with_object_locked(dict, [dict]() noexcept -> Ref {
    // A linear search, because PyDict_GetItemString() would allocate the key.
    PyObject *key, *value;  // borrowed
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) {
      if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, kInterpreterKey) == 0)
        return Ref::borrow(value);
    }
    return {};
  });
}

void State::set(Slot slot, Ref object) noexcept {
  Ref::steal(slots_[static_cast<std::size_t>(slot)].exchange(object.release()));
}

PyObject* State::set_once(Slot slot, Ref object) const noexcept {
  PyObject* expected = nullptr;
  if (!slots_[static_cast<std::size_t>(slot)].compare_exchange_strong(expected, object.get()))
    return expected;
  return object.release();
}

void State::set_scalar_dtype(core::ScalarType type, Ref object) noexcept {
  Ref::steal(std::exchange(dtypes_[static_cast<std::size_t>(type)], object.release()));
}

void State::fill_names() {
  for (std::size_t i = 0; i < kKeywordTexts.size(); ++i) {
    keys_[i] = check(PyUnicode_InternFromString(kKeywordTexts[i])).release();
  }
  const auto name = [this](Slot slot, const char* text) {
    set(slot, check(PyUnicode_InternFromString(text)));
  };
  name(Slot::kDlpackName, "__dlpack__");
  name(Slot::kDlpackDeviceName, "__dlpack_device__");
  name(Slot::kExchangeName, dlpack::kExchangeAttribute);
  name(Slot::kInterfaceName, "__array_interface__");
  name(Slot::kCudaInterfaceName, "__cuda_array_interface__");
  name(Slot::kArrayMethodName, "__array__");
  name(Slot::kNumpyName, "numpy");
  name(Slot::kNumpyMaName, "numpy.ma");
  name(Slot::kMaskName, "mask");
  name(Slot::kArrayStructName, "__array_struct__");
  name(Slot::kBufferName, "__buffer__");
  name(Slot::kItemName, "item");
  set(Slot::kMroGetter, getter_of_type("__mro__"));
  set(Slot::kDictGetter, getter_of_type("__dict__"));
  const auto share = [this](Slot slot, PyObject* made) {
    set(slot, compat::make_immortal(check(made)));
  };
  share(Slot::kOurVersion, Py_BuildValue("(II)", dlpack::kVersion.major, dlpack::kVersion.minor));
  share(Slot::kCpuPair, Py_BuildValue("(ii)", static_cast<int>(kDLCPU), 0));
  share(Slot::kKwMaxVersion, PyTuple_Pack(1, get(Key::kMaxVersion)));
  share(Slot::kKwCopy, PyTuple_Pack(1, get(Key::kCopy)));
}

void State::share_from(const State& base) noexcept {
  constexpr auto kConstant = static_cast<std::size_t>(Slot::kCpuDlpackDevice);
  for (std::size_t i = 0; i < kConstant; ++i) {
    const auto slot = static_cast<Slot>(i);
    if (slot != Slot::kArrayType) set(slot, Ref::borrow(base.get(slot)));
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) keys_[i] = Ref::borrow(base.keys_[i]).release();
  for (std::size_t i = 0; i < dtypes_.size(); ++i)
    dtypes_[i] = Ref::borrow(base.dtypes_[i]).release();
}

const Producer* State::find_producer(PyTypeObject* type) const noexcept {
  const std::size_t first = producer_slot(type);
  for (std::size_t i = 0; i < kProducerSlots; ++i) {
    const Producer* found =
        producers_[(first + i) % kProducerSlots].load(std::memory_order_acquire);
    if (found == nullptr || found->type == type)
      return found;  // linear probing; entries are never removed
  }
  return nullptr;
}

void State::remember_producer(const Producer& producer) noexcept {
  std::unique_ptr<Producer> entry(new (std::nothrow) Producer(producer));
  if (!entry) return;
  // The references must exist before the entry is published: a collection in another thread would
  // otherwise count references that nobody holds yet.
  Ref references[] = {Ref::borrow(producer.dlpack), Ref::borrow(producer.dlpack_device)};
  const std::size_t first = producer_slot(producer.type);
  for (std::size_t i = 0; i < kProducerSlots; ++i) {
    Producer* present = nullptr;
    auto& slot = producers_[(first + i) % kProducerSlots];
    if (slot.compare_exchange_strong(present, entry.get(), std::memory_order_acq_rel)) {
      for (Ref& reference : references) (void)reference.release();
      return (void)entry.release();  // the state owns the entry and its references from here on
    }
    if (present->type == producer.type) return;  // another thread was first
  }
}

int State::traverse(visitproc visit, void* arg) noexcept {
  for (auto& slot : slots_) Py_VISIT(slot.load());
  for (PyObject* object : dtypes_) Py_VISIT(object);
  for (auto& slot : producers_) {
    const Producer* producer = slot.load(std::memory_order_acquire);
    if (producer == nullptr) continue;
    Py_VISIT(producer->dlpack);
    Py_VISIT(producer->dlpack_device);
  }
  return 0;
}

void State::clear() noexcept {
  for (auto& slot : slots_) Ref::steal(slot.exchange(nullptr));
  for (PyObject*& object : keys_) Ref::steal(std::exchange(object, nullptr));
  for (PyObject*& object : dtypes_) Ref::steal(std::exchange(object, nullptr));
  for (auto& slot : producers_) {
    const std::unique_ptr<Producer> entry(slot.exchange(nullptr));
    if (!entry) continue;
    for (PyObject* object : {entry->dlpack, entry->dlpack_device}) Ref::steal(object);
  }
  if (lease != nullptr) std::exchange(lease, nullptr)->drop();
  if (std::exchange(object_bits, 0) & ObjectBits::kPooled) object_pool.close();
}

}  // namespace refarray::extension
