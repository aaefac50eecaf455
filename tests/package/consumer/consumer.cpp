// A Python module outside the project that consumes capsules. It is compiled against
// refarray.get_include() and links to no library of refarray.
#include <Python.h>

#include <refarray/core/device.hpp>
#include <refarray/core/dtype.hpp>
#include <refarray/dlpack/managed.hpp>
#include <refarray/dlpack/wire.hpp>
#include <string>

bool use_headers();  // headers.cpp

namespace {

using refarray::core::DeviceKind;
using refarray::core::DType;
using refarray::core::Kind;
using refarray::dlpack::Managed;
using refarray::dlpack::Wire;

/// take(capsule) -> "dtype ndim device": consumes the capsule and deletes its tensor.
PyObject* take(PyObject*, PyObject* capsule) {
  using M = DLManagedTensorVersioned;
  auto* pointer = static_cast<M*>(PyCapsule_GetPointer(capsule, Wire<M>::capsule));
  if (pointer == nullptr || PyCapsule_SetName(capsule, Wire<M>::used) != 0) return nullptr;
  const Managed<M> managed(pointer);
  if (!Wire<M>::is_known_major(*managed)) {
    PyErr_SetString(PyExc_BufferError, "unsupported DLPack major version");
    return nullptr;
  }
  const DLTensor& tensor = managed->dl_tensor;
  const DType dtype{static_cast<Kind>(tensor.dtype.code), tensor.dtype.bits, tensor.dtype.lanes};
  const refarray::core::Device device{static_cast<DeviceKind>(tensor.device.device_type),
                                      tensor.device.device_id};
  const std::string text = name(dtype) + " " + std::to_string(tensor.ndim) + " " + name(device);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

/// use_headers() -> bool: whether every function of the four headers works.
PyObject* use(PyObject*, PyObject*) { return PyBool_FromLong(use_headers()); }

PyMethodDef methods[] = {{"take", take, METH_O, nullptr},
                         {"use_headers", use, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {{0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "consumer", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_consumer(void) { return PyModuleDef_Init(&definition); }
