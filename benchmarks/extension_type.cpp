// A producer as CuPy and other Cython libraries have them: a mutable heap type whose methods are C
// functions with keywords, and whose tensors own their fields.
#include <Python.h>
#include <dlpack/dlpack.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

struct Exporter {
  PyObject_HEAD Py_buffer view;
};

struct Owned {
  DLManagedTensorVersioned tensor;
  std::int64_t shape[1];
  std::int64_t strides[1];
};

void delete_tensor(DLManagedTensorVersioned* tensor) { std::free(tensor); }

void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
  auto* tensor =
      static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  tensor->deleter(tensor);
}

PyObject* dlpack(PyObject* self, PyObject* const*, Py_ssize_t, PyObject* names) {
  const char* known[] = {"stream", "max_version", "dl_device", "copy"};
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
    bool found = false;
    for (const char* name : known)
      found |= PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name) == 0;
    if (!found) return PyErr_Format(PyExc_TypeError, "unexpected keyword argument");
  }
  const Py_buffer& view = reinterpret_cast<Exporter*>(self)->view;
  auto* owned = static_cast<Owned*>(std::malloc(sizeof(Owned)));
  if (owned == nullptr) return PyErr_NoMemory();
  std::memset(owned, 0, sizeof(Owned));
  owned->shape[0] = view.len / view.itemsize;
  owned->strides[0] = 1;
  owned->tensor.version = {1, 0};
  owned->tensor.deleter = &delete_tensor;
  owned->tensor.dl_tensor = {view.buf,     {kDLCPU, 0},    1, {kDLFloat, 32, 1},
                             owned->shape, owned->strides, 0};
  PyObject* capsule = PyCapsule_New(owned, "dltensor_versioned", &destroy_capsule);
  if (capsule == nullptr) std::free(owned);
  return capsule;
}

PyObject* device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* array = nullptr;
  if (PyArg_ParseTuple(args, "O", &array) == 0) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* made = reinterpret_cast<Exporter*>(self);
  if (PyObject_GetBuffer(array, &made->view, PyBUF_CONTIG) < 0) {
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyBuffer_Release(&reinterpret_cast<Exporter*>(self)->view);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dlpack)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", &device, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec{"extension_type.Exporter", sizeof(Exporter), 0, Py_TPFLAGS_DEFAULT, slots};
PyModuleDef module_definition{PyModuleDef_HEAD_INIT,
                              "extension_type",
                              nullptr,
                              -1,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_extension_type() {
  PyObject* module = PyModule_Create(&module_definition);
  PyObject* type = PyType_FromSpec(&spec);
  if (module == nullptr || type == nullptr || PyModule_AddObject(module, "Exporter", type) < 0)
    return nullptr;
  return module;
}
