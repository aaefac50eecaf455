// Declarations of the method tables, slots and types that make up the module, by the source file
// that defines them.
#pragma once

#include "extension/capi/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

// Module functions: null-terminated tables for PyModule_AddFunctions(). Every docstring begins with
// the text signature.
extern PyMethodDef kCreationFunctions[];      // creation/creation.cpp
extern PyMethodDef kManipulationFunctions[];  // array/manipulation.cpp
extern PyMethodDef kBufferFunctions[];        // interop/buffer.cpp: from_buffer
extern PyMethodDef kInterfaceFunctions[];     // interop/array_interface.cpp
extern PyMethodDef kFileFunctions[];          // interop/files.cpp: private
extern PyMethodDef kImportFunctions[];        // dlpack/dlpack_import.cpp: from_dlpack, from_capsule
extern PyMethodDef kExportFunctions[];        // dlpack/dlpack_export.cpp: to_capsule
extern PyMethodDef kStreamFunctions[];        // devices/stream_type.cpp: private
extern PyMethodDef kDeviceFunctions[];        // capi/driver_calls.cpp: private
extern PyMethodDef kInspectFunctions[];       // module/inspect.cpp: private
extern PyMethodDef kPickleFunctions[];        // array/pickle.cpp: private
extern PyMethodDef kCopyFunctions[];          // copy/copy_functions.cpp: astype, copy, to_device
extern PyMethodDef kCopySettingFunctions[];   // copy/copy_functions.cpp
extern PyMethodDef kCopyBenchmarkFunctions[];  // copy/benchmarks.cpp: private
extern PyMethodDef kRangeFunctions[];          // creation/ranges.cpp: arange, linspace
extern PyMethodDef kDtypeFunctions[];          // array/dtype_functions.cpp
extern PyMethodDef kNamespaceFunctions[];      // module/namespace_module.cpp: private
extern PyMethodDef kLedgerFunctions[];         // module/ledgers.cpp: private
extern PyMethodDef kAllocatorFunctions[];      // objects/allocator_capsule.cpp: private

extern PyMethodDef kGenericMethods[];  // objects/value_types.cpp: __class_getitem__, of arrays

// Methods and getters of the array type.
extern PyMethodDef kManipulationMethods[];  // array/manipulation.cpp
extern PyMethodDef kCopyMethods[];          // copy/copy_functions.cpp: astype, copy, to_device
extern PyMethodDef kElementMethods[];       // array/element_methods.cpp: tolist, item
extern PyMethodDef kStrictExportMethods[];  // dlpack/dlpack_export.cpp: instead of exports
extern PyMethodDef kLazyMethods[];          // array/element_methods.cpp: instead of element methods
extern PyMethodDef kDeviceMethods[];     // modes/virtual_device.cpp: to_device of several devices
extern PyMethodDef kOffHostMethods[];    // modes/virtual_device.cpp: instead of exports
extern PyGetSetDef kOffHostGetters[];    // modes/virtual_device.cpp
extern PyMethodDef kByteMethods[];       // array/bytes.cpp: tobytes, view, __sizeof__
extern PyMethodDef kPickleMethods[];     // array/pickle.cpp: __reduce_ex__, __copy__, __deepcopy__
extern PyMethodDef kExportMethods[];     // dlpack/dlpack_export.cpp: __dlpack__, __dlpack_device__
extern PyMethodDef kNumpyMethods[];      // interop/numpy.cpp: __array__, numpy
extern PyMethodDef kFileMethods[];       // interop/files.cpp: flush
extern PyMethodDef kNamespaceMethods[];  // array/dtype_functions.cpp: __array_namespace__
extern PyGetSetDef kArrayGetters[];      // array/getters.cpp
Ref cuda_array_interface(PyObject* self, void*);  // interop/cuda_array_interface.cpp
Ref array_interface(PyObject* self, void*);       // interop/array_interface.cpp
Ref arrow_method(PyObject* self, void*);          // arrow/arrow_export.cpp: __arrow_c_array__

// Slots of the array type. Those that return Ref, void or an integer throw on error.
Ref array_subscript(PyObject* self, PyObject* index);  // indexing/indexing.cpp
/// `value` nullptr: `del self[index]`.
void array_assign(PyObject* self, PyObject* index, PyObject* value);   // indexing/indexing.cpp
Ref array_item(PyObject* self, Py_ssize_t index);                      // indexing/indexing.cpp
Py_ssize_t array_length(PyObject* self);                               // indexing/indexing.cpp
Ref array_iter(PyObject* self);                                        // array/iterator.cpp
int lazy_truth(PyObject* self);                                        // array/element_methods.cpp
Ref lazy_number(PyObject* self);                                       // array/element_methods.cpp
Ref strict_subscript(PyObject* self, PyObject* index);                 // indexing/indexing.cpp
void strict_assign(PyObject* self, PyObject* index, PyObject* value);  // indexing/indexing.cpp
Ref strict_iter(PyObject* self);                                       // indexing/indexing.cpp
int array_truth(PyObject* self);                                       // array/element_methods.cpp
Ref array_int(PyObject* self);                                         // array/element_methods.cpp
Ref array_float(PyObject* self);                                       // array/element_methods.cpp
Ref array_index(PyObject* self);                                       // array/element_methods.cpp
Ref array_complex(PyObject* self, PyObject*);                          // array/element_methods.cpp
int array_getbuffer(PyObject* self, Py_buffer* view,
                    int flags) noexcept;                             // interop/buffer.cpp
void array_releasebuffer(PyObject* self, Py_buffer* view) noexcept;  // interop/buffer.cpp

// Each creates a type. module.cpp stores it in the module state.
Ref make_dtype_type(PyObject* module);                // objects/value_types.cpp
Ref make_device_type(PyObject* module);               // objects/value_types.cpp
Ref make_iterator_type(PyObject* module);             // array/iterator.cpp
Ref make_array_type(PyObject* module, State& state);  // array/array_type.cpp

}  // namespace refarray::extension
