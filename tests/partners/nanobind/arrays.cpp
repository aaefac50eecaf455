// A nanobind extension whose functions accept, return and describe arrays.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace nb = nanobind;

namespace {

std::atomic<int> g_released = 0;  // owners of exported arrays, destroyed so far

template <class Array>
nb::dict describe(const Array& array) {
  nb::list shape, strides;
  for (size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.append(array.shape(axis));
    strides.append(array.stride(axis));
  }
  nb::dict found;
  found["data"] = reinterpret_cast<std::uintptr_t>(array.data());
  found["shape"] = nb::tuple(shape);
  found["strides"] = nb::tuple(strides);
  found["dtype"] = nb::make_tuple(array.dtype().code, array.dtype().bits, array.dtype().lanes);
  found["device"] = nb::make_tuple(array.device_type(), array.device_id());
  return found;
}

// The owner of `data`; its destruction increments g_released.
template <class T>
nb::capsule owner_of(std::vector<T>* data) {
  return nb::capsule(data, [](void* pointer) noexcept {
    delete static_cast<std::vector<T>*>(pointer);
    ++g_released;
  });
}

// An array of 0, 1, 2 …, with unused elements between the rows if `padded`.
template <class T>
nb::ndarray<nb::array_api, T, nb::ndim<2>> give(size_t rows, size_t columns, bool padded) {
  using Value = std::remove_const_t<T>;
  const size_t pitch = columns + (padded ? 2 : 0);
  auto data = std::make_unique<std::vector<Value>>(rows * pitch);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      (*data)[row * pitch + column] = static_cast<Value>(row * columns + column);
  T* const first = data->data();
  const nb::capsule owner = owner_of(data.release());  // the capsule owns `data` from here
  return {first, {rows, columns}, owner, {static_cast<std::int64_t>(pitch), 1}};
}

// A new array over the caller's memory. If `array` itself were returned, nanobind would return the
// caller's object.
template <class Array, class Result>
Result pass_on(const Array& array) {
  std::vector<size_t> shape(array.ndim());
  std::vector<std::int64_t> strides(array.ndim());
  for (size_t axis = 0; axis < array.ndim(); ++axis) {
    shape[axis] = array.shape(axis);
    strides[axis] = array.stride(axis);
  }
  auto kept = std::make_unique<Array>(array);
  const nb::capsule owner(kept.get(), [](void* pointer) noexcept {
    delete static_cast<Array*>(pointer);
    ++g_released;
  });
  static_cast<void>(kept.release());  // the capsule owns `kept` from here
  return Result(array.data_handle(), array.ndim(), shape.data(), owner, strides.data(),
                array.dtype(), array.device_type(), array.device_id(), Result::Order,
                array.byte_offset());  // data() would add byte_offset to what may be a handle
}

double sum(const nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>& array) {
  const auto view = array.view();
  double total = 0;
  for (size_t row = 0; row < view.shape(0); ++row)
    for (size_t column = 0; column < view.shape(1); ++column)
      total += static_cast<double>(view(row, column));
  return total;
}

void fill(const nb::ndarray<float, nb::ndim<2>, nb::device::cpu>& array, float value) {
  const auto view = array.view();
  for (size_t row = 0; row < view.shape(0); ++row)
    for (size_t column = 0; column < view.shape(1); ++column) view(row, column) = value;
}

}  // namespace

NB_MODULE(nanobind_arrays, m) {
  using Cube = nb::ndarray<std::int32_t, nb::shape<2, 3, 4>, nb::c_contig, nb::device::cpu>;
  using Rows = nb::ndarray<double, nb::shape<-1, 3>, nb::device::cpu>;
  m.def("take", [](const nb::ndarray<>& array) { return describe(array); });
  m.def("take_ro", [](const nb::ndarray<nb::ro>& array) { return describe(array); });
  m.def("take_cube", [](const Cube& array) { return describe(array); }, nb::arg().noconvert());
  m.def("take_rows", [](const Rows& array) { return describe(array); }, nb::arg().noconvert());
  m.def("pass_on", &pass_on<nb::ndarray<>, nb::ndarray<nb::array_api>>);
  m.def("pass_on_ro", &pass_on<nb::ndarray<nb::ro>, nb::ndarray<nb::array_api, nb::ro>>);
  m.def("give", &give<float>);
  m.def("give_const", &give<const float>);
  m.def("sum", &sum, nb::arg().noconvert());
  m.def("fill", &fill, nb::arg().noconvert(), nb::arg());
  m.def("released", [] { return g_released.load(); });
}
