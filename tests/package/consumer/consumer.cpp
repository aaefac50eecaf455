// Owns a C++ consumer outside the project: it is built against refarray.get_include() alone and
// linked with nothing.
#include <Python.h>

#include <refarray/core/dtype.hpp>
#include <refarray/dlpack/managed.hpp>
#include <string>

namespace {

using refarray::core::DType;
using refarray::core::Kind;
using refarray::dlpack::Managed;
using refarray::dlpack::Wire;

/// take(capsule) -> "dtype ndim": owns the managed tensor for as long as it reads it, then drops
/// it.
PyObject* take(PyObject*, PyObject* capsule) {
  using M = DLManagedTensorVersioned;
  auto* pointer = static_cast<M*>(PyCapsule_GetPointer(capsule, Wire<M>::capsule));
  if (pointer == nullptr || PyCapsule_SetName(capsule, Wire<M>::used) != 0) return nullptr;
  const Managed<M> managed(pointer);
  if (!Wire<M>::is_known_major(*managed)) {
    PyErr_SetString(PyExc_BufferError, "a foreign major version");
    return nullptr;
  }
  const DLTensor& tensor = managed->dl_tensor;
  const DType dtype{static_cast<Kind>(tensor.dtype.code), tensor.dtype.bits, tensor.dtype.lanes};
  const std::string text = name(dtype) + " " + std::to_string(tensor.ndim);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyMethodDef methods[] = {{"take", take, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {{0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "consumer", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_consumer(void) { return PyModuleDef_Init(&definition); }
