// The methods __dlpack__ and __dlpack_device__ of a class whose elements are in memory of the CPU.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "refarray/array_view.hpp"
#include "refarray/python/exchange.hpp"

namespace refarray::python {

/// What a consumer asked `__dlpack__` for.
struct export_request {
  bool versioned = false;
  bool copy = false;
};

namespace detail {

/// Two integers of a tuple; false with TypeError set for anything else.
inline bool read_pair(const char* name, PyObject* object, long long (&out)[2]) noexcept {
  if (PyTuple_Check(object) == 0 || PyTuple_Size(object) != 2) {
    PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, not %R", name, object);
    return false;
  }
  for (Py_ssize_t i = 0; i < 2; ++i) {
    const owned number(PyNumber_Index(PyTuple_GetItem(object, i)));
    if (number == nullptr) return false;
    out[i] = PyLong_AsLongLong(number.get());
    if (out[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

/// The elements in row-major order, in memory of their own.
template <class T, std::size_t N>
std::unique_ptr<T[]> copy_elements(const array_view<const T, N>& from) {
  auto out = std::make_unique<T[]>(static_cast<std::size_t>(from.size()));
  std::array<std::int64_t, N> index{};
  for (std::int64_t k = 0; k < from.size(); ++k) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < N; ++axis) offset += index[axis] * from.stride(axis);
    out[static_cast<std::size_t>(k)] = from.data()[offset];
    for (std::size_t axis = N; axis-- > 0 && ++index[axis] == from.extent(axis);) index[axis] = 0;
  }
  return out;
}

template <class M, class T, std::size_t N, class Owner>
PyObject* export_as(const export_request& request, const array_view<T, N>& elements, Owner owner) {
  using Value = std::remove_const_t<T>;
  if (!request.copy) return to_capsule(export_tensor<M>(std::move(owner), elements));
  auto copied = copy_elements<Value, N>(elements);
  const array_view<Value, N> view(copied.get(), elements.shape());
  return to_capsule(export_tensor<M>(std::move(copied), view, DLPACK_FLAG_BITMASK_IS_COPIED));
}

}  // namespace detail

/// Reads the arguments of `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`
/// for memory of the CPU. std::nullopt with an exception set: ValueError for a stream, BufferError
/// for another device, TypeError for an argument of a wrong type.
inline std::optional<export_request> parse_request(PyObject* args, PyObject* kwargs) noexcept {
  PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
  char names[4][12] = {"stream", "max_version", "dl_device", "copy"};
  char* keywords[] = {names[0], names[1], names[2], names[3], nullptr};
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", keywords, &stream,
                                  &max_version, &dl_device, &copy) == 0)
    return std::nullopt;
  if (stream != Py_None) {
    PyErr_Format(PyExc_ValueError, "stream is %R; memory of the CPU has none: it must be None",
                 stream);
    return std::nullopt;
  }
  if (copy != Py_None && PyBool_Check(copy) == 0) {
    PyErr_Format(PyExc_TypeError, "copy must be True, False or None, not %R", copy);
    return std::nullopt;
  }
  long long pair[2] = {};
  export_request out;
  out.copy = copy == Py_True;
  if (max_version != Py_None) {
    if (!detail::read_pair("max_version", max_version, pair)) return std::nullopt;
    out.versioned = pair[0] >= DLPACK_MAJOR_VERSION;
  }
  if (dl_device != Py_None) {
    if (!detail::read_pair("dl_device", dl_device, pair)) return std::nullopt;
    if (pair[0] != kDLCPU || pair[1] != 0) {
      PyErr_Format(PyExc_BufferError, "dl_device is (%lld, %lld); the elements are on (1, 0)",
                   pair[0], pair[1]);
      return std::nullopt;
    }
  }
  return out;
}

/// Answers `__dlpack__`: a capsule with the elements, or with a copy if one is requested. `owner`
/// keeps the elements alive; `reference(self)` does if they belong to the Python object. Const
/// elements are exported as read-only: a request for a legacy capsule of them is a BufferError.
template <class T, std::size_t N, class Owner>
PyObject* answer_dlpack(PyObject* args, PyObject* kwargs, const array_view<T, N>& elements,
                        Owner owner) noexcept {
  const std::optional<export_request> request = parse_request(args, kwargs);
  if (!request) return nullptr;
  if (!request->versioned && !request->copy && std::is_const_v<T>) {
    PyErr_SetString(PyExc_BufferError,
                    "the elements are read-only, which a capsule without a version cannot say; "
                    "pass max_version=(1, 0), or copy=True");
    return nullptr;
  }
  return guarded([&] {
    return request->versioned
               ? detail::export_as<DLManagedTensorVersioned>(*request, elements, std::move(owner))
               : detail::export_as<DLManagedTensor>(*request, elements, std::move(owner));
  });
}

/// Answers `__dlpack_device__`: (1, 0), the CPU.
inline PyObject* answer_dlpack_device() noexcept { return Py_BuildValue("(ii)", int{kDLCPU}, 0); }

}  // namespace refarray::python
