// The module refarray._native (PEP 489 multi-phase initialization): its contents and its state.
#include "extension/module/module.hpp"

#include "core/memory/foreign_code.hpp"
#include "core/memory/thread_stack.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_pool.hpp"
#include "extension/copy/copy_functions.hpp"
#include "extension/dlpack/c_tables.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/objects/compute_hooks.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/value_types.hpp"
#include "extension/shared/shared_functions.hpp"

namespace refarray::extension {
namespace {

constexpr char kModuleDoc[] =
    R"doc(The native part of refarray. Use its names through the package refarray.)doc";

constexpr char kNoCopyDoc[] = R"doc(copy=False was requested, but a copy is required.

This is both a BufferError, which __dlpack__() must raise, and a ValueError, which
asarray() and reshape() must raise (policy A-01).)doc";

constexpr char kAxisErrorDoc[] = R"doc(The array has no such axis.

This is both a ValueError and an IndexError, as NumPy's.)doc";

constexpr char kLinAlgErrorDoc[] =
    R"doc(The result does not exist for a matrix: it is not square, singular or not positive definite.

Or the iterations did not converge. This is a ValueError, as NumPy's.)doc";

constexpr char kDriverErrorDoc[] =
    R"doc(A GPU driver call failed for a reason other than lack of memory.

Lack of memory raises MemoryError instead.

Attributes:
    code: the driver's error code, an int.
    name: the driver's name for that code, a str.
    call: the operation that failed, a str.)doc";

void add_type(PyObject* module, State& state, const char* name, Slot slot, Ref type) {
  check(PyModule_AddObjectRef(module, name, type.get()));
  state.set(slot, std::move(type));
}

/// `bases`: one class or a tuple of them.
void add_exception(PyObject* module, State& state, const char* name, Slot slot, const char* doc,
                   PyObject* bases) {
  const std::string full_name = std::string("refarray.") + name;
  add_type(module, state, name, slot,
           check(PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases, nullptr)));
}

void add_exceptions(PyObject* module, State& state) {
  const Ref no_copy = check(calling<PyTuple_Pack>(2, PyExc_BufferError, PyExc_ValueError));
  add_exception(module, state, "NoCopyError", Slot::kNoCopyError, kNoCopyDoc, no_copy.get());
  const Ref axis = check(calling<PyTuple_Pack>(2, PyExc_ValueError, PyExc_IndexError));
  add_exception(module, state, "AxisError", Slot::kAxisError, kAxisErrorDoc, axis.get());
  add_exception(module, state, "LinAlgError", Slot::kLinAlgError, kLinAlgErrorDoc,
                PyExc_ValueError);
  add_exception(module, state, "DriverError", Slot::kDriverError, kDriverErrorDoc,
                PyExc_RuntimeError);
}

void add_dtypes(PyObject* module, State& state) {
  for (std::size_t row = 0; row < core::kScalars.size(); ++row) {
    const core::ScalarInfo& info = core::kScalars[row];
    Ref dtype = compat::make_immortal(
        new_dtype_object(state.dtype_type(), {info.kind, info.bits, 1, false}));
    check(PyModule_AddObjectRef(module, std::string(info.name).c_str(), dtype.get()));
    state.set_scalar_dtype(static_cast<core::ScalarType>(row), std::move(dtype));
  }
}

}  // namespace

void open_object_pool(State& state) noexcept {
  if (compat::kFreeThreading || PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) return;
  state.object_bits |= ObjectBits::kPooled;
  object_pool.open();
}

void add_functions(PyObject* module) {
  for (PyMethodDef* table :
       {kCreationFunctions, kManipulationFunctions, kCopyFunctions, kBufferFunctions,
        kFileFunctions, kInterfaceFunctions, kImportFunctions, kExportFunctions, kInspectFunctions,
        kPickleFunctions, kCopySettingFunctions, kCopyBenchmarkFunctions, kStreamFunctions,
        kDeviceFunctions, kDtypeFunctions, kRangeFunctions}) {
    check(PyModule_AddFunctions(module, table));
  }
  add_computing_functions(module);
}

int traverse_module(PyObject* module, visitproc visit, void* argument) noexcept {
  auto* state = static_cast<State*>(PyModule_GetState(module));
  return state == nullptr ? 0 : state->traverse(visit, argument);
}
int clear_module(PyObject* module) noexcept {
  auto* state = static_cast<State*>(PyModule_GetState(module));
  if (state != nullptr) state->clear();
  return 0;
}
void free_module(void* module) noexcept { clear_module(static_cast<PyObject*>(module)); }

namespace {

/// For callers from C (the exchange table), which have no module object at hand.
void register_in_interpreter(PyObject* module) {
  check(PyDict_SetItemString(interpreter_dict(), State::kInterpreterKey, module));
}

/// CPython 3.14 ends the process where a quarter of a stack of 64 KiB is left, and raises at half.
void set_stack_share() noexcept { core::smallest_share = Py_Version < 0x030E0000 ? 4 : 2; }

void fill(PyObject* module) {
  static const bool settings_are_read =
      (read_copy_settings(), read_audit_setting(), set_stack_share(), true);  // once per process
  static_cast<void>(settings_are_read);
  core::set_foreign_caller(&call_foreign_code);
  core::set_driver_caller(&call_driver_code);
  State& state = *::new (PyModule_GetState(module)) State;
  state.lease = InterpreterLease::of_current_interpreter();
  open_object_pool(state);
  state.fill_names();
  add_exceptions(module, state);
  add_type(module, state, "DType", Slot::kDTypeType, make_dtype_type(module));
  add_type(module, state, "Device", Slot::kDeviceType, make_device_type(module));
  add_type(module, state, "Array", Slot::kArrayType, make_array_type(module, state));
  state.set(Slot::kIteratorType, make_iterator_type(module));
  state.set(Slot::kCpuDevice,
            compat::make_immortal(new_device_object(state.device_type(), core::Device{})));
  add_dtypes(module, state);
  add_functions(module);
  check(PyModule_AddFunctions(module, kNamespaceFunctions));
  check(PyModule_AddFunctions(module, kLedgerFunctions));
  check(PyModule_AddFunctions(module, kAllocatorFunctions));
  check(PyModule_AddFunctions(module, kSharedFunctions));
  check(PyModule_AddFunctions(module, kOverlapFunctions));
  check(PyModule_AddStringConstant(module, "__version__", REFARRAY_VERSION));
  check(PyModule_AddObjectRef(module, "_C_API", make_c_table_capsule().get()));
  register_in_interpreter(module);
}

ModuleDefinition& definition() noexcept {
  static ModuleDefinition module(
      {"refarray._native", kModuleDoc, slot<&fill>, traverse_module, clear_module, free_module});
  return module;
}

}  // namespace
}  // namespace refarray::extension

REFARRAY_ENTRY_POINT(_native) { return refarray::extension::definition().entry(); }
