// Owns the list of C++ functions behind the Python names: module functions and array methods, by
// the file they live in.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Tables for PyModule_AddFunctions, each ended by an all-null entry; every doc begins with the
/// text signature.
extern PyMethodDef kCreationFunctions[];      // creation.cpp, asarray.cpp
extern PyMethodDef kManipulationFunctions[];  // manipulation.cpp
extern PyMethodDef kBufferFunctions[];        // buffer_in.cpp: from_buffer
extern PyMethodDef kInterfaceFunctions[];     // interface_in.cpp: from_array_interface
extern PyMethodDef kNumpyFunctions[];         // numpy.cpp: the private ones
extern PyMethodDef kExchangeFunctions[];      // from_dlpack.cpp: from_dlpack, from_capsule
extern PyMethodDef kProducerFunctions[];      // array_dlpack.cpp: to_capsule
extern PyMethodDef kCopyingFunctions[];       // copying.cpp: settings of copies
extern PyMethodDef kStreamFunctions[];        // stream_type.cpp: streams, events; private
extern PyMethodDef kDeviceFunctions[];        // devices.cpp: the end of the interpreter; private
extern PyMethodDef kInspectFunctions[];       // inspect.cpp: the private ones
extern PyMethodDef kPickleFunctions[];        // pickle.cpp: the private rebuilders

/// Tables for the array type; every doc begins with the text signature.
extern PyMethodDef
    kManipulationMethods[];             // reshape astype copy to_device as_readonly is_contiguous
extern PyMethodDef kElementMethods[];   // tolist item
extern PyMethodDef kPickleMethods[];    // __reduce_ex__ __copy__ __deepcopy__
extern PyMethodDef kProducerMethods[];  // __dlpack__ __dlpack_device__
extern PyMethodDef kNumpyMethods[];     // __array__ numpy
extern PyGetSetDef
    kArrayGetters[];  // shape strides dtype device ndim size nbytes itemsize readonly T mT
Ref cuda_array_interface(PyObject* self, void*);  // cuda_interface.cpp: a getter likewise
Ref array_interface(PyObject* self, void*);  // interface_out.cpp: the getter __array_interface__

// Slots of the array type.
Ref array_subscript(PyObject* self, PyObject* index);  // indexing.cpp
void array_assign(PyObject* self, PyObject* index,
                  PyObject* value);                // indexing.cpp; value nullptr: del
Ref array_item(PyObject* self, Py_ssize_t index);  // indexing.cpp: sequence item, for iteration
Py_ssize_t array_length(PyObject* self);           // indexing.cpp
Ref array_iter(PyObject* self);                    // indexing.cpp
int array_truth(PyObject* self);                   // element_methods.cpp; -1 never returned: throws
Ref array_int(PyObject* self);                     // element_methods.cpp
Ref array_float(PyObject* self);                   // element_methods.cpp
Ref array_index(PyObject* self);                   // element_methods.cpp
Ref array_complex(PyObject* self, PyObject*);      // element_methods.cpp: the __complex__ method
int array_getbuffer(PyObject* self, Py_buffer* view, int flags) noexcept;  // buffer_out.cpp
void array_releasebuffer(PyObject* self, Py_buffer* view) noexcept;        // buffer_out.cpp

// Types; each returns the new type object and leaves filling the state to module.cpp.
Ref make_dtype_type(PyObject* module);                // dtype_type.cpp
Ref make_device_type(PyObject* module);               // device_type.cpp
Ref make_array_type(PyObject* module, State& state);  // array_type.cpp

/// An array from anything asarray takes, for functions that accept "array-likes" (setitem, full):
/// the array itself, or a new one; of `dtype` unless that is nullptr. Throws what asarray throws.
Ref as_array(State& state, PyObject* object, const core::DType* dtype);  // asarray.cpp
/// A read-only or writable array over an object's buffer, through the one validator
/// (buffer_in.cpp). Returns an empty Ref when the object has no buffer protocol; throws when it has
/// one and it cannot be described.
Ref array_from_buffer(State& state, PyObject* object);
/// from_dlpack as a C++ call (from_dlpack.cpp); `device`, `copy`, `max_version` may be nullptr.
Ref array_from_dlpack(State& state, PyObject* producer, PyObject* device, PyObject* copy,
                      PyObject* max_version);
/// What of DLPack the object's type has: both dunders, or nothing but a usable exchange table,
/// which can be told of no wishes (producer.cpp).
enum class Producing { kNot, kByTableOnly, kFully };
Producing producing(State& state, PyObject* object);

}  // namespace refarray::extension
