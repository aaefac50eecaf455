// A nanobind module that takes arrays and returns them.
#include <nanobind/nanobind.h>

#include <numeric>
#include <refarray/array_view.hpp>
#include <refarray/python/exchange.hpp>
#include <refarray/python/producer.hpp>
#include <utility>
#include <vector>

namespace nb = nanobind;
using refarray::array_view;

namespace {

/// The numbers 0 to count - 1 of type float, which other libraries import without a copy.
struct Samples {
  explicit Samples(std::size_t count) : values(count) {
    std::iota(values.begin(), values.end(), 0.0F);
  }
  std::vector<float> values;
};

refarray::managed_tensor import(nb::handle x) {
  auto tensor = refarray::python::from_object(x.ptr());
  if (!tensor) nb::raise_python_error();
  return *std::move(tensor);
}

/// A new reference, or the Python exception that its maker set.
nb::object result(PyObject* object) {
  if (object == nullptr) nb::raise_python_error();
  return nb::steal(object);
}

nb::object dlpack(nb::handle_t<Samples> self, nb::args args, nb::kwargs kwargs) {
  std::vector<float>& values = nb::cast<Samples&>(self).values;
  const array_view<float, 1> elements(values.data(), {static_cast<std::int64_t>(values.size())});
  return result(refarray::python::answer_dlpack(args.ptr(), kwargs.ptr(), elements,
                                                refarray::python::reference(self.ptr())));
}

Samples row_sums(nb::handle x) {
  const auto tensor = import(x);
  const array_view<const float, 2> matrix(tensor);
  Samples sums(static_cast<std::size_t>(matrix.extent(0)));
  for (std::int64_t i = 0; i < matrix.extent(0); ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < matrix.extent(1); ++j) sum += matrix(i, j);
    sums.values[static_cast<std::size_t>(i)] = sum;
  }
  return sums;
}

void scale(nb::handle x, double factor) {
  const auto tensor = import(x);
  const array_view<double, 1> elements(tensor);
  for (std::int64_t i = 0; i < elements.extent(0); ++i) elements(i) *= factor;
}

}  // namespace

NB_MODULE(example_nanobind, module) {
  nb::class_<Samples>(module, "Samples")
      .def(nb::init<std::size_t>())
      .def("__dlpack__", &dlpack)
      .def("__dlpack_device__",
           [](const Samples&) { return result(refarray::python::answer_dlpack_device()); });
  module.def("row_sums", &row_sums, "The sums of the rows of a float32 matrix.");
  module.def("scale", &scale, "Multiply the elements of a float64 vector in place.");
}
