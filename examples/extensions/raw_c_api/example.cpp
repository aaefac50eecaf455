// An extension module on the raw C API that takes arrays and returns them.
#include <Python.h>

#include <new>
#include <numeric>
#include <optional>
#include <refarray/array_view.hpp>
#include <refarray/python/exchange.hpp>
#include <refarray/python/producer.hpp>
#include <vector>

namespace {

using refarray::array_view;
using refarray::managed_tensor;
namespace python = refarray::python;

/// The Python class Samples(count), 0 to count - 1: numbers of type float that other libraries
/// import without a copy.
struct Samples {
  PyObject ob_base;
  std::vector<float> values;
};

Samples& samples_of(PyObject* self) { return *reinterpret_cast<Samples*>(self); }

PyObject* new_samples(PyTypeObject* type, std::vector<float> values) {
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = allocate(type, 0);
  if (self != nullptr) ::new (&samples_of(self).values) std::vector<float>(std::move(values));
  return self;
}

PyObject* make_samples(PyTypeObject* type, PyObject* args, PyObject*) {
  Py_ssize_t count = 0;
  if (PyArg_ParseTuple(args, "n:Samples", &count) == 0) return nullptr;
  if (count < 0) return PyErr_Format(PyExc_ValueError, "count is %zd; it must be 0 or more", count);
  return python::guarded([&] {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0.0F);
    return new_samples(type, std::move(values));
  });
}

void free_samples(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  samples_of(self).values.~vector();
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DecRef(reinterpret_cast<PyObject*>(type));
}

PyObject* samples_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  std::vector<float>& values = samples_of(self).values;
  const array_view<float, 1> elements(values.data(), {static_cast<std::int64_t>(values.size())});
  return python::answer_dlpack(args, kwargs, elements, python::reference(self));
}

PyObject* samples_dlpack_device(PyObject*, PyObject*) { return python::answer_dlpack_device(); }

/// row_sums(x): the sums of the rows of a float32 matrix, as Samples.
PyObject* row_sums(PyObject* module, PyObject* x) {
  const std::optional<managed_tensor> tensor = python::from_object(x);
  if (!tensor) return nullptr;
  return python::guarded([&] {
    const array_view<const float, 2> matrix(*tensor);
    std::vector<float> sums(static_cast<std::size_t>(matrix.extent(0)));
    for (std::int64_t i = 0; i < matrix.extent(0); ++i)
      for (std::int64_t j = 0; j < matrix.extent(1); ++j)
        sums[static_cast<std::size_t>(i)] += matrix(i, j);
    auto* type = *static_cast<PyTypeObject**>(PyModule_GetState(module));
    return new_samples(type, std::move(sums));
  });
}

/// scale(x, factor): multiplies the elements of a float64 vector in place.
PyObject* scale(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  double factor = 1;
  if (PyArg_ParseTuple(args, "Od:scale", &x, &factor) == 0) return nullptr;
  const std::optional<managed_tensor> tensor = python::from_object(x);
  if (!tensor) return nullptr;
  return python::guarded([&]() -> PyObject* {
    const array_view<double, 1> elements(*tensor);
    for (std::int64_t i = 0; i < elements.extent(0); ++i) elements(i) *= factor;
    return Py_NewRef(Py_None);
  });
}

PyMethodDef samples_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(samples_dlpack)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", samples_dlpack_device, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot samples_slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_samples)},
                               {Py_tp_dealloc, reinterpret_cast<void*>(free_samples)},
                               {Py_tp_methods, samples_methods},
                               {0, nullptr}};
PyType_Spec samples_spec = {"example_raw.Samples", sizeof(Samples), 0, Py_TPFLAGS_DEFAULT,
                            samples_slots};

int fill(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &samples_spec, nullptr);
  *static_cast<PyObject**>(PyModule_GetState(module)) = type;
  return type == nullptr ? -1 : PyModule_AddObjectRef(module, "Samples", type);
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  Py_VISIT(*static_cast<PyObject**>(PyModule_GetState(module)));
  return 0;
}

int clear(PyObject* module) {
  Py_CLEAR(*static_cast<PyObject**>(PyModule_GetState(module)));
  return 0;
}

PyMethodDef functions[] = {{"row_sums", row_sums, METH_O, nullptr},
                           {"scale", scale, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)},
#if defined(Py_mod_gil)
                            {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                            {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "example_raw",
                          "Takes arrays and returns them.",
                          sizeof(PyObject*),
                          functions,
                          slots,
                          traverse,
                          clear,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_example_raw() { return PyModuleDef_Init(&definition); }
