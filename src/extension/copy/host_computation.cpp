// Implements computation on the host for arrays on devices.
#include "extension/copy/host_computation.hpp"

#include <atomic>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"

namespace refarray::extension {
namespace {

std::atomic<bool> is_enabled{true};

}  // namespace

void set_host_computation(bool enabled) noexcept { is_enabled.store(enabled); }
bool host_computation() noexcept { return is_enabled.load(); }

HostArguments::HostArguments(const State& state, const char* function,
                             std::span<PyObject* const> arguments)
    : state_(state), pointers_(arguments.begin(), arguments.end()) {
  bool is_known = false;
  for (PyObject* argument : arguments) {
    if (!is_array(state, argument)) continue;
    const core::Device device = view_of(argument).device();
    if (!std::exchange(is_known, true)) device_ = device;
    if (device == device_) continue;
    core::fail(core::Fault::kValue, function, "(): one array is on ", core::name(device_),
               ", another on ", core::name(device), "; all must be on one device: see to_device()");
  }
  copies_.reserve(pointers_.size());
  for (PyObject*& pointer : pointers_) {
    if (!is_array(state, pointer)) continue;
    const core::ArrayView array = view_of(pointer);
    if (!host_computation()) require_computable_memory(array, function);
    copies_.push_back(make_array(state, working_copy(array, array.dtype)));
    pointer = copies_.back().get();
  }
}

Ref HostArguments::on_device(Ref result) const {
  if (is_array(state_, result.get())) {
    const core::ArrayView array = view_of(result.get());
    return make_array(state_, working_copy(array, array.dtype, device_));
  }
  if (!PyTuple_Check(result.get())) return result;
  const Py_ssize_t count = PyTuple_Size(result.get());
  const Ref items = check(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = on_device(Ref::borrow(PyTuple_GetItem(result.get(), i)));
    check(PyTuple_SetItem(items.get(), i, item.release()));
  }
  if (PyTuple_CheckExact(result.get())) return Ref::borrow(items.get());
  return check(calling<PyObject_CallObject>(reinterpret_cast<PyObject*>(Py_TYPE(result.get())),
                                            items.get()));
}

void HostArguments::write_back(PyObject* to, const char* function) const {
  const core::ArrayView target = view_of(to);
  if (!target.writable())
    core::fail(core::Fault::kValue, function, "() in place: the array is read-only");
  move_elements(target, view_of(pointers_[0]));
}

}  // namespace refarray::extension
