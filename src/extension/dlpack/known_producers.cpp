// Recognising the methods of NumPy, PyTorch, JAX, PyArrow and tvm-ffi, and what follows from them.
#include "extension/dlpack/known_producers.hpp"

#include "dlpack/exchange_api.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/type_lookup.hpp"
#include "extension/dlpack/producer.hpp"

namespace refarray::extension {
namespace {

/// An attribute, or empty without an exception if there is none.
Ref attribute(PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (value) return value;
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw ErrorSet{};
  compat::clear_raised();
  return {};
}

bool is_text(PyObject* object, const char* expected) noexcept {
  return object != nullptr && PyUnicode_Check(object) &&
         PyUnicode_CompareWithASCIIString(object, expected) == 0;
}

Ref imported_module(const char* name) {
  const Ref key = check(PyUnicode_FromString(name));
  return extension::imported_module(key.get());
}

/// Whether a Python function was defined in that module under that name. A function that wraps it
/// (functools.wraps) has its names but other globals.
bool is_function_of(PyObject* function, const char* module, const char* qualname) {
  const Ref name = attribute(function, "__qualname__");
  if (!is_text(name.get(), qualname)) return false;
  const Ref owner = imported_module(module);
  const Ref globals = attribute(function, "__globals__");
  return owner && PyModule_Check(owner.get()) && globals &&
         globals.get() == PyModule_GetDict(owner.get());
}

/// Whether this is NumPy's own __dlpack_device__. An ndarray is always on the CPU, so the call, a
/// quarter of an exchange, can be omitted.
bool is_numpys(PyObject* descriptor) {
  if (Py_TYPE(descriptor) != &PyMethodDescr_Type) return false;
  const Ref owner = attribute(descriptor, "__objclass__");
  return owner && PyType_Check(owner.get()) &&
         is_static(reinterpret_cast<PyTypeObject*>(owner.get())) &&
         is_text(attribute(owner.get(), "__name__").get(), "ndarray") &&
         is_text(attribute(owner.get(), "__module__").get(), "numpy");
}

void learn_numpy(State& state, PyObject* x, PyObject* descriptor) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(x));
  const descrgetfunc bind = compat::descr_get_of(Py_TYPE(descriptor));
  const Ref bound = check(bind(descriptor, x, type));
  if (PyCFunction_CheckExact(bound.get())) {
    state.numpys_device_method.store(reinterpret_cast<void*>(PyCFunction_GetFunction(bound.get())),
                                     std::memory_order_relaxed);
  }
  state.set_once(Slot::kNumpyDevice, Ref::borrow(descriptor));
}

/// Remembers Tensor.__dlpack__ with all that is needed to judge a tensor; last, because the others
/// are read after it. False if this PyTorch lacks one of them: its method is called then.
bool learn_torch(State& state, PyTypeObject* type, PyObject* dlpack) {
  const Ref capsule = find_on_type(state, type, state.get(Slot::kExchangeName));
  if (!capsule) return false;
  const DLPackExchangeAPI* table = table_in(capsule.get());
  const Ref native = imported_module("torch._C");
  if (table == nullptr || !native) return false;
  Ref overridden = attribute(native.get(), "_has_torch_function_unary");
  if (!overridden) return false;
  Ref device = attribute(native.get(), "_cuda_getDevice");  // CUDA and ROCm builds only
  if (device) state.set_once(Slot::kTorchCurrentDevice, std::move(device));
  state.set_once(Slot::kTorchOverridden, std::move(overridden));
  state.torch_table.store(table, std::memory_order_release);
  state.set_once(Slot::kTorchDlpack, Ref::borrow(dlpack));
  return true;
}

Library examine(State& state, PyObject* x, PyObject* dlpack, PyObject* dlpack_device) {
  if (is_numpys(dlpack_device)) {
    learn_numpy(state, x, dlpack_device);
    return Library::kNumpy;
  }
  if (is_function_of(dlpack, "torch._tensor", "Tensor.__dlpack__")) {
    return learn_torch(state, Py_TYPE(x), dlpack) ? Library::kTorch : Library::kOther;
  }
  if (is_function_of(dlpack_device, "array_api_strict._array_object", "Array.__dlpack_device__")) {
    state.set_once(Slot::kStrictDevice, Ref::borrow(dlpack_device));
    return Library::kNumpy;
  }
  if (is_function_of(dlpack_device, "jax._src.array", "ArrayImpl.__dlpack_device__")) {
    state.set_once(Slot::kJaxDevice, Ref::borrow(dlpack_device));
    if (is_function_of(dlpack, "jax._src.array", "ArrayImpl.__dlpack__"))
      state.set_once(Slot::kJaxDlpack, Ref::borrow(dlpack));
    return Library::kJax;
  }
  if (is_function_of(dlpack_device, "pyarrow.lib", "Array.__dlpack_device__")) {
    state.set_once(Slot::kArrowDevice, Ref::borrow(dlpack_device));
    return Library::kArrow;
  }
  if (is_function_of(dlpack_device, "tvm_ffi.core", "Tensor.__dlpack_device__") &&
      is_function_of(dlpack, "tvm_ffi.core", "Tensor.__dlpack__")) {
    state.set_once(Slot::kTvmDevice, Ref::borrow(dlpack_device));
    state.set_once(Slot::kTvmDlpack, Ref::borrow(dlpack));
    return Library::kTvm;
  }
  return Library::kOther;
}

}  // namespace

Library recognise(State& state, PyObject* x, PyObject* dlpack, PyObject* dlpack_device) {
  if (dlpack_device == state.get(Slot::kNumpyDevice)) return Library::kNumpy;
  if (dlpack_device == state.get(Slot::kStrictDevice)) return Library::kNumpy;
  if (dlpack_device == state.get(Slot::kJaxDevice)) return Library::kJax;
  if (dlpack_device == state.get(Slot::kArrowDevice)) return Library::kArrow;
  if (dlpack_device == state.get(Slot::kTvmDevice) && dlpack == state.get(Slot::kTvmDlpack))
    return Library::kTvm;
  if (state.was_examined(Py_TYPE(x))) return Library::kOther;
  return examine(state, x, dlpack, dlpack_device);
}

bool is_numpys_device_method(const State& state, PyObject* bound) noexcept {
  void* known = state.numpys_device_method.load(std::memory_order_relaxed);
  return known != nullptr && PyCFunction_CheckExact(bound) &&
         reinterpret_cast<void*>(PyCFunction_GetFunction(bound)) == known;
}

const DLPackExchangeAPI* torch_table(const State& state, PyObject* x) {
  PyObject* args[] = {x};
  const Ref overridden =
      check(PyObject_Vectorcall(state.get(Slot::kTorchOverridden), args, 1, nullptr));
  if (overridden.get() != Py_False) return nullptr;
  const Ref getter = find_on_type(state, Py_TYPE(x), state.get(Slot::kRequiresGradName));
  if (!getter) return nullptr;
  const Ref requires_grad = bind_on_type(getter.get(), x);
  if (requires_grad.get() != Py_False) return nullptr;
  return state.torch_table.load(std::memory_order_acquire);
}

dlpack::Managed<DLManagedTensorVersioned> call_torch_table(const DLPackExchangeAPI& table,
                                                           PyObject* x) {
  try {  // boundary: the method is called then, and raises its own exception
    return call_table(table, x);
  } catch (const ErrorSet&) {  // boundary: see above
    if (PyErr_ExceptionMatches(PyExc_RuntimeError) == 0) throw;
  }
  compat::clear_raised();
  return {};
}

bool torch_exports(const State& state, const DLManagedTensorVersioned& tensor) {
  if (!dlpack::Wire<DLManagedTensorVersioned>::is_known_major(tensor))
    return true;  // refused by the validator
  if (tensor.dl_tensor.dtype.code == kDLComplex) return false;
  const DLDevice device = tensor.dl_tensor.device;
  if (device.device_type != kDLCUDA && device.device_type != kDLROCM) return true;
  PyObject* current = state.get(Slot::kTorchCurrentDevice);
  if (current == nullptr) return false;
  const Ref answer = check(calling<PyObject_CallNoArgs>(current));
  const long id = PyLong_AsLong(answer.get());
  if (id == -1 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return id == device.device_id;
}

bool assumes_host(const State& state, const ProducerInfo& producer) noexcept {
  const bool known =
      producer.library == Library::kTvm ||
      (producer.library == Library::kJax && producer.dlpack == state.get(Slot::kJaxDlpack));
  return known && !state.device_arrays_seen.load(std::memory_order_relaxed);
}

bool jax_is_on_host(const State& state, PyObject* x) {
  const Ref platform = find_on_type(state, Py_TYPE(x), state.get(Slot::kPlatformName));
  if (!platform) return false;
  PyObject* args[] = {x};
  return is_text(call_on_type(platform.get(), args, 1, nullptr).get(), "cpu");
}

}  // namespace refarray::extension
