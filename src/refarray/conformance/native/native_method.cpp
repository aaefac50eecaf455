// native_method(): a function in Python whose frame does not show in a traceback, as if it were C.
#include "kit_module.hpp"

namespace adversary {
namespace {

/// Takes the first entry, that of the callee's frame, out of the pending exception's traceback.
void forget_first_frame() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* rest = traceback == nullptr ? nullptr : PyObject_GetAttrString(traceback, "tb_next");
  Py_XDECREF(traceback);
  PyErr_Clear();
  if (rest == nullptr) rest = Py_NewRef(Py_None);  // no frame: the arguments were refused
  PyException_SetTraceback(value, rest);
  if (rest == Py_None) Py_CLEAR(rest);
  PyErr_Restore(type, value, rest);
}

PyObject* call_native(PyObject* function, PyObject* args, PyObject* kwargs) {
  PyObject* result = PyObject_Call(function, args, kwargs);
  if (result == nullptr) forget_first_frame();
  return result;
}

PyMethodDef kCall{"native_method",
                  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_native)),
                  METH_VARARGS | METH_KEYWORDS, nullptr};

PyObject* native_method(PyObject*, PyObject* function) {
  return PyCFunction_NewEx(&kCall, function, nullptr);
}

PyMethodDef functions[] = {
    {"native_method", native_method, METH_O,
     "Return a builtin that calls the function and raises its exceptions without its frame."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_native_method(PyObject* module) { add_functions(module, functions); }

}  // namespace adversary
