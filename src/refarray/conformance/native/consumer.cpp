// A DLPack consumer: inspects capsules and consumes them, correctly or carelessly.
#include <cstring>
#include <string>
#include <vector>

#include "kit_module.hpp"

namespace adversary {
namespace {

void set(const Ref& dict, const char* key, Ref value) {
  if (PyDict_SetItemString(dict.get(), key, value.get()) < 0) throw PythonError{};
}

/// `tensor` is a copy: its owner might change a member between two uses.
void describe_tensor(const Ref& out, const DLTensor tensor) {
  const auto entries = [&](const std::int64_t* at) {
    const bool readable = at != nullptr && tensor.ndim >= 0 && tensor.ndim <= kMostAxes;
    return readable ? shape_tuple(at, tensor.ndim) : Ref(Py_NewRef(Py_None));
  };
  set(out, "data", Ref(PyLong_FromVoidPtr(tensor.data)));
  set(out, "device",
      Ref(Py_BuildValue("(ii)", static_cast<int>(tensor.device.device_type),
                        tensor.device.device_id)));
  set(out, "ndim", Ref(PyLong_FromLong(tensor.ndim)));
  set(out, "dtype",
      Ref(Py_BuildValue("(iii)", tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)));
  set(out, "shape", tensor.ndim == 0 ? Ref(PyTuple_New(0)) : entries(tensor.shape));
  set(out, "strides", entries(tensor.strides));
  set(out, "byte_offset", Ref(PyLong_FromUnsignedLongLong(tensor.byte_offset)));
}

/// Whether an unconsumed capsule is versioned. Throws for any other object.
bool is_versioned(PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule))
    fail(PyExc_TypeError, "not a capsule: %R", reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
  for (const bool versioned : {false, true}) {
    if (PyCapsule_IsValid(capsule, kNames[versioned]) != 0) return versioned;
  }
  const char* name = PyCapsule_GetName(capsule);
  fail(PyExc_ValueError, "the capsule's name is \"%s\"; it holds no unconsumed DLPack tensor",
       name == nullptr ? "(none)" : name);
}

PyObject* fields(PyObject*, PyObject* capsule) {
  return guarded([&] {
    const char* name = kNames[is_versioned(capsule)];
    return describe(PyCapsule_GetPointer(capsule, name), name == kNames[true], name).release();
  });
}

PyObject* inspect(PyObject*, PyObject* capsule) {
  return guarded([&] {
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr) fail(PyExc_ValueError, "the capsule has no name");
    const bool versioned = std::strstr(name, "versioned") != nullptr;
    Ref out = describe(PyCapsule_GetPointer(capsule, name), versioned, name);
    set(out, "managed", Ref(PyLong_FromVoidPtr(PyCapsule_GetPointer(capsule, name))));
    set(out, "name_address", Ref(PyLong_FromVoidPtr(const_cast<char*>(name))));
    set(out, "destructor", Ref(PyBool_FromLong(PyCapsule_GetDestructor(capsule) != nullptr)));
    set(out, "context", Ref(PyLong_FromVoidPtr(PyCapsule_GetContext(capsule))));
    return out.release();
  });
}

PyObject* name_of(PyObject*, PyObject* capsule) {
  return guarded([&] {
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
    return name == nullptr ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
  });
}

PyObject* take(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"capsule", "rename", "clear_destructor", nullptr};
    PyObject* capsule = nullptr;
    int rename = 1;
    int clear = 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pp", const_cast<char**>(names), &capsule,
                                    &rename, &clear) == 0) {
      throw PythonError{};
    }
    const bool versioned = is_versioned(capsule);
    void* managed = PyCapsule_GetPointer(capsule, kNames[versioned]);
    if (clear != 0 && PyCapsule_SetDestructor(capsule, nullptr) != 0) throw PythonError{};
    if (rename != 0 && PyCapsule_SetName(capsule, kUsedNames[versioned]) != 0) throw PythonError{};
    return new_owned(state_of(module).owned_type, managed, versioned).release();
  });
}

PyObject* rename_capsule(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "Os", &capsule, &name) == 0) return nullptr;
  // Never freed: capsule names must outlive capsules.
  static std::vector<std::string*>& names = *new std::vector<std::string*>;
  names.push_back(new std::string(name));
  if (PyCapsule_SetName(capsule, names.back()->c_str()) != 0) return nullptr;
  Py_RETURN_NONE;
}

/// Drops the last item of a list while `error` is pending. Returns the exception pending
/// afterwards.
PyObject* drop_pending(PyObject*, PyObject* args) {
  PyObject* list = nullptr;
  PyObject* error = nullptr;
  if (PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &error) == 0) return nullptr;
  const Py_ssize_t size = PyList_Size(list);
  if (size == 0) return PyErr_Format(PyExc_IndexError, "nothing to drop");
  PyObject* last = Py_NewRef(PyList_GetItem(list, size - 1));
  if (PyList_SetSlice(list, size - 1, size, nullptr) < 0) return nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(last);
  PyObject* value = take_raised();
  return value == nullptr ? Py_NewRef(Py_None) : value;
}

PyMethodDef functions[] = {
    {"fields", fields, METH_O,
     "Return the fields of the tensor in an unconsumed DLPack capsule as a dict."},
    {"inspect", inspect, METH_O,
     "Return the fields of the tensor in a capsule of any name as a dict; does not consume it."},
    {"name_of", name_of, METH_O, "Return the capsule's name without reading its contents."},
    {"take", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(take)),
     METH_VARARGS | METH_KEYWORDS,
     "Consume a capsule; rename=False and clear_destructor=True do so incorrectly."},
    {"rename", rename_capsule, METH_VARARGS, "Rename a capsule."},
    {"drop_pending", drop_pending, METH_VARARGS,
     "Drop a list's last item with an exception pending; return the exception left."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

const DLTensor& tensor_in(void* managed, bool versioned) {
  return versioned ? static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor
                   : static_cast<DLManagedTensor*>(managed)->dl_tensor;
}

Ref describe(void* managed, bool versioned, const char* name) {
  Ref out(PyDict_New());
  set(out, "name", Ref(PyUnicode_FromString(name)));
  set(out, "struct",
      Ref(PyUnicode_FromString(versioned ? "DLManagedTensorVersioned" : "DLManagedTensor")));
  if (versioned) {
    const auto& self = *static_cast<DLManagedTensorVersioned*>(managed);
    const DLPackVersion version = self.version;
    set(out, "version", Ref(Py_BuildValue("(II)", version.major, version.minor)));
    set(out, "flags", Ref(PyLong_FromUnsignedLongLong(self.flags)));
    set(out, "manager_ctx", Ref(PyLong_FromVoidPtr(self.manager_ctx)));
    set(out, "deleter", Ref(PyLong_FromVoidPtr(reinterpret_cast<void*>(self.deleter))));
    if (version.major != DLPACK_MAJOR_VERSION) return out;
  } else {
    const auto& self = *static_cast<DLManagedTensor*>(managed);
    set(out, "version", Ref(Py_NewRef(Py_None)));
    set(out, "flags", Ref(Py_NewRef(Py_None)));
    set(out, "manager_ctx", Ref(PyLong_FromVoidPtr(self.manager_ctx)));
    set(out, "deleter", Ref(PyLong_FromVoidPtr(reinterpret_cast<void*>(self.deleter))));
  }
  describe_tensor(out, tensor_in(managed, versioned));
  return out;
}

void add_consumer(PyObject* module) { add_functions(module, functions); }

}  // namespace adversary
