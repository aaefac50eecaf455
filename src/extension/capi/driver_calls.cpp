// Opening devices without the GIL, and the exit hook that returns imported device memory.
#include "extension/capi/driver_calls.hpp"

#include <optional>

#include "extension/capi/methods.hpp"

namespace refarray::extension {
namespace {

constexpr char kFinishForeignDoc[] = R"doc(_finish_foreign($module, /)
--

Wait for pending work on released imported memory, then call the deleters.)doc";

/// atexit callback: waits for our pending work on imported memory and calls the producers' deleters
/// while the interpreter can still run them.
Ref finish_foreign(PyObject*, PyObject*) {
  {
    const DriverCalls here;
    runtime::collect_foreign();
  }
  return Ref::borrow(Py_None);
}

void register_at_exit() {
  const Ref module = State::module_of_current_interpreter();
  if (!module) return;
  State& state = State::of_module(module.get());
  if (state.get(Slot::kExitHook) != nullptr) return;
  const Ref atexit = check(calling<PyImport_ImportModule>("atexit"));
  Ref hook = check(PyObject_GetAttrString(module.get(), "_finish_foreign"));
  check(calling<PyObject_CallMethod>(atexit.get(), "register", "O", hook.get()));
  state.set_once(Slot::kExitHook, std::move(hook));
}

}  // namespace

void open_without_gil(const core::Device& device) noexcept {
  const GilRelease released(true);
  runtime::open(device);
}

void open_device(DLDevice device) noexcept {
  const std::optional<core::Device> known = dlpack::to_core_normalized(device);
  if (known && known->kind != core::DeviceKind::kCpu) open_device(*known);
}

namespace {

void ensure_exit_hook() noexcept {
  const ErrorGuard guard;
  try {  // boundary: not fatal, without the hook the memory is not returned at exit
    register_at_exit();
  } catch (const ErrorSet&) {
    compat::clear_raised();
  }
}

}  // namespace

void prepare_for(DLDevice device) noexcept {
  const std::optional<core::Device> known = dlpack::to_core_normalized(device);
  if (known && !known->is_host()) open_device(*known);
  ensure_exit_hook();
}

void prepare_for_lookup(const core::Device& labelled) noexcept {
  if (!runtime::is_open(labelled)) {
    const GilRelease released(true);
    runtime::open_for_lookup(labelled);
  }
  ensure_exit_hook();
}

runtime::StreamPtr stream_without_gil(const core::Device& device,
                                      const runtime::StreamChoice& choice) {
  const GilRelease released(true);
  return runtime::stream_of(device, choice);
}

PyMethodDef kDeviceFunctions[] = {
    {"_finish_foreign", method<&finish_foreign>(), METH_NOARGS, kFinishForeignDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
