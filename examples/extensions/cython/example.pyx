# cython: language_level=3, cpp_locals=True
"""A Cython module that takes arrays and returns them, as a class of its own and as refarray.Array."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libcpp.vector cimport vector

cdef extern from *:
    """
    #include <refarray/array_view.hpp>
    #include <refarray/python/c_api.h>
    #include <refarray/python/exchange.hpp>
    #include <refarray/python/producer.hpp>

    using Matrix = refarray::array_view<const float, 2>;
    using Vector = refarray::array_view<double, 1>;
    using Floats = refarray::array_view<float, 1>;

    // Cython raises the Python exception that is set, and then ignores what was thrown.
    static refarray::managed_tensor import_tensor(PyObject* x) {
      auto tensor = refarray::python::from_object(x);
      if (!tensor) throw std::runtime_error("a Python exception is set");
      return *std::move(tensor);
    }
    static PyObject* answer(PyObject* self, std::vector<float>& values, PyObject* args,
                            PyObject* kwargs) {
      const Floats elements(values.data(), {static_cast<std::int64_t>(values.size())});
      return refarray::python::answer_dlpack(args, kwargs, elements,
                                             refarray::python::reference(self));
    }
    """
    cdef cppclass Tensor "refarray::managed_tensor":
        pass
    cdef cppclass Matrix:
        Matrix(const Tensor&) except +
        int64_t extent(size_t)
        const float& operator()(int64_t, int64_t)
    cdef cppclass Vector:
        Vector(const Tensor&) except +
        int64_t extent(size_t)
        double& operator()(int64_t)

    Tensor import_tensor(object x) except +
    object answer(object self, vector[float]& values, object args, object kwargs)
    object answer_dlpack_device "refarray::python::answer_dlpack_device"()

    # The C table.
    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct DLDevice:
        pass
    ctypedef struct DLTensor:
        void* data
    ctypedef struct RefarrayCApi:
        object (*empty)(DLDataType, DLDevice, int32_t, const int64_t*)
        int (*borrow)(object, DLTensor*, uint64_t*) except -1
    const RefarrayCApi* refarray_import_c_api() except NULL
    DLDataType float64 "refarray::element<double>::dtype"
    DLDevice cpu "(DLDevice{kDLCPU, 0})"

cdef const RefarrayCApi* refarray = refarray_import_c_api()


cdef class Samples:
    """The numbers 0 to count - 1 of type float, which other libraries import without a copy."""

    cdef vector[float] values

    def __cinit__(self, size_t count):
        self.values = vector[float](count)
        cdef size_t i
        for i in range(count):
            self.values[i] = i

    def __dlpack__(self, *args, **kwargs):
        return answer(self, self.values, args, kwargs)

    def __dlpack_device__(self):
        return answer_dlpack_device()


def row_sums(x):
    """The sums of the rows of a float32 matrix, as a refarray.Array."""
    cdef Tensor tensor = import_tensor(x)
    cdef Matrix matrix = Matrix(tensor)
    cdef int64_t rows = matrix.extent(0)
    sums = refarray.empty(float64, cpu, 1, &rows)
    cdef DLTensor fields
    cdef uint64_t flags
    refarray.borrow(sums, &fields, &flags)
    cdef double* out = <double*>fields.data
    cdef int64_t i, j
    for i in range(rows):
        out[i] = 0
        for j in range(matrix.extent(1)):
            out[i] += matrix(i, j)
    return sums


def scale(x, double factor):
    """Multiply the elements of a float64 vector in place."""
    cdef Tensor tensor = import_tensor(x)
    cdef Vector elements = Vector(tensor)
    cdef double* element
    cdef int64_t i
    for i in range(elements.extent(0)):
        element = &elements(i)
        element[0] *= factor
